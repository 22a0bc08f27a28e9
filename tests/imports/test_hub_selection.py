"""Which files a config, a split or explicit paths mean; and what a card may say."""

from typing import Any

import pytest

from common.errors import Refused
from imports.sources.hub_card import Card, UnreadableCard, read_card
from imports.sources.hub_layout import select
from imports.sources.licences import accepted_licenses
from tests.standins.hub import card


def chosen(card: Card, *paths: str, config: str | None = None, split: str | None = None, files: tuple[str, ...] = ()) -> list[str]:
    return select(card, paths, config=config, split=split, files=files)[1]


def code_of(card: Card, *paths: str, **selected: Any) -> str:
    with pytest.raises(Refused) as caught:
        chosen(card, *paths, **selected)
    return caught.value.code


def configs(*listed: dict[str, Any]) -> Card:
    return read_card(card("mit", configs=list(listed)))


NONE = Card()


@pytest.mark.parametrize(
    ("paths", "config", "split", "expected"),
    [
        (["data/test-00000-of-00001.parquet", "data/train-00000-of-00001.parquet"], None, "test", ["data/test-00000-of-00001.parquet"]),
        (["test-00000-of-00001-0a1b.parquet"], None, "test", ["test-00000-of-00001-0a1b.parquet"]),
        (["a/test-00000-of-00001.parquet", "b/test-00000-of-00001.parquet"], "b", "test", ["b/test-00000-of-00001.parquet"]),
        (["data/a/aux_train-00000-of-00001.parquet"], "a", "aux_train", ["data/a/aux_train-00000-of-00001.parquet"]),
        (
            ["x/test-00001-of-00002.parquet", "x/test-00000-of-00002.parquet"],
            "x",
            "test",
            ["x/test-00000-of-00002.parquet", "x/test-00001-of-00002.parquet"],
        ),
        (["test.csv", "train.csv"], None, "test", ["test.csv"]),
        (["data/my-dev_set.jsonl"], None, "validation", ["data/my-dev_set.jsonl"]),
        (["test/one.csv", "test/two.csv", "train/one.csv"], None, "test", ["test/one.csv", "test/two.csv"]),
        (["questions.csv"], None, "train", ["questions.csv"]),
        (["questions.csv", "README.md", ".hidden/test.csv", "load.py"], "default", "train", ["questions.csv"]),
    ],
)
def test_usual_layout(paths: list[str], config: str | None, split: str, expected: list[str]) -> None:
    assert chosen(NONE, *paths, config=config, split=split) == expected


@pytest.mark.parametrize(
    ("data_files", "split", "expected"),
    [
        ("all/*.csv", "train", ["all/a.csv", "all/b.csv"]),
        (["all/a.csv", "all/b.csv"], "train", ["all/a.csv", "all/b.csv"]),
        ([{"split": "test", "path": "all/a.csv"}, {"split": "dev", "path": "all/b.csv"}], "dev", ["all/b.csv"]),
        ([{"split": "test", "path": ["all/b.csv", "all/a.csv"]}], "test", ["all/a.csv", "all/b.csv"]),
        ({"test": "all/a.csv", "dev": ["all/b.csv"]}, "test", ["all/a.csv"]),
        ([{"split": "test", "path": "**/*.jsonl"}], "test", ["deep/down/c.jsonl"]),
        ([{"split": "test", "path": "all/[ab].csv"}], "test", ["all/a.csv", "all/b.csv"]),
        ([{"split": "test", "path": "all/[!b].csv"}], "test", ["all/a.csv"]),
        ([{"split": "test", "path": "all/{a,x}.csv"}, {"split": "x", "path": "none/*"}], "test", ["all/a.csv"]),
        ([{"split": "test", "path": "all/?.csv"}], "test", ["all/a.csv", "all/b.csv"]),
        ([{"split": 2020, "path": "all/a.csv"}], "2020", ["all/a.csv"]),
    ],
)
def test_card_assigns_files_in_every_form(data_files: Any, split: str, expected: list[str]) -> None:
    said = configs({"config_name": "main", "data_files": data_files})

    assert chosen(said, "all/a.csv", "all/b.csv", "deep/down/c.jsonl", "test.csv", split=split) == expected


def test_config_with_a_folder_has_the_usual_layout_within() -> None:
    said = configs({"config_name": "one", "data_dir": "first"}, {"config_name": "two", "data_dir": "second", "data_files": "*.csv"})
    paths = ("first/test.csv", "first/train.csv", "second/a.csv", "test.csv")

    assert chosen(said, *paths, config="one", split="test") == ["first/test.csv"]
    assert chosen(said, *paths, config="two", split="train") == ["second/a.csv"]


@pytest.mark.parametrize(
    ("paths", "selected", "code"),
    [
        (["a/test-00000-of-00001.parquet", "b/test-00000-of-00001.parquet"], {"split": "test"}, "config_required"),
        (["test.csv"], {"config": "other", "split": "test"}, "unknown_config"),
        (["test.csv"], {}, "split_required"),
        (["test.csv"], {"split": "train"}, "unknown_split"),
        (["data/test-00000-of-00003.parquet", "data/test-00002-of-00003.parquet"], {"split": "test"}, "incomplete_split"),
        (["test.csv", "test.jsonl"], {"split": "test"}, "unsupported_format"),
        (["script.py", "data.json", "data.csv.gz", "page.arrow"], {"split": "test"}, "unsupported_format"),
        (["a.csv", "b.jsonl"], {"files": ("a.csv", "b.jsonl")}, "unsupported_format"),
        (["a\0.csv"], {"files": ("a*",)}, "invalid_selection"),
        (["train\ud800.csv"], {"split": "train"}, "invalid_selection"),
        (["deep/a.csv"], {"files": ("*.csv",)}, "file_not_found"),
        (["deep/down/a.csv"], {"files": ("deep/*.csv",)}, "file_not_found"),
        ([f"a/{n}.csv" for n in range(101)], {"files": ("a/*.csv",)}, "too_many_files"),
        (["a.csv", "a.txt"], {"files": ("a*",)}, "unsupported_format"),
        (["test.csv", "train.csv"], {"files": ("train.csv",), "split": "test"}, "invalid_selection"),
        (["test.csv"], {"files": ("test.csv",), "split": "dev"}, "unknown_split"),
        (["test.csv"], {"files": ("test.csv",), "config": "x"}, "unknown_config"),
    ],
)
def test_selection_that_cannot_be_meant_is_refused(paths: list[str], selected: dict[str, Any], code: str) -> None:
    assert code_of(NONE, *paths, **selected) == code


def test_card_that_assigns_what_is_not_there_makes_an_incomplete_split() -> None:
    said = configs({"config_name": "main", "data_files": [{"split": "test", "path": ["a.csv", "gone/*.csv"]}]})

    assert code_of(said, "a.csv", split="test") == "incomplete_split"
    assert code_of(configs({"config_name": "x", "data_files": "https://example.org/a.csv"}), "a.csv", split="train") == "incomplete_split"


def test_star_matches_within_one_folder_and_other_signs_are_letters() -> None:
    paths = ("data/a-1.csv", "data/a-2.csv", "data/deep/a-3.csv", "data/[a].csv", "data/a.csv")

    assert chosen(NONE, *paths, files=("data/a-*.csv",)) == ["data/a-1.csv", "data/a-2.csv"]
    assert chosen(NONE, *paths, files=("data/[*].csv",)) == ["data/[a].csv"]
    assert chosen(NONE, *paths, files=("data/a-1.csv", "data/a-*.csv")) == ["data/a-1.csv", "data/a-2.csv"]


def test_named_file_may_be_one_of_a_split() -> None:
    paths = ("data/test-00000-of-00002.parquet", "data/test-00001-of-00002.parquet")

    assert chosen(NONE, *paths, split="test", files=(paths[1],)) == [paths[1]]


def test_pattern_that_would_backtrack_ends_at_once() -> None:
    assert code_of(configs({"data_files": "*a" * 200 + "b.csv"}), "a" * 700 + ".csv", split="train") == "incomplete_split"


@pytest.mark.parametrize(
    ("readme", "licenses"),
    [
        (card("mit"), ("mit",)),
        (card("mit", "cc-by-4.0"), ("mit", "cc-by-4.0")),
        (b"\xef\xbb\xbf---\r\nlicense: MIT\r\n---\r\n# x", ("MIT",)),
        (b"---\nlicense:\n- apache-2.0\n- other\n---\n", ("apache-2.0", "other")),
        (b"---\nlicense: no\n---\n", ("no",)),
        (b"---\nlicense: {name: mit}\n---\n", ("{'name': 'mit'}",)),
        (b"---\ntags: [license]\nlicense: mit\n---\n", ("mit",)),
        (b"---\nnested: {license: a, configs: b}\nlicense: mit\n---\n", ("mit",)),
        (b"---\nlicense: ''\n---\n", ()),
        (b"---\nlanguage: en\n---\nlicense: mit\n", ()),
        (b"# no header\nlicense: mit\n", ()),
        (b"---\nlicense: mit\n", ()),
        (b"", ()),
    ],
)
def test_license_of_a_card(readme: bytes, licenses: tuple[str, ...]) -> None:
    assert read_card(readme).licenses == licenses


@pytest.mark.parametrize(
    "readme",
    [
        b"---\nlicense: mit\nlicense: other\n---\n",
        b"---\nlicense: [mit]\nother: {a: [1, {b: 2}]}\nlicense: other\n---\n",
        b"---\n'license': mit\n\"license\": other\n---\n",
        b"---\n- license\n---\n",
        b"---\nlicense: [mit\n---\n",
        b"---\nlicense: mit\nx: \xff\n---\n",
        b"---\nx: " + b"[" * 50 + b"]" * 50 + b"\n---\n",
        b"---\na: &a [x]\n" + b"".join(b"k%d: *a\n" % n for n in range(30)) + b"---\n",
        b"---\nx: " + b"[" * 200_000 + b"\n---\n",
    ],
)
def test_card_that_says_two_things_or_cannot_be_read_within_bounds(readme: bytes) -> None:
    with pytest.raises(UnreadableCard):
        read_card(readme)


@pytest.mark.parametrize(
    "stated", [(), ("other",), ("unknown",), ("mit", "other"), ("cc-by-nc-4.0",), ("cc-by-nd-4.0",), ("null",), ("mit or other",)]
)
def test_license_that_is_not_accepted_is_refused(stated: tuple[str, ...]) -> None:
    with pytest.raises(Refused) as caught:
        accepted_licenses(stated)
    assert (caught.value.code, "Apache-2.0" in caught.value.message) == ("license_refused", True)


def test_licenses_are_named_as_spdx_does() -> None:
    stated = ("mit", "apache-2.0", "bsd-2-clause", "BSD-3-Clause", "cc-by-4.0", "cc-by-sa-4.0", "cc0-1.0", "MIT")

    assert accepted_licenses(stated) == ("MIT", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC-BY-4.0", "CC-BY-SA-4.0", "CC0-1.0")
