"""The admin's first page: what waits, each count leading to the list it counts. The number of queries does not depend on what there is."""

from dataclasses import dataclass
from typing import Any

from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone

from billing.bookkeeping import last_check
from evalrouter_site.staff import waiting
from evalrouter_site.templatetags.evalrouter import date_words, status_words
from runs.models import Run
from runs.wording import interruption_words, phase_words

MOST_LISTED = 8


@dataclass(frozen=True, slots=True)
class Card:
    """Something that may wait. Without a count it is looked up only when asked for."""

    title: str
    note: str
    href: str
    count: int | None = None
    is_urgent: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """A run to look at."""

    title: str
    href: str
    workspace: str
    state: str
    why: str
    at: Any


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Unfold's callback: the context of `admin/index.html` for what this member of staff may see."""
    now = timezone.now()

    def may(permission: str) -> bool:
        return request.user.has_perm(permission)

    cards = []
    if may("catalog.view_benchmarkversion"):
        versions = waiting.versions_in_review()
        cards.append(
            _card("Versions in review", "to be qualified or sent back", "catalog_benchmarkversion", "state__exact=in_review", versions)
        )
        context |= {"versions": list(versions[:MOST_LISTED])}
    if may("runs.view_run"):
        wrong, still = waiting.runs_gone_wrong(now), waiting.runs_standing_still(now)
        cards.append(_card("Failed or interrupted runs", "within the last day", "runs_run", "attention=wrong", wrong, is_urgent=True))
        cards.append(_card("Runs that stand still", "live, and nothing for an hour", "runs_run", "attention=still", still, is_urgent=True))
        context |= {"shows_runs": True, "runs": [*map(_stalled, still[:MOST_LISTED]), *map(_ended, wrong[:MOST_LISTED])]}
    if may("runs.view_shard"):
        lost = waiting.lost_shards(now)
        cards.append(_card("Lost leases", "expired, and not taken back", "runs_shard", "trouble=expired", lost, is_urgent=True))
    if may("workspaces.view_user"):
        cards.append(_card("New people", "within the last week", "workspaces_user", "joined=week", waiting.new_people(now)))
        context |= {"shows_people": True, "people": list(waiting.newest_people()[:MOST_LISTED])}
    if may("billing.view_stripeevent"):
        failed = waiting.failed_events()
        cards.append(_card("Failed events", "of Stripe, given up", "billing_stripeevent", "state__exact=failed", failed, is_urgent=True))
    if may("billing.view_wallet"):
        cards.append(_books())
    return {**context, "title": "What waits", "cards": cards}


def _card(title: str, note: str, model: str, query: str, rows: QuerySet[Any], *, is_urgent: bool = False) -> Card:
    """A card over the rows that the admin's list of the model shows with that query."""
    return Card(title, note, f"{reverse(f'admin:{model}_changelist')}?{query}", rows.count(), is_urgent)


def _books() -> Card:
    """What the last daily check of the books found; without one, the way to a check."""
    check = last_check()
    if check is None:
        return Card("Books", "does every balance add up?", reverse("admin:billing_wallet_check_books"))
    found = f"difference{'' if check.found == 1 else 's'} found by the check of {date_words(check.started_at)}"
    return Card("Books", found, reverse("admin:billing_bookcheck_change", args=[check.pk]), check.found, is_urgent=True)


def _line(run: Run, state: str, why: str, at: Any) -> Line:
    benchmarks = list(run.benchmarks.all())
    title = run.name or (benchmarks[0].version.benchmark.name if benchmarks else str(run))
    return Line(title, reverse("admin:runs_run_change", args=[run.pk]), run.workspace.name, state, why, at)


def _stalled(run: Run) -> Line:
    return _line(run, "Stands still", phase_words(run.phase), run.last_event_at)  # type: ignore[attr-defined]


def _ended(run: Run) -> Line:
    if run.interruption:
        why = interruption_words(run.interruption["reason"])
    else:
        why = f"{run.errors:,} of {run.planned:,} answers are errors"
    return _line(run, status_words(run.status), why, run.ended_at)
