"""A Hub that is busy, slow, odd or hostile; downloads that break or bring something else."""

import hashlib
import time
from collections.abc import Callable
from typing import Any

import pytest

from common.errors import Refused
from tests.imports.hub import LARGE, NAME, jsonl, on, refusal, taken
from tests.standins.http import Asked, Reply
from tests.standins.hub import HubServer, Repo, card
from workspaces.actors import Actor
from workspaces.models import Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_is_left")]

# Downloads


@pytest.mark.parametrize("path", ["data/test.jsonl", "README.md"])
def test_content_with_another_hash_is_refused(workspace: Workspace, actor: Actor, hub: HubServer, hub_repo: Repo, path: str) -> None:
    right = hub_repo.commits[hub_repo.head][path]
    hub.fault = on(f"/{path}", Reply(body=right.replace(b"i", b"j")), always=True)

    assert refusal(workspace, actor) == ("hash_mismatch", 502)


@pytest.mark.parametrize(
    "change", [lambda body: body[:-1], lambda body: body + b"x", lambda body: body + bytes(3_000_000), lambda body: b""]
)
def test_large_file_of_another_length_is_refused(
    workspace: Workspace, actor: Actor, hub: HubServer, large_repo: Repo, change: Callable[[bytes], bytes]
) -> None:
    body = large_repo.commits[large_repo.head][LARGE]
    address = f"/{hashlib.sha256(body).hexdigest()}"
    hub.fault = on(address, Reply(body=change(body)), server="cdn", always=True)

    assert refusal(workspace, actor, files=[LARGE]) == ("hash_mismatch", 502)


def test_second_file_that_is_wrong_keeps_nothing_of_the_first(workspace: Workspace, actor: Actor, hub: HubServer) -> None:
    hub.add(NAME, {"README.md": card("mit"), "a.csv": b"a\n1\n", "b.csv": b"a\n2\n"})
    hub.fault = on("/b.csv", Reply(body=b"a\n3\n"), always=True)

    assert refusal(workspace, actor, files=["a.csv", "b.csv"]) == ("hash_mismatch", 502)


@pytest.mark.parametrize("where", ["hub", "cdn"])
def test_broken_download_is_taken_up_where_it_broke(workspace: Workspace, actor: Actor, hub: HubServer, where: str) -> None:
    content = jsonl(3_000)
    hub.add(NAME, {"README.md": card("mit"), "test.jsonl": content}, lfs=["test.jsonl"] if where == "cdn" else [])
    address = hashlib.sha256(content).hexdigest() if where == "cdn" else "test.jsonl"

    def fault(asked: Asked, number: int) -> Reply | None:
        if asked.server != where or not asked.path.partition("?")[0].endswith(address) or number > 2:
            return None
        first = int(asked.request.headers.get("range", "bytes=0-").removeprefix("bytes=").partition("-")[0])
        ranged = {"Content-Range": f"bytes {first}-{len(content) - 1}/{len(content)}"} if first else {}
        return Reply(206 if first else 200, content[first:], ranged, cut=50_000)

    hub.fault = fault
    made = taken(workspace, actor)

    assert made.files.get().content.sha256 == hashlib.sha256(content).hexdigest()
    asked = [
        each.request.headers.get("range") for each in hub.asked if each.server == where and each.path.partition("?")[0].endswith(address)
    ]
    assert asked == [None, "bytes=50000-", "bytes=100000-"]


def test_server_without_ranges_begins_again(workspace: Workspace, actor: Actor, hub: HubServer) -> None:
    content = jsonl(3_000)
    hub.add(NAME, {"README.md": card("mit"), "test.jsonl": content})
    hub.fault = on("/test.jsonl", Reply(body=content, cut=50_000), Reply(body=content))

    assert taken(workspace, actor).files.get().content.bytes == len(content)


def test_download_that_always_breaks_is_given_up(workspace: Workspace, actor: Actor, hub: HubServer, hub_repo: Repo) -> None:
    hub.fault = on("/data/test.jsonl", Reply(body=jsonl(10), cut=0), always=True)

    assert refusal(workspace, actor) == ("hub_unavailable", 502)


# A Hub that is busy, slow, odd or hostile


@pytest.mark.parametrize(
    "reply",
    [
        Reply(500, "x"),
        Reply(503, "x"),
        Reply(429, "x", {"Retry-After": "1"}),
        Reply(drop=True),
        Reply(raw=b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{}"),
    ],
)
def test_hub_that_is_busy_for_a_moment_is_asked_again(
    workspace: Workspace, actor: Actor, hub: HubServer, hub_repo: Repo, reply: Reply
) -> None:
    hub.fault = on("/revision/main", reply)
    if reply.raw is not None:  # an answer that broke is not asked for again, since it was given
        assert refusal(workspace, actor) == ("hub_unavailable", 502)
    else:
        assert taken(workspace, actor).commit == hub_repo.head


@pytest.mark.parametrize(
    "reply",
    [
        Reply(429, "x", {"Retry-After": "3600"}),
        Reply(body=b"<html>busy</html>"),
        Reply(body=b"[" * 100_000),
        Reply(body=[]),
        Reply(body={"id": NAME}),
        Reply(body=b"x", headers={"Content-Encoding": "gzip"}),
        Reply(418, "x"),
        Reply(302, "", {"Location": "http://127.0.0.1:9/elsewhere"}),
        Reply(302, "", {"Location": "http://169.254.169.254/latest/meta-data"}),
        Reply(302, "", {"Location": "/api/datasets/acme/sums/revision/main"}),
        Reply(raw=b"not http\r\n\r\n"),
    ],
)
def test_hub_that_does_not_answer_as_agreed_is_unavailable(
    workspace: Workspace, actor: Actor, hub: HubServer, hub_repo: Repo, reply: Reply
) -> None:
    hub.fault = on("/revision/main", reply, always=True)
    began = time.monotonic()

    expected = ("revision_unresolved", 422) if reply.body == {"id": NAME} else ("hub_unavailable", 502)
    assert refusal(workspace, actor) == expected
    assert time.monotonic() - began < 5


def test_wait_that_the_hub_asks_for_is_told(workspace: Workspace, actor: Actor, hub: HubServer, hub_repo: Repo) -> None:
    hub.fault = on("/revision/main", Reply(429, "x", {"Retry-After": "3600"}), always=True)
    with pytest.raises(Refused) as caught:
        taken(workspace, actor)

    assert caught.value.details == {"retry_after": 3600}
    assert len(hub.asked) == 1


def test_hub_that_is_not_there_is_unavailable(workspace: Workspace, actor: Actor, settings: Any) -> None:
    settings.HF_ENDPOINT = "http://127.0.0.1:9"

    assert refusal(workspace, actor) == ("hub_unavailable", 502)


@pytest.mark.parametrize(
    ("address", "reply"), [("/revision/main", Reply(body={}, drip=0.2)), ("/data/test.jsonl", Reply(body=jsonl(10), drip=0.2))]
)
def test_answer_that_is_dripped_ends_with_the_time(
    workspace: Workspace, actor: Actor, hub: HubServer, hub_repo: Repo, settings: Any, address: str, reply: Reply
) -> None:
    settings.HF_IMPORT_SECONDS = 1.5
    hub.fault = on(address, reply, always=True)
    began = time.monotonic()

    assert refusal(workspace, actor) == ("hub_unavailable", 502)
    assert 1 < time.monotonic() - began < 4


@pytest.mark.parametrize("location", ["http://127.0.0.1:9/x", "http://evil.example.org/x", "ftp://127.0.0.1/x", "//127.0.0.2/x"])
def test_download_is_fetched_from_no_unexpected_host(
    workspace: Workspace, actor: Actor, hub: HubServer, large_repo: Repo, location: str
) -> None:
    hub.fault = on(f"/{LARGE}", Reply(302, "", {"Location": location}), always=True)

    assert refusal(workspace, actor, files=[LARGE]) == ("hub_unavailable", 502)
