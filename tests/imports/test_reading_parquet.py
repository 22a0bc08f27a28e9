"""Parquet: typed conversion, limits before a page is unpacked (INPUTS 15)."""

import datetime
import io
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from common.errors import Refused
from imports import checks
from imports.limits import limits
from imports.reading import Kind, Row, open_rows
from imports.reading import parquet as reader
from imports.reading.parquet_pages import BadPages, pages
from tests.imports.files import CHOICES, SUMS, checked, parquet, problems, prompts

REPOSITORY = Path(__file__).resolve().parents[2]


def values_of(array: pa.Array) -> list[Any]:
    stream = open_rows(io.BytesIO(parquet({"a": array})), "a.parquet")
    return [row.values["a"] for row in stream.rows()]


def kind_of(type_: pa.DataType) -> Kind:
    stream = open_rows(io.BytesIO(parquet({"a": pa.array([], type_)})), "a.parquet")
    column = stream.column("a")
    assert column is not None
    return column.kind


MOMENT = datetime.datetime(2024, 2, 29, 12, 30, tzinfo=datetime.UTC)


@pytest.mark.parametrize(
    ("array", "values"),
    [
        (pa.array(["x", None, ""], pa.string()), ["x", None, ""]),
        (pa.array(["x", None], pa.large_string()), ["x", None]),
        (pa.array(["x", None, "x"]).dictionary_encode(), ["x", None, "x"]),
        (pa.array([7, None, -1], pa.int8()), ["7", None, "-1"]),
        (pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"]),
        (pa.array([51.0, 0.1, float("nan"), None], pa.float64()), ["51.0", "0.1", None, None]),
        (pa.array([0.1, 2.0, float("nan"), None], pa.float32()), ["0.1", "2", None, None]),
        (pa.array([Decimal("1.50"), Decimal("0.01"), None], pa.decimal128(10, 2)), ["1.50", "0.01", None]),
        (pa.array([Decimal("0.00000001")], pa.decimal128(12, 8)), ["0.00000001"]),
        (pa.array([datetime.date(2024, 2, 29)]), ["2024-02-29"]),
        (pa.array([MOMENT.replace(tzinfo=None), None], pa.timestamp("s")), ["2024-02-29 12:30:00", None]),
        (pa.array([MOMENT], pa.timestamp("ns", "UTC")), ["2024-02-29 12:30:00Z"]),
        (pa.array([MOMENT.replace(microsecond=250_000, tzinfo=None)]), ["2024-02-29 12:30:00.250000"]),
        (pa.array([True, None]), [True, None]),
        (pa.array([None, None], pa.null()), [None, None]),
        (pa.array([["x", "y"], None, [], ["x", None]]), [["x", "y"], None, [], ["x", None]]),
        (pa.array([[1, 2]], pa.large_list(pa.int64())), [["1", "2"]]),
        (pa.array([["x"], ["y"]], pa.list_(pa.string(), 1)), [["x"], ["y"]]),
        (pa.array([{"text": ["x"], "n": 1.5}, None]), [{"text": ["x"], "n": "1.5"}, None]),
    ],
    ids=lambda value: str(value.type) if isinstance(value, pa.Array) else "",
)
def test_values_are_converted_by_their_type(array: pa.Array, values: list[Any]) -> None:
    assert values_of(array) == values


def test_kinds_come_from_the_schema() -> None:
    scalar = [
        pa.string(),
        pa.int8(),
        pa.float16(),
        pa.decimal128(5),
        pa.date32(),
        pa.bool_(),
        pa.null(),
        pa.dictionary(pa.int8(), pa.string()),
    ]
    assert {kind_of(type_) for type_ in scalar} == {Kind.SCALAR}
    assert kind_of(pa.list_(pa.string())) == Kind.LIST
    assert kind_of(pa.struct([("text", pa.list_(pa.string()))])) == Kind.OBJECT
    assert {kind_of(type_) for type_ in (pa.binary(), pa.map_(pa.string(), pa.string()), pa.list_(pa.binary()))} == {Kind.OTHER}


def test_row_groups_without_rows_and_a_column_null_until_late_are_read() -> None:
    schema = pa.schema([("question", pa.string()), ("answer", pa.int64())])
    written = io.BytesIO()
    with pq.ParquetWriter(written, schema) as writer:
        for questions, answers in (([], []), ([None] * 300, [None] * 300), ([], []), (["two?"], [2])):
            writer.write_table(pa.table({"question": questions, "answer": answers}, schema))
    rows = list(open_rows(io.BytesIO(written.getvalue()), "a.parquet").rows())
    assert (len(rows), rows[-1]) == (301, Row(301, None, {"question": "two?", "answer": "2"}))


def test_only_the_named_columns_are_read() -> None:
    stream = open_rows(io.BytesIO(parquet({"a": ["x"], "b": ["y"], "a.b": ["z"]})), "a.parquet")
    assert list(stream.rows(["a"])) == [Row(1, None, {"a": "x"})]
    assert list(stream.rows(["a.b", "unknown"])) == [Row(1, None, {"a.b": "z"})]


@pytest.mark.parametrize(
    ("content", "words"),
    [(b"PAR1 and then nothing", "cannot be read as Parquet"), (b"a,b\n1,2\n", "does not begin with PAR1")],
)
def test_broken_file_is_refused(content: bytes, words: str) -> None:
    with pytest.raises(Refused) as caught:
        open_rows(io.BytesIO(content), "a.parquet")
    assert (caught.value.code, words in caught.value.message) == ("byob_unreadable_file", True)


def test_damaged_page_is_refused() -> None:
    content = bytearray(parquet({"question": [f"{n}?" for n in range(999)], "answer": list(range(999))}, compression="zstd"))
    content[20:400] = b"\xff" * 380
    with pytest.raises(Refused) as caught:
        checked(bytes(content), SUMS, name="a.parquet")
    assert caught.value.code == "byob_unreadable_file"


def test_too_many_rows_are_refused_by_the_footer() -> None:
    content = parquet({"question": pa.nulls(limits().max_rows + 1, pa.string())})
    with pytest.raises(Refused) as caught:
        open_rows(io.BytesIO(content), "a.parquet")
    assert (caught.value.code, f"{limits().max_rows + 1:,} rows" in caught.value.message) == ("upload_row_limit", True)


def test_columns_that_unpack_to_more_than_the_limit_are_refused_before_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_UNPACKED_BYTES", 1_000_000)
    content = parquet({"question": ["x" * 10_000] * 200, "answer": [1] * 200}, compression="zstd", use_dictionary=False)
    assert len(content) < 10_000
    with pytest.raises(Refused) as caught:
        checked(content, SUMS, name="a.parquet")
    assert (caught.value.code, caught.value.details["unpacked_bytes"] > 2_000_000) == ("private_benchmark_too_large", True)


def test_page_that_unpacks_to_more_than_the_limit_is_refused_before_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """One text of a page is held several times while it is read, which the size of its column does not bound."""
    monkeypatch.setattr(reader, "MAX_PAGE_BYTES", 1_000_000)
    rows = {"question": ["short?", "x" * 2_000_000], "unmapped": ["y" * 3_000_000, "z"], "answer": [1, 2]}
    content = parquet(rows, compression="zstd", use_dictionary=False)
    assert len(content) < 10_000
    with pytest.raises(Refused) as caught:
        checked(content, SUMS, name="a.parquet")
    assert (caught.value.code, caught.value.status) == ("private_benchmark_too_large", 413)
    assert caught.value.details == {"column": "question", "bytes": 2_000_020}
    assert checked(parquet(rows | {"question": ["1?", "2?"]}), SUMS, name="a.parquet").rows == 2


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
@pytest.mark.parametrize("use_dictionary", [True, False])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_pages_are_what_the_footer_says_of_their_column(version: str, use_dictionary: bool, compression: str) -> None:
    rows = 3000
    columns = {
        "text": [None if row % 7 == 0 else f"é{row} " * (row % 40) for row in range(rows)],
        "list": [[str(row)] * (row % 4) for row in range(rows)],
        "struct": [{"a": row, "b": [1.5] * (row % 3)} for row in range(rows)],
    }
    written = {"data_page_version": version, "use_dictionary": use_dictionary, "compression": compression, "data_page_size": 5000}
    content = io.BytesIO(parquet(columns, row_group_size=1200, write_page_checksum=True, **written))
    metadata = pq.ParquetFile(content).metadata
    for group in range(metadata.num_row_groups):
        for index in range(metadata.num_columns):
            column = metadata.row_group(group).column(index)
            begin = column.dictionary_page_offset or column.data_page_offset
            found = list(pages(content, begin, column.total_compressed_size, column.num_values))
            assert sum(page.values for page in found) == column.num_values
            assert sum(page.header + page.unpacked for page in found) == column.total_uncompressed_size
            assert sum(page.header + page.packed for page in found) == column.total_compressed_size


@pytest.mark.parametrize("header", [b"", b"\xff" * 600, b"\x00", b"\x1c" * 600, b"\x18\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"])
def test_bytes_that_are_no_page_are_told(header: bytes) -> None:
    with pytest.raises(BadPages):
        list(pages(io.BytesIO(header), 0, 1000, 1))


def test_unmapped_columns_do_not_count_towards_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "MAX_UNPACKED_BYTES", 1_000_000)
    content = parquet({"question": ["x?"] * 200, "answer": [1] * 200, "unmapped": ["x" * 10_000] * 200}, use_dictionary=False)
    assert checked(content, SUMS, name="a.parquet").rows == 200


def test_prompts_that_repeat_a_long_text_are_refused_at_the_total_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "MAX_TEXT_CHARS", 1_000_000)
    content = parquet({"question": ["x" * 90_000] * 30, "answer": [1] * 30}, compression="zstd")
    assert len(content) < 10_000
    with pytest.raises(Refused) as caught:
        checked(content, SUMS, name="a.parquet")
    assert (caught.value.code, "by row 12" in caught.value.message) == ("private_benchmark_too_large", True)


def test_small_file_of_shared_long_values_is_read_without_unpacking_them() -> None:
    """12,000 values of 1 MB in a file of some kilobytes: 12 GB if each were held."""
    program = """
import io, re
import pyarrow as pa, pyarrow.parquet as pq
from imports.reading import open_rows
long = pa.array(["x" * 1_000_000])
flat = pa.DictionaryArray.from_arrays(pa.array([0] * 3000, pa.int32()), long)
triple = pa.DictionaryArray.from_arrays(pa.array([0] * 9000, pa.int32()), long)
lists = pa.ListArray.from_arrays(pa.array(range(0, 9001, 3), pa.int32()), triple)
written = io.BytesIO()
pq.write_table(pa.table({"question": flat, "choices": lists}), written, compression="zstd", store_schema=False)
assert len(written.getvalue()) < 20_000
peak_kib = lambda: int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
before = peak_kib()
rows = [len(row.values["question"]) + sum(map(len, row.values["choices"])) for row in open_rows(written, "a.parquet").rows()]
assert rows == [4_000_000] * 3000
print(peak_kib() - before)
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    grown_kib = int(ended.stdout)
    assert grown_kib < 100 * 1024


def test_columns_of_a_type_their_role_cannot_take_are_refused_by_name() -> None:
    content = parquet({"question": [["x"]], "answer": [1], "bytes": [b"x"], "object": [{"a": 1}]})
    for column in ("question", "bytes", "object"):
        with pytest.raises(Refused) as caught:
            checked(content, SUMS, name="a.parquet", columns={"question": column, "answer": "answer"})
        assert (caught.value.code, caught.value.details) == ("byob_unsupported_column", {"column": column})


def test_missing_column_is_named_with_the_closest() -> None:
    with pytest.raises(Refused) as caught:
        checked(parquet({"questions": ["x"], "answer": [1]}), SUMS, name="a.parquet")
    message = 'The file has no column "question". Did you mean "questions"? Its columns are "questions", "answer".'
    assert (caught.value.code, caught.value.message) == ("byob_missing_column", message)


def test_null_and_nan_answers_are_reported_and_never_become_text() -> None:
    content = parquet({"question": ["a", "b", "c"], "answer": [1.0, float("nan"), None]})
    with pytest.raises(Refused) as caught:
        checked(content, SUMS, name="a.parquet")
    assert problems(caught.value.details["rows"]) == [(2, "the answer is null"), (3, "the answer is null")]


def test_choices_are_read_from_a_list_and_from_a_list_inside_an_object() -> None:
    for choices, path in (([["x", "y"]], "choices"), ([{"text": ["x", "y"], "label": ["A", "B"]}], "choices.text")):
        content = parquet({"question": ["which?"], "choices": choices, "answer": ["B"]})
        report = checked(content, CHOICES, name="a.parquet", columns={**CHOICES["columns"], "choices": path})  # type: ignore[dict-item]
        assert prompts(report) == ["which?\nA. x\nB. y"]
