"""Reading links. Members reach them through their run; everyone else through the token alone."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from catalog.models import BenchmarkVersion, Task
from common.ids import named_id
from runs import queries
from runs.documents import comparisons_of
from runs.models import ResultVersion, Run, RunBenchmark, Sample, Subject
from runs.models.sharing import Publication, Share
from runs.sharing.links import token_sha256
from runs.sharing.rights import benchmarks_with_samples, private_refusal


def shares_of(run: Run) -> QuerySet[Share]:
    """The run's links, revoked and expired ones too, the newest first."""
    return Share.objects.filter(run=run).select_related("result", "run").defer("result__document", "result__comparison").order_by("-id")


def live_shares_of(run: Run, now: datetime) -> QuerySet[Share]:
    return shares_of(run).filter(_live(now))


def get_share(run: Run, share_id: object) -> Share:
    """A link of the run by its public ID. Raises `Share.DoesNotExist`."""
    return shares_of(run).get(public_id=named_id(share_id))


def _live(now: datetime) -> Q:
    return Q(revoked_at=None) & (Q(expires_at=None) | Q(expires_at__gt=now))


def find_shared(token: str) -> tuple[Share, Run]:
    """What the token of a live link opens, in a constant number of queries.

    Raises `Share.DoesNotExist` alike for an unknown, a revoked and an expired one, and for a run whose benchmarks are not all public.
    """
    share = Share.objects.filter(_live(timezone.now()), token_sha256=token_sha256(token)).select_related("result", "run__workspace").get()
    run = queries.get_run(share.run.workspace, share.run.public_id)
    if private_refusal(run):
        raise Share.DoesNotExist
    return share, run


def comparison_on(result: ResultVersion, profile_id: str) -> dict[str, Any] | None:
    """The frozen comparison of the result's models on one benchmark version; None where it has a single model."""
    comparison = next((each for each in comparisons_of(result) if each["profile_id"] == profile_id), None)
    return comparison if comparison and len(comparison["ranking"]) + len(comparison["excluded"]) > 1 else None


def shared_samples(run: Run) -> QuerySet[Sample]:
    """The run's samples of the benchmarks that let samples go, in the order they were stored."""
    return queries.samples_of(run).filter(run_benchmark__in=[each.pk for each in benchmarks_with_samples(run)])


def positions_around(run: Run, position: int) -> tuple[int | None, int | None]:
    """Positions of the tasks before and after that have samples, None at the ends. One query, by the index of each model's samples."""
    samples = Sample.objects.filter(subject=OuterRef("pk")).values("position")
    rows = Subject.objects.filter(run=run).annotate(
        before=Subquery(samples.filter(position__lt=position).order_by("-position")[:1]),
        after=Subquery(samples.filter(position__gt=position).order_by("position")[:1]),
    )
    found = list(rows.values_list("before", "after"))
    return max((a for a, _ in found if a is not None), default=None), min((b for _, b in found if b is not None), default=None)


# ── What is published ───────────────────────────────────────────────────────────────────────────────────────────────

MOST_READ = 500
"""Entries of one version, the newest, that a leaderboard is made of."""


def publications_of(result: ResultVersion) -> QuerySet[Publication]:
    """What of the result is published now, hidden entries too."""
    return Publication.objects.filter(result=result, withdrawn_at=None).select_related("version__benchmark", "subject").defer("scores")


def replaced_among(publications: Sequence[Publication]) -> set[int]:
    """The keys of those that a newer entry of the same workspace, model and protocol has taken the place of. One query."""
    models = {each.model for each in publications}
    workspaces = {each.workspace_id for each in publications}
    shown = Publication.objects.filter(workspace__in=workspaces, model__in=models, withdrawn_at=None, hidden_at=None)
    newest: dict[tuple[str, str], int] = {}
    for key, *what in shown.order_by("pk").values_list("pk", "model", "protocol_sha256"):
        newest[what[0], what[1]] = key
    return {each.pk for each in publications if newest.get((each.model, each.protocol_sha256), each.pk) > each.pk}


def hidden_entries_of(result: ResultVersion) -> list[tuple[int, int]]:
    """Subject and version of the result's entries that staff has hidden, withdrawn ones too."""
    return list(Publication.objects.filter(result=result, hidden_at__isnull=False).values_list("subject_id", "version_id"))


def get_publication(run: Run, publication_id: object) -> Publication:
    """An entry of the run by its public ID. Raises `Publication.DoesNotExist`."""
    found = Publication.objects.filter(result__run=run).select_related("workspace", "version__benchmark").defer("scores")
    return found.get(public_id=named_id(publication_id))


def shown_publications(version: BenchmarkVersion) -> list[Publication]:
    """The entries that everyone sees, the newest first: not withdrawn, not hidden, without their scores."""
    shown = Publication.objects.filter(version=version, withdrawn_at=None, hidden_at=None).select_related("result", "version", "subject")
    return list(shown.defer("scores", "result__document", "result__comparison").order_by("-id")[:MOST_READ])


def scores_of_publications(keys: Iterable[int]) -> dict[int, bytes]:
    """The packed scores of entries, by their keys."""
    rows = Publication.objects.filter(pk__in=list(keys)).values_list("pk", "scores")
    return {key: bytes(scores) for key, scores in rows}


def clusters_of(publication: Publication) -> list[str]:
    """The cluster of each of the entry's tasks in the version's order; empty where the version has none. Reads `version` and `subject`."""
    if not publication.version.has_clusters:
        return []
    benchmark = RunBenchmark.objects.get(run=publication.subject.run_id, version=publication.version_id)
    wanted = set(benchmark.ordinals())
    rows = Task.objects.filter(version=publication.version_id).order_by("ordinal").values_list("ordinal", "cluster")
    return [cluster for ordinal, cluster in rows if ordinal in wanted]
