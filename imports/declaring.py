"""From a short mapping to the manifest of a benchmark: which column asks, which one answers, and who grades."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from catalog.enums import Grader
from common.errors import Refused
from imports.checks import check_rows
from imports.manifests import ImportManifest, parse_manifest
from imports.reading import open_rows

DEFAULT_TEMPLATE = "{prompt}"
CHOICES_TEMPLATE = '{prompt}\n\n{choices}\n\nAnswer with one letter as "ANSWER: <letter>".'
_OWN_CODES = {"upload_row_limit": "import_row_limit", "private_benchmark_too_large": "private_benchmark_too_large"}


@dataclass(frozen=True, slots=True)
class ShortMapping:
    """What an import may say of its one file, so that its rows are checked and a manifest is made of it."""

    grader: str
    prompt_field: str
    answer_field: str
    choices_field: str | None = None
    grader_options: Mapping[str, Any] = field(default_factory=dict)

    def declaration(self) -> dict[str, Any]:
        """The keys of the manifest that follow from it."""
        columns = {"prompt": self.prompt_field, "answer": self.answer_field}
        if self.choices_field is not None:
            columns["choices"] = self.choices_field
        has_choices = self.grader == Grader.MULTIPLE_CHOICE
        declared: dict[str, Any] = {
            "task": self.grader,
            "columns": columns,
            "prompt_template": CHOICES_TEMPLATE if has_choices else DEFAULT_TEMPLATE,
        }
        return declared | ({"grader_options": dict(self.grader_options)} if self.grader_options else {})

    def manifest(self) -> ImportManifest:
        """The checked manifest. Raises `Refused` `invalid_mapping`."""
        try:
            return parse_manifest({"name": "Import", **self.declaration(), "rights_attestation": True})
        except Refused as refused:
            raise _invalid(refused) from None


def check_mapping(manifest: ImportManifest, file: BinaryIO, name: str) -> int:
    """Check every row of the file; gives how many there are.

    Raises `Refused`: `invalid_mapping`, which names the row and the reason, `import_row_limit` and `private_benchmark_too_large` (413).
    """
    template = {"prompt_template": manifest.prompt_template, "system_prompt": manifest.system_prompt}
    try:
        return check_rows(open_rows(file, name), manifest, template).rows
    except Refused as refused:
        raise _invalid(refused) from None


def _invalid(refused: Refused) -> Refused:
    if refused.code in _OWN_CODES:
        return Refused(_OWN_CODES[refused.code], refused.message, status=refused.status, details=refused.details)
    return Refused("invalid_mapping", refused.message, details={"cause": refused.code, **refused.details})
