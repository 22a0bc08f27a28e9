"""The leaderboard of a benchmark version: what owners published, like protocols together, and no rank that the tasks do not bear out.

Results of different workspaces on the same tasks are paired by task, by the same comparison as within a run. Which entries are compared,
and what came of it, is kept under the entries and their results' hashes, so that a page reads no scores twice.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.cache import cache

from catalog.models import BenchmarkVersion
from common.canonical import sha256_text
from runs.comparing import ComparedSubject, CompareInputs, compare
from runs.models.sharing import Publication
from runs.sharing.protocols import differences, unpack_scores
from runs.sharing.queries import clusters_of, scores_of_publications, shown_publications
from runs.statistics import ACCURACY, Metric

MOST_COMPARED = 20
"""The best entries of a table, by score, that are ranked; the others are listed below them."""
KEEP_SECONDS = 24 * 60 * 60
FORM = "1"
"""Of what is kept: another number where it changes."""
PER_TASKS = 1_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A row of a table. `rank` is the comparison's row, None for what is not ranked."""

    publication: Publication
    rank: Mapping[str, Any] | None

    @property
    def cost_microusd(self) -> int | None:
        """Of 1,000 tasks, rounded; None where nothing is charged, as for a baseline."""
        charge, tasks = self.publication.figures["charge_microusd"], self.publication.protocol_document["tasks"]
        return None if charge is None else round(int(charge) * PER_TASKS / tasks)


@dataclass(frozen=True, slots=True)
class Table:
    """Entries under one protocol. `differences` from the version's own are empty for the first table."""

    protocol: Mapping[str, Any]
    sha256: str
    differences: Sequence[Mapping[str, str]]
    entries: Sequence[Entry]
    comparison: Mapping[str, Any] | None

    @property
    def is_judged(self) -> bool:
        """Whether ranks and letters say something: two entries or more, and few tasks that not all have finished."""
        compared = self.comparison
        return compared is not None and compared["bounds"] is None and len(compared["ranking"]) > 1

    @property
    def is_cut(self) -> bool:
        """Whether there are more entries than are ranked."""
        return len(self.entries) > MOST_COMPARED


def leaderboard_of(version: BenchmarkVersion) -> list[Table]:
    """The tables of the version, its own protocol first, then those with the most entries. Of what is new the scores are read."""
    if version.benchmark.is_private:
        return []
    tables: dict[str, list[Publication]] = {}
    for publication in _newest_of_each(shown_publications(version)):
        tables.setdefault(publication.protocol_sha256, []).append(publication)
    ranked = {sha256: sorted(its, key=_by_score)[:MOST_COMPARED] for sha256, its in tables.items()}
    comparisons = _comparisons(version, ranked)
    found = [_table(version, sha256, its, comparisons[sha256]) for sha256, its in tables.items()]
    return sorted(found, key=lambda table: (len(table.differences), -len(table.entries), table.sha256))


def _newest_of_each(publications: Sequence[Publication]) -> list[Publication]:
    """Of each workspace, model and protocol the entry that was published last; the earlier ones gave way to it."""
    newest: dict[tuple[int, str, str], Publication] = {}
    for publication in publications:
        newest.setdefault((publication.workspace_id, publication.model, publication.protocol_sha256), publication)
    return list(newest.values())


def _by_score(publication: Publication) -> tuple[Any, ...]:
    """Score, then cost, then the newer one."""
    value = publication.figures["headline"]["value"]
    return value is None, -(value or 0.0), int(publication.figures["charge_microusd"] or 0), -publication.pk


def _table(version: BenchmarkVersion, sha256: str, publications: Sequence[Publication], comparison: dict[str, Any]) -> Table:
    protocol = publications[0].protocol_document
    by_key = {publication.pk: publication for publication in publications}
    ranked = [Entry(by_key[row["key"]], row) for row in comparison["ranking"]]
    there = {entry.publication.pk for entry in ranked}
    others = [Entry(publication, None) for publication in sorted(publications, key=_by_score) if publication.pk not in there]
    return Table(protocol, sha256, differences(protocol, output_limit=version.max_output_tokens), [*ranked, *others], comparison)


def _comparisons(version: BenchmarkVersion, ranked: Mapping[str, Sequence[Publication]]) -> dict[str, dict[str, Any]]:
    """The comparison of each table's best entries, kept or computed now. A ranking's rows bear the entry's `key`."""
    names = {sha256: _name(its) for sha256, its in ranked.items()}
    kept: dict[str, dict[str, Any]] = cache.get_many(names.values())
    missing = {sha256: its for sha256, its in ranked.items() if names[sha256] not in kept}
    if missing:
        scores = scores_of_publications(each.pk for its in missing.values() for each in its)
        made = {names[sha256]: _compare(version, its, scores) for sha256, its in missing.items()}
        cache.set_many(made, KEEP_SECONDS)
        kept |= made
    return {sha256: kept[names[sha256]] for sha256 in ranked}


def _name(publications: Sequence[Publication]) -> str:
    """Under which the comparison is kept: the entries, the results they are from, and their places."""
    parts = "\n".join(f"{each.public_id} {each.result.sha256}" for each in publications)
    return f"leaderboard:{FORM}:{sha256_text(parts)}"


def _compare(version: BenchmarkVersion, publications: Sequence[Publication], packed: Mapping[int, bytes]) -> dict[str, Any]:
    """`runs.comparing.compare` over the entries, each by its place in `publications`."""
    protocol = publications[0].protocol_document
    names = [each.label for each in publications]
    subjects = [
        ComparedSubject(
            place,
            each.label if names.count(each.label) == 1 else f"{each.label} ({each.publisher})",
            unpack_scores(packed[each.pk]),
            int(each.figures["charge_microusd"] or 0),
        )
        for place, each in enumerate(publications)
    ]
    document = compare(
        CompareInputs(
            "",
            version.profile_id,
            subjects,
            _metric(protocol),
            clusters_of(publications[0]),
            attempts=protocol["attempts"],
            population=protocol["population"],
        )
    )
    ranking = [{**row, "key": publications[row["subject_index"]].pk} for row in document["ranking"]]
    return {**document, "ranking": ranking}


def _metric(protocol: Mapping[str, Any]) -> Metric:
    """Several attempts at a task are one value, their mean, and that is a grade between right and wrong."""
    if protocol["attempts"] == 1:
        return ACCURACY
    return Metric(ACCURACY.key, ACCURACY.name, is_binary=False)
