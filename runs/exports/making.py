"""Which module writes which format."""

from collections.abc import Callable, Iterator

from runs.bundles.writing import bundle_parts
from runs.exports.documents import json_parts, summary_parts
from runs.exports.formats import Format
from runs.exports.inspect_logs import inspect_parts
from runs.exports.lm_eval import lm_eval_parts
from runs.exports.pages import html_parts
from runs.exports.source import Source
from runs.exports.tables import check_samples_may_leave, csv_parts, figures_parts

_WRITERS: dict[str, Callable[[Source], Iterator[bytes]]] = {
    "html": html_parts,
    "bundle": bundle_parts,
    "json": json_parts,
    "csv": csv_parts,
    "figures": figures_parts,
    "summary": summary_parts,
    "inspect": inspect_parts,
    "lm-eval": lm_eval_parts,
}


def parts_of(source: Source, format: Format) -> Iterator[bytes]:
    """The file in parts, none of which grows with the run. Raises Refused where the export policy does not let it leave."""
    if format.name == "csv":
        check_samples_may_leave(source)
    return _WRITERS[format.name](source)
