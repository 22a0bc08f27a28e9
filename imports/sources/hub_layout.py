"""Which files of a repository are a config and a split: those that its card assigns, else those that the Hub's usual layout names."""

import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import re2

from common.errors import Refused
from imports.sources.hub_card import Card
from imports.sources.hub_names import FORMATS, MAX_NAMED, check_path, format_of, too_many

DEFAULT_CONFIG = "default"
_MAX_TRIED = 2_000_000
"""Paths that patterns are tried on for one selection."""
_SHARD = re.compile(r"(?P<split>[\w.]+?)-(?P<number>\d{5})-of-(?P<count>\d{5})(?:-[\w]+)?\.\w+", re.ASCII)
_WORDS = {
    "train": "train",
    "training": "train",
    "validation": "validation",
    "valid": "validation",
    "val": "validation",
    "dev": "validation",
    "test": "test",
    "testing": "test",
    "eval": "test",
    "evaluation": "test",
}
_WORD = re.compile(r"[^A-Za-z]+")


@dataclass(frozen=True, slots=True)
class SplitPaths:
    """The files of one split; `missing` says what of it is not there."""

    paths: tuple[str, ...]
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Assigned:
    """The patterns that a card assigns to a split, not yet looked up."""

    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """Configs, their splits, and the files of each."""

    splits: Mapping[str, Mapping[str, SplitPaths | Assigned]]
    tree: "Tree"

    @property
    def configs(self) -> list[str]:
        return list(self.splits)

    def config(self, name: str | None) -> str:
        """The config meant. Raises `Refused` `config_required` or `unknown_config`."""
        details = {"configs": self.configs[:200]}
        if name is None:
            if len(self.splits) > 1:
                raise Refused("config_required", f"The dataset has several configs; name one of {_listed(self.configs)}.", details=details)
            return next(iter(self.splits), DEFAULT_CONFIG)
        if name not in self.splits:
            has = f"It has {_listed(self.configs)}." if self.splits else "No config can be read from its card or file names."
            raise Refused("unknown_config", f"The dataset has no config {name!r}. {has}", details=details)
        return name

    def split(self, config: str, name: str) -> SplitPaths:
        """The split's files, whether or not all are there. Raises `Refused` `unknown_split`."""
        splits = self.splits.get(config, {})
        if name not in splits:
            has = f"It has {_listed(list(splits))}." if splits else "No split can be read from the card or the file names; name the files."
            raise Refused("unknown_split", f"There is no split {name!r}. {has}", details={"config": config, "splits": list(splits)[:200]})
        return self.files(splits[name])

    def files(self, found: SplitPaths | Assigned) -> SplitPaths:
        """The files of a split, looked up where the card gives patterns."""
        return found if isinstance(found, SplitPaths) else _look_up(found.patterns, self.tree)


class Tree:
    """The paths of a repository, sorted, so that a pattern is tried only on those that begin as it does."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = sorted(paths)
        self._known = frozenset(self.paths)
        self._tried = 0

    def __contains__(self, path: object) -> bool:
        return path in self._known

    def matching(self, pattern: str, *, only_star: bool = False) -> list[str]:
        """The paths that a pattern matches: `*` within one folder, and for a card's also `**`, `?`, `[…]` and `{a,b}`."""
        prefix = pattern[: re.search(r"[*]|$" if only_star else r"[*?\[{]|$", pattern).start()]  # type: ignore[union-attr]  # $ is found
        first = bisect_left(self.paths, prefix)
        last = bisect_left(self.paths, prefix + "\U0010ffff")
        self._tried += last - first
        if self._tried > _MAX_TRIED:
            raise Refused(
                "invalid_selection", "The repository has too many files for its patterns. Name the files, each by its whole path."
            )
        try:
            compiled = re2.compile(_as_regex(pattern, only_star=only_star))
        except re2.error:
            return []
        return [path for path in self.paths[first:last] if compiled.fullmatch(path)]


def layout_of(card: Card, tree: Tree) -> Layout:
    """The layout of a repository with these files."""
    paths = tree.paths
    if not card.splits and not card.folders:
        return Layout(_usual(paths), tree)
    found: dict[str, dict[str, SplitPaths | Assigned]] = {}
    for assigned in card.splits:
        found.setdefault(assigned.config, {})[assigned.split] = Assigned(assigned.patterns)
    for config in card.folders:
        within = {path.removeprefix(f"{config.folder}/"): path for path in paths if path.startswith(f"{config.folder}/")}
        usual = _usual(list(within))
        splits = usual.get(DEFAULT_CONFIG) or (next(iter(usual.values())) if len(usual) == 1 else {})
        placed = {
            split: SplitPaths(tuple(within[path] for path in files.paths), tuple(f"{config.folder}/{path}" for path in files.missing))
            for split, files in splits.items()
        }
        found.setdefault(config.name, {}).update(placed)
    return Layout(found, tree)


def select(
    card: Card, paths: Sequence[str], *, config: str | None, split: str | None, files: Sequence[str]
) -> tuple[str | None, list[str]]:
    """The config meant, where one is, and the paths selected.

    Either the files of a split, or those named, of which each must be of the config and split where these are named too. Raises `Refused`:
    `config_required`, `unknown_config`, `split_required`, `unknown_split`, `incomplete_split`, `file_not_found`, `unsupported_format`,
    `invalid_selection`, `too_many_files`.
    """
    tree = Tree(paths)
    if files:
        chosen = _named(files, tree)
        if config is not None or split is not None:
            config = _check_named(layout_of(card, tree), chosen, config, split)
        return config, _of_one_format(chosen)
    layout = layout_of(card, tree)
    if not layout.splits and not any(_is_data(path) for path in tree.paths):
        message = (
            "The repository has no Parquet, JSON Lines or CSV file. Datasets that a script loads, and other formats, are not imported."
        )
        raise Refused("unsupported_format", message)
    config = layout.config(config)
    if split is None:
        splits = list(layout.splits.get(config, {}))
        message = f"Name a split ({_listed(splits)}) or the files." if splits else "Name the files; no split can be read from their names."
        raise Refused("split_required", message, details={"config": config, "splits": splits[:200]})
    found = layout.split(config, split)
    if found.missing or not found.paths:
        message = f"The split {split!r} is incomplete: {_listed(list(found.missing))} is not in the repository at this commit."
        raise Refused("incomplete_split", message, details={"config": config, "split": split, "missing": list(found.missing)[:50]})
    return config, _of_one_format(list(found.paths))


def _named(files: Sequence[str], tree: Tree) -> list[str]:
    """The named files, and those that a `*` within one folder matches, each once."""
    chosen = []
    for name in files:
        check_path(name, is_pattern=True)
        if name in tree or "*" not in name:  # the Hub is asked for each by its name, whether or not it was listed
            chosen.append(name)
            continue
        matched = tree.matching(name, only_star=True)
        if not matched:
            raise Refused("file_not_found", f"No file matches {name} at this commit.", details={"path": name})
        chosen += matched
    return list(dict.fromkeys(chosen))


def _check_named(layout: Layout, chosen: Sequence[str], config: str | None, split: str | None) -> str | None:
    """Raise `Refused` unless the files are of the config and split that were named beside them; the config, where one was or is meant."""
    if config is not None:
        layout.config(config)
    configs = [config] if config is not None else layout.configs
    if split is not None:
        configs = [name for name in configs if split in layout.splits.get(name, {})]
        if not configs:
            layout.split(config or next(iter(layout.splits), DEFAULT_CONFIG), split)
    for name in configs:
        splits = layout.splits.get(name, {})
        wanted = [splits[split]] if split is not None else list(splits.values())
        of_config = {path for files in wanted for path in layout.files(files).paths}
        if of_config.issuperset(chosen):
            return name if config is not None or len(layout.splits) > 1 else config
    where = " and ".join(f"{kind} {name!r}" for kind, name in (("config", config), ("split", split)) if name is not None)
    message = f"The named files are not all of {where}. Name the files alone, or others."
    raise Refused("invalid_selection", message, details={"files": list(chosen)[:50]})


def _of_one_format(chosen: list[str]) -> list[str]:
    if len(chosen) > MAX_NAMED:
        raise too_many(len(chosen), MAX_NAMED)
    formats = {format_of(check_path(path, is_pattern=True)) for path in chosen}
    if len(formats) > 1:
        raise Refused("unsupported_format", f"The selection mixes {' and '.join(sorted(formats))}. Name files of one format.")
    return sorted(chosen)


def _is_data(path: str) -> bool:
    return path.lower().endswith(tuple(FORMATS)) and not any(part.startswith((".", "__")) for part in path.split("/"))


def _look_up(patterns: Iterable[str], tree: Tree) -> SplitPaths:
    chosen: dict[str, None] = {}
    missing = []
    for pattern in patterns:
        matched = [pattern] if pattern in tree else tree.matching(pattern.removeprefix("./"))
        if not matched:
            missing.append(pattern[:200])
        chosen.update(dict.fromkeys(matched))
    return SplitPaths(tuple(chosen), (*missing, *_missing_shards(chosen)))


def _usual(paths: Sequence[str]) -> dict[str, dict[str, SplitPaths]]:
    """`<config>/<split>-00000-of-00001.parquet` and `data/<split>-…`, else a split's word in the file's or the folder's name."""
    data = [path for path in paths if _is_data(path)]
    found: dict[str, dict[str, list[str]]] = {}
    for path in data:
        folder, _, name = path.rpartition("/")
        if shard := _SHARD.fullmatch(name):
            found.setdefault(_config_of(folder), {}).setdefault(shard["split"], []).append(path)
    if not found:
        for path in data:
            folder, _, name = path.rpartition("/")
            split = _word(name.rpartition(".")[0])
            if split is None and (split := _word(folder.rpartition("/")[2])):
                folder = folder.rpartition("/")[0]
            if split is not None:
                found.setdefault(_config_of(folder), {}).setdefault(split, []).append(path)
    if not found and data and len({path.rpartition("/")[0] for path in data}) == 1:
        found = {DEFAULT_CONFIG: {"train": data}}
    return {
        config: {split: SplitPaths(tuple(sorted(files)), tuple(_missing_shards(files))) for split, files in splits.items()}
        for config, splits in found.items()
    }


def _config_of(folder: str) -> str:
    if folder in ("", "data"):
        return DEFAULT_CONFIG
    return folder.removeprefix("data/")


def _word(name: str) -> str | None:
    """The split that a name speaks of; None where it names none, or two."""
    named = {_WORDS[word] for word in _WORD.split(name.lower()) if word in _WORDS}
    return next(iter(named)) if len(named) == 1 else None


def _missing_shards(paths: Iterable[str]) -> list[str]:
    """Shards that the names of the others promise (`-00000-of-00003`) and that are not there."""
    groups: dict[tuple[str, str, str, str], set[int]] = {}
    for path in paths:
        folder, _, name = path.rpartition("/")
        if shard := _SHARD.fullmatch(name):
            key = folder, shard["split"], shard["count"], name.rpartition(".")[2]
            groups.setdefault(key, set()).add(int(shard["number"]))
    missing = []
    for (folder, split, count, ending), numbers in groups.items():
        lacking = [number for number in range(min(int(count), 10_000)) if number not in numbers]
        names = [f"{split}-{number:05}-of-{count}.{ending}" for number in lacking[:10]]
        missing += [f"{folder}/{name}" if folder else name for name in names]
    return missing


def _as_regex(pattern: str, *, only_star: bool) -> str:
    parts: list[str] = []
    position, depth = 0, 0
    while position < len(pattern):
        char = pattern[position]
        if char == "*" and not only_star and pattern.startswith("**/", position):
            parts.append("(?:.*/)?")
            position += 2
        elif char == "*" and not only_star and pattern.startswith("**", position):
            parts.append(".*")
            position += 1
        elif char == "*":
            parts.append("[^/]*")
        elif only_star:
            parts.append(re2.escape(char))
        elif char == "?":
            parts.append("[^/]")
        elif char == "[" and (end := pattern.find("]", position + 2)) > 0:
            inner = pattern[position + 1 : end]
            negated = "^" if inner[0] in "!^" else ""
            parts.append(f"[{negated}{inner.lstrip('!^').replace(chr(92), '').replace('[', '')}]")
            position = end
        elif char == "{" and "}" in pattern[position:] and depth == 0:
            parts.append("(?:")
            depth = 1
        elif char == "}" and depth:
            parts.append(")")
            depth = 0
        elif char == "," and depth:
            parts.append("|")
        else:
            parts.append(re2.escape(char))
        position += 1
    return "".join(parts)


def _listed(names: Sequence[str]) -> str:
    """The first names in words."""
    shown = ", ".join(name[:80] for name in names[:12])
    return f"{shown} and {len(names) - 12:,} more" if len(names) > 12 else shown or "nothing"
