"""P values of counts. scipy's special functions are imported when they are asked for: they take longer than the rest of this app."""

from collections.abc import Sequence


def binomial_p(right: int, rows: int, chance: float) -> float:
    """P(at least so many of the rows right | chance), one-sided and exact."""
    from scipy.special import bdtrc

    return 1.0 if right <= 0 else float(bdtrc(right - 1, rows, chance))


def chi_square_p(observed: Sequence[float], expected: Sequence[float]) -> float:
    """Of Pearson's chi-square, with one degree of freedom less than there are counts."""
    from scipy.special import chdtrc

    return float(chdtrc(len(observed) - 1, sum((seen - due) ** 2 / due for seen, due in zip(observed, expected, strict=True))))
