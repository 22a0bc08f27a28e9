"""GitHub on a loopback socket: its REST API, and on another port the site where a person's code is exchanged.

    with GithubServer() as github:
        repo = github.add("acme/sums", {"data/test.jsonl": b"…", "link.csv": Link("data/test.csv")})
        settings.GITHUB_API_URL, settings.GITHUB_URL = github.url, github.site

Private repositories are read by tokens of an installation, which the App asks for with a token of its own that is checked with its real
public key; each token may do what it was asked for and no more. `fault` sees each request first: what it returns is sent instead.
"""

import hashlib
import json
import secrets
import time
from base64 import b64decode
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import jwt
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.standins.http import Fault, Reply, Request, StandIn


@dataclass(frozen=True, slots=True)
class Link:
    """A symbolic link."""

    target: str


@dataclass(frozen=True, slots=True)
class Submodule:
    """Another repository at one of its commits."""

    commit: str = "5" * 40


type Content = bytes | Link | Submodule

LFS_POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64 + b"\nsize 1000\n"
APP_ID, SLUG, CLIENT_ID, CLIENT_SECRET = "4711", "evalrouter-test", "Iv1.standin", "client-Secret-Of-The-App-52"


def git_id(kind: str, content: bytes) -> str:
    """The ID that Git gives an object."""
    return hashlib.sha1(b"%s %d\0" % (kind.encode(), len(content)) + content, usedforsecurity=False).hexdigest()


@dataclass
class Repo:
    id: int
    name: str
    private: bool = False
    default_branch: str = "main"
    commits: dict[str, dict[str, Content]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    truncated: bool = False
    """Whether its listing at once is cut short."""

    def commit(self, files: Mapping[str, Content], branch: str = "main") -> str:
        """Add a commit with these files on top of the branch, and give its hash."""
        before = self.commits.get(self.branches.get(branch) or self.branches.get("main", ""), {})
        made = {**before, **files}
        sha = hashlib.sha1(repr((self.name, len(self.commits), sorted(made.items(), key=str))).encode(), usedforsecurity=False).hexdigest()
        self.commits[sha] = made
        self.branches[branch] = sha
        return sha

    @property
    def head(self) -> str:
        return self.branches[self.default_branch]

    def blobs(self) -> dict[str, bytes]:
        contents = [content for files in self.commits.values() for content in files.values()]
        raw = [
            content if isinstance(content, bytes) else content.target.encode() for content in contents if not isinstance(content, Submodule)
        ]
        return {git_id("blob", content): content for content in raw}


@dataclass
class Token:
    """What a token of an installation may do: every granted repository where none is named."""

    installation: int
    repositories: list[int] | None
    permissions: dict[str, str]


@dataclass
class Installation:
    id: int
    account: str
    repositories: list[int]
    suspended: bool = False
    app_id: int = int(APP_ID)


class GithubServer(StandIn):
    servers = ("api", "site")

    def __init__(self, fault: Fault | None = None) -> None:
        super().__init__(fault)
        self.repos: dict[str, Repo] = {}
        self.installations: dict[int, Installation] = {}
        self.codes: dict[str, str] = {}
        """Codes that can be exchanged once, each of a person."""
        self.people: dict[str, dict[int, list[int]]] = {}
        """The installations that a person may use, each with the repositories they can read."""
        self.tokens: dict[str, Token] = {}
        self.person_tokens: dict[str, str] = {}
        self.made_tokens: list[str] = []
        """Every token that was ever given out."""
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.private_key = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()
        self._public_key = key.public_key()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.ports[0]}"

    @property
    def site(self) -> str:
        return f"http://127.0.0.1:{self.ports[1]}"

    def add(self, name: str, files: Mapping[str, Content], **changed: Any) -> Repo:
        repo = Repo(1000 + len(self.repos), name, **changed)
        repo.commit(files, repo.default_branch)
        self.repos[name] = repo
        return repo

    def install(self, account: str, *repos: Repo) -> Installation:
        made = Installation(70 + len(self.installations), account, [repo.id for repo in repos])
        self.installations[made.id] = made
        return made

    def code(self, person: str) -> str:
        """A code with which the person comes back from GitHub."""
        made = f"code-{secrets.token_urlsafe(18)}"
        self.codes[made] = person
        return made

    def paths(self) -> list[str]:
        """What was asked for, without queries, in order."""
        return [f"{asked.request.method} {asked.path.partition('?')[0]}" for asked in self.asked]

    def downloads(self) -> int:
        return sum("/git/blobs/" in path for path in self.paths())

    def reply(self, server: str, request: Request) -> Reply:
        return self._api(request) if server == "api" else self._exchange(request)

    # The site

    def _exchange(self, request: Request) -> Reply:
        if request.path != "/login/oauth/access_token" or "authorization" in request.headers:
            return Reply(404, "Not Found")
        form = {name: values[-1] for name, values in parse_qs(request.body.decode()).items()}
        person = self.codes.pop(form.get("code", ""), None)
        if form.get("client_id") != CLIENT_ID or form.get("client_secret") != CLIENT_SECRET:
            return Reply(body={"error": "incorrect_client_credentials"})
        if person is None:
            return Reply(body={"error": "bad_verification_code"})
        return Reply(body={"access_token": self._new_token("ghu_", self.person_tokens, person), "token_type": "bearer", "scope": ""})

    def _new_token(self, prefix: str, kept: dict[str, Any], value: Any) -> str:
        token = prefix + secrets.token_urlsafe(27)
        kept[token] = value
        self.made_tokens.append(token)
        return token

    # The API

    def _api(self, request: Request) -> Reply:
        url = urlsplit(request.path)
        query = {name: values[-1] for name, values in parse_qs(url.query).items()}
        parts = [unquote(part) for part in url.path.split("/")[1:]]
        if not request.headers.get("user-agent"):
            return _refused(403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header")
        scheme, _, sent = request.headers.get("authorization", "").partition(" ")
        match parts:
            case ["app", "installations", number, "access_tokens"]:
                return self._access_token(sent, int(number), json.loads(request.body or b"{}"))
            case ["applications", client, "token"]:
                return self._forget(client, b64decode(sent).decode(), json.loads(request.body))
            case ["user", "installations", *rest]:
                return self._person(sent, rest, query)
        token = self.tokens.get(sent)
        if scheme and token is None:
            return _refused(401, "Bad credentials")
        match parts:
            case ["installation", "token"]:
                self.tokens.pop(sent)
                return Reply(204)
            case ["installation", "repositories"] if token is not None:
                held = self.installations[token.installation].repositories
                granted = [repo for repo in self.repos.values() if repo.id in (held if token.repositories is None else token.repositories)]
                return self._page(url.path, query, [_described(repo) for repo in granted], under="repositories")
            case ["repos", owner, name, *rest]:
                return self._repository(self.repos.get(f"{owner}/{name}"), token, rest, url.path, query, request)
        return _refused(404, "Not Found")

    def _access_token(self, sent: str, number: int, wanted: dict[str, Any]) -> Reply:
        try:
            claims = jwt.decode(sent, self._public_key, algorithms=["RS256"], issuer=APP_ID, options={"require": ["exp", "iat", "iss"]})
        except jwt.PyJWTError:
            return _refused(401, "A JSON web token could not be decoded")
        if claims["exp"] > time.time() + 600:
            return _refused(401, "'Expiration time' claim ('exp') is too far in the future")
        found = self.installations.get(number)
        if found is None or found.suspended:
            return _refused(404 if found is None else 403, "Not Found" if found is None else "This installation has been suspended")
        asked = wanted.get("repository_ids")
        if asked is not None and not set(asked) <= set(found.repositories):
            return _refused(422, "There is at least one repository that does not exist or is not accessible to the parent installation.")
        permissions = {"metadata": "read", **wanted.get("permissions", {"contents": "read"})}
        token = self._new_token("ghs_", self.tokens, Token(number, asked, permissions))
        return Reply(201, {"token": token, "expires_at": "2036-01-01T00:00:00Z", "permissions": permissions})

    def _forget(self, client: str, basic: str, body: dict[str, Any]) -> Reply:
        if client != CLIENT_ID or basic != f"{CLIENT_ID}:{CLIENT_SECRET}":
            return _refused(404, "Not Found")
        return Reply(204) if self.person_tokens.pop(body["access_token"], None) else _refused(422, "Validation Failed")

    def _person(self, sent: str, rest: list[str], query: Mapping[str, str]) -> Reply:
        person = self.person_tokens.get(sent)
        if person is None:
            return _refused(401, "Bad credentials")
        usable = self.people.get(person, {})
        if not rest:
            found = [self.installations[number] for number in usable]
            described = [
                {
                    "id": each.id,
                    "app_id": each.app_id,
                    "account": {"login": each.account},
                    "suspended_at": "2026-01-01" if each.suspended else None,
                }
                for each in found
            ]
            return self._page("/user/installations", query, described, under="installations")
        if int(rest[0]) not in usable:
            return _refused(404, "Not Found")
        seen = [repo for repo in self.repos.values() if repo.id in usable[int(rest[0])]]
        return self._page(f"/user/installations/{rest[0]}/repositories", query, [_described(repo) for repo in seen], under="repositories")

    def _page(self, path: str, query: Mapping[str, str], entries: list[Any], *, under: str = "") -> Reply:
        size, number = int(query.get("per_page", 30)), int(query.get("page", 1))
        shown = entries[size * (number - 1) : size * number]
        headers = {"Link": f'<{self.url}{path}?per_page={size}&page={number + 1}>; rel="next"'} if size * number < len(entries) else {}
        return Reply(body={"total_count": len(entries), under: shown} if under else shown, headers=headers)

    def _repository(
        self, repo: Repo | None, token: Token | None, rest: list[str], path: str, query: Mapping[str, str], request: Request
    ) -> Reply:
        if repo is None or (repo.private and not self._may(token, repo)):
            return _refused(404, "Not Found")
        if token is not None and token.permissions.get("contents") != "read" and rest:
            return _refused(403, "Resource not accessible by integration")
        match rest:
            case []:
                return Reply(body=_described(repo))
            case ["branches" | "tags" as kind]:
                refs: dict[str, str] = getattr(repo, kind)
                return self._page(path, query, [{"name": name, "commit": {"sha": sha}} for name, sha in refs.items()])
            case ["commits"]:
                shas = list(reversed(repo.commits))
                described = [{"sha": sha, "commit": {"message": f"Change {sha[:4]}\n\nWhy."}} for sha in shas]
                return self._page(path, query, described) if shas else _refused(409, "Git Repository is empty.")
            case ["commits", *named]:
                return self._commit(repo, "/".join(named), request.headers.get("accept", ""))
            case ["git", "trees", sha]:
                return self._tree(repo, sha, is_recursive="recursive" in query)
            case ["git", "blobs", sha]:
                content = repo.blobs().get(sha)
                if content is None or "raw" not in request.headers.get("accept", ""):
                    return _refused(404, "Not Found")
                return Reply(body=content, headers={"Content-Type": "application/vnd.github.raw+json"})
        return _refused(404, "Not Found")

    def _may(self, token: Token | None, repo: Repo) -> bool:
        if token is None or repo.id not in self.installations[token.installation].repositories:
            return False
        return token.repositories is None or repo.id in token.repositories

    def _commit(self, repo: Repo, ref: str, accept: str) -> Reply:
        full = [sha for sha in repo.commits if len(ref) >= 7 and sha.startswith(ref)]
        sha = repo.branches.get(ref) or repo.tags.get(ref) or (full[0] if full else None)
        if sha is None:
            return _refused(422, f"No commit found for SHA: {ref}")
        return Reply(body=sha, headers={"Content-Type": "application/vnd.github.sha"}) if "sha" in accept else Reply(body={"sha": sha})

    def _tree(self, repo: Repo, sha: str, *, is_recursive: bool) -> Reply:
        for commit, files in repo.commits.items():
            folders = {"": files} | {
                folder: {path: content for path, content in files.items() if path.startswith(f"{folder}/")} for folder in _folders(files)
            }
            for folder, within in folders.items():
                if sha not in (_tree_id(folder, within), commit if not folder else ""):
                    continue
                prefix = f"{folder}/" if folder else ""
                below = {path.removeprefix(prefix): content for path, content in within.items()}
                entries = [
                    {"path": name, "mode": "040000", "type": "tree", "sha": _tree_id(prefix + name, folders[prefix + name])}
                    for name in _folders(below)
                    if is_recursive or "/" not in name
                ]
                entries += [_entry(path, content) for path, content in sorted(below.items(), key=str) if is_recursive or "/" not in path]
                is_cut = is_recursive and repo.truncated
                return Reply(body={"sha": sha, "tree": entries[:1] if is_cut else entries, "truncated": is_cut})
        return _refused(404, "Not Found")


def _folders(files: Mapping[str, Content]) -> list[str]:
    return sorted({"/".join(path.split("/")[:depth]) for path in files for depth in range(1, path.count("/") + 1)})


def _tree_id(folder: str, files: Mapping[str, Content]) -> str:
    return git_id("tree", repr((folder, sorted(files.items(), key=str))).encode())


def _raw(content: bytes | Link) -> bytes:
    return content if isinstance(content, bytes) else content.target.encode()


def _entry(path: str, content: Content) -> dict[str, Any]:
    if isinstance(content, Submodule):
        return {"path": path, "mode": "160000", "type": "commit", "sha": content.commit}
    raw = _raw(content)
    mode = "100644" if isinstance(content, bytes) else "120000"
    return {"path": path, "mode": mode, "type": "blob", "sha": git_id("blob", raw), "size": len(raw)}


def _described(repo: Repo) -> dict[str, Any]:
    return {"id": repo.id, "full_name": repo.name, "private": repo.private, "default_branch": repo.default_branch, "fork": False}


def _refused(status: int, message: str) -> Reply:
    return Reply(status, {"message": message, "documentation_url": "https://docs.github.com/rest", "status": str(status)})
