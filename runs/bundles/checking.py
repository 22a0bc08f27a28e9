"""Checking a bundle that anybody may have made: nothing in it is believed, and nothing of it is unpacked unbounded.

The files are hashed as they are read and compared with the signed manifest. Then the answers are graded again where answer and reference
are there, and every figure is computed anew from the samples by the function that computed it first.
"""

import base64
import hashlib
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Any

import orjson

from catalog.graders import compile_grader
from common.signing import is_signed_by
from runs.bundles import layout
from runs.bundles.recomputing import Recomputed, Tasks, differing_figures, figures_of, is_composite_right, profiles_of, sample_columns

MAX_BYTES = 64 * 1024 * 1024
"""Of a bundle that is checked here. A larger one is checked by the script."""
MAX_UNPACKED = 1024 * 1024 * 1024
MAX_FILES = 40
MAX_SMALL = 16 * 1024 * 1024
MAX_LINE = 8 * 1024 * 1024
MAX_SAMPLES = 200_000
PART = 256 * 1024


class BadBundle(ValueError):
    """The file is no bundle; the message says what it is instead."""


@dataclass(slots=True)
class FileCheck:
    path: str
    stated_sha256: str
    found_sha256: str
    size: int

    @property
    def is_good(self) -> bool:
        return self.stated_sha256 == self.found_sha256


@dataclass(slots=True)
class Check:
    """What came of it. `problems` is empty exactly where everything that is here checks out."""

    run_id: str = ""
    result_version: int = 0
    benchmark: str = ""
    key_id: str = ""
    is_ours: bool = False
    """Signed by a key of this deployment."""
    is_signed: bool = False
    """Signed by the key that the bundle itself names, whoever's that is."""
    files: list[FileCheck] = field(default_factory=list)
    subjects: list[Recomputed] = field(default_factory=list)
    samples: int = 0
    regraded: int = 0
    """Answers that were graded again; the others have no answer or no reference here."""
    has_samples: bool = False
    problems: list[str] = field(default_factory=list)


def check_bundle(file: IO[bytes], keys: Mapping[str, bytes]) -> Check:
    """Check the ZIP against the public keys, by ID, that count as this deployment's. Raises `BadBundle` where it is none."""
    try:
        with zipfile.ZipFile(file) as archive:
            return _Checking(archive, keys).run()
    except (zipfile.BadZipFile, zipfile.LargeZipFile, NotImplementedError, RuntimeError, EOFError, OSError) as error:
        raise BadBundle("This is not a ZIP that can be read.") from error


class _Checking:
    def __init__(self, archive: zipfile.ZipFile, keys: Mapping[str, bytes]) -> None:
        self.archive, self.keys, self.check = archive, keys, Check()
        self.entries = self._entries()
        self.small: dict[str, bytes] = {}
        self.unpacked = 0

    def run(self) -> Check:
        manifest = self._manifest()
        stated = {str(each["path"]): each for each in manifest["files"] if isinstance(each, dict) and "path" in each}
        self.check.run_id = str(manifest.get("run_id", ""))[:60]
        self.check.result_version = manifest["result_version"] if isinstance(manifest.get("result_version"), int) else 0
        for name in sorted(set(self.entries) - set(stated) - {layout.MANIFEST, layout.SIGNATURE}):
            self._problem(f"{name} is in the bundle and not in its manifest.")
        for name in sorted(set(stated) - set(self.entries)):
            self._problem(f"{name} is in the manifest and not in the bundle.")
        names = [name for name in stated if name in self.entries]
        for name in names:
            if name != layout.SAMPLES:
                self._small(name)
        result, indexes = self._document(layout.RESULT), layout.benchmarks_in(names)
        self.check.benchmark = ", ".join(profiles_of(result)[: layout.MOST_BENCHMARKS])
        tasks = {index: self._tasks(index) for index in indexes if layout.tasks_file(index) in names}
        columns: dict[tuple[int, int], Any] = {}
        if layout.SAMPLES in names:
            self.check.has_samples = True
            columns = self._samples({index: self._document(layout.benchmark_file(index)) for index in indexes}, tasks)
        for name in names:
            self._compare_hash(name, stated[name])
        if manifest.get("result_sha256") != self._found(layout.RESULT):
            self._problem("result.json is not the result that the manifest names.")
        if self.check.has_samples:
            self._recompute(result, tasks, columns)
        return self.check

    def _entries(self) -> dict[str, zipfile.ZipInfo]:
        """The files by name, without the folder they lie in."""
        infos = [info for info in self.archive.infolist() if not info.is_dir()]
        if not infos or len(infos) > MAX_FILES:
            raise BadBundle("This ZIP is not a bundle of a result.")
        names = [info.filename.rpartition("/")[2] for info in infos]
        if len(set(names)) != len(names):
            raise BadBundle("This ZIP has two files of one name.")
        if layout.MANIFEST not in names or layout.RESULT not in names:
            raise BadBundle("This ZIP is not a bundle of a result: it has no manifest.json and result.json.")
        if sum(info.file_size for info in infos) > MAX_UNPACKED:
            raise BadBundle("This ZIP would unpack to more than a bundle may.")
        return dict(zip(names, infos, strict=True))

    def _problem(self, text: str) -> None:
        self.check.problems.append(text)

    def _read(self, name: str) -> Iterator[bytes]:
        """The file in parts. Sizes in a ZIP are only claims, so what comes out is counted."""
        try:
            with self.archive.open(self.entries[name]) as file:
                while part := file.read(PART):
                    self.unpacked += len(part)
                    if self.unpacked > MAX_UNPACKED:
                        raise BadBundle("This ZIP unpacks to more than a bundle may.")
                    yield part
        except (zipfile.BadZipFile, zlib.error, EOFError) as error:
            raise BadBundle(f"{name} was changed or damaged: it does not unpack.") from error

    def _small(self, name: str) -> bytes:
        if name not in self.small:
            parts, size = [], 0
            for part in self._read(name):
                size += len(part)
                if size > MAX_SMALL:
                    raise BadBundle(f"{name} is larger than it may be.")
                parts.append(part)
            self.small[name] = b"".join(parts)
            self._note_hash(name, hashlib.sha256(self.small[name]).hexdigest(), size)
        return self.small[name]

    def _note_hash(self, name: str, sha256: str, size: int) -> None:
        if name not in {layout.MANIFEST, layout.SIGNATURE}:
            self.check.files.append(FileCheck(name, "", sha256, size))

    def _found(self, name: str) -> str:
        return next((file.found_sha256 for file in self.check.files if file.path == name), "")

    def _compare_hash(self, name: str, stated: Mapping[str, Any]) -> None:
        file = next(each for each in self.check.files if each.path == name)
        file.stated_sha256 = str(stated.get("sha256", ""))[:64]
        if not file.is_good:
            self._problem(f"{name} was changed: its SHA-256 is not the one in the manifest.")

    def _document(self, name: str) -> dict[str, Any]:
        if name not in self.entries:
            return {}
        try:
            document = orjson.loads(self._small(name))
        except orjson.JSONDecodeError:
            raise BadBundle(f"{name} is not JSON.") from None
        if not isinstance(document, dict):
            raise BadBundle(f"{name} is not what a bundle has there.")
        return document

    def _manifest(self) -> dict[str, Any]:
        manifest = self._document(layout.MANIFEST)
        if manifest.get("schema") != layout.SCHEMA or not isinstance(manifest.get("files"), list):
            raise BadBundle(f"Its manifest is not that of an {layout.SCHEMA}.")
        signature = self._document(layout.SIGNATURE)
        self.check.key_id = str(signature.get("key_id", ""))[:40]
        text, own = _bytes(signature.get("signature")), _bytes(signature.get("public_key"))
        known = self.keys.get(self.check.key_id)
        self.check.is_ours = known is not None and is_signed_by(known, self.small[layout.MANIFEST], text)
        self.check.is_signed = self.check.is_ours or is_signed_by(own, self.small[layout.MANIFEST], text)
        if known is not None and not self.check.is_ours:
            self._problem("manifest.json was changed: the signature is not that of this manifest.")
        elif not self.check.is_signed:
            self._problem("manifest.json is not signed, or its signature is not that of this manifest.")
        elif known is None:
            self._problem("It was signed by a key that is not one of this deployment's, so this deployment does not vouch for it.")
        return manifest

    def _tasks(self, index: int) -> Tasks:
        name = layout.tasks_file(index)
        try:
            return Tasks.of(self._document(name))
        except (KeyError, TypeError, ValueError):
            raise BadBundle(f"{name} is not what a bundle has there.") from None

    def _samples(self, benchmarks: Mapping[int, Mapping[str, Any]], tasks: Mapping[int, Tasks]) -> dict[tuple[int, int], Any]:
        """The samples' columns by subject and benchmark; answers are graded again on the way."""
        columns: dict[tuple[int, int], Any] = {}
        graders = {index: _grader_of(index, benchmark) for index, benchmark in benchmarks.items()}
        digest, size, differing, without_tasks = hashlib.sha256(), 0, [], 0
        for line in self._lines(digest):
            size += len(line) + 1
            try:
                sample = orjson.loads(line)
                key = int(sample["subject_index"]), int(sample["benchmark_index"])
                its = tasks.get(key[1])
                if its is not None:
                    sample_columns(columns.setdefault(key, []), sample, its.first_position)
            except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
                raise BadBundle(f"Line {self.check.samples + 1} of samples.jsonl is not a sample.") from None
            self.check.samples += 1
            if self.check.samples > MAX_SAMPLES:
                raise BadBundle(f"It has more than {MAX_SAMPLES:,} samples; check it with the script.")
            if its is None or key[1] not in graders:
                without_tasks += 1
                continue
            grade = graders[key[1]]
            if sample["status"] == "graded" and sample.get("response") is not None and sample.get("reference") is not None:
                self.check.regraded += 1
                try:
                    verdict = grade(str(sample["response"]), sample["reference"], sample.get("choices"))
                except Exception:
                    raise BadBundle(f"Line {self.check.samples} of samples.jsonl cannot be graded.") from None
                if verdict.correct != sample["correct"]:
                    differing.append(str(sample.get("task_id"))[:80])
        if without_tasks:
            self._problem(f"{without_tasks:,} samples are of a benchmark whose tasks or manifest are not here.")
        if differing:
            more = f" and {len(differing) - 5:,} more" if len(differing) > 5 else ""
            self._problem(f"The grader gives another verdict on {', '.join(differing[:5])}{more}.")
        self._note_hash(layout.SAMPLES, digest.hexdigest(), size)
        return columns

    def _lines(self, digest: Any) -> Iterator[bytes]:
        rest = b""
        for part in self._read(layout.SAMPLES):
            digest.update(part)
            *lines, rest = (rest + part).split(b"\n")
            yield from lines
            if len(rest) > MAX_LINE:
                raise BadBundle("A line of samples.jsonl is longer than a sample may be.")
        if rest:
            yield rest

    def _recompute(self, result: Mapping[str, Any], tasks: Mapping[int, Tasks], columns: Mapping[tuple[int, int], Any]) -> None:
        try:
            figures = figures_of(result, tasks, columns)
        except (KeyError, TypeError, ValueError, IndexError):
            self._problem("result.json, the tasks' files and samples.jsonl do not fit together.")
            return
        self.check.subjects = figures
        for each in figures:
            where = f" on {each.profile_id}" if each.profile_id else ""
            for name in differing_figures(each):
                self._problem(f"{each.label}{where}: {name} is not what the samples give.")
        try:
            if len({each.profile_id for each in figures}) == len(profiles_of(result)) and not is_composite_right(result, figures):
                self._problem("The composite score is not what the samples give.")
        except (KeyError, TypeError, ValueError):
            self._problem("The composite score of result.json is none.")


def _grader_of(index: int, benchmark: Mapping[str, Any]) -> Any:
    try:
        return compile_grader(benchmark["grader"], benchmark["grader_options"])
    except Exception:
        raise BadBundle(f"{layout.benchmark_file(index)} does not name a grader that is known here.") from None


def _bytes(text: object) -> bytes:
    try:
        return base64.b64decode(str(text), validate=True)
    except ValueError:
        return b""
