"""What is measured."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Metric:
    """A metric of one value a task. `is_binary`: every value is 0 or 1. `low` and `high` bound its values; None where nothing does."""

    key: str
    name: str
    is_binary: bool
    low: float | None = 0.0
    high: float | None = 1.0

    @property
    def is_share(self) -> bool:
        """True where values lie between 0 and 1, so that a hundredth is a point."""
        return self.low == 0.0 and self.high == 1.0


ACCURACY = Metric(key="accuracy", name="Accuracy", is_binary=True)
