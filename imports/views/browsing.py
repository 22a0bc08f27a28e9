"""Looking for a dataset on the Hugging Face Hub and in it: the whole state is the address, so that back and reload work."""

from typing import Any

from django.core.cache import cache
from django.http import QueryDict
from django.utils.http import urlencode

from common.errors import Refused
from imports.queries import hub
from imports.sources.hub_names import parse_reference
from imports.views.frame import looked_at
from imports.wording import in_words
from workspaces.requests import PersonRequest

HITS = 12
REMEMBERED_SECONDS = 600
MOST_CURSORS = 30


def hub_context(request: PersonRequest) -> dict[str, Any]:
    """What was found, or the folder that is open, or why there is neither. A dataset is opened at one commit and stays at it."""
    query = request.GET
    typed = query.get("q", "").strip()[:300]
    found: dict[str, Any] = {"q": typed, "hub_trouble": "", "hits": None, "dataset": None, "accepted": hub.accepted()}
    try:
        if repository := query.get("dataset", ""):
            commit = query.get("commit", "")
            found["dataset"] = _resolved(f"hf://{repository}@{commit}" if commit else repository)
        elif "/" in typed:
            found["dataset"] = _resolved(typed)
        elif typed:
            found["hits"] = [(hit, _address(dataset=hit.repository)) for hit in hub.search_datasets(typed, limit=HITS)]
        if found["dataset"] is not None and not found["dataset"].gated:
            found |= _opened(query, found["dataset"])
    except Refused as refusal:
        found["hub_trouble"] = in_words(refusal.message)
    return found


def _resolved(reference: str) -> hub.Resolved:
    """The dataset at its commit. What is pinned does not change, and is asked for once in a while."""
    named = parse_reference(reference)
    key = f"hub-dataset:{named.repository}@{named.revision}"
    if not named.is_pinned or (known := cache.get(key)) is None:
        known = hub.resolve(reference)
        cache.set(f"hub-dataset:{known.repository}@{known.commit}", known, REMEMBERED_SECONDS)
    return known  # type: ignore[no-any-return]


def _address(**query: Any) -> str:
    kept = {key: value for key, value in query.items() if value}
    return "?" + urlencode({"source": "huggingface", **kept}, doseq=True)


def _opened(query: QueryDict, dataset: hub.Resolved) -> dict[str, Any]:
    """The open folder with its ways up, forth and back, and the file that is chosen in it."""
    named = {"dataset": dataset.repository, "commit": dataset.commit}
    path = query.get("path", "").strip("/")
    wanted = query.get("filter", "").strip()[:200]
    cursors = query.getlist("cursor")[-MOST_CURSORS:]
    if wanted.endswith("/"):  # a folder's path, typed
        path, wanted, cursors = "/".join(filter(None, [path, wanted.strip("/")])), "", []
    folder = hub.list_folder(dataset.repository, dataset.commit, path, cursor=cursors[-1] if cursors else "")
    entries = [
        (
            entry,
            _address(**named, path=entry.path) if entry.kind == "folder" else _address(**named, path=path, cursor=cursors, file=entry.path),
        )
        for entry in folder.entries
        if wanted.lower() in entry.name.lower()
    ]
    parts = path.split("/") if path else []
    ways = [(dataset.repository, _address(**named))]
    ways += [(part, _address(**named, path="/".join(parts[: at + 1]))) for at, part in enumerate(parts)]
    chosen = query.get("file", "")
    found: dict[str, Any] = {
        "path": path,
        "filter": wanted,
        "entries": entries,
        "ways": ways,
        "next": _address(**named, path=path, cursor=[*cursors, folder.cursor]) if folder.cursor else "",
        "previous": _address(**named, path=path, cursor=cursors[:-1]) if cursors else "",
        "chosen": chosen,
        "chosen_name": chosen.rpartition("/")[2],
        "is_parquet": chosen.lower().endswith(".parquet"),
        "look": _address(**named, path=path, cursor=cursors, file=chosen, look="1") if chosen else "",
        "looked": None,
    }
    if chosen and query.get("look"):
        found |= looked_at(lambda: hub.preview_file(dataset.repository, dataset.commit, chosen))
    return found
