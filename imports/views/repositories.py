"""Looking for a data file in a GitHub repository: the whole state is the address, so that back and reload work."""

from dataclasses import dataclass, field
from typing import Any

from django.http import QueryDict
from django.utils.http import urlencode

from common.errors import Refused
from imports.queries import github
from imports.queries.capabilities import may_use_private_github
from imports.queries.github import Named
from imports.sources.hub_names import FORMATS
from imports.views.frame import looked_at
from imports.wording import in_words
from workspaces.models import Workspace
from workspaces.requests import PersonRequest

FILES_SHOWN = 400
OPEN_ALL = 15
"""A tree of at most so many files is shown unfolded."""


@dataclass(slots=True)
class Node:
    """A folder of the tree with what it holds."""

    name: str = ""
    path: str = ""
    href: str = ""
    """Where a folder is listed that is not here whole."""
    is_open: bool = False
    folders: dict[str, "Node"] = field(default_factory=dict)
    files: list[dict[str, Any]] = field(default_factory=list)

    @property
    def children(self) -> list["Node"]:
        return sorted(self.folders.values(), key=lambda node: node.name.lower())


def named_in(query: QueryDict) -> Named | None:
    """The repository that an address or a form names: by its name, or by a connection and GitHub's number of it."""
    connection, _, number = query.get("private", "").partition(":")
    if connection and number.isascii() and number.isdecimal() and len(number) < 16:
        return Named("", connection, int(number))
    name = query.get("repository", "").strip()[:300]
    return Named(name) if name else None


def github_context(request: PersonRequest, workspace: Workspace) -> dict[str, Any]:
    """The repositories that can be chosen, or the one that is open with its files, or why there is neither."""
    query = request.GET
    has_app = may_use_private_github(workspace)
    is_private = has_app and (query.get("access") == "private" or bool(query.get("private")))
    found: dict[str, Any] = {
        "has_app": has_app,
        "is_private": is_private,
        "accesses": [
            {"label": "Public", "href": "?source=github", "is_current": not is_private},
            {"label": "Private", "href": "?source=github&access=private", "is_current": is_private},
        ],
        "repository_typed": query.get("repository", "").strip()[:300],
        "private_named": query.get("private", "")[:60],
        "github_trouble": "",
        "tree": None,
    }
    named = named_in(query)
    if is_private:
        found["connections"] = list(github.connections_of(workspace))
    try:
        if named is not None:
            found |= _opened(workspace, query, named)
        elif is_private:
            found["granted"] = [(each, *github.granted_repositories(workspace, each.public_id)) for each in found["connections"]]
    except Refused as refusal:
        found["github_trouble"] = in_words(refusal.message)
    return found


def _opened(workspace: Workspace, query: QueryDict, named: Named) -> dict[str, Any]:
    """The tree at the revision, with the file that is chosen in it and its first rows where they are asked for."""
    revision = query.get("reference", "").strip() or query.get("revision", "").strip()
    folder, wanted = query.get("folder", "").strip("/")[:800], query.get("filter", "").strip().strip("/")[:300]
    refs = github.list_refs(workspace, named)
    tree = github.list_tree(workspace, named, revision=revision, path=folder)
    kept = {"private": query.get("private", "")} if named.connection_id else {"repository": tree.repository.name}
    at = {**kept, "revision": tree.revision, "folder": tree.path}
    chosen = query.get("file", "")[:800]
    listed = {each.entry.path: each for each in tree.entries}
    if (wanted in listed and listed[wanted].is_usable) or (wanted and not tree.is_whole and wanted.lower().endswith(tuple(FORMATS))):
        chosen = wanted
    root, shown, left_out = _grown(tree, wanted, chosen, at)
    found: dict[str, Any] = {
        "tree": tree,
        "root": root,
        "files_shown": shown,
        "files_left_out": left_out,
        "filter": wanted,
        "at": [(name, value) for name, value in at.items() if value],
        "kept": list(kept.items()),
        "refs": refs,
        "is_listed_ref": tree.revision in {each.name for each in (*refs.branches, *refs.tags)} | {each.commit for each in refs.commits},
        "up": _address(**at | {"folder": tree.path.rpartition("/")[0]}) if tree.path else "",
        "chosen": chosen,
        "chosen_name": chosen.rpartition("/")[2],
        "look": _address(**at, file=chosen, filter=wanted, look="1") if chosen else "",
    }
    if chosen and query.get("look"):
        found |= looked_at(lambda: github.preview(workspace, named, revision=tree.commit, path=chosen).rows)
    return found


def _address(**query: Any) -> str:
    return "?" + urlencode({"source": "github", **{key: value for key, value in query.items() if value}})


def _grown(tree: github.Tree, wanted: str, chosen: str, at: dict[str, str]) -> tuple[Node, int, int]:
    """The folders with their files that the filter leaves, how many these are, and how many more there would be."""
    root = Node(path=tree.path, is_open=True)
    matching = [each for each in tree.entries if wanted.lower() in each.entry.path.lower()]
    is_small = len(matching) <= OPEN_ALL or bool(wanted)
    for each in matching[:FILES_SHOWN]:
        node, path = root, each.entry.path
        parts = path.split("/")
        below = parts[tree.path.count("/") + 1 if tree.path else 0 : -1]
        for name in below:
            node = node.folders.setdefault(name, Node(name, f"{node.path}/{name}" if node.path else name, is_open=is_small))
            node.is_open = node.is_open or chosen.startswith(f"{node.path}/")
        if each.entry.kind == "folder":
            node.folders[each.entry.name] = Node(each.entry.name, path, _address(**at | {"folder": path}))
        else:
            node.files.append(
                {
                    "entry": each.entry,
                    "is_usable": each.is_usable,
                    "is_chosen": path == chosen,
                    "href": _address(**at, file=path, filter=wanted),
                }
            )
    return root, min(len(matching), FILES_SHOWN), max(0, len(matching) - FILES_SHOWN)
