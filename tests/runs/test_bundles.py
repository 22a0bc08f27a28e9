"""Bundles: what is in one, that it is the same each time, and that a change of any of it is named, by us and by the script."""

import hashlib
import io
import json
import subprocess
import sys
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import LazySettings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from catalog.models import BenchmarkVersion
from common.signing import encoded, public_keys, sign
from runs.bundles import BadBundle, bundle_parts, check_bundle
from runs.exports.source import Source
from runs.models import Run
from tests.runs.handwork import subject_of, work_out
from tests.runs.working import sums
from tests.standins.chat import Asked, ChatServer
from tests.standins.http import Reply
from workspaces.models import User

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("quick")]

SIGNED = [
    "README.md", "result.json", "summary.json", "quote.json", "benchmark-0.json", "tasks-0.json", "samples.jsonl", "manifest.json",
]  # fmt: skip
SCRIPT = Path(__file__).resolve().parents[2] / "docs" / "ci" / "verify_bundle.py"
type Start = Callable[..., Run]


@pytest.fixture
def run(start_sums: Start) -> Run:
    """Two models on twenty sums; one answers some of them wrongly."""

    def sometimes_wrong(messages: list[dict[str, str]]) -> str:
        return "The answer is 1." if messages[-1]["content"].count("3") else sums(messages)

    with ChatServer(models={"m0": sums, "m1": sometimes_wrong}) as server:
        return work_out(start_sums(tasks=20, routes=2, endpoint=server.url))


def bundle_of(run: Run) -> bytes:
    return b"".join(bundle_parts(Source(run, run.results.get())))


def files_of(bundle: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(bundle)) as archive:
        return {name.rpartition("/")[2]: archive.read(name) for name in archive.namelist()}


def zip_of(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(f"bundle/{name}", content)
    return buffer.getvalue()


def by_script(bundle: bytes, folder: Path, *, key: bytes | None = None) -> tuple[int, str]:
    path = folder / "bundle.zip"
    path.write_bytes(bundle)
    key = key or next(iter(public_keys().values()))
    # -I: neither this environment's packages nor this folder is there to be imported.
    done = subprocess.run([sys.executable, "-I", "-S", SCRIPT, path, "--key", encoded(key)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def test_bundle_checks_out_here_and_by_the_script(run: Run, tmp_path: Path) -> None:
    bundle = bundle_of(run)
    check = check_bundle(io.BytesIO(bundle), public_keys())
    assert (check.problems, check.is_ours, check.samples, check.regraded) == ([], True, 40, 40)
    assert check.run_id == str(run.public_id)
    right = [subject.correct for subject in run.subjects.order_by("index")]
    assert [each.found["counts"]["correct"] for each in check.subjects] == right
    assert right[0] == 20 > right[1]
    code, said = by_script(bundle, tmp_path)
    assert (code, "everything fits\n" in said, f"{right[1]} of 20" in said) == (0, True, True)


def test_files_have_the_hashes_that_are_stated_elsewhere_and_the_same_bytes_each_time(run: Run) -> None:
    bundle = bundle_of(run)
    files = files_of(bundle)
    stated = {each["path"]: each["sha256"] for each in json.loads(files["manifest.json"])["files"]}
    version = run.benchmarks.get().version
    assert (stated["result.json"], stated["quote.json"], stated["benchmark-0.json"]) == (
        run.results.get().sha256,
        run.quote.sha256,
        version.sha256,
    )
    assert bundle_of(Run.objects.get(pk=run.pk)) == bundle


@pytest.mark.parametrize("name", SIGNED)
def test_one_changed_byte_is_named(run: Run, tmp_path: Path, name: str) -> None:
    files = files_of(bundle_of(run))
    at = files[name].index(b"a", len(files[name]) // 2)
    files[name] = files[name][:at] + b"b" + files[name][at + 1 :]
    changed = zip_of(files)
    code, said = by_script(changed, tmp_path)
    try:
        problems = check_bundle(io.BytesIO(changed), public_keys()).problems
    except BadBundle as refused:  # it is no JSON of ours any more
        problems = [str(refused)]
    assert any(name in problem for problem in problems), problems
    assert code in {1, 2}
    assert code == 2 or name in said


def test_byte_that_changes_in_the_zip_itself_is_found(run: Run, tmp_path: Path) -> None:
    bundle = bundle_of(run)
    at = bundle.index(b"samples.jsonl") + 400
    damaged = bundle[:at] + bytes([bundle[at] ^ 1]) + bundle[at + 1 :]
    with pytest.raises(BadBundle, match=r"samples\.jsonl was changed or damaged"):
        check_bundle(io.BytesIO(damaged), public_keys())
    code, said = by_script(damaged, tmp_path)
    assert (code, "samples.jsonl was changed or damaged" in said) == (1, True)


def forged(run: Run, change: Callable[[dict[str, bytes]], None], settings: LazySettings) -> bytes:
    """A bundle that was changed and then signed by somebody else."""
    files = files_of(bundle_of(run))
    change(files)
    manifest = json.loads(files["manifest.json"])
    for each in manifest["files"]:
        each |= {"sha256": hashlib.sha256(files[each["path"]]).hexdigest(), "bytes": len(files[each["path"]])}
    manifest["result_sha256"] = next(each["sha256"] for each in manifest["files"] if each["path"] == "result.json")
    files["manifest.json"] = json.dumps(manifest).encode()
    ours, settings.SIGNING_KEYS = settings.SIGNING_KEYS, ["somebody else's"]
    used, signature = sign(files["manifest.json"])
    signed = {"algorithm": "Ed25519", "key_id": used, "public_key": encoded(public_keys()[used]), "signature": encoded(signature)}
    files["manifest.sig"] = json.dumps(signed).encode()
    settings.SIGNING_KEYS = ours
    return zip_of(files)


def better_score(files: dict[str, bytes]) -> None:
    result = json.loads(files["result.json"])
    result["subjects"][1]["headline"]["value"] = 1.0
    files["result.json"] = json.dumps(result).encode()


def better_verdicts(files: dict[str, bytes]) -> None:
    samples = [json.loads(line) for line in files["samples.jsonl"].splitlines()]
    for sample in samples:
        sample |= {"correct": True, "score": 1.0}
    files["samples.jsonl"] = b"".join(json.dumps(sample).encode() + b"\n" for sample in samples)


def fewer_samples(files: dict[str, bytes]) -> None:
    files["samples.jsonl"] = b"".join(files["samples.jsonl"].splitlines(keepends=True)[:-3])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (better_score, ": the score is not what the samples give."),
        (better_verdicts, "The grader gives another verdict on"),
        (fewer_samples, "the counts is not what the samples give."),
        (lambda _files: None, "signed by a key that is not one of this deployment's"),
    ],
)
def test_what_somebody_else_signed_is_not_vouched_for_and_its_lies_are_named(
    run: Run, settings: LazySettings, change: Callable[[dict[str, bytes]], None], problem: str
) -> None:
    check = check_bundle(io.BytesIO(forged(run, change, settings)), public_keys())
    assert (check.is_ours, check.is_signed) == (False, True)
    assert any("key that is not one of this deployment's" in each for each in check.problems)
    assert any(problem in each for each in check.problems), check.problems


def test_key_that_signed_before_still_counts(run: Run, settings: LazySettings) -> None:
    bundle = bundle_of(run)
    settings.SIGNING_KEYS = ["a new one", *settings.SIGNING_KEYS]
    assert check_bundle(io.BytesIO(bundle), public_keys()).problems == []
    settings.SIGNING_KEYS = ["a new one"]
    assert check_bundle(io.BytesIO(bundle), public_keys()).is_ours is False


def test_errors_are_missing_in_the_bundle_too(start_sums: Start, tmp_path: Path) -> None:
    def refuse(asked: Asked) -> Reply | None:
        return Reply(400, {"error": {"message": "no"}}) if "3" in asked.question else None

    with ChatServer(sums, reply=refuse) as server:
        run = work_out(start_sums(tasks=20, endpoint=server.url))
    assert 0 < subject_of(run).errors < 20
    check = check_bundle(io.BytesIO(bundle_of(run)), public_keys())
    assert check.problems == []
    assert by_script(bundle_of(run), tmp_path)[0] == 0


def test_licence_that_lets_aggregates_leave_alone_keeps_the_samples(run: Run, tmp_path: Path) -> None:
    BenchmarkVersion.objects.update(export_policy="aggregate")
    bundle = bundle_of(Run.objects.get(pk=run.pk))
    assert {"samples.jsonl", "tasks-0.json"} & set(files_of(bundle)) == set()
    check = check_bundle(io.BytesIO(bundle), public_keys())
    assert (check.problems, check.has_samples, check.subjects) == ([], False, [])
    assert by_script(bundle, tmp_path)[0] == 0


def test_licence_that_keeps_the_references_lets_the_figures_be_checked(run: Run) -> None:
    BenchmarkVersion.objects.update(export_policy="no_answers")
    check = check_bundle(io.BytesIO(bundle_of(Run.objects.get(pk=run.pk))), public_keys())
    assert (check.problems, check.samples, check.regraded) == ([], 40, 0)


NO_BUNDLES = {
    "empty": b"",
    "text": b"no zip",
    "another zip": zip_of({"a.txt": b"x"}),
    "broken manifest": zip_of({"manifest.json": b"{", "result.json": b"{}"}),
    "wrong manifest": zip_of({"manifest.json": b"[]", "result.json": b"{}"}),
}


@pytest.mark.parametrize("content", NO_BUNDLES.values(), ids=NO_BUNDLES)
def test_what_is_no_bundle_is_refused_in_words(client: Client, content: bytes) -> None:
    with pytest.raises(BadBundle):
        check_bundle(io.BytesIO(content), {})
    answer = client.post("/verify", {"bundle": SimpleUploadedFile("b.zip", content)})
    assert answer.status_code == 422
    assert "field-error" in answer.content.decode()


def test_zip_that_unpacks_to_too_much_is_refused_before_it_is_unpacked(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    files = files_of(bundle_of(run))
    files["summary.json"] = b" " * 40_000_000
    with pytest.raises(BadBundle, match="larger than it may be"):
        check_bundle(io.BytesIO(zip_of(files)), public_keys())
    monkeypatch.setattr("runs.bundles.checking.MAX_UNPACKED", 1_000_000)
    with pytest.raises(BadBundle, match="unpack"):
        check_bundle(io.BytesIO(zip_of(files)), public_keys())


def test_page_and_api_give_the_bundle_and_anybody_checks_it(
    run: Run, owner: User, sign_in: Callable[[User], Client], client: Client
) -> None:
    mine = sign_in(owner)
    given = mine.get(f"/evaluations/{run.public_id}/export/bundle")
    bundle = b"".join(given.streaming_content)  # type: ignore[attr-defined]
    assert (given["Content-Type"], bundle) == ("application/zip", bundle_of(run))
    assert b"".join(mine.get(f"/v1/runs/{run.public_id}/export?format=bundle").streaming_content) == bundle  # type: ignore[attr-defined]
    assert f'/evaluations/{run.public_id}/export/bundle"' in mine.get(f"/evaluations/{run.public_id}").content.decode()
    assert mine.get(f"/evaluations/{run.public_id}/export/pdf").status_code == 404
    checked = client.post("/verify", {"bundle": SimpleUploadedFile("b.zip", bundle)}).content.decode()
    assert ("It checks out" in checked, "20 of 20" in checked) == (True, True)
    assert client.get("/.well-known/evalrouter-keys.json").json()["keys"][0]["id"] == next(iter(public_keys()))
    assert client.get("/verify/verify_bundle.py").content == SCRIPT.read_bytes()


def test_checks_are_limited_by_size_and_number(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    assert client.post("/verify", {}).status_code == 422
    monkeypatch.setattr("evalrouter_site.verifying.MAX_BYTES", 10)
    assert client.post("/verify", {"bundle": SimpleUploadedFile("b.zip", b"x" * 70_000)}).status_code == 413
    monkeypatch.setattr("evalrouter_site.verifying.RATE", "1/hour")
    assert [client.post("/verify", {}).status_code for _ in range(2)] == [422, 429]


def test_memory_does_not_grow_with_the_samples(run: Run) -> None:
    """The samples are read, written and checked in parts."""
    tracemalloc.start()
    try:
        size = sum(len(part) for part in bundle_parts(Source(run, run.results.get())))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert size > 3_000
    assert peak < 20_000_000
