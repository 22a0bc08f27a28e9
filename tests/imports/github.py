"""What the tests of GitHub share: a stand-in that the settings point to, repositories on it, and a connected account."""

from collections.abc import Iterator
from typing import Any

import pytest

from common.errors import Refused
from imports.actions.github import fetch_github
from imports.models import GithubInstallation, SourceImport
from imports.queries.github import Named
from tests.imports.hub import jsonl, parquet
from tests.standins.github import APP_ID, CLIENT_ID, CLIENT_SECRET, LFS_POINTER, SLUG, GithubServer, Link, Repo, Submodule
from workspaces.actors import Actor
from workspaces.models import Workspace

NAME = "acme/sums"
PATH = "data/test.jsonl"


@pytest.fixture
def github(settings: Any) -> Iterator[GithubServer]:
    """A GitHub without repositories, to which the settings point, with imports turned on and no App."""
    with GithubServer() as server:
        settings.GITHUB_IMPORTS = True
        settings.GITHUB_API_URL, settings.GITHUB_URL = server.url, server.site
        settings.GITHUB_APP_ID = settings.GITHUB_APP_SLUG = settings.GITHUB_APP_PRIVATE_KEY = ""
        settings.GITHUB_APP_CLIENT_ID = settings.GITHUB_APP_CLIENT_SECRET = ""
        yield server


@pytest.fixture
def github_app(github: GithubServer, settings: Any) -> GithubServer:
    """The same with the App set up, its key in one line as an environment holds it."""
    settings.GITHUB_APP_ID, settings.GITHUB_APP_SLUG = APP_ID, SLUG
    settings.GITHUB_APP_PRIVATE_KEY = github.private_key.replace("\n", "\\n")
    settings.GITHUB_APP_CLIENT_ID, settings.GITHUB_APP_CLIENT_SECRET = CLIENT_ID, CLIENT_SECRET
    return github


@pytest.fixture
def github_repo(github: GithubServer) -> Repo:
    """A small public repository with one of everything."""
    files = {
        "README.md": b"# Sums\n",
        PATH: jsonl(10),
        "data/deep/train.csv": b"question,answer\nWhat is 1 + 1?,2\nWhat is 2 + 2?,4\n",
        "data/all.parquet": parquet(5),
        "data/lfs.csv": LFS_POINTER,
        "data/empty.csv": b"",
        "data/array.json": b"[]",
        "linked.csv": Link("data/deep/train.csv"),
        "elsewhere": Submodule(),
        "shortcut": Link("data"),
    }
    return github.add(NAME, files)


@pytest.fixture
def github_connection(github_app: GithubServer, workspace: Workspace) -> GithubInstallation:
    """A connected account with a private repository that the App was granted, and another one that it was not."""
    repo = github_app.add("acme/secret", {PATH: jsonl(4)}, private=True)
    github_app.add("acme/hidden", {PATH: jsonl(4)}, private=True)
    installed = github_app.install("acme", repo)
    return GithubInstallation.objects.create(workspace=workspace, installation_id=installed.id, account="acme")


def taken(workspace: Workspace, actor: Actor, repo: Repo, path: str = PATH, **changed: Any) -> SourceImport:
    given: dict[str, Any] = {"repository": repo.name, "connection_id": None, "repository_id": None, "revision": repo.head} | changed
    named = Named(given["repository"], given["connection_id"], given["repository_id"])
    return fetch_github(workspace, actor=actor, named=named, revision=given["revision"], path=path).source_import


def refusal(workspace: Workspace, actor: Actor, repo: Repo, path: str = PATH, **changed: Any) -> tuple[str, int]:
    """The code and the status that the import is refused with."""
    with pytest.raises(Refused) as caught:
        taken(workspace, actor, repo, path, **changed)
    return caught.value.code, caught.value.status
