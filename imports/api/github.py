"""Imports from GitHub over HTTP, in three steps: what there is, a look at one file, and its import at the commit that was looked at."""

from typing import Any

from rest_framework.response import Response

from imports.actions.github import fetch_github
from imports.queries.github import list_refs, preview
from imports.serializers.github import (
    GithubImportBody,
    GithubImportShape,
    GithubPreviewBody,
    GithubPreviewShape,
    GithubRefsShape,
    GithubRepositoryBody,
    github_import_document,
    named_of,
    preview_document,
    refs_document,
)
from workspaces.api_base import ApiView, operation
from workspaces.permissions import can_import


class GithubRefs(ApiView):
    tag = "benchmark-imports"

    @operation(
        "list_github_refs",
        "Branches, tags and recent commits of a repository",
        needs=can_import,
        body=GithubRepositoryBody,
        answers={200: GithubRefsShape},
        refusals=(502,),
        in_transaction=False,
    )
    def post(self) -> dict[str, Any]:
        """A private repository is named by the workspace's connection and GitHub's number of the repository."""
        return refs_document(list_refs(self.workspace, named_of(self.body)))


class GithubPreview(ApiView):
    tag = "benchmark-imports"

    @operation(
        "preview_github_file",
        "The first rows of a data file of a repository",
        needs=can_import,
        body=GithubPreviewBody,
        answers={200: GithubPreviewShape},
        refusals=(502,),
        in_transaction=False,
    )
    def post(self) -> dict[str, Any]:
        """The revision is resolved to a commit, which the import then names. Nothing is stored."""
        found = preview(self.workspace, named_of(self.body), revision=self.body.get("revision") or "", path=self.body["path"])
        return preview_document(found)


class GithubImport(ApiView):
    tag = "benchmark-imports"

    @operation(
        "import_github",
        "Import a data file of a repository",
        needs=can_import,
        body=GithubImportBody,
        answers={201: GithubImportShape, 200: GithubImportShape},
        refusals=(502,),
        in_transaction=False,
    )
    def post(self) -> Response:
        """The file is verified by its Git ID at the commit and stored for the workspace alone. The same file at the same commit downloads
        nothing and answers 200 with the same receipt.
        """
        given = {"revision": self.body["revision"], "path": self.body["path"]}
        fetched = fetch_github(self.workspace, actor=self.actor, named=named_of(self.body), **given)
        return Response(github_import_document(fetched), status=201 if fetched.is_new else 200)
