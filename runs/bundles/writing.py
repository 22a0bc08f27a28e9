"""Writing a bundle as a stream: memory holds one part of the samples, whatever the run's size.

Times in the ZIP are those of the result, and nothing in it says when it was asked for. It is made once (`runs.exports.storing`), so that
its signature stays, whatever keys come later.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import Any

import orjson

from common.canonical import canonical_json
from common.encoding import encode_json
from common.signing import encoded, public_keys, sign
from runs.bundles import layout
from runs.documents import instant
from runs.exports.documents import summary_document
from runs.exports.samples import parts_of_samples
from runs.exports.source import Source
from runs.exports.texts import kept_words, status_words
from runs.exports.zipping import zip_parts
from runs.models import RunBenchmark
from runs.strata import strata

_README = """# Result {number} of run {run_id}

{benchmarks}: {models}. Frozen {frozen}. {status}

| file | what it is | its SHA-256 is also |
| --- | --- | --- |
| `result.json` | the figures, as they were frozen when the run ended | the result's own, in the report and the API |
| `quote.json` | what was agreed: models, prices, limits, tasks | the quote's |
| `summary.json` | identities, versions, settings, routing and the price of each model | |
{files}
| `manifest.json` | size and SHA-256 of every file above, and of this one | |
| `manifest.sig` | the Ed25519 signature of `manifest.json`, and the public key it can be checked with | |
{kept}
To check it, give this ZIP to {site}/verify. It recomputes the hashes, grades the answers again where they are here, and
computes scores and intervals anew. Without us: `verify_bundle.py`, which the same page offers, does it with Python's standard
library alone:

    python3 verify_bundle.py this.zip --key <public key, base64>

Take the public key from {site}/.well-known/evalrouter-keys.json, not from this
file: whoever changes a bundle can change the key in it too.

An error is missing, not wrong: a score is over the graded answers, and `result.json` says how many there are of how many.
"""
_BENCHMARK = "| `{file}` | the manifest of {profile_id}: prompts, grader, options, licence | the version's |"
_TASKS = "| `{file}` | where the tasks of {profile_id} stand in the run, with the group and cluster of each, for the intervals | |"
_SAMPLES = "| `samples.jsonl` | one line a sample: verdict, usage, and what was asked and answered as far as licences and retention go | |"


def bundle_parts(source: Source) -> Iterator[bytes]:
    """The ZIP in parts."""
    folder = f"evalrouter-{source.run.public_id}-v{source.result.number}"
    return zip_parts(_signed(source), folder=folder, at=source.result.created_at)


def _signed(source: Source) -> Iterator[tuple[str, Iterable[bytes]]]:
    """The files, and then the manifest of what was taken of them, and its signature."""
    stated: list[dict[str, Any]] = []
    for name, content in _files(source):
        yield name, _noted(name, content, stated)
    result = source.result
    document = {
        "schema": layout.SCHEMA,
        "run_id": str(source.run.public_id),
        "result_version": result.number,
        "result_sha256": result.sha256,
        "created_at": instant(result.created_at),
        "answers_expired": not source.has_answers,
        "files": stated,
    }
    manifest = canonical_json(document).encode()
    yield layout.MANIFEST, [manifest]
    used, signature = sign(manifest)
    signed = {"algorithm": "Ed25519", "key_id": used, "public_key": encoded(public_keys()[used]), "signature": encoded(signature)}
    yield layout.SIGNATURE, [encode_json(signed)]


def _noted(name: str, content: Iterable[bytes], stated: list[dict[str, Any]]) -> Iterator[bytes]:
    """The content, whose size and hash are stated when all of it was taken."""
    digest, size = hashlib.sha256(), 0
    for part in content:
        digest.update(part)
        size += len(part)
        yield part
    stated.append({"path": name, "bytes": size, "sha256": digest.hexdigest()})


def _files(source: Source) -> Iterator[tuple[str, Iterable[bytes]]]:
    yield layout.README, [_readme(source).encode()]
    yield layout.RESULT, [source.result.document.encode()]
    yield layout.SUMMARY, [encode_json(summary_document(source))]
    yield layout.QUOTE, [source.run.quote.plan.encode()]
    for benchmark in source.benchmarks:
        yield layout.benchmark_file(benchmark.index), [benchmark.version.manifest.encode()]
    for benchmark in source.open_benchmarks:
        yield layout.tasks_file(benchmark.index), [orjson.dumps(_tasks(source, benchmark))]
    if source.open_benchmarks:
        yield layout.SAMPLES, (b"".join(encode_json(sample) + b"\n" for sample in part) for part in parts_of_samples(source))


def _tasks(source: Source, benchmark: RunBenchmark) -> dict[str, Any]:
    """What the figures are computed with beside the samples. Groups and clusters are in the order of the benchmark's tasks."""
    groups, clusters = strata(benchmark)
    return {
        "benchmark_index": benchmark.index,
        "manifest_sha256": benchmark.version.sha256,
        "grader": source.manifests[benchmark.index]["grader"],
        "first_position": benchmark.first_position,
        "tasks": benchmark.task_count,
        "attempts": source.attempts,
        "groups": groups,
        "clusters": clusters,
    }


def _readme(source: Source) -> str:
    named = [(layout.benchmark_file(each.index), layout.tasks_file(each.index), each) for each in source.benchmarks]
    files = [_BENCHMARK.format(file=file, profile_id=each.version.profile_id) for file, _, each in named]
    files += [_TASKS.format(file=file, profile_id=each.version.profile_id) for _, file, each in named if each in source.open_benchmarks]
    return _README.format(
        number=source.result.number,
        run_id=source.run.public_id,
        benchmarks=", ".join(benchmark.version.profile_id for benchmark in source.benchmarks),
        models=", ".join(subject.label for subject in source.subjects),
        frozen=instant(source.result.created_at),
        status=status_words(source),
        files="\n".join([*files, *([_SAMPLES] if source.open_benchmarks else [])]),
        kept="".join(f"\n{each}\n" for each in kept_words(source)),
        site=source.site_url,
    )
