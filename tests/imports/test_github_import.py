"""A data file of a GitHub repository as a source: resolved, listed, previewed, fetched at one commit, verified, kept once."""

import hashlib
import json
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from catalog.storing import open_file
from common.errors import Refused
from imports.models import GithubInstallation, SourceFile
from imports.queries.github import Named, granted_repositories, list_refs, list_tree, preview
from imports.queries.sources import resolve_source
from imports.storage import reserve
from tests.imports.github import NAME, PATH, refusal, taken
from tests.imports.hub import jsonl
from tests.standins.github import GithubServer, Link, Repo, git_id
from tests.standins.http import Asked, Reply
from workspaces.actors import Actor, actor_of_user
from workspaces.models import AuditEntry, User, Workspace

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("nothing_is_left")]


def on(part: str, *replies: Reply | None) -> Callable[[Asked, int], Reply | None]:
    """Sends the replies to the first requests whose address holds it, None being the usual answer, and repeats the last."""
    seen = iter(range(1000))

    def fault(asked: Asked, number: int) -> Reply | None:
        if part not in asked.path:
            return None
        return replies[min(next(seen), len(replies) - 1)]

    return fault


def content_of(file: SourceFile) -> bytes:
    with closing(open_file(file.content)) as opened:
        return opened.read()


def code_of(ask: Callable[[], object]) -> tuple[str, int]:
    with pytest.raises(Refused) as caught:
        ask()
    return caught.value.code, caught.value.status


# Looking


def test_refs_are_the_default_branch_and_what_leads_to_a_commit(workspace: Workspace, github_repo: Repo) -> None:
    github_repo.commit({PATH: jsonl(3)}, branch="work/next")
    github_repo.tags["v1"] = github_repo.head
    found = list_refs(workspace, Named(NAME))

    assert (found.repository.name, found.repository.default_branch) == (NAME, "main")
    assert {ref.name: ref.commit for ref in found.branches} == github_repo.branches
    assert [(ref.name, ref.commit) for ref in found.tags] == [("v1", github_repo.head)]
    assert [ref.commit for ref in found.commits] == list(reversed(github_repo.commits))
    assert (found.branches_limited, found.tags_limited) == (False, False)


def test_refs_stop_at_a_hundred_and_say_so(workspace: Workspace, github_repo: Repo) -> None:
    github_repo.branches |= {f"b{number}": github_repo.head for number in range(150)}
    github_repo.tags |= {f"v{number}": github_repo.head for number in range(100)}
    for number in range(30):
        github_repo.commit({"x.csv": str(number).encode()})
    found = list_refs(workspace, Named(NAME))

    assert (len(found.branches), len(found.tags), len(found.commits)) == (100, 100, 20)
    assert (found.branches_limited, found.tags_limited) == (True, False)


def test_tree_lists_data_files_and_what_only_looks_so(workspace: Workspace, github_repo: Repo) -> None:
    found = list_tree(workspace, Named(NAME))
    listed = {each.entry.path: (each.entry.kind, each.is_usable) for each in found.entries}

    assert (found.commit, found.revision, found.is_whole) == (github_repo.head, "main", True)
    assert listed == {
        PATH: ("file", True),
        "data/deep/train.csv": ("file", True),
        "data/all.parquet": ("file", True),
        "data/lfs.csv": ("file", True),
        "data/empty.csv": ("file", False),
        "linked.csv": ("link", False),
        "elsewhere": ("submodule", False),
        "shortcut": ("link", False),
    }


def test_repository_too_large_for_one_listing_is_listed_by_folder(workspace: Workspace, actor: Actor, github_repo: Repo) -> None:
    github_repo.truncated = True
    top, below = list_tree(workspace, Named(NAME)), list_tree(workspace, Named(NAME), path="data/deep")

    assert (top.is_whole, sorted(each.entry.path for each in top.entries)) == (False, ["data", "elsewhere", "linked.csv", "shortcut"])
    assert [each.entry.path for each in below.entries] == ["data/deep/train.csv"]
    assert code_of(lambda: list_tree(workspace, Named(NAME), path="none")) == ("file_not_found", 422)
    assert code_of(lambda: list_tree(workspace, Named(NAME), path="shortcut")) == ("file_refused", 422)
    assert taken(workspace, actor, github_repo, "data/deep/train.csv").files.count() == 1
    assert refusal(workspace, actor, github_repo, "linked.csv") == ("file_refused", 422)
    assert refusal(workspace, actor, github_repo, "shortcut/test.jsonl") == ("file_refused", 422)
    assert refusal(workspace, actor, github_repo, "data/none.csv") == ("file_not_found", 422)


def test_pinned_tree_of_a_public_repository_is_asked_for_once(workspace: Workspace, github: GithubServer, github_repo: Repo) -> None:
    first = list_tree(workspace, Named(NAME))
    asked = len(github.asked)
    again = list_tree(workspace, Named(NAME), revision=first.commit)
    assert (again.entries, github.paths()[asked:]) == (first.entries, [f"GET /repos/{NAME}"])


@pytest.mark.parametrize(
    ("path", "kind", "count"), [(PATH, "jsonl", 10), ("data/deep/train.csv", "csv", 2), ("data/all.parquet", "parquet", 5)]
)
def test_preview_shows_first_rows_at_the_resolved_commit(workspace: Workspace, github_repo: Repo, path: str, kind: str, count: int) -> None:
    found = preview(workspace, Named(NAME), revision="main", path=path)

    assert (found.commit, found.format, len(found.rows.rows), found.rows.is_whole) == (github_repo.head, kind, count, True)
    assert found.source == f"github://{NAME}@{github_repo.head}/{path}"
    assert "question" in found.rows.columns


def test_preview_hides_credentials(workspace: Workspace, github: GithubServer) -> None:
    github.add("acme/leaky", {"a.csv": b"question,answer\nsk-abcdefghijklmnopqrstuvwx,2\n"})
    assert preview(workspace, Named("acme/leaky"), path="a.csv").rows.rows[0]["question"] == "[redacted]"


# Importing


def test_file_is_kept_with_its_receipt(workspace: Workspace, actor: Actor, github_repo: Repo) -> None:
    made = taken(workspace, actor, github_repo)
    receipt, content = json.loads(made.receipt), jsonl(10)
    file = made.files.get()
    entry = AuditEntry.objects.filter(action="source.imported").get()

    assert {key: receipt[key] for key in receipt if key != "fetched_at"} == {
        "schema": "evalrouter.source_import.v1",
        "kind": "github",
        "source": f"github://{NAME}@{github_repo.head}",
        "repository": NAME,
        "github_repository_id": github_repo.id,
        "github_connection_id": None,
        "private": False,
        "commit": github_repo.head,
        "license": "",
        "files": [
            {
                "path": PATH,
                "source": file.uri,
                "bytes": len(content),
                "sha256": hashlib.sha256(content).hexdigest(),
                "git_blob": git_id("blob", content),
                "verified_by": "git_blob",
            }
        ],
    }
    assert made.sha256 == hashlib.sha256(made.receipt.encode()).hexdigest()
    assert (file.uri, content_of(file)) == (f"github://{NAME}@{github_repo.head}/{PATH}", content)
    assert resolve_source(workspace, file.uri).origin["receipt_sha256"] == made.sha256
    assert (entry.target, entry.data["bytes"], entry.data["private"]) == (f"github://{NAME}@{github_repo.head}", len(content), False)


def test_same_file_at_the_same_commit_is_fetched_once(workspace: Workspace, actor: Actor, github: GithubServer, github_repo: Repo) -> None:
    first, again = taken(workspace, actor, github_repo), taken(workspace, actor, github_repo, repository=f"{NAME}")
    other = taken(workspace, actor, github_repo, "data/deep/train.csv")

    assert (first.pk, first.receipt) == (again.pk, again.receipt)
    assert first.pk != other.pk
    assert github.downloads() == 2


def test_branch_that_moves_does_not_move_the_import(workspace: Workspace, actor: Actor, github_repo: Repo) -> None:
    seen = preview(workspace, Named(NAME), path=PATH)
    github_repo.commit({PATH: jsonl(99)})
    made = taken(workspace, actor, github_repo, revision=seen.commit)

    assert content_of(made.files.get()) == jsonl(10)
    assert preview(workspace, Named(NAME), path=PATH).commit == github_repo.head != seen.commit


def test_two_workspaces_share_nothing(
    workspace: Workspace, other_workspace: Workspace, stranger: User, actor: Actor, github: GithubServer, github_repo: Repo
) -> None:
    ours, theirs = taken(workspace, actor, github_repo), taken(other_workspace, actor_of_user(stranger), github_repo)

    assert ours.files.get().content_id != theirs.files.get().content_id
    assert github.downloads() == 2


def test_renamed_repository_is_followed_to_its_name_of_now(
    workspace: Workspace, actor: Actor, github: GithubServer, github_repo: Repo
) -> None:
    github.fault = lambda asked, _: (
        Reply(301, {"message": "Moved Permanently"}, {"Location": f"{github.url}/repos/{NAME}"})
        if asked.path == "/repos/acme/old"
        else None
    )
    assert taken(workspace, actor, github_repo, repository="acme/old").repository == NAME


# Refusals


def test_viewer_and_stranger_may_not_import(
    workspace: Workspace, viewer: User, stranger: User, github: GithubServer, github_repo: Repo
) -> None:
    for user in (viewer, stranger):
        assert refusal(workspace, actor_of_user(user), github_repo) == ("forbidden", 403)
    assert github.asked == []


def test_imports_that_are_turned_off_ask_nothing(
    workspace: Workspace, actor: Actor, github: GithubServer, github_repo: Repo, settings: Any
) -> None:
    settings.GITHUB_IMPORTS = False
    assert refusal(workspace, actor, github_repo) == ("github_imports_disabled", 403)
    assert code_of(lambda: list_tree(workspace, Named(NAME))) == ("github_imports_disabled", 403)
    assert github.asked == []


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"repository": "acme"}, "invalid_source"),
        ({"repository": "acme/../x"}, "invalid_source"),
        ({"repository": "acme/.."}, "invalid_source"),
        ({"repository": "https://example.org/acme/sums"}, "invalid_source"),
        ({"repository": "https://user:pass@github.com/acme/sums"}, "invalid_source"),
        ({"repository": ""}, "invalid_source"),
        ({"repository_id": 5}, "invalid_source"),
        ({"connection_id": "x"}, "invalid_source"),
        ({"revision": "main"}, "invalid_source"),
        ({"revision": "abcdef0"}, "invalid_source"),
        ({"path": "../x.csv"}, "invalid_selection"),
        ({"path": "/x.csv"}, "invalid_selection"),
        ({"path": "data/array.json"}, "unsupported_format"),
        ({"path": "README.md"}, "unsupported_format"),
    ],
)
def test_malformed_request_is_refused_before_anything_is_asked(
    workspace: Workspace, actor: Actor, github: GithubServer, github_repo: Repo, changed: dict[str, Any], code: str
) -> None:
    assert refusal(workspace, actor, github_repo, **changed) == (code, 422)
    assert github.asked == []


@pytest.mark.parametrize(
    ("path", "code", "word"),
    [
        ("linked.csv", "file_refused", "symbolic link"),
        ("shortcut/test.jsonl", "file_refused", "symbolic link"),
        ("elsewhere/data.csv", "file_refused", "submodule"),
        ("data/lfs.csv", "file_refused", "Git LFS"),
        ("data/empty.csv", "file_refused", "empty"),
        ("data/none.csv", "file_not_found", "no file"),
    ],
)
def test_what_is_no_data_file_is_refused_by_what_it_is(
    workspace: Workspace, actor: Actor, github_repo: Repo, path: str, code: str, word: str
) -> None:
    with pytest.raises(Refused) as caught:
        taken(workspace, actor, github_repo, path)
    assert (caught.value.code, caught.value.status, word in caught.value.message) == (code, 422, True)


def test_file_that_is_too_large_is_not_downloaded(
    workspace: Workspace, actor: Actor, github: GithubServer, github_repo: Repo, settings: Any
) -> None:
    settings.GITHUB_MAX_BYTES = len(jsonl(10)) - 1
    assert refusal(workspace, actor, github_repo) == ("too_large", 413)
    assert github.downloads() == 0
    settings.GITHUB_MAX_BYTES += 1
    assert taken(workspace, actor, github_repo).files.count() == 1


def test_storage_is_reserved_before_a_byte_is_asked_for(
    workspace: Workspace, actor: Actor, github: GithubServer, github_repo: Repo, settings: Any
) -> None:
    settings.WORKSPACE_STORAGE_BYTES = 1000
    reserve(workspace, "other", 900, actor=actor)
    assert refusal(workspace, actor, github_repo) == ("storage_limit", 413)
    assert github.downloads() == 0


@pytest.mark.parametrize("revision", ["gone", "0" * 40, "pull/1/head", "refs/pull/1/head", "-x"])
def test_revision_that_leads_nowhere(workspace: Workspace, github_repo: Repo, revision: str) -> None:
    expected = ("revision_unresolved", 422) if revision in ("gone", "0" * 40) else ("invalid_source", 422)
    assert code_of(lambda: preview(workspace, Named(NAME), revision=revision, path=PATH)) == expected


@pytest.mark.parametrize("answer", ["main", "", "1" * 40, "<p>"])
def test_commit_that_does_not_lead_to_itself_is_unresolved(
    workspace: Workspace, actor: Actor, github: GithubServer, github_repo: Repo, answer: str
) -> None:
    github.fault = on("/commits/", Reply(body=answer))
    assert refusal(workspace, actor, github_repo) == ("revision_unresolved", 422)


def test_repository_that_is_not_there_private_or_blocked_is_not_found(workspace: Workspace, actor: Actor, github: GithubServer) -> None:
    repo = github.add("acme/private", {PATH: jsonl(1)}, private=True)
    gone = Repo(1, "acme/none", commits={"0" * 40: {}}, branches={"main": "0" * 40})
    assert refusal(workspace, actor, repo) == refusal(workspace, actor, gone) == ("access_refused", 404)
    repo.private = False
    for status in (403, 404, 410, 451):
        github.fault = on(f"/repos/{repo.name}", Reply(status, {"message": "x"}))
        assert refusal(workspace, actor, repo) == ("access_refused", 404)


def test_empty_repository(workspace: Workspace, github: GithubServer) -> None:
    repo = github.add("acme/empty", {})
    repo.commits.clear()
    repo.branches.clear()
    assert list_refs(workspace, Named(repo.name)).commits == ()
    assert code_of(lambda: list_tree(workspace, Named(repo.name))) == ("revision_unresolved", 422)


@pytest.mark.parametrize(
    ("reply", "retry_after", "words"),
    [
        (Reply(429, {"message": "x"}, {"Retry-After": "90"}), 90, "in 90 seconds"),
        (Reply(403, {"message": "x"}, {"Retry-After": "600"}), 600, "in 10 minutes"),
        (Reply(403, {"message": "x"}, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "soon"}), None, "in a minute"),
        (Reply(503, {"message": "x"}, {"Retry-After": "99"}), 99, "in 99 seconds"),
        (Reply(500, {"message": "x"}), None, "in a minute"),
        (Reply(200, "<p>Unicorn!</p>"), None, "in a minute"),
        (Reply(200, []), None, "in a minute"),
        (Reply(200, {"full_name": "../x", "id": 1, "private": False}), None, "in a minute"),
        (Reply(200, {}, {"Content-Encoding": "gzip"}), None, "in a minute"),
        (Reply(302, "", {"Location": "http://127.0.0.1:9/x"}), None, "in a minute"),
        (Reply(drop=True), None, "in a minute"),
        (Reply(raw=b"SSH-2.0-nonsense\r\n\r\n"), None, "in a minute"),
    ],
)
def test_github_that_is_away_says_when_to_try_again(
    workspace: Workspace, actor: Actor, github: GithubServer, github_repo: Repo, reply: Reply, retry_after: int | None, words: str
) -> None:
    github.fault = on(f"/repos/{NAME}", reply)
    with pytest.raises(Refused) as caught:
        taken(workspace, actor, github_repo)
    found = caught.value
    assert (found.code, found.status, found.details.get("retry_after"), words in found.message) == (
        "github_unavailable",
        502,
        retry_after,
        True,
    )


def test_spent_limit_names_the_minutes_until_it_is_renewed(
    workspace: Workspace, actor: Actor, github: GithubServer, github_repo: Repo
) -> None:
    reset = str(int(time.time()) + 30 * 60 - 5)
    github.fault = on(f"/repos/{NAME}", Reply(403, {"message": "x"}, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": reset}))
    with pytest.raises(Refused, match="Try again in 30 minutes") as caught:
        taken(workspace, actor, github_repo)
    assert 1700 < caught.value.details["retry_after"] <= 1800
    assert len(github.asked) == 1


def test_short_wait_is_waited_for(workspace: Workspace, actor: Actor, github: GithubServer, github_repo: Repo) -> None:
    github.fault = on(f"/repos/{NAME}", Reply(429, {"message": "x"}, {"Retry-After": "0"}), None)
    assert taken(workspace, actor, github_repo).files.count() == 1


def test_slow_github_is_given_up(workspace: Workspace, actor: Actor, github: GithubServer, github_repo: Repo, settings: Any) -> None:
    settings.GITHUB_IMPORT_SECONDS = 0.5
    for reply in (Reply(body=jsonl(10), delay=5), Reply(body=jsonl(10), drip=0.05)):
        github.fault = on("/git/blobs/", reply)
        began = time.monotonic()
        assert refusal(workspace, actor, github_repo) == ("github_unavailable", 502)
        assert time.monotonic() - began < 3


@pytest.mark.parametrize("content", [jsonl(9), jsonl(11), jsonl(10).replace(b"18", b"19"), b""])
def test_other_content_than_listed_is_not_kept(
    workspace: Workspace, actor: Actor, github: GithubServer, github_repo: Repo, content: bytes
) -> None:
    github.fault = on("/git/blobs/", Reply(body=content))
    assert refusal(workspace, actor, github_repo) == ("hash_mismatch", 502)


def test_download_that_breaks_is_begun_again(workspace: Workspace, actor: Actor, github: GithubServer, github_repo: Repo) -> None:
    github.fault = on("/git/blobs/", Reply(body=jsonl(10), cut=100), None)
    assert content_of(taken(workspace, actor, github_repo).files.get()) == jsonl(10)


def test_link_whose_target_is_a_data_file_is_never_read(workspace: Workspace, actor: Actor, github: GithubServer) -> None:
    repo = github.add("acme/links", {"a.csv": Link("../../etc/passwd"), "b.csv": b"question,answer\n1,2\n"})
    assert refusal(workspace, actor, repo, "a.csv") == ("file_refused", 422)
    assert github.downloads() == 0


# Private repositories


def private(github: GithubServer, connection: GithubInstallation, name: str = "acme/secret") -> tuple[Repo, dict[str, Any]]:
    repo = github.repos[name]
    return repo, {"repository": "", "connection_id": connection.public_id, "repository_id": repo.id}


def test_granted_repository_is_read_with_a_token_for_it_alone(
    workspace: Workspace, actor: Actor, github_app: GithubServer, github_connection: GithubInstallation
) -> None:
    repo, named = private(github_app, github_connection)
    made = taken(workspace, actor, repo, **named)
    receipt = json.loads(made.receipt)
    wanted = [json.loads(asked.request.body) for asked in github_app.asked if asked.path.endswith("/access_tokens")]

    assert wanted == [{"repository_ids": [repo.id], "permissions": {"contents": "read"}}]
    assert (receipt["private"], receipt["github_connection_id"]) == (True, str(github_connection.public_id))
    assert (github_app.tokens, github_app.paths()[-1]) == ({}, "DELETE /installation/token")
    assert taken(workspace, actor, repo, **named).pk == made.pk
    assert github_app.downloads() == 1


def test_granted_repositories_are_listed_with_a_token_that_reads_no_contents(
    workspace: Workspace, github_app: GithubServer, github_connection: GithubInstallation
) -> None:
    found, is_limited = granted_repositories(workspace, github_connection.public_id)
    wanted = [json.loads(asked.request.body) for asked in github_app.asked if asked.path.endswith("/access_tokens")]

    assert ([each.name for each in found], is_limited) == (["acme/secret"], False)
    assert (wanted, github_app.tokens) == ([{"permissions": {"metadata": "read"}}], {})


def test_what_was_not_granted_is_not_found(
    workspace: Workspace, other_workspace: Workspace, stranger: User, actor: Actor, github_app: GithubServer, github_connection: Any
) -> None:
    hidden, named = private(github_app, github_connection, "acme/hidden")
    secret, granted = private(github_app, github_connection)
    assert refusal(workspace, actor, hidden, **named) == ("access_refused", 404)
    assert refusal(workspace, actor, secret, **granted | {"repository": "acme/hidden"}) == ("access_refused", 404)
    asked = len(github_app.asked)
    assert refusal(other_workspace, actor_of_user(stranger), secret, **granted) == ("access_refused", 404)
    assert refusal(workspace, actor, secret, **granted | {"connection_id": workspace.public_id}) == ("access_refused", 404)
    assert len(github_app.asked) == asked
    github_app.installations.clear()
    assert refusal(workspace, actor, secret, **granted) == ("access_refused", 404)


def test_app_whose_key_is_refused_or_unreadable_is_unavailable(
    workspace: Workspace, actor: Actor, github_app: GithubServer, github_connection: GithubInstallation, settings: Any
) -> None:
    repo, named = private(github_app, github_connection)
    settings.GITHUB_APP_ID = "1"
    assert refusal(workspace, actor, repo, **named) == ("github_unavailable", 502)
    settings.GITHUB_APP_PRIVATE_KEY = "nonsense"
    assert refusal(workspace, actor, repo, **named) == ("github_unavailable", 502)


def test_token_that_may_write_is_not_used(
    workspace: Workspace, actor: Actor, github_app: GithubServer, github_connection: GithubInstallation
) -> None:
    repo, named = private(github_app, github_connection)
    github_app.fault = on("/access_tokens", Reply(201, {"token": "ghs_x", "permissions": {"contents": "write"}}))
    assert refusal(workspace, actor, repo, **named) == ("github_unavailable", 502)
    assert github_app.downloads() == 0
