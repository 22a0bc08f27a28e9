"""One quote started by several at once, on PostgreSQL: one run, which all of them are given."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import IntegrityError, connection, connections
from django.db.models import QuerySet

from billing.checking import ledger_differences
from billing.models import Budget, Hold
from billing.queries import get_wallet
from catalog.models import BenchmarkVersion, ModelRoute
from runs.actions import create_quote, start_run
from runs.enums import QuoteStatus
from runs.models import Quote, Run
from workspaces.actors import Actor
from workspaces.models import Workspace

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("services"), pytest.mark.django_db(transaction=True)]
TWINS = 4


@pytest.fixture(params=[True, False], ids=["claimed", "control"])
def claimed(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the quote is claimed by a conditional UPDATE. In the control everyone looks first, and then writes."""
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time: nothing can race")
    if not request.param:
        barrier, real = Barrier(TWINS), QuerySet.update

        def update(self: QuerySet[Any], **values: Any) -> int:
            if self.model is not Quote:
                return real(self, **values)
            found = list(self.values_list("pk", flat=True))
            barrier.wait(20)
            return real(Quote.objects.filter(pk__in=found), **values)

        monkeypatch.setattr(QuerySet, "update", update)
    return bool(request.param)


def at_once(work: Callable[[], object]) -> list[Any]:
    barrier = Barrier(TWINS)

    def one(_: int) -> object:
        barrier.wait()
        try:
            return work()
        except IntegrityError:
            return "IntegrityError"
        finally:
            connections.close_all()

    with ThreadPoolExecutor(TWINS) as pool:
        return list(pool.map(one, range(TWINS)))


def test_quote_started_by_twins_at_once_is_one_run(
    claimed: bool, workspace: Workspace, actor: Actor, version: BenchmarkVersion, route: ModelRoute
) -> None:
    request = {"benchmark": version.profile_id, "model": route.route_id, "coverage": {"mode": "full"}, "max_charge_microusd": "1000"}
    quote = create_quote(workspace, actor=actor, request=request)
    assert Quote.objects.get(pk=quote.pk).status == QuoteStatus.OPEN
    results = at_once(lambda: start_run(Quote.objects.get(pk=quote.pk), actor=actor))

    assert (Run.objects.count(), Budget.objects.count(), Hold.objects.count(), get_wallet(workspace).held_microusd) == (1, 1, 1, 1_000)
    assert ledger_differences() == []
    if claimed:
        assert {run.pk for run, _ in results} == {Run.objects.get().pk}
        assert sorted(is_new for _, is_new in results) == [False] * (TWINS - 1) + [True]
    else:
        assert results.count("IntegrityError") == TWINS - 1  # the unique key still holds, and the twins are told nothing they can use
