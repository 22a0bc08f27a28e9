"""Notes and people's verdicts: what they are about, who may, what they leave alone, and the second figure."""

from collections.abc import Callable
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from common.errors import Conflict, Forbidden, Refused
from runs.documents import result_document
from runs.models import ResultVersion, Run, Sample
from runs.models.reviews import LONGEST_NOTE, LONGEST_REASON, Note, VerdictOverride
from runs.queries import get_result, get_run
from runs.reviews import actions
from runs.reviews.actions import add_note, change_note, delete_note, override_verdict, withdraw_override
from runs.reviews.figures import second_figures
from runs.reviews.queries import count_reviews, current_override, marks_of, notes_in, overrides_in, samples_of_answers
from tests.factories import make_key, make_route, make_user, make_version
from tests.races import at_once
from tests.runs.test_continuing import continued, interrupted
from tests.runs.working import start, sums, work
from tests.standins.chat import ChatServer
from workspaces.actions import roll_api_key
from workspaces.actors import SYSTEM, Actor, actor_of_key, actor_of_user
from workspaces.enums import Role, Scope
from workspaces.models import AuditEntry, User, Workspace

type Start = Callable[..., Run]


@pytest.fixture
def run(workspace: Workspace, actor: Actor) -> Run:
    """A model that is right on all ten tasks, beside a baseline."""
    version = make_version()
    with ChatServer(sums) as server:
        route = make_route("example/right", endpoint=server.url)
        request: dict[str, Any] = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}
        made = work(start(workspace, actor, subjects=[route.route_id, "most-frequent-answer"], **request))
    return get_run(workspace, made.public_id)


def sample_at(run: Run, subject: int = 0, position: int = 0) -> Sample:
    return Sample.objects.select_related("task", "subject", "run_benchmark", "origin").get(
        subject__run=run, subject__index=subject, position=position
    )


def figures(run: Run) -> list[dict[str, Any]]:
    return second_figures(get_run(run.workspace, run.public_id), get_result(run))


def audited(workspace: Workspace) -> list[str]:
    kinds = ("note.", "verdict.")
    return [each.action for each in AuditEntry.objects.filter(workspace=workspace).order_by("id") if each.action.startswith(kinds)]


# Notes


def test_a_note_is_written_changed_and_deleted_by_its_author(run: Run, member: User) -> None:
    author, sample = actor_of_user(member), sample_at(run)
    note = add_note(run, sample, actor=author, text="  The question has two answers.\r\nBoth are right.  ")
    assert (note.text, note.author_label, note.edited_at) == ("The question has two answers.\nBoth are right.", "member@example.org", None)
    assert marks_of([sample]).notes == {sample.pk: 1}
    assert change_note(note, actor=author, text="It has one.").edited_at is not None
    delete_note(note, actor=author)
    assert (marks_of([sample]).notes, Note.objects.count()) == ({}, 0)
    assert audited(run.workspace) == ["note.written", "note.changed", "note.deleted"]


def test_nobody_changes_anothers_note_and_an_admin_deletes_it(run: Run, member: User, workspace: Workspace) -> None:
    note = add_note(run, sample_at(run), actor=actor_of_user(member), text="Mine")
    other = actor_of_user(make_user(workspace=workspace, role=Role.MEMBER))
    admin = actor_of_user(make_user(workspace=workspace, role=Role.ADMIN))
    for actor in (other, admin):
        with pytest.raises(Forbidden):
            change_note(note, actor=actor, text="Theirs")
    with pytest.raises(Forbidden):
        delete_note(note, actor=other)
    delete_note(note, actor=admin)
    assert Note.objects.count() == 0


def test_a_former_member_and_a_viewer_write_nothing(run: Run, viewer: User, stranger: User) -> None:
    for person in (viewer, stranger):
        actor = actor_of_user(person)
        for act in (
            lambda actor=actor: add_note(run, sample_at(run), actor=actor, text="x"),
            lambda actor=actor: override_verdict(run, sample_at(run), actor=actor, correct=False, reason="x"),
            lambda actor=actor: withdraw_override(run, sample_at(run), actor=actor),
        ):
            with pytest.raises(Forbidden):
                act()
    assert (Note.objects.count(), VerdictOverride.objects.count(), audited(run.workspace)) == (0, 0, [])


def test_a_key_writes_by_its_scope_and_its_lineage_is_the_author(run: Run, workspace: Workspace) -> None:
    reading, _ = make_key(workspace, scopes=[Scope.EVAL_READ])
    writing, _ = make_key(workspace, label="CI")
    other, _ = make_key(workspace)
    with pytest.raises(Forbidden):
        add_note(run, sample_at(run), actor=actor_of_key(reading), text="x")
    note = add_note(run, sample_at(run), actor=actor_of_key(writing), text="x")
    assert (note.author_label, note.author) == ("key CI", None)
    for act in (lambda: change_note(note, actor=actor_of_key(other), text="y"), lambda: delete_note(note, actor=actor_of_key(other))):
        with pytest.raises(Forbidden):
            act()
    rolled, _ = roll_api_key(writing, actor=SYSTEM)
    change_note(note, actor=actor_of_key(rolled), text="y")
    delete_note(note, actor=actor_of_key(rolled))


@pytest.mark.parametrize("text", ["", " \n ", "a\0b", "x" * (LONGEST_NOTE + 1)])
def test_a_note_has_words(run: Run, actor: Actor, text: str) -> None:
    with pytest.raises(Refused) as refused:
        add_note(run, sample_at(run), actor=actor, text=text)
    assert (refused.value.code, list(refused.value.details)) == ("validation_error", ["text"])


@pytest.mark.parametrize("text", ["x" * LONGEST_NOTE, "\u202eright to left\u202c", "<script>alert(1)</script>", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 😀"])
def test_any_other_words_are_kept_as_they_are(run: Run, actor: Actor, text: str) -> None:
    assert Note.objects.get(pk=add_note(run, sample_at(run), actor=actor, text=text).pk).text == text


# Verdicts


def test_the_latest_verdict_counts_and_the_others_are_kept(run: Run, actor: Actor, member: User) -> None:
    sample = sample_at(run)
    override_verdict(run, sample, actor=actor, correct=False, reason="Right by chance")
    override_verdict(run, sample, actor=actor_of_user(member), correct=True, reason="No, it is right")
    override_verdict(run, sample, actor=actor, correct=False, reason="Look at the units")
    said = [(each.correct, each.reason, each.is_current, each.withdrawn_at) for each in overrides_in(run).order_by("id")]
    assert said == [
        (False, "Right by chance", False, None),
        (True, "No, it is right", False, None),
        (False, "Look at the units", True, None),
    ]
    withdraw_override(run, sample, actor=actor_of_user(member))
    assert current_override(sample) is None
    last = overrides_in(run).order_by("id").last()
    assert last is not None
    assert (last.withdrawn_by_label, last.withdrawn_at is not None) == ("member@example.org", True)
    withdraw_override(run, sample, actor=actor)  # nothing to withdraw is no error, and no entry
    assert audited(run.workspace) == ["verdict.given"] * 3 + ["verdict.withdrawn"]


def test_saying_the_same_again_is_nothing_new(run: Run, actor: Actor) -> None:
    first = override_verdict(run, sample_at(run), actor=actor, correct=False, reason="No")
    assert override_verdict(run, sample_at(run), actor=actor, correct=False, reason=" No ").pk == first.pk
    assert (VerdictOverride.objects.count(), audited(run.workspace)) == (1, ["verdict.given"])


@pytest.mark.parametrize("reason", ["", "  ", "x" * (LONGEST_REASON + 1), "\0"])
def test_a_verdict_has_a_reason(run: Run, actor: Actor, reason: str) -> None:
    with pytest.raises(Refused) as refused:
        override_verdict(run, sample_at(run), actor=actor, correct=False, reason=reason)
    assert list(refused.value.details) == ["reason"]


def test_an_error_has_no_verdict_to_differ_from(run: Run, actor: Actor) -> None:
    sample = sample_at(run)
    Sample.objects.filter(pk=sample.pk).update(status="error", correct=None, score=None, error_code="timeout")
    with pytest.raises(Conflict) as refused:
        override_verdict(run, sample_at(run), actor=actor, correct=True, reason="x")
    assert refused.value.code == "not_graded"
    add_note(run, sample_at(run), actor=actor, text="Why did it fail?")  # words on it are welcome


# What they leave alone, and the second figure


def test_the_second_figure_by_hand(run: Run, actor: Actor) -> None:
    """Ten of ten by the grader, eight of ten with two changed: Wilson 8/10 is 0.4902 to 0.9433."""
    assert figures(run) == []
    for position in (1, 4):
        override_verdict(run, sample_at(run, 0, position), actor=actor, correct=False, reason="No")
    override_verdict(run, sample_at(run, 0, 5), actor=actor, correct=True, reason="Yes")
    (figure,) = figures(run)
    assert {name: figure[name] for name in ("index", "changed", "made_correct", "made_incorrect", "confirmed")} == {
        "index": 0,
        "changed": 2,
        "made_correct": 0,
        "made_incorrect": 2,
        "confirmed": 1,
    }
    assert (figure["reviewed"]["value"], figure["reviewed"]["n"]) == (0.8, 10)
    interval = figure["reviewed"]["interval"]
    assert (round(interval["low"], 4), round(interval["high"], 4), interval["method"]) == (0.4902, 0.9433, "wilson")
    withdraw_override(run, sample_at(run, 0, 1), actor=actor)
    assert figures(run)[0]["reviewed"]["value"] == 0.9  # what is kept of a figure is not told of other verdicts


def test_a_wrong_answer_made_right_counts_up(run: Run, actor: Actor) -> None:
    wrong = Sample.objects.select_related("subject").filter(subject__run=run, subject__index=1, correct=False).order_by("position")[0]
    right = Sample.objects.filter(subject__run=run, subject__index=1, correct=True).count()
    override_verdict(run, wrong, actor=actor, correct=True, reason="The reference is wrong")
    (figure,) = figures(run)
    assert (figure["index"], figure["made_correct"], figure["reviewed"]["value"]) == (1, 1, (right + 1) / 10)


def test_without_changes_it_is_the_result_to_the_digit(run: Run, actor: Actor) -> None:
    for subject in (0, 1):
        sample = sample_at(run, subject, 2)
        override_verdict(run, sample, actor=actor, correct=bool(sample.correct), reason="I agree")
    frozen = {each["index"]: each["headline"] for each in result_document(get_result(run))["subjects"]}
    assert {each["index"]: each["grader"] for each in figures(run)} == frozen
    assert {each["index"]: each["reviewed"] for each in figures(run)} == frozen


def test_clusters_widen_the_second_figure_as_they_do_the_result(workspace: Workspace, actor: Actor) -> None:
    rows = [
        {"values": {"question": f"What is {n} + {n}?"}, "reference": str(2 * n if n % 3 else 1), "cluster": f"c{n // 2}"} for n in range(24)
    ]
    version = make_version(rows=rows)
    with ChatServer(sums) as server:
        request: dict[str, Any] = {"selection": {"profile_ids": [version.profile_id]}, "coverage": {"mode": "full"}}
        run = work(start(workspace, actor, subjects=[make_route(endpoint=server.url).route_id], **request))
    sample = sample_at(run, 0, 1)
    override_verdict(run, sample, actor=actor, correct=bool(sample.correct), reason="I agree")
    headline = result_document(get_result(run))["subjects"][0]["headline"]
    assert (figures(run)[0]["reviewed"], headline["interval"]["method"]) == (headline, "clustered_t")


def test_nothing_frozen_is_touched(run: Run, actor: Actor) -> None:
    before = ResultVersion.objects.get(run=run)
    sample = sample_at(run)
    columns = ("correct", "score", "extracted", "reason", "status")
    verdict = [getattr(sample, name) for name in columns]
    override_verdict(run, sample, actor=actor, correct=False, reason="No")
    add_note(run, sample, actor=actor, text="Words")
    after = ResultVersion.objects.get(run=run)
    assert (after.document, after.sha256, after.comparison) == (before.document, before.sha256, before.comparison)
    assert [getattr(sample_at(run), name) for name in columns] == verdict
    assert ResultVersion.objects.filter(run=run).count() == 1


# Copies of an answer


@pytest.mark.django_db
def test_what_is_said_of_an_answer_is_said_of_its_copies(start_sums: Start, actor: Actor) -> None:
    """Given on the first run it holds in the one that continues it, and given there it holds in the first."""
    first = interrupted(start_sums)
    before, after = sample_at(first, 0, 0), sample_at(first, 0, 1)
    override_verdict(first, before, actor=actor, correct=False, reason="Given on the original")
    second = continued(first, actor)
    copy_of_before, copy_of_after = sample_at(second, 0, 0), sample_at(second, 0, 1)
    assert (copy_of_before.origin_id, copy_of_after.origin_id) == (before.pk, after.pk)
    add_note(second, copy_of_after, actor=actor, text="Given on the copy")
    marks = marks_of([copy_of_before, copy_of_after])
    assert {key: each.run_id for key, each in marks.overrides.items()} == {before.pk: first.pk}
    assert (marks.notes, marks_of([after]).notes) == ({after.pk: 1}, {after.pk: 1})
    for run in (first, second):
        run = get_run(run.workspace, run.public_id)
        assert count_reviews(run) == {"overrides": 1, "notes": 1}
        assert [each.text for each in notes_in(run)] == ["Given on the copy"]
        own = samples_of_answers(run, [before.pk])[before.pk]
        assert own.subject.run_id == run.pk
    withdraw_override(second, copy_of_before, actor=actor)
    assert current_override(before) is None


# Two at once


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="a race")
def test_of_verdicts_at_once_one_counts(run: Run, actor: Actor) -> None:
    sample = sample_at(run)

    def give(number: int) -> object:
        return override_verdict(run, sample, actor=actor, correct=False, reason=f"Number {number}").pk

    given = at_once(6, give)
    assert len(set(given)) == VerdictOverride.objects.count() == 6
    assert VerdictOverride.objects.filter(is_current=True).count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.skipif(connection.vendor != "postgresql", reason="a race")
def test_without_the_lock_some_of_them_are_refused(run: Run, actor: Actor, monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: they meet between looking and writing, and the database keeps the second one out."""
    sample = sample_at(run)
    monkeypatch.setattr(actions, "_locked_answer", lambda of: of)
    monkeypatch.setattr(actions.VerdictOverride.objects, "filter", meeting(actions.VerdictOverride.objects.filter))
    given = at_once(2, lambda number: override_verdict(run, sample, actor=actor, correct=False, reason=f"Number {number}").pk)
    assert given.count("IntegrityError") == 1


def meeting(real: Callable[..., Any]) -> Callable[..., Any]:
    """A look-up that nobody leaves before both have made it."""
    barrier = Barrier(2)

    def look(*args: Any, **kwargs: Any) -> Any:
        found = real(*args, **kwargs)
        if "answer" not in kwargs:
            return found
        first = found.select_related("run").first()
        barrier.wait(timeout=20)

        class Found:
            def select_related(self, *_: str) -> "Found":
                return self

            def first(self) -> Any:
                return first

        return Found()

    return look
