"""Encodings, delimiters, JSON in its forms: INPUTS 1 to 6, and files that are something else."""

import codecs
import gzip
import io
import json

import pytest

from common.errors import Refused
from imports.limits import limits
from imports.reading import Row, RowStream, open_rows
from imports.reading.rows import MAX_RECORD_CHARS
from tests.imports.files import CAPITALS, SUMS, checked, json_lines, problems, prompts

CURLY = "id,country,capital\n1,Côte d’Ivoire,Yamoussoukro\n"


def opened(content: bytes | str, name: str, **options: object) -> RowStream:
    return open_rows(io.BytesIO(content.encode() if isinstance(content, str) else content), name, **options)  # type: ignore[arg-type]


def rows_of(content: bytes | str, name: str, **options: object) -> list[Row]:
    return list(opened(content, name, **options).rows())


def refusal(content: bytes | str, name: str, **options: object) -> Refused:
    with pytest.raises(Refused) as caught:
        rows_of(content, name, **options)
    return caught.value


# ── Encodings ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_byte_order_mark_before_a_quoted_header_is_stripped() -> None:
    content = codecs.BOM_UTF8 + b'"id","country","capital"\r\n"1","Peru","Lima"\r\n'
    assert rows_of(content, "a.csv") == [Row(1, 2, {"id": "1", "country": "Peru", "capital": "Lima"})]


def test_byte_order_mark_before_json_is_stripped() -> None:
    assert rows_of(codecs.BOM_UTF8 + b'{"a": "b"}\n', "a.jsonl") == [Row(1, 1, {"a": "b"})]
    assert rows_of(codecs.BOM_UTF8 + b'[{"a": "b"}]', "a.json") == [Row(1, 1, {"a": "b"})]


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32"])
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_utf_16_and_32_are_detected(encoding: str, name: str) -> None:
    text = CURLY if name == "a.csv" else '{"id": "1", "country": "Côte d’Ivoire", "capital": "Yamoussoukro"}\n'
    stream = opened(text.encode(encoding), name)
    assert [row.values["country"] for row in stream.rows()] == ["Côte d’Ivoire"]
    assert (stream.encoding, stream.warnings) == (encoding, ())


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_mark_under_a_stated_byte_order_is_no_part_of_the_header(encoding: str) -> None:
    content = ("\ufeff" + CURLY).encode(encoding)
    assert rows_of(content, "a.csv", encoding=encoding)[0].values["id"] == "1"


def test_windows_1252_is_read_with_a_warning_that_shows_it() -> None:
    report = checked(CURLY.encode("cp1252"), CAPITALS, name="a.csv")
    assert prompts(report) == ["What is the capital of Côte d’Ivoire?"]
    assert [(warned.code, "Côte d’Ivoire" in warned.message) for warned in report.warnings] == [("byob_guessed_encoding", True)]
    assert report.source["encoding"] == "cp1252"


def test_the_warning_of_windows_1252_shows_that_line_alone() -> None:
    (warned,) = checked("id,country,capital\n1,“A”,b\n2,c,d\n".encode("cp1252"), CAPITALS, name="a.csv").warnings
    assert "line 2), so it was read as Windows-1252, where that line has “1,“A”,b”." in warned.message


@pytest.mark.parametrize("encoding", ["shift_jis", "gb18030", "euc_kr", "cp1251"])
def test_bytes_of_no_western_text_are_refused_with_their_line_rather_than_guessed(encoding: str) -> None:
    rows = {"shift_jis": "日本,東京", "gb18030": "日本,东京", "euc_kr": "일본,도쿄", "cp1251": "Япония,Токио"}
    refused = refusal(f"id,country,capital\n1,{rows[encoding]}\n".encode(encoding), "a.csv")
    assert (refused.code, refused.details) == ("byob_unreadable_file", {"line": 2, "key": "encoding"})


def test_stated_encoding_is_used_and_strict() -> None:
    content = "id,country,capital\n1,日本,東京\n".encode("shift_jis")
    assert rows_of(content, "a.csv", encoding="shift_jis")[0].values["capital"] == "東京"
    assert refusal(content, "a.csv", encoding="ascii").message == "Line 2 of the file is not ascii. Set another encoding."


def test_misfit_beyond_the_first_chunk_names_its_line() -> None:
    content = b"a,b\n" + b"x,y\n" * 400_000 + b"\x81,\xff\n"
    assert refusal(content, "a.csv").details == {"line": 400_002, "key": "encoding"}


def test_a_character_across_two_chunks_is_read() -> None:
    content = b"a,b\n" + b"x" * ((1 << 20) - 5) + "é,y\n".encode()
    assert [row.values["a"][-1] for row in rows_of(content, "a.csv")] == ["é"]


# ── Delimited text ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiter_is_sniffed(delimiter: str) -> None:
    content = delimiter.join(["id", "country", "capital"]) + "\n" + delimiter.join(["1", "Congo, the big; one", "Kinshasa"]) + "\n"
    content = content if delimiter in "\t|" else content.replace("Congo, the big; one", '"Congo, the big; one"')
    stream = opened(content, "a.csv")
    assert stream.delimiter == delimiter
    assert [row.values["country"] for row in stream.rows()] == ["Congo, the big; one"]


def test_stated_delimiter_wins() -> None:
    assert [row.values for row in rows_of("a;b,c\n1;2,3\n", "a.csv", delimiter=";")] == [{"a": "1", "b,c": "2,3"}]


def test_line_breaks_and_doubled_quotes_inside_a_cell_are_kept() -> None:
    content = 'id,text\r\n1,"one\r\ntwo"\r\n2,"she said ""no"""\r\n\r\n3,last'
    assert rows_of(content, "a.csv") == [
        Row(1, 2, {"id": "1", "text": "one\r\ntwo"}),
        Row(2, 4, {"id": "2", "text": 'she said "no"'}),
        Row(3, 6, {"id": "3", "text": "last"}),
    ]


def test_old_mac_line_ends_are_read() -> None:
    assert [row.values for row in rows_of("a,b\r1,2\r3,4\r", "a.csv")] == [{"a": "1", "b": "2"}, {"a": "3", "b": "4"}]


def test_ragged_rows_are_reported_with_row_and_line() -> None:
    found = rows_of('a,b\n1,"x\ny"\n1\n1,2,3\n4,5\n', "a.csv")
    assert [(row.number, row.line, row.problem) for row in found if row.problem] == [
        (2, 4, "has 1 cell where the header has 2; check its quotes and delimiters"),
        (3, 5, "has 3 cells where the header has 2; check its quotes and delimiters"),
    ]
    assert found[3] == Row(4, 6, {"a": "4", "b": "5"})


def test_cell_over_131072_characters_is_read() -> None:
    assert len(rows_of(f"a,b\n{'x' * 200_000},y\n", "a.csv")[0].values["a"]) == 200_000


def test_unclosed_quote_is_reported_where_it_begins() -> None:
    found = rows_of('a,b\n1,2\n3,"open\n5,6\n', "a.csv")
    assert [(row.number, row.line, row.problem) for row in found][1:] == [(2, 3, "cannot be read as CSV: its quote is never closed")]


def test_unclosed_quote_over_millions_of_characters_is_refused_in_bounded_memory() -> None:
    refused = refusal('a,b\n1,2\n3,"open\n' + "x,y\n" * (MAX_RECORD_CHARS // 4 + 1), "a.csv")
    assert (refused.code, refused.details) == ("byob_unreadable_file", {"row": 2, "line": 3})


def test_text_after_a_closing_quote_is_reported_and_the_next_row_read() -> None:
    found = rows_of('a,b\n"x"y,2\n3,4\n', "a.csv")
    assert [row.problem for row in found] == [
        "cannot be read as CSV: there is text after a closing quote; a quote inside a quoted cell is written twice",
        "",
    ]


def test_nul_character_is_reported_with_its_row() -> None:
    found = rows_of("a,b\n1,2\n3,\0\n", "a.csv")
    assert [(row.number, row.problem) for row in found if row.problem] == [(2, "holds a NUL character")]


def test_without_a_header_columns_are_numbered() -> None:
    stream = opened("x,1\ny,2\n", "a.csv", header=False)
    assert [column.name for column in stream.columns or ()] == ["column_1", "column_2"]
    assert [(row.number, row.line, row.values["column_1"]) for row in stream.rows()] == [(1, 1, "x"), (2, 2, "y")]


def test_column_named_twice_is_refused_only_where_it_is_mapped() -> None:
    content = "id,country,capital,note,note\n1,Peru,Lima,a,b\n"
    assert checked(content, CAPITALS, name="a.csv").rows == 1
    with pytest.raises(Refused) as caught:
        checked(content, CAPITALS, name="a.csv", columns={"question": "note", "answer": "capital"})
    assert caught.value.code == "byob_duplicate_column"


# ── JSON ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_array_blank_lines_no_last_newline_and_line_separators_are_read() -> None:
    one, two = {"a": "x\u2028y\u0085z"}, {"a": "]}, {"}
    lines = f"\n{json.dumps(one, ensure_ascii=False)}\n\n  \r\n{json.dumps(two)}"
    assert rows_of(lines, "a.jsonl") == [Row(1, 2, one), Row(2, 5, two)]
    array = f"\n [\n{json.dumps(one, ensure_ascii=False)}\n,\n{json.dumps(two, indent=1)}\n] \n"
    assert rows_of(array, "a.jsonl") == [Row(1, 3, one), Row(2, 5, two)]
    assert rows_of("[]", "a.json") == []


def test_array_longer_than_the_window_is_read_like_its_lines() -> None:
    objects = [{"n": n, "text": "é" * (n * 7 % 3000), "list": [{"deep": "]"}]} for n in range(900)]
    from_array = rows_of(json.dumps(objects, ensure_ascii=False, indent=1), "a.json")
    from_lines = rows_of(json_lines(*objects), "a.jsonl")
    assert [(row.number, row.values) for row in from_array] == [(row.number, row.values) for row in from_lines]
    assert len(from_array) == 900


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_bare_nan_and_infinity_are_reported_with_their_line(name: str) -> None:
    words = f"holds a bare {name}, which is not JSON; write null, a number or a text"
    for content in (f'{{"a": 1}}\n\n{{"a": [{name}]}}\n{{"a": 3}}\n', f'[{{"a": 1}},\n\n{{"a": [{name}]}},\n{{"a": 3}}]'):
        found = rows_of(content, "a.jsonl")
        assert [(row.number, row.line, row.problem) for row in found if row.problem] == [(2, 3, words)]
        assert len(found) == 3


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ('{"a": 1', "is not JSON: Expecting ',' delimiter at character 8"),
        ('{"a": 1} {"a": 2}', "has text after its object, at character 9; each line is one JSON object"),
        ('"text"', "is a text, not an object of columns and values"),
        ("12", "is a number, not an object of columns and values"),
        ('{"a": 1, "a": 2}', 'names "a" twice in one object'),
        ('{"a":' * 100_000, "is nested too deeply"),
    ],
)
def test_broken_line_is_reported_and_the_next_one_read(line: str, problem: str) -> None:
    assert rows_of(f'{line}\n{{"b": "c"}}\n', "a.jsonl") == [Row(1, 1, {}, problem), Row(2, 2, {"b": "c"})]


@pytest.mark.parametrize(
    ("content", "details"),
    [
        ('[{"a": 1},\n{"a": }]', {"row": 2, "line": 2}),
        ('[{"a": 1}\n{"a": 2}]', {"row": 1, "line": 2}),
        ('[{"a": 1},\n', {"row": 2, "line": 2}),
        ('[{"a": 1}]\n[]', {"line": 2}),
        ("[" * 100_000, {"row": 1, "line": 1}),
    ],
)
def test_broken_array_is_refused_with_row_and_line(content: str, details: dict[str, int]) -> None:
    refused = refusal(content, "a.json")
    assert (refused.code, refused.details) == ("byob_unreadable_file", details)


def test_line_over_the_record_limit_is_refused() -> None:
    assert refusal(b'{"a": "' + b"x" * MAX_RECORD_CHARS + b'"}', "a.jsonl").details == {"row": 1, "line": 1}
    assert refusal(b'[{"a": "' + b"x" * MAX_RECORD_CHARS * 2, "a.jsonl").details == {"row": 1, "line": 1}


def test_numbers_are_delivered_as_they_are_written() -> None:
    content = '{"question": 1.10, "answer": 51.0}\n{"question": 123456789012345678901234567890, "answer": 1E2}\n'
    assert prompts(checked(content, SUMS)) == ["1.10", "123456789012345678901234567890"]


def test_column_that_is_a_number_for_long_and_text_after_is_read() -> None:
    rows = [{"question": n, "answer": n} for n in range(5000)] + [{"question": "how many?", "answer": "7"}]
    assert checked(json_lines(*rows), SUMS).rows == 5001


def test_object_that_spans_lines_says_what_a_json_file_holds() -> None:
    with pytest.raises(Refused) as caught:
        checked(json.dumps({"examples": [{"question": "x"}]}, indent=1), SUMS, name="a.json")
    assert caught.value.code == "byob_unreadable_file"
    assert caught.value.message.endswith("A JSON file holds one object a line, or one array of objects.")


# ── Other files, and limits ─────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:ab\nsize 3\n", "Git LFS pointer"),
        (b"", "empty"),
        (b"\n\r\n\n", "blank lines"),
        (b"PK\x03\x04rest", "ZIP archive"),
        (gzip.compress(b"a,b\n", mtime=0), "gzip"),
        (b"<!DOCTYPE html><html></html>", "web page"),
        (b"PAR1....", "is Parquet"),
    ],
)
@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_file_that_is_something_else_is_refused_by_name(content: bytes, words: str, name: str) -> None:
    refused = refusal(content, name)
    assert (refused.code, words in refused.message) == ("byob_unreadable_file", True)


def test_ending_that_says_nothing_needs_a_format() -> None:
    assert refusal("a,b\n1,2\n", "data.txt").code == "byob_unknown_format"
    assert len(rows_of("a,b\n1,2\n", "data.txt", format="csv")) == 1


def test_file_over_64_mib_is_refused_before_it_is_read() -> None:
    class Huge(io.BytesIO):
        def seek(self, offset: int, whence: int = 0) -> int:
            return limits().max_benchmark_bytes + 1

        def read(self, size: int | None = -1) -> bytes:
            raise AssertionError("read")

    with pytest.raises(Refused) as caught:
        open_rows(Huge(), "a.csv")
    assert (caught.value.code, caught.value.status) == ("private_benchmark_too_large", 413)


def test_row_past_the_limit_is_refused_while_reading() -> None:
    assert len(rows_of("a,b\n" + "1,2\n" * limits().max_rows, "a.csv")) == limits().max_rows
    assert refusal("a,b\n" + "1,2\n" * (limits().max_rows + 1), "a.csv").code == "upload_row_limit"


def test_reading_leaves_the_file_open_and_can_be_repeated() -> None:
    file = io.BytesIO(b"a,b\n1,2\n3,4\n")
    stream = open_rows(file, "a.csv")
    next(stream.rows())
    assert list(stream.rows()) == list(stream.rows())
    assert not file.closed


def test_rows_without_a_readable_one_name_the_first_problem() -> None:
    with pytest.raises(Refused) as caught:
        checked("id,country,capital\n1,2\n3\n", CAPITALS, name="a.csv")
    assert (caught.value.code, [row for row, _ in problems(caught.value.details["rows"])]) == ("byob_unreadable_file", [1, 2])


def test_header_without_rows_is_refused() -> None:
    with pytest.raises(Refused) as caught:
        checked("id,country,capital\n", CAPITALS, name="a.csv")
    assert caught.value.code == "byob_no_rows"
