"""What the API takes and answers about imports from GitHub. No token goes in or comes out."""

import json
from typing import Any

from rest_framework import serializers

from common.serializers import AnyObject, Id, Strict, Text, WholeNumber
from imports.actions.fetching import Fetched
from imports.queries.github import Named, Previewed, Refs
from imports.sources.github import Ref


class GithubRepositoryBody(Strict):
    repository = Text(
        required=False, allow_blank=True, max_length=300, help_text="`owner/name` or the address of its page. Enough for a public one."
    )
    github_connection_id = Id(required=False, allow_null=True, help_text="For a private one: the workspace's connection.")
    github_repository_id = WholeNumber(
        required=False, allow_null=True, min_value=1, max_value=10**15, help_text="For a private one: GitHub's number of it."
    )


class GithubPreviewBody(GithubRepositoryBody):
    revision = Text(
        required=False, allow_blank=True, max_length=200, help_text="A branch, a tag or a commit; the default branch without one."
    )
    path = Text(max_length=800, help_text="Of a CSV, JSONL or Parquet file.")


class GithubImportBody(GithubRepositoryBody):
    revision = Text(max_length=200, help_text="The full `commit_sha` of the preview.")
    path = Text(max_length=800)


class GithubRefShape(serializers.Serializer[Any]):
    name = serializers.CharField()
    commit_sha = serializers.CharField()


class GithubCommitShape(serializers.Serializer[Any]):
    commit_sha = serializers.CharField()
    title = serializers.CharField(allow_blank=True, help_text="The first line of its message.")


class GithubRefsShape(serializers.Serializer[Any]):
    repository = serializers.CharField(help_text="As GitHub spells it now.")
    github_repository_id = serializers.IntegerField()
    private = serializers.BooleanField()
    default_branch = serializers.CharField()
    branches = GithubRefShape(many=True)
    tags = GithubRefShape(many=True)
    commits = GithubCommitShape(many=True)
    branches_limited = serializers.BooleanField(help_text="Whether there are more than the hundred listed.")
    tags_limited = serializers.BooleanField(help_text="Whether there are more than the hundred listed.")


class GithubPreviewShape(serializers.Serializer[Any]):
    repository = serializers.CharField()
    github_repository_id = serializers.IntegerField()
    private = serializers.BooleanField()
    revision = serializers.CharField(help_text="As it was asked for.")
    commit_sha = serializers.CharField(help_text="Where it led to; import from it.")
    path = serializers.CharField()
    source = serializers.CharField(help_text="What a manifest names the file by, once it is imported.")
    format = serializers.ChoiceField(choices=["csv", "jsonl", "parquet"])
    bytes = serializers.IntegerField()
    columns = serializers.ListField(child=serializers.CharField())
    rows = serializers.ListField(child=AnyObject(), help_text="The first ones as texts, credentials redacted, long ones cut.")
    is_whole = serializers.BooleanField(help_text="Whether these are all rows.")


class GithubReceiptFileShape(serializers.Serializer[Any]):
    path = serializers.CharField()
    source = serializers.CharField(help_text="What a manifest names it by.")
    bytes = serializers.IntegerField()
    sha256 = serializers.CharField()
    git_blob = serializers.CharField(help_text="Git's ID of its content, by which it was verified.")
    verified_by = serializers.ChoiceField(choices=["git_blob"])


class GithubReceiptShape(serializers.Serializer[Any]):
    """What was taken, from where. It never changes."""

    schema = serializers.CharField()
    kind = serializers.CharField()
    source = serializers.CharField(help_text="The repository at the commit.")
    repository = serializers.CharField()
    github_repository_id = serializers.IntegerField()
    github_connection_id = serializers.UUIDField(allow_null=True)
    private = serializers.BooleanField()
    commit = serializers.CharField()
    license = serializers.CharField(allow_blank=True, help_text="Empty: GitHub states none that could be verified.")
    files = GithubReceiptFileShape(many=True)
    fetched_at = serializers.DateTimeField()


class GithubImportShape(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    created_at = serializers.DateTimeField()
    receipt = GithubReceiptShape()
    receipt_sha256 = serializers.CharField(help_text="Of the receipt as canonical JSON.")


def named_of(body: dict[str, Any]) -> Named:
    """The repository that a body names."""
    return Named(body.get("repository") or "", body.get("github_connection_id"), body.get("github_repository_id"))


def refs_document(refs: Refs) -> dict[str, Any]:
    def shown(ref: Ref) -> dict[str, Any]:
        return {"name": ref.name, "commit_sha": ref.commit}

    return {
        "repository": refs.repository.name,
        "github_repository_id": refs.repository.id,
        "private": refs.repository.private,
        "default_branch": refs.repository.default_branch,
        "branches": [shown(ref) for ref in refs.branches],
        "tags": [shown(ref) for ref in refs.tags],
        "commits": [{"commit_sha": ref.commit, "title": ref.name} for ref in refs.commits],
        "branches_limited": refs.branches_limited,
        "tags_limited": refs.tags_limited,
    }


def preview_document(found: Previewed) -> dict[str, Any]:
    return {
        "repository": found.repository.name,
        "github_repository_id": found.repository.id,
        "private": found.repository.private,
        "revision": found.revision,
        "commit_sha": found.commit,
        "path": found.entry.path,
        "source": found.source,
        "format": found.format,
        "bytes": found.entry.size,
        "columns": list(found.rows.columns),
        "rows": list(found.rows.rows),
        "is_whole": found.rows.is_whole,
    }


def github_import_document(fetched: Fetched) -> dict[str, Any]:
    made = fetched.source_import
    return {"id": made.public_id, "created_at": made.created_at, "receipt": json.loads(made.receipt), "receipt_sha256": made.sha256}
