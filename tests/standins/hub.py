"""The Hugging Face Hub on a loopback socket, for the real client: its API, its file addresses, and a CDN on another port.

    with HubServer() as hub:
        repo = hub.add("acme/sums", {"README.md": card("mit"), "data/test.jsonl": b"…"})
        settings.HF_ENDPOINT, settings.HF_FILE_HOSTS = hub.url, [hub.cdn_host]

A repository is a history of commits, each with its files; `main` is the newest one. Parquet files, and whatever is named in `lfs`, are kept
as with Git LFS: the Hub names their SHA-256 and sends the download to the CDN by a signed address. `fault` sees each request first: what
it returns is sent in place of the answer.

As a process of its own, which prints the settings to start the product with; it has one public dataset, `acme/sums`:

    python -m tests.standins.hub
"""

import hashlib
import json
import ssl
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.standins.http import Fault, Reply, Request, StandIn


def card(*licenses: str, **header: Any) -> bytes:
    """A README with the licences, one as text and several as a list, and further keys of its header."""
    stated: dict[str, Any] = {"license": licenses[0] if len(licenses) == 1 else list(licenses)} if licenses else {}
    return f"---\n{json.dumps(stated | header)}\n---\n# A data set\n".encode()


def blob_id(content: bytes) -> str:
    """The ID that Git gives the content."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


@dataclass
class Repo:
    name: str
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    refs: dict[str, str] = field(default_factory=dict)
    lfs: set[str] = field(default_factory=set)
    gated: str | bool = False
    private: bool = False
    disabled: bool = False
    readers: set[str] = field(default_factory=set)
    """Tokens that may read it where it is private or gated."""
    downloads: int = 0

    def commit(self, files: Mapping[str, bytes], branch: str = "main") -> str:
        """Add a commit with these files on top of the branch, of `main` where there is no such branch, and give its hash."""
        before = self.commits.get(self.refs.get(branch) or self.refs.get("main", ""), {})
        files = {**before, **files}
        text = repr((self.name, len(self.commits), sorted((path, blob_id(content)) for path, content in files.items())))
        sha = hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
        self.commits[sha] = files
        self.refs[branch] = sha
        return sha

    @property
    def head(self) -> str:
        return self.refs["main"]

    def is_lfs(self, path: str) -> bool:
        return path.endswith(".parquet") or path in self.lfs


class HubServer(StandIn):
    servers = ("hub", "cdn")

    def __init__(self, fault: Fault | None = None, *, tls: ssl.SSLContext | None = None) -> None:
        super().__init__(fault, tls=tls)
        self.repos: dict[str, Repo] = {}
        self.tokens: set[str] = set()
        """Tokens that the Hub knows at all."""
        self.listed: Callable[[dict[str, Any]], dict[str, Any] | None] = lambda entry: entry
        """What a file's entry is changed into where files are listed; None leaves it out."""

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.ports[0]}"

    @property
    def scheme(self) -> str:
        return "https" if self.tls else "http"

    @property
    def cdn_host(self) -> str:
        return f"127.0.0.1:{self.ports[1]}"

    def add(self, name: str, files: Mapping[str, bytes], *, lfs: Sequence[str] = (), **changed: Any) -> Repo:
        repo = Repo(name, lfs=set(lfs), **changed)
        repo.commit(files)
        self.repos[name] = repo
        self.tokens |= repo.readers
        return repo

    def paths(self, server: str = "") -> list[str]:
        """The addresses asked for, without their queries, in order."""
        return [asked.path.partition("?")[0] for asked in self.asked if server in ("", asked.server)]

    def downloads(self) -> list[str]:
        """The paths of the files that were asked for."""
        return [path.partition("/resolve/")[2].partition("/")[2] for path in self.paths("hub") if "/resolve/" in path]

    def reply(self, server: str, request: Request) -> Reply:
        return self._hub(request) if server == "hub" else self._cdn(request)

    # The Hub

    def _hub(self, request: Request) -> Reply:
        url = urlsplit(request.path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        parts = [unquote(part) for part in url.path.split("/")[1:]]
        if url.path == "/api/datasets":
            return self._search(query)
        is_api = parts[:2] == ["api", "datasets"]
        name, rest = ("/".join(parts[2:4]), parts[4:]) if is_api else ("/".join(parts[1:3]), parts[3:])
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if token and token not in self.tokens:
            return _refused(401, "", "Invalid credentials in Authorization header")
        repo = self.repos.get(name)
        if repo is None or (repo.private and token not in repo.readers):
            return _refused(404 if token else 401, "RepoNotFound", "Repository not found")
        if repo.disabled and rest[:1] != ["revision"]:
            return _refused(403, "", "Access to this resource is disabled.")
        kind, revision, path = [*rest, ""][0], [*rest, "", ""][1], "/".join(rest[2:])
        commit = revision if revision in repo.commits else repo.refs.get(revision)
        if commit is None:
            return _refused(404, "RevisionNotFound", "Invalid rev id")
        files = repo.commits[commit]
        if is_api and kind == "revision":
            return Reply(body=self._info(repo, commit, files))
        if repo.gated and token not in repo.readers and kind == "resolve":
            return _refused(403 if token else 401, "GatedRepo", "Access to dataset is restricted")
        if is_api and kind == "paths-info":
            wanted = parse_qs(request.body.decode())["paths"]
            entries = [self.listed(self._entry(repo, path, files[path])) for path in wanted if path in files]
            return Reply(body=[entry for entry in entries if entry is not None])
        if is_api and kind == "tree":
            return self._tree(repo, files, url.path, path, query)
        if not is_api and kind == "resolve":
            return self._resolve(request, repo, commit, files, path)
        return _refused(404, "", "Not found")

    def _search(self, query: Mapping[str, str]) -> Reply:
        found = [repo for repo in self.repos.values() if query.get("search", "").lower() in repo.name.lower() and not repo.private]
        found.sort(key=lambda repo: -repo.downloads)
        described = [
            {"id": repo.name, "downloads": repo.downloads, "likes": 1, "gated": repo.gated, "private": False, "disabled": repo.disabled}
            | {"lastModified": "2026-01-02T03:04:05.000Z"}
            for repo in found
        ]
        return Reply(body=described[: int(query.get("limit", 100))])

    def _info(self, repo: Repo, commit: str, files: Mapping[str, bytes]) -> dict[str, Any]:
        return {
            "id": repo.name,
            "sha": commit,
            "private": repo.private,
            "gated": repo.gated,
            "disabled": repo.disabled,
            "siblings": [{"rfilename": path} for path in sorted(files)],
            "tags": [],
        }

    def _entry(self, repo: Repo, path: str, content: bytes) -> dict[str, Any]:
        entry: dict[str, Any] = {"type": "file", "path": path, "size": len(content), "oid": blob_id(content)}
        if repo.is_lfs(path):
            entry["lfs"] = {"oid": hashlib.sha256(content).hexdigest(), "size": len(content), "pointerSize": 130}
        return entry

    def _tree(self, repo: Repo, files: Mapping[str, bytes], address: str, folder: str, query: Mapping[str, str]) -> Reply:
        prefix = f"{folder}/" if folder else ""
        within = {path: content for path, content in files.items() if path.startswith(prefix)}
        if not within:
            return _refused(404, "EntryNotFound", "Entry not found")
        folders = sorted({path.removeprefix(prefix).partition("/")[0] for path in within if "/" in path.removeprefix(prefix)})
        entries = [{"type": "directory", "path": f"{prefix}{name}", "size": 0, "oid": "0" * 40} for name in folders]
        entries += [self._entry(repo, path, within[path]) for path in sorted(within) if "/" not in path.removeprefix(prefix)]
        first, limit = int(query.get("cursor", 0)), int(query.get("limit", 1000))
        headers = {}
        if first + limit < len(entries):
            headers["Link"] = f'<{self.url}{address}?limit={limit}&cursor={first + limit}>; rel="next"'
        return Reply(body=entries[first : first + limit], headers=headers)

    def _resolve(self, request: Request, repo: Repo, commit: str, files: Mapping[str, bytes], path: str) -> Reply:
        if path not in files:
            return _refused(404, "EntryNotFound", "Entry not found")
        content = files[path]
        headers = {"X-Repo-Commit": commit, "Accept-Ranges": "bytes"}
        if not repo.is_lfs(path):
            return _ranged(request, content, headers | {"ETag": f'"{blob_id(content)}"'})
        sha256 = hashlib.sha256(content).hexdigest()
        headers |= {"X-Linked-Size": str(len(content)), "X-Linked-Etag": f'"{sha256}"'}
        location = f"{self.scheme}://{self.cdn_host}/repos/{sha256}?Signature=signed-{sha256[:8]}&Expires=1"
        return Reply(302, "Found. Redirecting to the file", headers | {"Location": location})

    # Its CDN

    def _cdn(self, request: Request) -> Reply:
        if "authorization" in request.headers:
            return Reply(400, "Only one auth mechanism allowed")
        wanted = request.path.removeprefix("/repos/").partition("?")[0]
        for repo in self.repos.values():
            for files in repo.commits.values():
                for content in files.values():
                    if hashlib.sha256(content).hexdigest() == wanted:
                        return _ranged(request, content, {"Accept-Ranges": "bytes", "ETag": f'"{wanted}"'})
        return Reply(404, "NoSuchKey")


def _ranged(request: Request, content: bytes, headers: Mapping[str, str]) -> Reply:
    """The content, or the part of it that was asked for."""
    named = request.headers.get("range", "").removeprefix("bytes=")
    if not named:
        return Reply(body=content, headers={"Content-Type": "application/octet-stream", **headers})
    first, _, last = named.partition("-")
    begin, end = int(first), min(int(last) + 1 if last else len(content), len(content))
    if begin >= len(content):
        return Reply(416, b"", {"Content-Range": f"bytes */{len(content)}"})
    ranged = {"Content-Range": f"bytes {begin}-{end - 1}/{len(content)}", "Content-Type": "application/octet-stream"}
    return Reply(206, content[begin:end], {**ranged, **headers})


def _refused(status: int, code: str, message: str) -> Reply:
    return Reply(status, {"error": message}, {"X-Error-Message": message} | ({"X-Error-Code": code} if code else {}))


def main() -> None:
    rows = "".join(f'{{"question": "What is {n} + {n}?", "answer": "{2 * n}"}}\n' for n in range(100))
    server = HubServer()
    server.add("acme/sums", {"README.md": card("mit"), "data/test.jsonl": rows.encode(), "data/train.jsonl": rows.encode()}, downloads=7)
    with server:
        print(f"HF_ENDPOINT={server.url} HF_FILE_HOSTS={server.cdn_host}", flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


if __name__ == "__main__":
    main()
