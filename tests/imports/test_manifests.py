"""The manifest's keys: each checked, none ignored."""

import json
from typing import Any

import pytest

from common.errors import Refused
from imports.manifests import Columns, answer_pattern, parse_manifest, read_manifest
from tests.imports.files import CAPITALS, CHOICES, SUMS


def refusal(document: Any) -> Refused:
    with pytest.raises(Refused) as caught:
        parse_manifest(document)
    return caught.value


def test_defaults_are_filled_in() -> None:
    manifest = parse_manifest(CAPITALS)
    assert manifest.columns == Columns(answer="capital", prompt={"question": "country"}, ids=("id",))
    assert (manifest.max_output_tokens, manifest.split, manifest.license) == (256, "test", "LicenseRef-Workspace-Private")
    assert (manifest.header, manifest.delimiter, manifest.encoding, manifest.format) == (True, None, None, None)
    assert manifest.grader_options["normalize"]["casefold"] is True


def test_every_key_is_taken() -> None:
    manifest = parse_manifest(
        {
            "name": " Every key ",
            "description": "All of them.",
            "data": "rows.csv",
            "format": "csv",
            "task": "multiple_choice",
            "columns": {"id": ["a", "b"], "question": "q", "choices": ["c", "d"], "answer": "e", "group": "g", "cluster": "h"},
            "prompt_template": "{question}\n{choices}",
            "system_prompt": "Choose {one}.",
            "grader_options": {"answer_format": "index", "index_base": 1},
            "max_output_tokens": 4096,
            "split": "validation",
            "data_license": "CC-BY-4.0",
            "rights_attestation": True,
            "answer_pattern": r"(\d)",
            "header": False,
            "delimiter": "\t",
            "encoding": "windows-1252",
        }
    )
    assert manifest.columns == Columns("e", {"question": "q"}, ("a", "b"), "g", "h", ("c", "d"), choices_in_one=False)
    assert manifest.columns.document() == {
        "answer": "e",
        "question": "q",
        "id": ["a", "b"],
        "choices": ["c", "d"],
        "group": "g",
        "cluster": "h",
    }
    assert (manifest.name, manifest.system_prompt, manifest.encoding, manifest.delimiter) == ("Every key", "Choose {one}.", "cp1252", "\t")
    assert manifest.grader_options == {"answer_format": "index", "index_base": 1}


def test_null_is_the_same_as_leaving_a_key_out() -> None:
    nothing = dict.fromkeys(["description", "system_prompt", "grader_options", "max_output_tokens", "answer_pattern", "header", "encoding"])
    assert parse_manifest({**SUMS, **nothing, "columns": {**SUMS["columns"], "group": None}}) == parse_manifest(SUMS)  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"name": None}, '"name" is required'),
        ({"name": "  "}, '"name" is required'),
        ({"name": "a\nb"}, '"name" must be one line'),
        ({"name": "x" * 161}, '"name" is longer than 160 characters'),
        ({"name": "a\0"}, '"name" holds a NUL character or half of a surrogate pair'),
        ({"name": "\ud800"}, '"name" holds a NUL character or half of a surrogate pair'),
        ({"task": "essay"}, '"task" must be one of multiple_choice, exact_match, regex_match, numeric, json_field_match'),
        ({"task": ["numeric"]}, '"task" must be one of multiple_choice, exact_match, regex_match, numeric, json_field_match'),
        ({"prompt_template": ""}, '"prompt_template" is required'),
        ({"prompt_template": 5}, '"prompt_template" must be text'),
        ({"max_output_tokens": 0}, '"max_output_tokens" must be a whole number from 1 to 4096'),
        ({"max_output_tokens": 4097}, '"max_output_tokens" must be a whole number from 1 to 4096'),
        ({"max_output_tokens": True}, '"max_output_tokens" must be a whole number from 1 to 4096'),
        ({"format": "xlsx"}, '"format" must be one of jsonl, csv, parquet'),
        ({"header": "no"}, '"header" must be true or false'),
        ({"encoding": "rot13"}, '"encoding" "rot13" is not an encoding that can be read'),
        ({"encoding": "no-such"}, '"encoding" "no-such" is not an encoding that can be read'),
        ({"grader_options": []}, '"grader_options" must be an object'),
        ({"rights_attestation": "yes"}, '"rights_attestation" must be true or false'),
        ({"prompt_templat": "x"}, '"prompt_templat" is not known; did you mean "prompt_template"?'),
        ({"zzz": 1}, '"zzz" is not known'),
        ({"source": "workspace://x/y"}, '"source" is for files that were uploaded before; here the file is given with the manifest'),
        ({"columns": None}, '"columns" is required'),
        ({"columns": []}, '"columns" must be an object of roles and columns'),
        ({"columns": {"question": "q"}}, '"columns.answer" is required'),
        ({"columns": {"question": 3, "answer": "a"}}, '"columns.question" must be a column\'s name'),
        ({"columns": {"question": ["q"], "answer": "a"}}, '"columns.question" must be a column\'s name'),
        ({"columns": {"my question": "q", "answer": "a"}}, '"columns.my question" a role is a name of letters, digits and _'),
        ({"columns": {"question": "q", "answer": "a", "id": []}}, '"columns.id" must be a column\'s name or a list of them'),
        ({"columns": {"question": "q", "answer": "a", "id": ["x", "x"]}}, '"columns.id" names a column twice'),
        ({"columns": {"question": "q", "answer": "a", "choices": "c"}}, '"columns.choices" is for multiple_choice alone, not for numeric'),
        ({"columns": {"answer": "a", "id": "x"}}, '"columns" maps no column to the prompt; every row would ask the same'),
    ],
)
def test_wrong_key_is_refused_by_name(changes: dict[str, Any], problem: str) -> None:
    refused = refusal({**SUMS, **changes})
    assert (refused.code, problem in refused.message) == ("byob_invalid_manifest", True), refused.message


def test_choices_are_required_for_multiple_choice_in_one_column_or_several() -> None:
    words = {
        "": '"columns.choices" is required for multiple_choice',
        "one": '"columns.choices" must list 2 to 26 columns, or name the one that holds the list',
    }
    for columns, key in (({"question": "q", "answer": "a"}, ""), ({"question": "q", "answer": "a", "choices": ["c"]}, "one")):
        assert words[key] in refusal({**CHOICES, "columns": columns}).message


def test_all_problems_are_told_at_once() -> None:
    refused = refusal({"nam": "x", "task": "numeric", "columns": {"question": "q"}, "rights_attestation": True})
    assert refused.details == {"keys": ["nam", "name", "columns.answer", "prompt_template"]}


@pytest.mark.parametrize("document", [None, [], "text", 5])
def test_anything_but_an_object_is_refused(document: Any) -> None:
    assert refusal(document).code == "byob_invalid_manifest"


@pytest.mark.parametrize("attested", [False, None])
def test_rights_must_be_attested(attested: bool | None) -> None:
    assert refusal({**SUMS, "rights_attestation": attested}).code == "byob_rights_not_attested"


def test_answer_column_cannot_be_a_placeholder_too() -> None:
    refused = refusal(
        {**SUMS, "columns": {"question": "question", "hint": "answer", "answer": "answer"}, "prompt_template": "{question}{hint}"}
    )
    assert (refused.code, refused.details) == ("byob_answer_in_input", {"column": "answer", "role": "hint"})


@pytest.mark.parametrize(
    ("template", "code"),
    [
        ("{question} {answer}", "forbidden_placeholder"),
        ("{question} {id}", "forbidden_placeholder"),
        ("{question} {cluster}", "forbidden_placeholder"),
        ("{question} {other}", "unknown_placeholder"),
        ("no placeholder", "missing_placeholder"),
        ("{question} {", "invalid_template"),
    ],
)
def test_template_that_does_not_fit_the_columns_is_refused(template: str, code: str) -> None:
    assert refusal({**SUMS, "prompt_template": template}).code == code


def test_wrong_grader_option_is_refused() -> None:
    assert refusal({**SUMS, "grader_options": {"abs_tolerance": 1}}).code == "invalid_grader_options"
    assert refusal({**SUMS, "task": "regex_match", "grader_options": {"pattern": r"(a)\1"}}).code == "invalid_pattern"


@pytest.mark.parametrize("delimiter", ["", "::", "a", '"', "\n"])
def test_delimiter_that_cannot_separate_cells_is_refused(delimiter: str) -> None:
    assert refusal({**SUMS, "delimiter": delimiter}).code == "byob_invalid_manifest"


@pytest.mark.parametrize(
    ("pattern", "cell", "answer"),
    [
        (r"####\s*(.+)", "Work.\n#### 1,450\nMore", "1,450"),
        (r"(\w+): (?P<answer>\w+)", "x: y", "y"),
        (r"=(\d*)", "none", None),
        (r"=(\d*)", "1 =", ""),
    ],
)
def test_answer_pattern_takes_its_group(pattern: str, cell: str, answer: str | None) -> None:
    assert answer_pattern(pattern)(cell) == answer


@pytest.mark.parametrize("pattern", [r"no group", r"(two)(groups)", r"(a)\1", r"(", "(x)" * 200])
def test_answer_pattern_that_cannot_be_used_is_refused(pattern: str) -> None:
    assert refusal({**SUMS, "answer_pattern": pattern}).code == "invalid_pattern"


def test_manifest_text_is_read_with_its_mark() -> None:
    assert read_manifest(b"\xef\xbb\xbf" + json.dumps(SUMS).encode()) == parse_manifest(SUMS)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"{", "it is not JSON: Expecting property name enclosed in double quotes at line 1, column 2"),
        (b'{"name": "a", "name": "b"}', '"name" stands twice'),
        (b"\xff\xfe", "it is not UTF-8 text"),
        (b"[" * 100_000, "it is nested too deeply"),
    ],
)
def test_manifest_text_that_cannot_be_read_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(Refused) as caught:
        read_manifest(text)
    assert (caught.value.code, caught.value.message) == ("byob_invalid_manifest", f"The manifest cannot be used: {problem}.")
