"""Writing a bundle as a stream: memory holds one part of the samples, whatever the run's size.

The same result version gives the same bytes as long as its answers are kept: times in the ZIP are those of the result, and nothing in it
says when it was asked for.
"""

import hashlib
import io
import zipfile
from collections.abc import Iterator
from typing import Any

import orjson

from catalog.enums import ExportPolicy
from catalog.queries import manifest_of
from common.canonical import canonical_json
from common.encoding import encode_json
from common.signing import encoded, public_keys, sign
from runs.bundles import layout
from runs.documents import instant
from runs.exporting import parts_of_samples, summary_document
from runs.models import ResultVersion, Run
from runs.strata import strata

_README = """# Result {number} of run {run_id}

{benchmark}, {models}. Frozen {frozen}.

| file | what it is | its SHA-256 is also |
| --- | --- | --- |
| `result.json` | the figures, as they were frozen when the run ended | the result's own, in the report and the API |
| `quote.json` | what was agreed: models, prices, limits, tasks | the quote's |
| `benchmark.json` | the version's manifest: prompts, grader, options, licence | the version's |
| `summary.json` | identities, settings, routing and the price of each model | |
{samples}
| `manifest.json` | size and SHA-256 of every file above | |
| `manifest.sig` | the Ed25519 signature of `manifest.json`, and the public key it can be checked with | |

To check it, give this ZIP to {site}/verify. It recomputes the hashes, grades the answers again where they are here, and
computes scores and intervals anew. Without us: `verify_bundle.py`, which the same page offers, does it with Python's standard
library alone. Take the public key from {site}/.well-known/evalrouter-keys.json, not from this
file: whoever changes a bundle can change the key in it too.

An error is missing, not wrong: a score is over the graded answers, and `result.json` says how many there are of how many.
"""
_SAMPLES = """| `samples.jsonl` | one line a sample: verdict, usage, and what was asked and answered as far as the licence goes | |
| `tasks.json` | group and cluster of each task by its position, for the intervals | |"""
_NO_SAMPLES = "| no samples | the benchmark's licence lets only aggregates leave | |"


class _Pipe(io.RawIOBase):
    """What was written and not yet taken."""

    def __init__(self) -> None:
        self._written = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._written += data
        return len(data)

    def take(self) -> bytes:
        taken = bytes(self._written)
        self._written.clear()
        return taken


def bundle_parts(run: Run, result: ResultVersion, *, site_url: str) -> Iterator[bytes]:
    """The ZIP in parts."""
    pipe = _Pipe()
    stated: list[dict[str, Any]] = []
    with zipfile.ZipFile(pipe, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in _files(run, result, site_url):
            digest, size = hashlib.sha256(), 0
            with archive.open(_entry(name, result), "w", force_zip64=True) as file:
                for part in content:
                    digest.update(part)
                    size += len(part)
                    file.write(part)
                    yield pipe.take()
            stated.append({"path": name, "bytes": size, "sha256": digest.hexdigest()})
        document = {
            "schema": layout.SCHEMA,
            "run_id": str(run.public_id),
            "result_version": result.number,
            "result_sha256": result.sha256,
            "created_at": instant(result.created_at),
            "files": stated,
        }
        manifest = canonical_json(document).encode()
        archive.writestr(_entry(layout.MANIFEST, result), manifest)
        used, signature = sign(manifest)
        archive.writestr(
            _entry(layout.SIGNATURE, result),
            encode_json(
                {"algorithm": "Ed25519", "key_id": used, "public_key": encoded(public_keys()[used]), "signature": encoded(signature)}
            ),
        )
    yield pipe.take()


def _entry(name: str, result: ResultVersion) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(f"evalrouter-{result.run.public_id}-v{result.number}/{name}", result.created_at.timetuple()[:6])
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.external_attr = 0o644 << 16
    return entry


def _files(run: Run, result: ResultVersion, site_url: str) -> Iterator[tuple[str, Iterator[bytes]]]:
    version = run.benchmarks.all()[0].version
    has_samples = version.export_policy != ExportPolicy.AGGREGATE
    readme = _README.format(
        number=result.number,
        run_id=run.public_id,
        benchmark=version.profile_id,
        models=", ".join(subject.label for subject in run.subjects.all()),
        frozen=instant(result.created_at),
        samples=_SAMPLES if has_samples else _NO_SAMPLES,
        site=site_url,
    )
    yield layout.README, iter([readme.encode()])
    yield layout.RESULT, iter([result.document.encode()])
    yield layout.SUMMARY, iter([encode_json(summary_document(run, result))])
    yield layout.QUOTE, iter([run.quote.plan.encode()])
    yield layout.BENCHMARK, iter([version.manifest.encode()])
    if has_samples:
        groups, clusters = strata(run.benchmarks.all()[0])
        tasks = {"manifest_sha256": version.sha256, "grader": manifest_of(version)["grader"], "groups": groups, "clusters": clusters}
        yield layout.TASKS, iter([orjson.dumps(tasks)])
        yield layout.SAMPLES, _lines(run)


def _lines(run: Run) -> Iterator[bytes]:
    for part in parts_of_samples(run):
        yield b"".join(encode_json(sample) + b"\n" for sample in part)
