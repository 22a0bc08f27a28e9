"""Tokens, codes and keys for GitHub are in nothing but the requests to it, also where GitHub repeats them."""

import os
import traceback
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import settings as site
from django.test import Client

from common.errors import Refused
from imports.actions.github import fetch_github
from imports.models import GithubInstallation, ImportDraft, SourceImport
from imports.queries.github import Named, list_tree, preview
from tests.imports.github import PATH
from tests.imports.hub import jsonl
from tests.imports.test_hub_token import everything_stored, logged  # noqa: F401  (fixture)
from tests.standins.github import CLIENT_SECRET, GithubServer
from tests.standins.http import Asked, Reply
from workspaces.actors import Actor
from workspaces.models import User, Workspace

pytestmark = pytest.mark.django_db


def secrets_of(github: GithubServer) -> list[str]:
    """Every token that was given out or sent, the App's secret, and a line of its key."""
    sent = [(asked.authorization or "").partition(" ")[2] for asked in github.asked]
    key = [line for line in github.private_key.splitlines() if "-----" not in line]
    return [*github.made_tokens, *filter(None, sent), CLIENT_SECRET, key[3]]


def found_in(secrets: list[str], text: str) -> list[str]:
    return [secret[:8] for secret in secrets if secret in text]


def echo(status: int) -> Any:
    """An answer that holds the request's own credentials, wherever an answer can."""

    def reply(asked: Asked) -> Reply:
        sent = asked.authorization or "none"
        return Reply(status, {"message": sent, "full_name": sent, "sha": sent, "tree": [{"path": sent}]}, {"X-Note": sent, "Link": sent})

    return reply


def elsewhere(asked: Asked) -> Reply:
    return Reply(302, "", {"Location": f"http://elsewhere.example.org/{(asked.authorization or '').partition(' ')[2]}"})


FAULTS: dict[str, tuple[str, Any]] = {
    "unknown": ("/installation/repositories", echo(401)),
    "forbidden": ("/installation/repositories", echo(403)),
    "no commit": ("/commits/", echo(422)),
    "busy": ("/git/trees/", echo(503)),
    "odd": ("/git/trees/", echo(418)),
    "not as agreed": ("/git/trees/", echo(200)),
    "no HTTP": ("/git/trees/", lambda asked: Reply(raw=f"HTTP/1.1 200 {asked.authorization}\r\nno header\r\n\r\n".encode())),
    "wrong": ("/git/blobs/", echo(200)),
    "elsewhere": ("/git/blobs/", elsewhere),
    "dropped": ("/git/blobs/", lambda asked: Reply(drop=True)),
    "no token": ("/access_tokens", echo(201)),
    "not ended": ("/installation/token", echo(500)),
}


@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_tokens_are_found_nowhere(
    workspace: Workspace,
    actor: Actor,
    github_app: GithubServer,
    github_connection: GithubInstallation,
    logged: list[str],  # noqa: F811
    capfd: pytest.CaptureFixture[str],
    fault: str | None,
) -> None:
    repo = github_app.repos["acme/secret"]
    part, reply = FAULTS[fault] if fault else ("no address", None)
    github_app.fault = lambda asked, _: reply(asked) if part in asked.path else None
    named = Named("", github_connection.public_id, repo.id)
    said = ""

    def take() -> str:
        list_tree(workspace, named)
        preview(workspace, named, path=PATH)
        return fetch_github(workspace, actor=actor, named=named, revision=repo.head, path=PATH).source_import.receipt

    if fault in (None, "not ended"):
        said = take()
    else:
        with pytest.raises(Refused) as caught:
            take()
        said = f"{caught.value.code} {caught.value.message} {caught.value.details} {''.join(traceback.format_exception(caught.value))}"

    secrets = secrets_of(github_app)
    assert len(secrets) > 2
    assert found_in(secrets, said) == []
    assert [where for where, text in everything_stored() if found_in(secrets, text)] == []
    assert [line[:80] for line in logged if found_in(secrets, line)] == []
    assert found_in(secrets, "".join(capfd.readouterr())) == []
    assert found_in(secrets, repr(dict(os.environ))) == []
    assert {asked.server for asked in github_app.asked} == {"api"}
    assert SourceImport.objects.count() == (1 if fault in (None, "not ended") else 0)


@pytest.mark.parametrize("answers", [None, 200, 403, 500])
def test_connecting_and_the_wizard_keep_no_token_and_no_code(
    owner: User,
    workspace: Workspace,
    github_app: GithubServer,
    logged: list[str],  # noqa: F811
    capfd: pytest.CaptureFixture[str],
    answers: int | None,
) -> None:
    repo = github_app.add("acme/secret", {PATH: jsonl(4)}, private=True)
    installed = github_app.install("acme", repo)
    github_app.people["ann"] = {installed.id: [repo.id]}
    if answers:
        github_app.fault = lambda asked, _: echo(answers)(asked) if asked.path.startswith("/user/installations") else None
    client = Client()
    client.force_login(owner)
    there = client.post("/settings/integrations/github", {"workspace": str(workspace.public_id)})["Location"]
    code = github_app.code("ann")
    back = {"state": parse_qs(urlsplit(there).query)["state"][0], "installation_id": installed.id, "code": code}
    shown = client.get("/settings/integrations/github/return", back, follow=True).content.decode()
    if answers is None:
        value = f"{GithubInstallation.objects.get().public_id}:{repo.id}"
        shown += client.get(f"/catalog/import?source=github&private={value}&file={PATH}&look=1").content.decode()
        body = {"workspace": str(workspace.public_id), "private": value, "commit": repo.head, "path": PATH}
        client.post("/catalog/import/github", body)
        assert ImportDraft.objects.count() == 1

    secrets = [*secrets_of(github_app), code]
    assert len(github_app.made_tokens) >= 1
    assert found_in(secrets, shown) == []
    assert [where for where, text in everything_stored() if found_in(secrets, text)] == []
    assert [line[:80] for line in logged if found_in(secrets, line.replace(site.GITHUB_APP_CLIENT_ID, ""))] == []
    assert found_in(secrets, "".join(capfd.readouterr())) == []


def test_tokens_and_proxies_of_the_server_are_not_used(
    workspace: Workspace, github: GithubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    github.add("acme/sums", {PATH: jsonl(3)})
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password Not-For-This\n")
    for name, value in {
        "GITHUB_TOKEN": "ghp_NotForThis",
        "GH_TOKEN": "ghp_NotForThis",
        "HOME": str(tmp_path),
        "NETRC": str(tmp_path / ".netrc"),
        "HTTP_PROXY": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
    }.items():
        monkeypatch.setenv(name, value)
    assert preview(workspace, Named("acme/sums"), path=PATH).rows.columns == ("question", "answer")
    assert {asked.authorization for asked in github.asked} == {None}
    assert {asked.request.headers["user-agent"] for asked in github.asked} == {"evalrouter"}
