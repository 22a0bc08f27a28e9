"""What is refused by its text alone, before anything is fetched."""

from collections.abc import Sequence

import pytest

from common.errors import Refused
from imports.sources.hub_names import Reference, check_selection, parse_reference

COMMIT = "c30699e8356da336a370243923dbaf21066bb9fe"


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ("https://huggingface.co/datasets/cais/mmlu", Reference("cais/mmlu", "main")),
        ("HTTPS://HuggingFace.co/datasets/cais/mmlu/", Reference("cais/mmlu", "main")),
        (" cais/mmlu ", Reference("cais/mmlu", "main")),
        ("hf://cais/mmlu@main", Reference("cais/mmlu", "main")),
        ("hf://cais/mmlu@release/2.0", Reference("cais/mmlu", "release/2.0")),
        (f"hf://cais/mmlu@{COMMIT}", Reference("cais/mmlu", COMMIT)),
        ("hf://open-llm_x/MMLU.Pro-2@v1.0", Reference("open-llm_x/MMLU.Pro-2", "v1.0")),
    ],
)
def test_dataset_is_named_in_three_forms(text: str, reference: Reference) -> None:
    assert parse_reference(text) == reference


@pytest.mark.parametrize(
    "text",
    [
        "",
        "mmlu",
        "cais/mmlu/test",
        "datasets/mmlu",
        "cais/mmlu@main",
        "cais/..",
        "ca--is/mmlu",
        "cais/mmlu.git",
        "https://huggingface.co/cais/mmlu",
        "https://huggingface.co/models/cais/mmlu",
        "https://huggingface.co/spaces/cais/mmlu",
        "https://huggingface.co/datasets/cais",
        "https://huggingface.co/datasets/cais/mmlu/viewer",
        "https://huggingface.co/datasets/cais/mmlu/blob/main/data/test.csv",
        "https://huggingface.co/datasets/cais/mmlu/resolve/main/data/test.csv",
        "https://huggingface.co/datasets/cais/mmlu/tree/main",
        "https://huggingface.co/datasets/cais/mmlu?row=1",
        "https://huggingface.co/datasets/cais/mmlu?",
        "https://huggingface.co/datasets/cais/mmlu#files",
        "https://huggingface.co/datasets/cais/mm%6Cu",
        "https://huggingface.co:444/datasets/cais/mmlu",
        "https://token@huggingface.co/datasets/cais/mmlu",
        "https://huggingface.co.example.org/datasets/cais/mmlu",
        "https://example.org/datasets/cais/mmlu",
        "http://huggingface.co/datasets/cais/mmlu",
        "https://[huggingface.co/datasets/cais/mmlu",
        "ftp://huggingface.co/datasets/cais/mmlu",
        "hf://cais/mmlu",
        "hf://cais/mmlu@",
        "hf://datasets/cais/mmlu@main",
        "hf://cais/mmlu/test.csv@main",
        "hf://cais/mmlu@main@dev",
        "hf://cais/mmlu@refs/pr/3",
        "hf://cais/mmlu@refs/convert/parquet",
        "hf://cais/mmlu@../main",
        "hf://cais/mmlu@-x",
        "hf://cais/mmlu@ma in",
        "hf://cais/mmlu@a//b",
        "hf://cais/mmlu@" + "x" * 201,
    ],
)
def test_other_text_is_no_dataset(text: str) -> None:
    with pytest.raises(Refused) as caught:
        parse_reference(text)
    assert caught.value.code == "invalid_source"


@pytest.mark.parametrize("text", ["https://huggingface.co/datasets/cais/mmlu", "cais/mmlu"])
def test_pinned_reference_needs_its_revision(text: str) -> None:
    with pytest.raises(Refused) as caught:
        parse_reference(text, pinned=True)
    assert caught.value.code == "invalid_source"


def test_refusal_does_not_repeat_an_address_that_holds_a_credential() -> None:
    with pytest.raises(Refused) as caught:
        parse_reference("https://user:secret-of-mine@huggingface.co/datasets/cais/mmlu")
    assert "secret-of-mine" not in f"{caught.value.message}{caught.value.details}"


@pytest.mark.parametrize(
    ("config", "split", "files", "code"),
    [
        ("", "test", (), "invalid_selection"),
        (None, "te\0st", (), "invalid_selection"),
        (None, "x" * 201, (), "invalid_selection"),
        (None, None, ("/data/test.csv",), "invalid_selection"),
        (None, None, ("data/../test.csv",), "invalid_selection"),
        (None, None, ("data//test.csv",), "invalid_selection"),
        (None, None, ("data\\test.csv",), "invalid_selection"),
        (None, None, ("",), "invalid_selection"),
        (None, None, ("**/test.csv",), "invalid_selection"),
        (None, None, ("\ud800.csv",), "invalid_selection"),
        (None, None, ("data/test.json",), "unsupported_format"),
        (None, None, ("data/test.csv.gz",), "unsupported_format"),
        (None, None, ("load.py",), "unsupported_format"),
        (None, None, tuple(f"{n}.csv" for n in range(101)), "too_many_files"),
    ],
)
def test_malformed_selection_is_refused(config: str | None, split: str | None, files: Sequence[str], code: str) -> None:
    with pytest.raises(Refused) as caught:
        check_selection(config, split, files)
    assert (caught.value.code, caught.value.status) == (code, 422)
