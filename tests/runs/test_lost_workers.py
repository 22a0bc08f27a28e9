"""Workers that die or freeze in the middle of a run: real processes, PostgreSQL, Redis. The verdicts and the charge are those of a calm
run.
"""

import os
import signal
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from billing.checking import ledger_differences
from runs.enums import Phase
from runs.models import Event, Run, Sample, Shard
from tests.runs.gsm8k import RIGHT, TASKS, gsm8k_request, import_gsm8k, outputs
from tests.runs.working import start
from tests.services import Worker, wait_until
from tests.standins.chat import chat_process
from workspaces.actors import Actor
from workspaces.models import Workspace

pytestmark = [pytest.mark.services, pytest.mark.xdist_group("workers")]

FAST = {"ENGINE_LEASE_SECONDS": "4", "ENGINE_RENEW_SECONDS": "1", "ENGINE_SWEEP_SECONDS": "1"}


def processed(run: Run) -> int:
    return Run.objects.values_list("processed", flat=True).get(pk=run.pk)


def is_done(run: Run) -> bool:
    return Run.objects.filter(pk=run.pk, phase=Phase.DONE).exists()


def verdicts(run: Run) -> dict[tuple[int, int], bool | None]:
    rows = Sample.objects.filter(subject__run=run).values_list("subject__index", "position", "correct")
    return {(subject, position): correct for subject, position, correct in rows}


def assert_as_calm(run: Run) -> None:
    """Every cell once, the published counts, and charges that add up."""
    rows = list(Sample.objects.filter(subject__run=run).values_list("subject__index", "position", "correct"))
    assert max(Counter((subject, position) for subject, position, _ in rows).values()) == 1
    assert len(rows) == 4 * TASKS
    assert [sum(correct for index, _, correct in rows if index == subject) for subject in range(4)] == list(RIGHT.values())
    assert ledger_differences() == []


def test_worker_killed_twice_leaves_the_same_verdicts_and_charge(
    start_worker: Callable[..., Worker], workspace: Workspace, actor: Actor, shared: Path
) -> None:
    version = import_gsm8k(workspace, actor=actor, shared=shared)
    with chat_process("--gsm8k", str(outputs(shared)), "--latency-ms", "100") as endpoint:
        request = gsm8k_request(version, endpoint=endpoint, workspace=workspace)
        worker = start_worker(processes=3, **FAST)
        calm = start(workspace, actor, **request)
        wait_until(lambda: is_done(calm))
        run = start(workspace, actor, **request)
        for mark in (600, 2_400):
            wait_until(lambda mark=mark: processed(run) >= mark, every=0.02)
            worker.kill()
            assert not is_done(run)
            worker = start_worker(processes=3, **FAST)
        wait_until(lambda: is_done(run))
    run.refresh_from_db()
    calm.refresh_from_db()
    assert_as_calm(run)
    assert (run.status, run.spend_microusd) == ("completed", calm.spend_microusd)
    assert verdicts(run) == verdicts(calm)
    assert Event.objects.filter(run=run, type="capacity.lease_lost").exists()


def test_worker_frozen_past_its_lease_has_its_late_writes_refused(
    start_worker: Callable[..., Worker], workspace: Workspace, actor: Actor, shared: Path
) -> None:
    version = import_gsm8k(workspace, actor=actor, shared=shared)
    with chat_process("--gsm8k", str(outputs(shared)), "--latency-ms", "100") as endpoint:
        request = gsm8k_request(version, endpoint=endpoint, workspace=workspace)
        frozen = start_worker(processes=2, **FAST)
        run = start(workspace, actor, **request)
        wait_until(lambda: processed(run) >= 600, every=0.02)
        frozen.freeze()
        held = dict(Shard.objects.filter(run=run, lease_expires_at__isnull=False).values_list("pk", "fence"))
        assert held
        start_worker(processes=3, **FAST)
        wait_until(lambda: not Shard.objects.filter(pk__in=held, lease_owner__in=_owners(held)).exists() or is_done(run))
        frozen.thaw()
        wait_until(lambda: is_done(run))
        wait_until(lambda: "engine.lease_lost" in frozen.log.read_text(errors="replace"), seconds=20)
    run.refresh_from_db()
    assert run.status == "completed"
    assert_as_calm(run)


def _owners(held: dict[int, int]) -> list[str]:
    return list(Shard.objects.filter(pk__in=held).exclude(lease_owner="").values_list("lease_owner", flat=True))


def test_executor_frozen_alone_is_replaced_by_its_siblings(
    start_worker: Callable[..., Worker], workspace: Workspace, actor: Actor, shared: Path
) -> None:
    version = import_gsm8k(workspace, actor=actor, shared=shared)
    with chat_process("--gsm8k", str(outputs(shared)), "--latency-ms", "100") as endpoint:
        request = gsm8k_request(version, endpoint=endpoint, workspace=workspace)
        worker = start_worker(processes=3, **FAST)
        run = start(workspace, actor, **request)
        wait_until(lambda: processed(run) >= 600, every=0.02)
        busiest = max(worker.children(), key=_cpu)
        os.kill(busiest, signal.SIGSTOP)
        try:
            wait_until(lambda: is_done(run))
        finally:
            os.kill(busiest, signal.SIGCONT)
    run.refresh_from_db()
    assert run.status == "completed"
    assert_as_calm(run)


def _cpu(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])
