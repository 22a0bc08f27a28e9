"""The ledger as a file for a spreadsheet, written in parts."""

import csv
import io
from collections.abc import Iterator, Sequence

from django.db.models import QuerySet

from billing.models import LedgerEntry
from billing.statements import entries_in_parts
from common.money import MICRO
from common.spreadsheets import plain_cell

COLUMNS = ("id", "created_at", "kind", "amount_microusd", "amount_usd", "balance_after_microusd", "balance_after_usd", "source", "note")
PART = 1_000


def csv_parts(entries: QuerySet[LedgerEntry]) -> Iterator[str]:
    """A header and one line an entry. Amounts stand as whole micro-USD and as USD with six decimals; texts never begin a formula."""
    yield _lines([COLUMNS])
    for part in entries_in_parts(entries, PART):
        yield _lines([_row(entry) for entry in part])


def _row(entry: LedgerEntry) -> tuple[object, ...]:
    return (
        entry.public_id,
        f"{entry.created_at:%Y-%m-%dT%H:%M:%S.%fZ}",
        entry.kind,
        entry.amount_microusd,
        _usd(entry.amount_microusd),
        entry.balance_after_microusd,
        _usd(entry.balance_after_microusd),
        plain_cell(entry.source),
        plain_cell(entry.note),
    )


def _usd(microusd: int) -> str:
    """USD as a plain number, which spreadsheets add up: "-0.001250"."""
    whole, rest = divmod(abs(microusd), MICRO)
    return f"{'-' if microusd < 0 else ''}{whole}.{rest:06d}"


def _lines(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\r\n").writerows(rows)
    return text.getvalue()
