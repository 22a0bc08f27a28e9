"""Exports are made once: a version in a format has the same bytes, whatever happens around it, and they are its checksum's."""

import base64
import csv
import hashlib
import io
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import transaction
from django.test import Client
from django.utils import timezone
from pytest_django import DjangoCaptureOnCommitCallbacks

from catalog.models import ModelRoute
from common.errors import Conflict
from common.ids import new_id
from runs.exports import making, storing
from runs.exports.formats import FORMAT_NAMES, FORMATS, Format
from runs.exports.source import Source
from runs.exports.storing import chunks_of, kept_export
from runs.models import Export, ResultVersion, Run
from tests import factories
from tests.runs.handwork import work_out
from tests.runs.working import sums
from tests.standins.chat import ChatServer
from workspaces.models import User

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick")]
type Start = Callable[..., Run]
type SignIn = Callable[[User], Client]


@pytest.fixture
def run(start_sums: Start) -> Run:
    with ChatServer(sums) as server:
        return work_out(start_sums(tasks=6, endpoint=server.url, name="First name"))


@pytest.fixture
def client(owner: User, sign_in: SignIn) -> Client:
    return sign_in(owner)


def body(response: Any) -> bytes:
    return b"".join(response.streaming_content)


def kept(run: Run, wanted: str = "json") -> tuple[Export, bytes]:
    export = kept_export(Run.objects.get(pk=run.pk), run.results.get(), wanted)
    return export, b"".join(chunks_of(export))


@pytest.mark.parametrize("wanted", FORMAT_NAMES)
def test_page_and_api_give_the_same_bytes_with_their_checksum(client: Client, run: Run, wanted: str) -> None:
    page = client.get(f"/evaluations/{run.public_id}/export/{wanted}")
    content = body(page)
    digest = hashlib.sha256(content)
    suffix = FORMATS[wanted].suffix
    assert (page["Content-Type"], page["ETag"], page["Content-Length"], page["Content-Disposition"]) == (
        FORMATS[wanted].content_type,
        f'"{digest.hexdigest()}"',
        str(len(content)),
        f'attachment; filename="evalrouter-{run.public_id}-v1{suffix}"',
    )
    assert page["Repr-Digest"] == f"sha-256=:{base64.b64encode(digest.digest()).decode()}:"
    again = client.get(f"/v1/runs/{run.public_id}/export?format={wanted}&version=1")
    assert (body(again), again["ETag"]) == (content, page["ETag"])
    assert (Export.objects.get().sha256, Export.objects.get().bytes) == (digest.hexdigest(), len(content))


def test_who_has_the_file_is_told_that_it_has_not_changed(client: Client, run: Run) -> None:
    address = f"/evaluations/{run.public_id}/export/summary"
    etag = client.get(address)["ETag"]
    same = client.get(address, headers={"If-None-Match": etag})
    assert (same.status_code, same.content, same["ETag"]) == (304, b"", etag)
    other = client.get(address, headers={"If-None-Match": '"something else"'})
    assert (other.status_code, other["ETag"]) == (200, etag)


@pytest.mark.parametrize("wanted", FORMAT_NAMES)
def test_nothing_that_changes_later_changes_the_file(run: Run, wanted: str, settings: Any) -> None:
    first = kept(run, wanted)
    Run.objects.filter(pk=run.pk).update(name="Another name")
    route = ModelRoute.objects.get()
    factories.make_rate(route, input_rate=9_000_000, output_rate=9_000_000)
    ModelRoute.objects.update(name="renamed", route_id="example/renamed")
    run.subjects.update(label="renamed")
    settings.SIGNING_KEYS = ["a new key", *settings.SIGNING_KEYS]
    settings.SITE_URL = "https://moved.example.org"
    assert kept(run, wanted) == first
    # What is made only now, of the same version, says what is now so: the control.
    Export.objects.all().delete()
    is_same = kept(run, wanted)[1] == first[1]
    assert is_same is (wanted == "figures")


def test_code_that_writes_otherwise_does_not_touch_what_was_made(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    first = kept(run)
    monkeypatch.setitem(making._WRITERS, "json", lambda _source: iter([b"the next release"]))
    assert kept(run) == first
    assert kept(run, "csv")[1] != b""
    Export.objects.all().delete()
    assert kept(run)[1] == b"the next release"


def test_file_that_the_storage_lost_or_cut_is_made_again(run: Run) -> None:
    export, content = kept(run)
    default_storage.delete(export.storage_key)
    again, same = kept(run)
    assert (same, again.sha256, again.pk == export.pk) == (content, export.sha256, False)
    Path(default_storage.path(again.storage_key)).write_bytes(content[:10])
    assert kept(run)[1] == content


def test_claim_that_ran_out_is_taken_over_and_its_file_thrown_away(run: Run) -> None:
    dead = Export.objects.create(
        result=run.results.get(), format="json", has_answers=True, storage_key="exports/dead", claimed_until=timezone.now()
    )
    default_storage.save("exports/dead", io.BytesIO(b"half of a fi"))  # type: ignore[arg-type]
    export, content = kept(run)
    assert (export.pk, export.claim == dead.claim, default_storage.exists("exports/dead")) == (dead.pk, False, False)
    assert hashlib.sha256(content).hexdigest() == export.sha256


def test_live_claim_of_another_is_waited_for_and_not_for_ever(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "WAIT_SECONDS", 0.02)
    monkeypatch.setattr(storing, "LOOK_SECONDS", 0.005)
    until = timezone.now() + timedelta(minutes=5)
    Export.objects.create(result=run.results.get(), format="json", has_answers=True, storage_key="exports/x", claimed_until=until)
    with pytest.raises(Conflict) as refused:
        kept(run)
    assert refused.value.code == "export_in_progress"


def test_who_lost_the_claim_while_writing_throws_its_file_away(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A holder that was stalled comes back when another has taken over: only the other's file is kept."""
    real, keys = making._WRITERS["json"], []

    def stalled(source: Source) -> Iterator[bytes]:
        yield b"stalled: "
        if not keys:
            mine = Export.objects.get()
            keys.append(mine.storage_key)
            Export.objects.filter(pk=mine.pk).update(claim=new_id(), claimed_until=timezone.now())
        yield from real(source)

    monkeypatch.setitem(making._WRITERS, "json", stalled)
    export, content = kept(run)
    assert (Export.objects.count(), export.storage_key == keys[0], default_storage.exists(keys[0])) == (1, False, False)
    assert hashlib.sha256(content).hexdigest() == export.sha256


def test_writing_that_fails_leaves_nothing_and_can_be_tried_again(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(_source: Source) -> Iterator[bytes]:
        yield b"some of it"
        raise OSError("the disk is full")

    with monkeypatch.context() as patched:
        patched.setitem(making._WRITERS, "json", fails)
        with pytest.raises(OSError, match="full"):
            kept(run)
    assert Export.objects.count() == 0
    assert kept(run)[0].made_at is not None


def test_claim_is_renewed_while_the_file_is_written(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storing, "RENEW_SECONDS", 0.0)
    renewed: list[Any] = []

    def slow(_source: Source) -> Iterator[bytes]:
        for _ in range(3):
            yield b"x"
            renewed.append(Export.objects.get().claimed_until)

    monkeypatch.setitem(making._WRITERS, "json", slow)
    kept(run)
    assert renewed == sorted(set(renewed))


def test_file_goes_with_its_row(run: Run, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks) -> None:
    export, _ = kept(run)
    assert default_storage.exists(export.storage_key)
    with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
        ResultVersion.objects.filter(run=run).delete()
    assert (Export.objects.count(), default_storage.exists(export.storage_key)) == (0, False)


def test_files_of_a_workspace_lie_under_its_own_folder(run: Run) -> None:
    export, _ = kept(run)
    assert export.storage_key.startswith(f"exports/{run.workspace.public_id}/{run.public_id}/")


def test_stranger_finds_neither_the_list_nor_a_file(stranger: User, sign_in: SignIn, run: Run) -> None:
    kept(run)
    theirs = sign_in(stranger)
    for address in (
        f"/evaluations/{run.public_id}/exports",
        f"/evaluations/{run.public_id}/export/json",
        f"/v1/runs/{run.public_id}/export",
    ):
        assert theirs.get(address).status_code == 404


def test_list_says_what_each_file_holds_and_what_was_made(client: Client, run: Run) -> None:
    address = f"/evaluations/{run.public_id}/exports"
    text = client.get(address).content.decode()
    assert [format.title in text and format.holds in text for format in FORMATS.values()] == [True] * len(FORMATS)
    assert (text.count("not made yet"), text.count('class="hash"')) == (len(FORMATS), 0)
    export, _ = kept(run, "csv")
    fragment = client.get(address, headers={"HX-Request": "true"}).content.decode()
    assert (fragment.count("not made yet"), fragment.count(export.sha256), "<html" in fragment) == (len(FORMATS) - 1, 1, False)
    assert "What the models said is kept until" in fragment
    assert [client.get(f"{address}?version={number}").status_code for number in ("1", "2", "x")] == [200, 404, 404]
    assert client.get(f"/evaluations/{run.public_id}/export/csv?version=2").status_code == 404


def test_a_run_that_has_not_ended_has_no_files(client: Client, start_sums: Start) -> None:
    live = start_sums()
    assert client.get(f"/evaluations/{live.public_id}/exports").status_code == 404
    assert client.get(f"/evaluations/{live.public_id}/export/html").status_code == 404


def test_csv_cells_are_never_formulas(run: Run) -> None:
    run.subjects.update(label="=HYPERLINK(A1)")
    for wanted, column in (("csv", "subject"), ("figures", "subject")):
        rows = list(csv.DictReader(io.StringIO(kept(run, wanted)[1].decode())))
        assert [cell for row in rows for cell in row.values() if cell.startswith(("=", "+", "@"))] == []
        assert wanted == "figures" or rows[0][column] == "'=HYPERLINK(A1)"


def test_every_format_has_a_writer() -> None:
    assert list(making._WRITERS) == list(FORMAT_NAMES)
    assert all(isinstance(format, Format) and format.holds.endswith(".") for format in FORMATS.values())
