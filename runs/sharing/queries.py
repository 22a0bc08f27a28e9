"""Reading links. Members reach them through their run; everyone else through the token alone."""

from datetime import datetime
from typing import Any

import orjson
from django.db.models import Q, QuerySet
from django.utils import timezone

from common.ids import named_id
from runs import queries
from runs.models import ResultVersion, Run, Sample
from runs.models.sharing import Share
from runs.sharing.links import token_sha256
from runs.sharing.rights import benchmarks_with_samples, private_refusal
from workspaces.models import Workspace


def shares_of(run: Run) -> QuerySet[Share]:
    """The run's links, revoked and expired ones too, the newest first."""
    return Share.objects.filter(run=run).select_related("result").order_by("-id")


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
    if not result.comparison:
        return None
    stored = orjson.loads(result.comparison)
    found = stored if isinstance(stored, list) else stored.get("comparisons", [stored])
    comparison: dict[str, Any] | None = next((each for each in found if each.get("profile_id") == profile_id), None)
    return comparison if comparison and len(comparison["ranking"]) + len(comparison["excluded"]) > 1 else None


def shared_samples(run: Run) -> QuerySet[Sample]:
    """The run's samples of the benchmarks that let samples go, in the order they were stored."""
    return queries.samples_of(run).filter(run_benchmark__in=[each.pk for each in benchmarks_with_samples(run)])


def workspace_of(share: Share) -> Workspace:
    """The workspace that shared. Reads `run__workspace`."""
    return share.run.workspace
