"""What a workspace's charges of a month went to: by day, benchmark, model, member and API key.

A month is that of the ledger's entries (`created_at`, UTC), and the figures are sums of those very entries, grouped in SQL by the runs that
they came from. So they add up to what the ledger says, to the micro-USD, also for a run that ended as a month turned.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import date

from django.db import connection

from billing.enums import EntryKind
from billing.models import LedgerEntry
from billing.months import month_bounds
from billing.queries import get_wallet
from billing.statements import CHARGES, Charged, charged_by_day
from catalog.models import Benchmark, BenchmarkVersion
from runs.models import Run, RunBenchmark
from workspaces.models import ApiKey, User, Workspace
from workspaces.queries import api_keys_for

NO_RUN = "Other work"
SEVERAL = "Several benchmarks"
NO_MEMBER = "Started by API keys"
NO_KEY = "Started on the pages"

_IS_SOURCE = {
    "postgresql": "e.source = 'run:' || run.public_id::text",
    "sqlite": "substr(e.source, 1, 4) = 'run:' AND run.public_id = replace(substr(e.source, 5), '-', '')",
}
"""That an entry's source names the run, so that PostgreSQL joins by hashes and SQLite by the index of the run's key, as it keeps it."""

_GROUPED = """
SELECT CASE WHEN other.id IS NULL THEN version.benchmark_id END, e.note, run.created_by_id, run.api_key_id, run.id IS NULL, SUM(e.used),
       SUM(e.fee) FROM (
  SELECT source, note, -SUM(CASE WHEN kind = %s THEN amount_microusd ELSE 0 END) AS used,
         -SUM(CASE WHEN kind = %s THEN amount_microusd ELSE 0 END) AS fee
  FROM {entry} WHERE wallet_id = %s AND created_at >= %s AND created_at < %s AND kind IN (%s, %s) GROUP BY source, note
) e
LEFT JOIN {run} run ON {is_source} AND run.workspace_id = %s
LEFT JOIN {benchmark} part ON part.run_id = run.id AND part."index" = 0
LEFT JOIN {benchmark} other ON other.run_id = run.id AND other."index" = 1
LEFT JOIN {version} version ON version.id = part.version_id
GROUP BY 1, 2, 3, 4, 5
"""
"""Two entries of each subject first become one row, which halves the runs that are looked up. An entry of a run of several benchmarks is
for all of them, and belongs to none."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What was charged for one benchmark, model, member or key. `id` is public, None where the charge belongs to none."""

    id: str | None
    name: str
    charged: Charged
    share: float
    """Of the month's charges, from 0 to 1."""


@dataclass(frozen=True, slots=True)
class Spending:
    """A month's charges, and where they went; each list adds up to the total, the largest amount first."""

    month: str
    total: Charged
    days: Mapping[date, Charged]
    benchmarks: list[Spent]
    models: list[Spent]
    members: list[Spent]
    keys: list[Spent]


@dataclass(frozen=True, slots=True)
class _Group:
    """Charges that have everything in common that is asked for."""

    benchmark: int | None
    model: str
    member: int | None
    key: int | None
    is_other: bool
    charged: Charged


def spending_of(workspace: Workspace, month: str) -> Spending:
    """The charges of the month (YYYY-MM). Six queries at most. Raises `InvalidMonth`."""
    days = charged_by_day(workspace, month)
    groups = _groups(workspace, month)
    total = sum((group.charged for group in groups), Charged())
    benchmarks = Benchmark.objects.in_bulk({group.benchmark for group in groups if group.benchmark is not None})
    members = User.objects.in_bulk({group.member for group in groups if group.member is not None})
    keys = _newest_keys(workspace) if any(group.key is not None for group in groups) else {}
    named: dict[str, Callable[[_Group], tuple[str | None, str]]] = {
        "benchmarks": lambda group: _named(benchmarks.get(group.benchmark or 0), "slug", "name", NO_RUN if group.is_other else SEVERAL),
        "models": lambda group: (None, NO_RUN) if group.is_other else (group.model, group.model),
        "members": lambda group: _named(members.get(group.member or 0), "public_id", "email", NO_RUN if group.is_other else NO_MEMBER),
        "keys": lambda group: _named(keys.get(group.key or 0), "public_id", "label", NO_RUN if group.is_other else NO_KEY),
    }
    return Spending(month, total, days, **{name: _table(groups, total, of) for name, of in named.items()})


def _groups(workspace: Workspace, month: str) -> list[_Group]:
    wallet, (start, end) = get_wallet(workspace), month_bounds(month)
    if wallet.pk is None:
        return []
    tables = {"entry": LedgerEntry, "run": Run, "benchmark": RunBenchmark, "version": BenchmarkVersion}
    names = {name: connection.ops.quote_name(model._meta.db_table) for name, model in tables.items()}
    statement = _GROUPED.format(is_source=_IS_SOURCE[connection.vendor], **names)
    parameters = [
        EntryKind.USAGE,
        EntryKind.PLATFORM_FEE,
        wallet.pk,
        *map(connection.ops.adapt_datetimefield_value, (start, end)),
        *CHARGES,
        workspace.pk,
    ]
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        rows = cursor.fetchall()
    return [_Group(b, note, member, key, bool(other), Charged(int(usage), int(fee))) for b, note, member, key, other, usage, fee in rows]


def _newest_keys(workspace: Workspace) -> dict[int, ApiKey]:
    """Of each of the workspace's keys the newest that it was rolled into: they share one spend."""
    keys = list(api_keys_for(workspace))
    newest = {key.lineage: key for key in reversed(keys)}
    return {key.pk: newest[key.lineage] for key in keys}


def _named(row: Benchmark | User | ApiKey | None, identifier: str, name: str, without: str) -> tuple[str | None, str]:
    return (None, without) if row is None else (str(getattr(row, identifier)), str(getattr(row, name)))


def _table(groups: Iterable[_Group], total: Charged, of: Callable[[_Group], tuple[str | None, str]]) -> list[Spent]:
    """The charges by what `of` says they were for, an ID and a name."""
    sums: dict[tuple[str | None, str], Charged] = {}
    for group in groups:
        sums[of(group)] = sums.get(of(group), Charged()) + group.charged
    whole = total.total_microusd
    found = [Spent(id_, name, charged, charged.total_microusd / whole if whole else 0.0) for (id_, name), charged in sums.items()]
    return sorted(found, key=lambda spent: (-spent.charged.total_microusd, spent.name))
