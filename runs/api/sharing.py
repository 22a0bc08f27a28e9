"""Links to a run's result, and the leaderboards of public benchmarks."""

from typing import Any
from uuid import UUID

from django.http import Http404
from rest_framework.response import Response

from catalog.queries import get_benchmark, latest_of, versions_of
from common.pages import page_of
from common.serializers import ListQuery, page_of_shape
from runs import queries as run_queries
from runs.permissions import can_share_run
from runs.serializers.sharing import LeaderboardQuery, LeaderboardShape, ShareBody, ShareShape
from runs.sharing import queries
from runs.sharing.actions import create_share, revoke_share
from runs.sharing.choices import Choices
from runs.sharing.documents import leaderboard_document, share_document
from runs.sharing.rights import check_shareable
from workspaces.api_base import ApiView, PublicView, operation, page_document
from workspaces.permissions import can_read, can_run


class ShareList(ApiView):
    tag = "sharing"

    @operation("list_shares", "A run's links, newest first", needs=can_read, query=ListQuery, answers={200: page_of_shape(ShareShape)})
    def get(self, run_id: UUID) -> dict[str, Any]:
        """Revoked and expired ones too."""
        run = run_queries.get_run(self.workspace, run_id)
        with_link = can_share_run(self.actor, run)
        page = page_of(queries.shares_of(run), cursor=self.query.get("cursor"), limit=self.query["limit"])
        return page_document(page, lambda share: share_document(share, with_link=with_link))

    @operation("create_share", "Make a link to a result", needs=can_run, body=ShareBody, answers={201: ShareShape}, bears_secret=True)
    def post(self, run_id: UUID) -> dict[str, Any]:
        """Whoever has the link reads the result version it pins, and of the workspace only what is chosen here. Refused for private
        benchmarks (`private_benchmark`), and with samples where only aggregates may leave (`samples_not_permitted`).
        """
        run = run_queries.get_run(self.workspace, run_id)
        check_shareable(run)
        body = self.body
        share = create_share(
            run,
            run_queries.get_result(run, body.get("version")),
            actor=self.actor,
            choices=Choices(
                title=body["title"],
                shows_samples=body["shows_samples"],
                shows_cost=body["shows_cost"],
                shows_workspace=body["shows_workspace"],
                labels={each["subject_index"]: each["label"] for each in body["labels"]},
            ),
            expires_at=body.get("expires_at"),
        )
        return share_document(share, with_link=True)


class ShareDetail(ApiView):
    tag = "sharing"

    @operation("revoke_share", "Revoke a link at once", needs=can_run, answers={204: None})
    def delete(self, run_id: UUID, share_id: UUID) -> Response:
        """Who opens it from now on finds nothing. Revoking again does nothing."""
        run = run_queries.get_run(self.workspace, run_id)
        revoke_share(queries.get_share(run, share_id), actor=self.actor)
        return Response(status=204)


class Leaderboard(PublicView):
    tag = "catalog"

    @operation("get_leaderboard", "What owners published on a benchmark", query=LeaderboardQuery, answers={200: LeaderboardShape})
    def get(self, slug: str) -> dict[str, Any]:
        """Like protocols in one table, paired task by task; a private benchmark has no tables."""
        versions = list(versions_of(get_benchmark(self.reader_workspace, slug.lower())))
        wanted = self.query.get("version")
        version = latest_of(versions) if wanted is None else next((each for each in versions if each.number == wanted), None)
        if wanted is not None and version is None:
            raise Http404
        return leaderboard_document(version)
