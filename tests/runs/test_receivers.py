"""Parked work wakes when its workspace may spend more: after the commit, and only where that can help."""

from collections.abc import Callable

import pytest
from django.db import transaction

from billing.actions import grant_credit
from billing.budgets import close_budget, open_budget
from billing.limits import set_key_ceiling, set_workspace_limit
from runs.models import Run, Shard
from tests import factories
from tests.runs.working import start
from workspaces.actors import SYSTEM, Actor
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db(transaction=True)

type Start = Callable[..., Run]


def park(run: Run) -> None:
    Shard.objects.filter(run=run).update(parked_need_microusd=176)


def parked(*runs: Run) -> list[bool]:
    return [Shard.objects.filter(run=run, parked_need_microusd__isnull=False).exists() for run in runs]


def test_credit_wakes_the_live_runs_without_a_cap_of_its_workspace(
    start_sums: Start, workspace: Workspace, other_workspace: Workspace
) -> None:
    run, capped, ended = start_sums(), start_sums(max_charge_microusd="1000"), start_sums()
    Run.objects.filter(pk=ended.pk).update(phase="done")
    version, route = factories.make_version(), factories.make_route()
    theirs = start(other_workspace, SYSTEM, benchmark=version.profile_id, model=route.route_id, coverage={"mode": "full"})
    for each in (run, capped, ended, theirs):
        park(each)
    grant_credit(workspace, actor=SYSTEM, amount_microusd=1, reason="more")
    assert parked(run, capped, ended, theirs) == [False, True, True, True]


def test_correction_wakes_nobody(start_sums: Start, workspace: Workspace) -> None:
    run = start_sums()
    park(run)
    grant_credit(workspace, actor=SYSTEM, amount_microusd=-1, reason="less")
    assert parked(run) == [True]


def test_hold_that_is_released_wakes(start_sums: Start, workspace: Workspace) -> None:
    run = start_sums()
    with transaction.atomic():
        open_budget(workspace, source="other", cap_microusd=500, ceiling_microusd=500, minimum_microusd=1, key_lineage=None)
    park(run)
    with transaction.atomic():
        close_budget("other", charges=[])
        assert parked(run) == [True]  # not before the commit: shards are locked before wallets
    assert parked(run) == [False]


def test_limits_that_rise_wake(start_sums: Start, workspace: Workspace, actor: Actor) -> None:
    key, _ = factories.make_key(workspace, spend_ceiling_microusd=5_000_000)
    set_workspace_limit(workspace, actor=actor, monthly_microusd=5_000_000)
    run = start_sums()
    park(run)
    set_key_ceiling(key, actor=actor, ceiling_microusd=4_000_000)
    set_workspace_limit(workspace, actor=actor, monthly_microusd=4_000_000)
    assert parked(run) == [True]
    set_key_ceiling(key, actor=actor, ceiling_microusd=4_000_001)
    assert parked(run) == [False]
    park(run)
    set_workspace_limit(workspace, actor=actor, monthly_microusd=None)
    assert parked(run) == [False]


def test_change_that_is_rolled_back_wakes_nobody(start_sums: Start, workspace: Workspace) -> None:
    run = start_sums()
    park(run)
    with transaction.atomic():
        grant_credit(workspace, actor=SYSTEM, amount_microusd=1, reason="more")
        transaction.set_rollback(True)
    assert parked(run) == [True]
