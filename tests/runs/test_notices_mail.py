"""E-mail about runs: to whom, when, and what it says."""

import smtplib
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core import mail
from django.core.mail import EmailMultiAlternatives
from django.utils import timezone
from pytest_django import Settings

from runs.actions import cancel_run
from runs.enums import Phase, SubjectStatus
from runs.models import Run, Subject
from runs.models.notices import NoticeEvent, NoticeMail
from runs.notices.actions import choose_notices
from runs.notices.mailing import LEASE, MOST_TRIES, WAITS, mail_due
from runs.notices.outbox import LONG_RUN, note_waiting
from runs.notices.sweeping import sweep_notices
from tests.factories import make_key, make_version
from tests.runs.handwork import execute, work_out
from tests.runs.noticing import BASELINES, begin_run, end_run, events
from tests.runs.working import sums, work
from tests.standins.chat import ChatServer, error_body
from tests.standins.http import Reply
from workspaces.actors import Actor, actor_of_key, actor_of_user
from workspaces.models import Membership, User, Workspace

pytestmark = pytest.mark.django_db


@pytest.fixture
def eager(member: User) -> Actor:
    """The member, who wants mail of everything."""
    choose_notices(member, actor=actor_of_user(member), ended="always", interrupted=True, waiting=True)
    return actor_of_user(member)


def mails() -> list[EmailMultiAlternatives]:
    """What was sent since this was last asked."""
    mail_due()
    found = [sent for sent in mail.outbox if isinstance(sent, EmailMultiAlternatives)]
    mail.outbox.clear()
    return found


def sent_to() -> list[tuple[list[str], str]]:
    return [(each.to, each.subject) for each in mails()]


def states() -> list[tuple[str, int]]:
    return list(NoticeMail.objects.order_by("id").values_list("state", "tries"))


def test_mail_goes_to_who_started_the_run_alone(workspace: Workspace, owner: User, viewer: User, eager: Actor) -> None:
    for person in (owner, viewer):
        choose_notices(person, actor=actor_of_user(person), ended="always", interrupted=True, waiting=True)
    end_run(workspace, eager)
    assert sent_to() == [(["member@example.org"], "Completed: Nightly")]
    assert (sent_to(), states()) == ([], [("sent", 1)])


def test_mail_says_result_coverage_spend_and_where_to_look(workspace: Workspace, eager: Actor, settings: Settings) -> None:
    run = end_run(workspace, eager, subjects=BASELINES[:1])
    (sent,) = mails()
    href = f"{settings.SITE_URL}/evaluations/{run.public_id}"
    benchmark = run.benchmarks.get().version
    lines = [line for line in sent.body.splitlines() if line]
    score = lines.pop(1)
    assert score.startswith("random-choice") or score.lower().startswith("random")
    assert lines == [
        "The evaluation Nightly is complete.",
        f"{benchmark.benchmark.name} ({benchmark.profile_id}): all 10 tasks",
        "10 of 10 answers; $0.00 spent.",
        href,
        "You get this mail because you started the run. What you are told is your choice:",
        f"{settings.SITE_URL}/settings/notices",
        "EvalRouter",
        settings.SITE_URL,
    ]
    assert sent.extra_headers == {"List-Unsubscribe": f"<{settings.SITE_URL}/settings/notices>"}
    (html, kind) = sent.alternatives[0]
    assert (kind, f'href="{href}"' in str(html), score in str(html).replace("&#x27;", "'")) == ("text/html", True, True)


def test_mail_of_several_models_says_what_their_comparison_says(workspace: Workspace, eager: Actor) -> None:
    end_run(workspace, eager)
    (sent,) = mails()
    assert sent.body.split("\n\n")[1].splitlines()[0].startswith("These 10 tasks cannot tell")


def test_mail_of_several_benchmarks_says_it_of_each(workspace: Workspace, eager: Actor) -> None:
    first, second = make_version(tasks=10), make_version(tasks=8)
    end_run(workspace, eager, name=None, selection={"profile_ids": [first.profile_id, second.profile_id]})
    (sent,) = mails()
    names = [each.benchmark.name for each in (first, second)]
    said, covered = (part.splitlines() for part in sent.body.split("\n\n")[1:3])
    assert sent.subject == f"Completed: {names[0]}, {names[1]}"
    assert [
        line.startswith(f"{name}: These {count} tasks cannot tell") for line, name, count in zip(said, names, (10, 8), strict=True)
    ] == [True] * 2
    assert covered == [
        f"{names[0]} ({first.profile_id}): all 10 tasks",
        f"{names[1]} ({second.profile_id}): all 8 tasks",
        "36 of 36 answers; $0.00 spent.",
    ]


def test_interrupted_run_says_what_is_left_and_how_to_go_on(workspace: Workspace, actor: Actor, eager: Actor) -> None:
    run = begin_run(workspace, eager)
    cancel_run(run, actor=actor)
    work(run)
    (sent,) = mails()
    assert (sent.subject, "Unfinished: 20 answers. It was cancelled." in sent.body, f"/v1/runs/{run.public_id}/continue" in sent.body) == (
        "Cancelled: Nightly", True, True
    )  # fmt: skip


def test_who_cancels_their_own_run_knows_of_it(workspace: Workspace, eager: Actor) -> None:
    run = begin_run(workspace, eager)
    cancel_run(run, actor=eager)
    work(run)
    assert (events(run), states()) == (["run.interrupted"], [])


def test_run_that_a_key_started_is_nobodys(workspace: Workspace, eager: Actor) -> None:
    key, _ = make_key(workspace)
    run = end_run(workspace, actor_of_key(key))
    assert (events(run), states()) == (["run.ended"], [])


@pytest.mark.parametrize(("ended", "minutes", "told"), [("long", 4, 0), ("long", 5, 1), ("never", 500, 0), ("always", 0, 1)])
def test_choice_decides_of_which_ended_runs_there_is_mail(workspace: Workspace, member: User, ended: str, minutes: int, told: int) -> None:
    actor = actor_of_user(member)
    choose_notices(member, actor=actor, ended=ended, interrupted=False, waiting=False)
    run = begin_run(workspace, actor)
    Run.objects.filter(pk=run.pk).update(created_at=timezone.now() - timedelta(minutes=minutes))
    work(run)
    assert (LONG_RUN, NoticeMail.objects.count()) == (timedelta(minutes=5), told)


def test_without_a_choice_only_long_and_interrupted_runs_are_told(workspace: Workspace, actor: Actor, member: User) -> None:
    end_run(workspace, actor_of_user(member))
    run = begin_run(workspace, actor_of_user(member))
    cancel_run(run, actor=actor)
    work(run)
    assert list(NoticeMail.objects.values_list("event__type", flat=True)) == ["run.interrupted"]


def _leave(user: User) -> None:
    Membership.objects.filter(user=user).delete()


def _deactivate(user: User) -> None:
    User.objects.filter(pk=user.pk).update(is_active=False)


def _unverify(user: User) -> None:
    user.emailaddress_set.update(verified=False)  # type: ignore[attr-defined]


def _move(user: User) -> None:
    """The address they sign in with is not the one that was shown to be theirs."""
    User.objects.filter(pk=user.pk).update(email="elsewhere@example.org")


@pytest.mark.parametrize("change", [_leave, _deactivate, _unverify, _move])
def test_who_is_no_member_or_has_no_verified_address_gets_nothing(workspace: Workspace, member: User, eager: Actor, change: Any) -> None:
    end_run(workspace, eager)
    change(member)
    assert (sent_to(), states()) == ([], [("dropped", 1)])


def test_mail_that_no_server_takes_is_tried_again_and_given_up(workspace: Workspace, eager: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: EmailMultiAlternatives, *_: Any, **__: Any) -> int:
        raise smtplib.SMTPServerDisconnected("the server is away")

    end_run(workspace, eager)
    with monkeypatch.context() as patched:
        patched.setattr(EmailMultiAlternatives, "send", refuse)
        before = timezone.now()
        assert (sent_to(), states()) == ([], [("pending", 1)])
        row = NoticeMail.objects.get()
        assert before + WAITS[0] <= row.next_try_at <= timezone.now() + WAITS[0]
        assert (sent_to(), states()) == ([], [("pending", 1)])
        for _ in range(MOST_TRIES):
            NoticeMail.objects.filter(state="pending").update(next_try_at=timezone.now())
            mail_due()
    assert (states(), NoticeMail.objects.get().last_error) == ([("failed", MOST_TRIES)], "SMTPServerDisconnected")


def test_mail_of_a_sender_that_died_is_sent_by_another(workspace: Workspace, eager: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    hinted: list[str] = []
    monkeypatch.setattr("runs.notices.sweeping.enqueue", lambda name, **_: hinted.append(name))
    end_run(workspace, eager)
    NoticeMail.objects.update(tries=1, next_try_at=timezone.now() + LEASE)
    sweep_notices()
    assert (sent_to(), hinted) == ([], [])
    NoticeMail.objects.update(next_try_at=timezone.now())
    sweep_notices()
    assert (hinted, sent_to()) == (["runs.mail_notices"], [(["member@example.org"], "Completed: Nightly")])


# ── Waiting ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def wait(run: Run, seconds: float, *indexes: int) -> None:
    """As the engine's store leaves a run of which these subjects have waited for so long."""
    since = timezone.now() - timedelta(seconds=seconds)
    Subject.objects.filter(run=run, index__in=indexes).update(status=SubjectStatus.WAITING, waiting_since=since)
    Run.objects.filter(pk=run.pk).update(phase=Phase.WAITING, started_at=since)


def go_on(run: Run) -> None:
    Subject.objects.filter(run=run).update(status=SubjectStatus.RUNNING, waiting_since=None)
    Run.objects.filter(pk=run.pk).update(phase=Phase.RUNNING)


def test_waiting_is_told_after_some_minutes_and_once_a_spell(workspace: Workspace, eager: Actor) -> None:
    run = begin_run(workspace, eager)
    wait(run, 310, 0)
    wait(run, 290, 1)  # the spell began when the last of them began to wait
    sweep_notices()
    assert events(run) == []
    wait(run, 301, 1)
    sweep_notices()
    sweep_notices(timezone.now() + timedelta(hours=1))
    assert events(run) == ["run.waiting"]
    assert sent_to() == [(["member@example.org"], "Waiting for its provider: Nightly")]
    Subject.objects.filter(run=run, index=1).update(status=SubjectStatus.STOPPED)  # the others' wait is the same spell
    sweep_notices()
    go_on(run)
    sweep_notices()
    assert events(run) == ["run.waiting"]
    NoticeEvent.objects.update(created_at=timezone.now() - timedelta(hours=1))
    wait(run, 400, 0)
    sweep_notices()
    assert events(run) == ["run.waiting"] * 2
    assert list(NoticeEvent.objects.order_by("id").values_list("number", flat=True)) == [1, 2]


def test_wait_that_is_over_is_not_told_any_more(workspace: Workspace, eager: Actor) -> None:
    run = begin_run(workspace, eager)
    wait(run, 400, 0, 1)
    sweep_notices()
    go_on(run)
    assert (sent_to(), states()) == ([], [("dropped", 1)])


def test_event_of_a_wait_says_since_when(workspace: Workspace, eager: Actor) -> None:
    run = begin_run(workspace, eager)
    wait(run, 400, 0, 1)
    event = note_waiting(run.pk, timezone.now())
    assert event is not None
    told = event.document["data"]["run"]
    assert (told["status"], told["result"], told["unfinished"]) == (run.status, None, 20)
    assert told["waiting_since"] == Subject.objects.filter(run=run)[0].waiting_since.isoformat().replace("+00:00", "Z")  # type: ignore[union-attr]
    assert note_waiting(run.pk, timezone.now()) is None


def test_run_that_waits_and_then_ends_tells_both(workspace: Workspace, eager: Actor) -> None:
    run = begin_run(workspace, eager)
    wait(run, 400, 0, 1)
    sweep_notices()
    go_on(run)
    work(run)
    assert events(run) == ["run.waiting", "run.ended"]


@pytest.mark.usefixtures("quick")
def test_run_whose_provider_is_away_is_told_by_the_engines_own_rows(
    workspace: Workspace, eager: Actor, settings: Settings, start_sums: Callable[..., Run]
) -> None:
    settings.ENGINE_RENEW_SECONDS = 0.02
    is_away = True
    with ChatServer(sums, reply=lambda asked: Reply(503, error_body("Gone."), hold=False) if is_away else None) as server:
        run = start_sums(tasks=30, endpoint=server.url, concurrency=10)
        execute(should_stop=lambda: server.stats.requests > 60)
        now = timezone.now()
        sweep_notices(now + timedelta(minutes=4))
        assert events(run) == []
        sweep_notices(now + timedelta(minutes=6))
        sweep_notices(now + timedelta(minutes=8))
        assert events(run) == ["run.waiting"]
        is_away = False
        work_out(run)
    assert events(run) == ["run.waiting", "run.ended"]
