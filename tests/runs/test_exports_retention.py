"""Rights and retention of exports: what the licence keeps is in no file, and what models said outlives its retention in none."""

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.files.storage import default_storage
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from catalog.models import BenchmarkVersion
from common.errors import Refused
from common.signing import public_keys
from gateway.models import CallContent
from runs.bundles import check_bundle
from runs.exports import making
from runs.exports.formats import FORMAT_NAMES, FORMATS
from runs.exports.source import Source
from runs.exports.storing import chunks_of, kept_export
from runs.models import Export, Run
from runs.retention import expire_content
from tests import factories
from tests.runs.handwork import work_out
from tests.runs.test_bundles import by_script
from tests.runs.working import start
from tests.standins.chat import ChatServer
from workspaces.actors import Actor
from workspaces.models import User, Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick")]
type SignIn = Callable[[User], Client]

QUESTION, ANSWER, REFERENCE = "quokka-question", "walrus-answer", "tapir-reference"
WITH_SAMPLES = [name for name, format in FORMATS.items() if format.has_samples]


@pytest.fixture
def run(workspace: Workspace, actor: Actor) -> Run:
    """A model and a baseline on four tasks whose texts are seen wherever they leak; every answer is wrong."""
    rows = [{"values": {"question": f"{QUESTION} {n}"}, "reference": f"{REFERENCE} {n}"} for n in range(4)]
    version = factories.make_version(rows=rows, grader="exact_match")
    with ChatServer(lambda _messages: ANSWER) as server:
        factories.make_route("example/small", endpoint=server.url)
        return work_out(start(workspace, actor, benchmark=version.profile_id, subjects=["example/small"], coverage={"mode": "full"}))


def made(run: Run, wanted: str) -> bytes:
    run = Run.objects.get(pk=run.pk)
    return b"".join(chunks_of(kept_export(run, run.results.get(), wanted)))


def unpacked(content: bytes) -> bytes:
    """The file's text, and those of all files in it where it is a ZIP."""
    if content[:2] != b"PK":
        return content
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return b"\n".join(archive.read(name) for name in archive.namelist())


def holds(run: Run, wanted: str) -> tuple[bool, bool, bool]:
    """Whether question, answer and reference are in it."""
    text = unpacked(made(run, wanted)).decode()
    return QUESTION in text, ANSWER in text, REFERENCE in text


@pytest.mark.parametrize("wanted", WITH_SAMPLES)
def test_full_policy_lets_everything_leave(run: Run, wanted: str) -> None:
    assert holds(run, wanted) == (wanted != "csv", True, True)  # the table has no prompts


@pytest.mark.parametrize("wanted", WITH_SAMPLES)
def test_references_that_the_licence_keeps_are_in_no_file(run: Run, wanted: str) -> None:
    BenchmarkVersion.objects.update(export_policy="no_answers")
    assert holds(run, wanted) == (wanted != "csv", True, False)


@pytest.mark.parametrize("wanted", FORMAT_NAMES)
def test_aggregates_alone_hold_no_samples(run: Run, wanted: str) -> None:
    BenchmarkVersion.objects.update(export_policy="aggregate")
    if wanted == "csv":
        with pytest.raises(Refused) as refused:
            made(run, wanted)
        assert (refused.value.code, Export.objects.count()) == ("export_not_permitted", 0)
        return
    assert holds(run, wanted) == (False, False, False)
    assert Export.objects.get().has_answers is False


def test_page_says_what_the_licence_keeps(run: Run, owner: User, sign_in: SignIn) -> None:
    BenchmarkVersion.objects.update(export_policy="aggregate")
    text = sign_in(owner).get(f"/evaluations/{run.public_id}/exports").content.decode()
    assert ("Its licence keeps them" in text, "lets only aggregates leave" in text) == (True, True)
    report = unpacked(made(run, "html")).decode()
    assert "lets only aggregates leave, so none of its samples are here" in report


def over(run: Run) -> None:
    """Let the retention's time be over; the daily task has not come by yet."""
    Run.objects.filter(pk=run.pk).update(content_expires_at=timezone.now() - timedelta(seconds=1))


@pytest.mark.parametrize("wanted", FORMAT_NAMES)
def test_end_of_retention_deletes_files_with_answers_and_leaves_the_others(
    run: Run, wanted: str, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    before = made(run, wanted)
    key = Export.objects.get().storage_key
    over(run)
    with django_capture_on_commit_callbacks(execute=True):
        expire_content()
    has_answers = wanted in WITH_SAMPLES
    assert (CallContent.objects.count(), default_storage.exists(key)) == (0, not has_answers)
    after = made(run, wanted)
    assert (ANSWER in unpacked(after).decode(), after == before) == (False, not has_answers)
    assert made(run, wanted) == after


@pytest.mark.parametrize("wanted", WITH_SAMPLES)
def test_file_past_its_retention_is_not_served_before_the_daily_task_either(
    run: Run, wanted: str, owner: User, sign_in: SignIn, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    made(run, wanted)
    key = Export.objects.get().storage_key
    over(run)
    with django_capture_on_commit_callbacks(execute=True):
        answer = sign_in(owner).get(f"/evaluations/{run.public_id}/export/{wanted}")
    name = f"evalrouter-{run.public_id}-v1-without-answers{FORMATS[wanted].suffix}"
    assert answer["Content-Disposition"] == f'attachment; filename="{name}"'
    text = unpacked(b"".join(answer.streaming_content)).decode()  # type: ignore[attr-defined]
    assert (ANSWER in text, default_storage.exists(key), CallContent.objects.count()) == (False, False, 4)


def test_what_is_made_after_it_says_so_and_keeps_the_verdicts(run: Run, tmp_path: Path) -> None:
    over(run)
    exported = json.loads(made(run, "json"))
    assert (exported["answers_expired"], len(exported["samples"]), "is deleted" in exported["note"]) == (True, 4, True)
    assert {(row["response"], row["extracted"], row["correct"]) for row in exported["samples"]} == {(None, None, False)}
    rows = list(csv.DictReader(io.StringIO(made(run, "csv").decode())))
    assert {(row["answers_expired"], row["extracted"], row["response"], row["correct"]) for row in rows} == {("true", "", "", "false")}
    assert "what the models said is deleted" in made(run, "html").decode()
    bundle = made(run, "bundle")
    check = check_bundle(io.BytesIO(bundle), public_keys())
    assert (check.problems, check.samples, check.regraded) == ([], 4, 0)
    assert (by_script(bundle, tmp_path)[0], "what the models said is deleted" in unpacked(bundle).decode()) == (0, True)
    for wanted in ("inspect", "lm-eval"):
        text = unpacked(made(run, wanted)).decode()
        assert ('"answers_expired":true' in text, QUESTION in text) == (True, False)


def test_page_tells_that_the_answers_are_gone(run: Run, owner: User, sign_in: SignIn) -> None:
    made(run, "json")
    over(run)
    text = sign_in(owner).get(f"/evaluations/{run.public_id}/exports").content.decode()
    assert ("Without what the models said" in text, 'class="hash"' in text) == (True, False)


@pytest.mark.parametrize("by_task", [True, False], ids=["the task", "the clock"])
def test_file_that_was_begun_before_the_end_does_not_come_to_be_after_it(run: Run, monkeypatch: pytest.MonkeyPatch, by_task: bool) -> None:
    """The end comes while the file is written: with the row deleted by the task, or before the task has come by."""
    real, begun = making._WRITERS["json"], []

    def slow(source: Source) -> Iterator[bytes]:
        content = list(real(source))
        begun.append(ANSWER in b"".join(content).decode())
        over(run)
        if by_task:
            expire_content()
        yield from content

    monkeypatch.setitem(making._WRITERS, "json", slow)
    content = made(run, "json")
    assert (begun, ANSWER in content.decode(), Export.objects.get().has_answers) == ([True, False], False, False)
    folder = Path(default_storage.path(f"exports/{run.workspace.public_id}/{run.public_id}"))
    assert [path.name for path in folder.iterdir()] == [Path(Export.objects.get().storage_key).name]
