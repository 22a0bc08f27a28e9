"""What may happen to money in random orders, and with what."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from tests.runs.money_payments import PAYMENT_EVENTS

amounts = st.integers(1, 2_000)
some = st.integers(0, 1_000)
"""Which one of a list: taken modulo its length."""
limits = st.sampled_from([None, 4_000, 2_000, 1_000, 300, 0])
quotes = st.fixed_dictionaries(
    {
        "cap": st.sampled_from([None, 2_000, 500, None, 1_000, 100]),
        "ceiling": st.sampled_from([4_000, 900, 2_001, 300, 1_500, 100, 0]),
        "minimum": st.integers(1, 200),
        "key": st.none() | some,
    }
)
wants = st.lists(st.tuples(st.integers(100, 1_500), st.integers(1, 150)), min_size=1, max_size=3)
"""The most and the least of reservations: a lease's worst cases."""
shares = st.sampled_from([100, 50, 99, 1, 33, 0])
"""In percent. Drawn from lists, since small integers would make most budgets empty and most charges nothing."""
asks = st.fixed_dictionaries({"which": some, "wants": wants})
hand_ins = st.fixed_dictionaries(
    {"which": some, "lease": some, "finished": shares, "charged": shares, "fee": shares, "subject": some, "more": st.just([]) | wants}
)
EVENTS: list[tuple[str, st.SearchStrategy[dict[str, Any]]]] = [
    ("grant", st.fixed_dictionaries({"amount": amounts, "again": some})),
    ("correct", st.fixed_dictionaries({"amount": amounts})),
    ("limit_key", st.fixed_dictionaries({"key": some, "ceiling": limits})),
    ("limit_key_month", st.fixed_dictionaries({"key": some, "limit": limits})),
    ("make_key", st.fixed_dictionaries({"maker": some, "ceiling": limits})),
    ("limit_month", st.fixed_dictionaries({"limit": limits})),
    ("end_month", st.just({})),
    ("start", st.fixed_dictionaries({"wanted": quotes})),
    ("start", st.fixed_dictionaries({"wanted": quotes})),
    *[("ask", asks)] * 5,
    *[("hand_in", hand_ins)] * 6,
    ("lose_lease", st.fixed_dictionaries({"which": some, "lease": some})),
    ("finalize", st.fixed_dictionaries({"which": some, "wrong": st.integers(0, 50)})),
    ("go_on", st.fixed_dictionaries({"which": some, "key": st.none() | some})),
    *PAYMENT_EVENTS,
]
"""What may happen, and with what; a name that stands twice happens twice as often."""


@dataclass
class Quote:
    """What was quoted, and what became of it: `slices` are what its leases have reserved, `charges` is usage and fee by subject."""

    source: str
    cap: int | None
    ceiling: int
    minimum: int
    key: int | None
    month: str = ""
    slices: list[int] = field(default_factory=list)
    charges: list[list[int]] = field(default_factory=lambda: [[0, 0], [0, 0]])
    is_closed: bool = False

    @property
    def spent(self) -> int:
        return sum(map(sum, self.charges))
