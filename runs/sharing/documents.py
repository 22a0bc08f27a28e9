"""Links and leaderboards as the API answers them."""

from typing import Any

from django.utils import timezone

from catalog.models import BenchmarkVersion
from runs.documents import instant
from runs.models.sharing import Share
from runs.sharing.leaderboard import Entry, Table, leaderboard_of
from runs.sharing.links import link_of


def share_document(share: Share, *, with_link: bool) -> dict[str, Any]:
    """A link of a run. Its address is told to those who may share. Reads `result` and `run`."""
    state = share.state_at(timezone.now())
    return {
        "id": str(share.public_id),
        "run_id": str(share.run.public_id),
        "state": state,
        "url": link_of(share) if with_link and state == "live" else None,
        "result": {"version": share.result.number, "sha256": share.result.sha256},
        "title": share.title or None,
        "labels": [{"subject_index": int(index), "label": label} for index, label in sorted(share.labels.items())],
        "shows_samples": share.shows_samples,
        "shows_cost": share.shows_cost,
        "shows_workspace": share.shows_workspace,
        "created_by": share.created_by_label,
        "created_at": instant(share.created_at),
        "expires_at": instant(share.expires_at),
        "revoked_at": instant(share.revoked_at),
        "opened": share.opened_count,
        "last_opened_at": instant(share.last_opened_at),
    }


def leaderboard_document(version: BenchmarkVersion | None) -> dict[str, Any]:
    """The tables of a version, its own protocol first. Without a version there is none."""
    tables = leaderboard_of(version) if version is not None else []
    return {
        "schema": "evalrouter.leaderboard.v1",
        "profile_id": version.profile_id if version is not None else None,
        "tables": [_table_document(table) for table in tables],
    }


def _table_document(table: Table) -> dict[str, Any]:
    compared = table.comparison if table.is_judged else None
    return {
        "protocol": {name: value for name, value in table.protocol.items() if name != "schema"},
        "differences": [{"code": each["code"], "message": each["words"]} for each in table.differences],
        "tasks_compared": compared["tasks_compared"] if compared else None,
        "summary": compared["summary"] if compared else None,
        "entries": [_entry_document(entry, is_judged=table.is_judged) for entry in table.entries],
    }


def _entry_document(entry: Entry, *, is_judged: bool) -> dict[str, Any]:
    publication, rank = entry.publication, entry.rank if is_judged else None
    figures = publication.figures
    return {
        "id": str(publication.public_id),
        "label": publication.label,
        "kind": figures["kind"],
        "reasoning": figures["reasoning"],
        "publisher": publication.publisher,
        "published_at": instant(publication.published_at),
        "result_sha256": publication.result.sha256,
        "rank": rank["rank"] if rank else None,
        "rank_range": rank["rank_range"] if rank else None,
        "group": rank["group"] if rank else None,
        "headline": figures["headline"],
        "counts": figures["counts"],
        "cost_per_1000_tasks_microusd": None if entry.cost_microusd is None else str(entry.cost_microusd),
    }
