"""The token of an import is in nothing but the requests to the Hub, also where the Hub repeats it."""

import json
import logging
import os
import traceback
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.apps import apps
from django.conf import settings as site

from common.errors import Refused
from imports.models import SourceImport
from imports.queries.hub import list_folder, preview_file, resolve, search_datasets
from imports.sources.hub_client import hub_api, session
from tests.imports.hub import NAME, jsonl, taken
from tests.standins.http import Asked, Reply
from tests.standins.hub import HubServer, card
from workspaces.actors import Actor
from workspaces.models import Workspace

pytestmark = pytest.mark.django_db
SECRET = "Zq7.Opaque-Secret-Of-The-Reader-31"
"""No shape that redaction knows, so that only what is never written is not found."""


def everything_stored() -> Iterator[tuple[str, str]]:
    """Every row of every table, and every stored file, as text."""
    for model in apps.get_models(include_auto_created=True):
        for row in model._base_manager.values():
            yield model.__name__, repr(row)
    folder = Path(site.STORAGES["default"]["OPTIONS"]["location"])
    for path in folder.rglob("*"):
        if path.is_file():
            yield str(path), path.read_bytes().decode("latin-1")


@pytest.fixture
def logged() -> Iterator[list[str]]:
    """Everything that any logger of the process writes meanwhile, at any level."""
    lines: list[str] = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(f"{record.name} {record.getMessage()} {vars(record)}")

    root, handler = logging.getLogger(), Handler(0)
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    yield lines
    root.removeHandler(handler)
    root.setLevel(level)


ECHO = {"error": SECRET, "message": f"Bearer {SECRET}"}
FAULTS: dict[str, tuple[str, str, Reply]] = {
    "unknown": ("hub", "/revision/main", Reply(401, ECHO, {"X-Error-Message": SECRET})),
    "forbidden": ("hub", "/revision/main", Reply(403, ECHO, {"X-Error-Message": SECRET, "X-HF-Warning": f"topic; {SECRET}"})),
    "gated": ("hub", "/data/test.jsonl", Reply(403, ECHO, {"X-Error-Code": "GatedRepo", "X-Error-Message": SECRET})),
    "missing": ("hub", "/revision/main", Reply(404, ECHO, {"X-Error-Code": "RevisionNotFound", "X-Request-Id": SECRET})),
    "odd": ("hub", "/revision/main", Reply(418, ECHO, {"X-Error-Message": SECRET})),
    "busy": ("hub", "/revision/main", Reply(503, ECHO, {"Retry-After": "99"})),
    "not JSON": ("hub", "/revision/main", Reply(200, f"<p>{SECRET}</p>")),
    "no HTTP": ("hub", "/revision/main", Reply(raw=f"HTTP/1.1 200 {SECRET}\r\n{SECRET}\r\n\r\n".encode())),
    "wrong": ("hub", "/data/test.jsonl", Reply(200, SECRET)),
    "elsewhere": ("hub", "/data/test.jsonl", Reply(302, "", {"Location": f"http://{SECRET}.example.org/{SECRET}"})),
    "dropped": ("hub", "/data/test.jsonl", Reply(drop=True)),
    "named by it": ("hub", "/revision/main", Reply(200, {"id": SECRET, "sha": SECRET, "private": False, "gated": False})),
    "listed by it": ("hub", "/paths-info/", Reply(200, [{"type": SECRET, "path": SECRET}])),
}


@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_token_is_found_nowhere(
    workspace: Workspace, actor: Actor, hub: HubServer, logged: list[str], capfd: pytest.CaptureFixture[str], fault: str | None
) -> None:
    hub.add(NAME, {"README.md": card("mit"), "data/test.jsonl": jsonl(3)}, private=True, readers={SECRET})

    def send(asked: Asked, number: int) -> Reply | None:
        server, ending, reply = FAULTS[fault] if fault else ("", "", Reply())
        is_meant = asked.server == server and ending in asked.path
        return reply if is_meant else None

    hub.fault = send
    said = ""
    if fault is None:
        said = taken(workspace, actor, split="test", token=SECRET).receipt
    else:
        with pytest.raises(Refused) as caught:
            taken(workspace, actor, split="test", token=SECRET)
        said = f"{caught.value.code} {caught.value.message} {caught.value.details} {''.join(traceback.format_exception(caught.value))}"

    assert f"Bearer {SECRET}" in [asked.authorization for asked in hub.asked]
    assert SECRET not in said
    assert [where for where, text in everything_stored() if SECRET in text] == []
    assert [line for line in logged if SECRET in line] == []
    assert SECRET not in "".join(capfd.readouterr())
    assert SECRET not in repr(dict(os.environ))
    assert SourceImport.objects.count() == (1 if fault is None else 0)


def test_links_and_redirects_to_other_hosts_are_told_no_token(hub: HubServer) -> None:
    hub.fault = lambda asked, _: (
        Reply(body=[], headers={"Link": f'<http://{hub.cdn_host}/next>; rel="next"'})
        if asked.server == "hub" and "/tree/" in asked.path
        else Reply(307, "", {"Location": f"http://{hub.cdn_host}{asked.path}"})
        if asked.server == "hub"
        else Reply(body=[], headers={"Set-Cookie": "a=b"})
    )
    list(hub_api(SECRET).list_repo_tree(NAME, repo_type="dataset"))
    hub_api(SECRET).get_paths_info(NAME, ["a"], repo_type="dataset")
    hub_api(SECRET).get_paths_info(NAME, ["a"], repo_type="dataset")

    told = [(asked.server, asked.authorization is not None, "cookie" in asked.request.headers) for asked in hub.asked]
    assert told == [("hub", True, False), ("cdn", False, False), *[("hub", True, False), ("cdn", False, False)] * 2]


def test_tokens_and_proxies_of_the_server_are_not_used(
    workspace: Workspace, actor: Actor, hub: HubServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    repo = hub.add(NAME, {"README.md": card("mit"), "data/test.jsonl": jsonl(3)})
    (tmp_path / "token").write_text(SECRET)
    (tmp_path / ".netrc").write_text(f"machine 127.0.0.1 login me password {SECRET}\n")
    for name, value in {
        "HF_TOKEN": SECRET,
        "HUGGING_FACE_HUB_TOKEN": SECRET,
        "HF_HOME": str(tmp_path),
        "HF_TOKEN_PATH": str(tmp_path / "token"),
        "HOME": str(tmp_path),
        "NETRC": str(tmp_path / ".netrc"),
        "HTTP_PROXY": "http://127.0.0.1:9",
        "http_proxy": "http://127.0.0.1:9",
        "ALL_PROXY": "http://127.0.0.1:9",
    }.items():
        monkeypatch.setenv(name, value)
    taken(workspace, actor)
    search_datasets("sums")
    resolve(NAME)
    list_folder(NAME, repo.head)
    preview_file(NAME, repo.head, "data/test.jsonl")

    assert {asked.authorization for asked in hub.asked} == {None}
    assert session().trust_env is False
    assert [path for path in tmp_path.rglob("*") if path.name not in ("token", ".netrc")] == []


def test_agent_says_who_asks_and_nothing_of_the_machine(hub: HubServer) -> None:
    search_datasets("sums")

    agents = {asked.request.headers["user-agent"] for asked in hub.asked}
    assert {agent.partition("/")[0] for agent in agents} == {"evalrouter"}
    assert json.dumps(sorted(agents)).count("torch") == 0
