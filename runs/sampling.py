"""Which tasks a sample holds: seeded, stratified where there are groups, and the same on every machine.

Tasks are ordered by the SHA-256 of seed and task ID, so no random generator's version matters, and a larger sample of the same
seed holds the smaller one where there are no groups.
"""

import hashlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Candidate:
    ordinal: int
    task_id: str
    group: str


def draw(candidates: Sequence[Candidate], *, count: int, seed: int) -> list[int]:
    """Ordinals of a sample of `count`, in drawn order. With groups each gets its share by largest remainders, drawn order interleaved by
    hash.
    """
    ranked = sorted((_rank(seed, each.task_id), each) for each in candidates)
    strata: dict[str, list[tuple[bytes, Candidate]]] = defaultdict(list)
    for pair in ranked:
        strata[pair[1].group].append(pair)
    shares = _shares({group: len(pairs) for group, pairs in strata.items()}, count)
    taken = [pair for group, pairs in strata.items() for pair in pairs[: shares[group]]]
    return [each.ordinal for _, each in sorted(taken)]


def _rank(seed: int, task_id: str) -> bytes:
    return hashlib.sha256(f"{seed}:{task_id}".encode()).digest()


def _shares(sizes: dict[str, int], count: int) -> dict[str, int]:
    """How many each group gives: proportional, by largest remainders, ties by group name."""
    total = sum(sizes.values())
    exact = {group: divmod(size * count, total) for group, size in sizes.items()}
    shares = {group: whole for group, (whole, _) in exact.items()}
    by_remainder = sorted(sizes, key=lambda group: (-exact[group][1], group))
    for group in by_remainder[: count - sum(shares.values())]:
        shares[group] += 1
    return shares


def task_list_sha256(task_ids: Sequence[str]) -> str:
    """SHA-256 of the frozen list: task IDs in the order they are worked, a line each."""
    return hashlib.sha256("\n".join(task_ids).encode()).hexdigest()
