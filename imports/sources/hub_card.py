"""What a dataset's card says: the YAML header of its README.md, read as data within bounds."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from imports.sources.licences import stated_licenses

MAX_CARD_BYTES = 4 * 1024 * 1024
_MAX_EVENTS = 400_000
_MAX_DEPTH = 20
_MAX_ALIASES = 20
_MAX_PATTERNS = 20_000
_KEYS = frozenset(("license", "configs"))


class UnreadableCard(Exception):
    """The header cannot be read, or says one thing twice."""


@dataclass(frozen=True, slots=True)
class SplitFiles:
    """Which files the card assigns to a split of a config: patterns of paths from the repository's root."""

    config: str
    split: str
    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CardConfig:
    """A config that names only a folder: its splits are those of the usual layout within."""

    name: str
    folder: str


@dataclass(frozen=True, slots=True)
class Card:
    licenses: tuple[str, ...] = ()
    """As they are written."""
    splits: tuple[SplitFiles, ...] = ()
    folders: tuple[CardConfig, ...] = ()


def read_card(content: bytes) -> Card:
    """What the README's header states; an empty card where there is none. Raises `UnreadableCard`."""
    header = _header(content)
    if header is None:
        return Card()
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # texts, lists and objects: no other types, no merges
    try:
        _check_events(yaml.parse(header, Loader=loader), yaml)
        document = yaml.load(header, Loader=loader)  # noqa: S506  (a base loader makes nothing but texts, lists and objects)
    except (yaml.YAMLError, RecursionError, UnicodeError) as error:
        raise UnreadableCard(f"its header is not YAML that can be read ({type(error).__name__})") from None
    if not isinstance(document, dict):
        raise UnreadableCard("its header is not an object")
    splits, folders = _configs(document.get("configs"))
    return Card(stated_licenses(document.get("license")), splits, folders)


def _header(content: bytes) -> str | None:
    """The lines between the first `---` and the next; None where the README does not begin with one."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnreadableCard("it is not UTF-8 text") from None
    lines = text.lstrip("\r\n \t").splitlines()
    if not lines or lines[0].rstrip() != "---":
        return None
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == "---":
            return "\n".join(lines[1:number])
    return None


def _check_events(events: Iterator[Any], yaml: Any) -> None:
    """Raise `UnreadableCard` before anything is built: too long, too deep, too many aliases, or a key that counts here given twice."""
    depth = aliases = 0
    seen: set[str] = set()
    is_key = True
    for number, event in enumerate(events):
        if number > _MAX_EVENTS:
            raise UnreadableCard("its header is too long")
        if isinstance(event, yaml.events.AliasEvent):
            aliases += 1
            if aliases > _MAX_ALIASES:
                raise UnreadableCard("its header has too many aliases")
        if depth == 1 and isinstance(event, yaml.events.ScalarEvent) and is_key and event.value in _KEYS:
            if event.value in seen:
                raise UnreadableCard(f'its header states "{event.value}" twice')
            seen.add(event.value)
        if isinstance(event, yaml.events.CollectionStartEvent):
            depth += 1
            if depth > _MAX_DEPTH:
                raise UnreadableCard("its header is nested too deeply")
        elif isinstance(event, yaml.events.CollectionEndEvent):
            depth -= 1
            if depth == 1:
                is_key = True
        elif depth == 1:
            is_key = not is_key
        if depth > 1:
            is_key = True  # after the collection that this value is, a key follows


def _configs(listed: Any) -> tuple[tuple[SplitFiles, ...], tuple[CardConfig, ...]]:
    splits: dict[tuple[str, str], list[str]] = {}
    folders: list[CardConfig] = []
    count = 0
    for config in listed if isinstance(listed, list) else []:
        if not isinstance(config, dict):
            continue
        name = str(config.get("config_name") or "default")
        folder = str(config.get("data_dir") or "").strip("/")
        if not config.get("data_files"):
            if folder:
                folders.append(CardConfig(name, folder))
            continue
        for split, pattern in _data_files(config["data_files"]):
            count += 1
            if count > _MAX_PATTERNS:
                raise UnreadableCard("its header lists too many files")
            splits.setdefault((name, split), []).append(f"{folder}/{pattern}" if folder else pattern)
    return tuple(SplitFiles(config, split, tuple(patterns)) for (config, split), patterns in splits.items()), tuple(folders)


def _data_files(value: Any) -> Iterator[tuple[str, str]]:
    """Pairs of a split and a pattern, in each of the forms that a card may use; files without a split are of `train`."""
    if isinstance(value, str):
        yield "train", value
    elif isinstance(value, dict):
        for split, paths in value.items():
            for path in paths if isinstance(paths, list) else [paths]:
                if isinstance(path, str):
                    yield str(split), path
    elif isinstance(value, list):
        for one in value:
            if isinstance(one, str):
                yield "train", one
            elif isinstance(one, dict) and "path" in one:
                paths = one["path"]
                for path in paths if isinstance(paths, list) else [paths]:
                    if isinstance(path, str):
                        yield str(one.get("split") or "train"), path
