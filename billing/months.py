"""Calendar months, which are those of UTC: statements, limits and alerts are by month, written YYYY-MM."""

import re
from datetime import UTC, date, datetime

from django.utils import timezone

_MONTH = re.compile(r"(\d{4})-(0[1-9]|1[0-2])", re.ASCII)
_FIRST_YEAR = 2000


class InvalidMonth(ValueError):
    """The text is not a month."""


def month_of(moment: datetime | date) -> str:
    """The month of a day, or of a moment: "2026-11"."""
    day = moment.astimezone(UTC) if isinstance(moment, datetime) else moment
    return f"{day:%Y-%m}"


def this_month() -> str:
    return month_of(timezone.now())


def month_bounds(month: str) -> tuple[datetime, datetime]:
    """The first moment of the month and that of the next, in UTC. Raises `InvalidMonth`, also for years that no ledger reaches."""
    found = _MONTH.fullmatch(month)
    if found is None or not _FIRST_YEAR <= int(found[1]) < 9999:
        raise InvalidMonth(f"{month!r} is not a month such as 2026-11")
    year, number = int(found[1]), int(found[2])
    after = datetime(year + number // 12, number % 12 + 1, 1, tzinfo=UTC)
    return datetime(year, number, 1, tzinfo=UTC), after


def months_between(first: str, last: str) -> list[str]:
    """The months from the first to the last, the latest first."""
    start, _ = month_bounds(first)
    found = [last]
    while found[-1] > f"{start:%Y-%m}":
        year, number = int(found[-1][:4]), int(found[-1][5:])
        found.append(f"{year - (number == 1)}-{(number - 2) % 12 + 1:02d}")
    return found


def month_words(month: str) -> str:
    """The month as people write it: "November 2026"."""
    return f"{month_bounds(month)[0]:%B %Y}"
