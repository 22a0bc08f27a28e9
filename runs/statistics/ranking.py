"""From many pairwise results to an order that does not say more than they do."""

from collections.abc import Collection, Sequence

ALPHA = 0.05
"""Two subjects are told apart where the adjusted p is below this."""

type Ahead = Collection[tuple[int, int]]
"""Pairs (better, worse) of places that were told apart."""


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values adjusted for being that many, in the order given (Holm 1979)."""
    adjusted = [0.0] * len(p_values)
    so_far = 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        so_far = max(so_far, min(1.0, (len(p_values) - rank) * p_values[place]))
        adjusted[place] = so_far
    return adjusted


def holm_factors(p_values: Sequence[float]) -> list[int]:
    """What each p-value is multiplied by in Holm's adjustment, in the order given: one for each pair whose p is no smaller."""
    factors = [0] * len(p_values)
    for rank, place in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        factors[place] = len(p_values) - rank
    return factors


def rank_ranges(count: int, ahead: Ahead) -> list[tuple[int, int]]:
    """For each of `count` subjects the best and the worst rank that the pairs told apart leave it."""
    better, worse = [0] * count, [0] * count
    for winner, loser in ahead:
        better[loser] += 1
        worse[winner] += 1
    return [(1 + better[i], count - worse[i]) for i in range(count)]


def letters(count: int, ahead: Ahead) -> list[str]:
    """For each of `count` subjects, best first, its letters: two share one exactly where they were not told apart.

    A compact letter display by insert and absorb (Piepho 2004). One subject may have several letters, since not being told apart is not
    transitive.
    """
    groups = [frozenset(range(count))] if count else []
    for pair in ahead:
        split: list[frozenset[int]] = []
        for group in groups:
            split += [group - {place} for place in pair] if group.issuperset(pair) else [group]
        unique = set(split)
        groups = [group for group in unique if not any(group < other for other in unique)]
    groups.sort(key=sorted)
    return ["".join(chr(ord("a") + number) for number, group in enumerate(groups) if place in group) for place in range(count)]
