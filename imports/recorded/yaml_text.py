"""YAML as data alone: no tags that make objects, and aliases that unfold to no more than a bounded document."""

import re
from typing import Any

import yaml

from imports.recorded.files import OldFile, too_large, unreadable

MAX_YAML_BYTES = 8 * 1024 * 1024
MAX_NODES = 500_000
"""Of the document with every alias written out."""


class _Loader(yaml.SafeLoader):
    """Counts nodes while the document is composed, those behind an alias each time it is named."""

    def __init__(self, stream: Any) -> None:
        super().__init__(stream)
        self._nodes = 0
        self._sizes: dict[int, int] = {}

    def compose_node(self, parent: Any, index: Any) -> Any:
        is_alias = self.check_event(yaml.events.AliasEvent)
        before = self._nodes
        node: Any = super().compose_node(parent, index)
        if is_alias:
            self._nodes += self._sizes.get(id(node), MAX_NODES)  # one that is not composed yet names itself
        else:
            self._nodes += 1
            self._sizes[id(node)] = self._nodes - before
        if self._nodes > MAX_NODES:
            raise yaml.YAMLError(f"it has more than {MAX_NODES:,} values, aliases written out")
        return node


def _keep_texts() -> None:
    """Read plain values as YAML 1.2 does, so that `yes` and a date stay texts; a decimal stays as it is written."""
    kept = {"tag:yaml.org,2002:null", "tag:yaml.org,2002:merge"}
    resolvers = yaml.SafeLoader.yaml_implicit_resolvers
    _Loader.yaml_implicit_resolvers = {first: [(tag, pattern) for tag, pattern in each if tag in kept] for first, each in resolvers.items()}
    _Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"(?:true|True|TRUE|false|False|FALSE)$"), list("tTfF"))
    _Loader.add_implicit_resolver("tag:yaml.org,2002:int", re.compile(r"-?(?:0|[1-9][0-9]{0,17})$"), list("-0123456789"))


_keep_texts()


def load_yaml(file: OldFile) -> Any:
    """The document. Raises `Refused` `recorded_unreadable_file`, `too_large` (413)."""
    if file.size > MAX_YAML_BYTES:
        raise too_large(file.name, file.size, MAX_YAML_BYTES, "a YAML document")
    file.file.seek(0)
    try:
        return yaml.load(file.file.read(MAX_YAML_BYTES + 1), Loader=_Loader)  # noqa: S506  a SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        words = " ".join(str(error).split())[:300] if not isinstance(error, RecursionError) else "it is nested too deeply"
        raise unreadable(file.name, f"it is not YAML that is data alone: {words}") from None
