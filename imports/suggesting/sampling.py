"""Reading a file once for a suggestion: rows spread over all of it, and what only the whole file tells, in bounded memory."""

import json
import re
import unicodedata
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from statistics import median
from typing import Any

from imports.mapping import MAX_LABEL
from imports.reading import Number, RowStream
from imports.suggesting.names import CLUSTERS, IDS, is_named

HEAD_ROWS = 200
SPREAD_ROWS = 400
MAX_CHARS = 32 * 1024 * 1024
"""Of texts that are read before the rest of a file is left unread."""
MAX_COLUMNS = 200
MAX_DISTINCT = 200
"""Different values of a column that are kept; with more it is no closed set."""

_NUMBER = re.compile(r"[-+−]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+)?(?<=\d)(?:[eE][-+]?\d{1,3})?\s?%?")
_WHOLE = re.compile(r"[-+]?\d{1,4}")
_LETTER = re.compile(r"\(?([A-Za-zＡ-Ｚａ-ｚ])\)?[.):]?")


class _Whole:
    """What one column holds over all rows: its different values while they are few; of an ID column, whether they are all different."""

    __slots__ = ("hashes", "is_unique", "values")

    def __init__(self, name: str, *, is_complete: bool) -> None:
        self.values: set[str] | None = set()
        self.hashes: set[int] | None = set() if is_named(name, IDS) else None
        self.is_unique = is_complete
        """Whether no row so far was without a value or shared it with another."""

    def add(self, value: Any) -> None:
        if value is None or (isinstance(value, str) and not value):
            self.is_unique = False
        elif not isinstance(value, str) or len(value) > MAX_LABEL:  # lists, objects and long texts are no labels
            self.values, self.is_unique = None, False
        else:
            if self.values is not None:
                self.values.add(value)
                if len(self.values) > MAX_DISTINCT:
                    self.values = None
            if self.is_unique and self.hashes is not None:
                before = len(self.hashes)
                self.hashes.add(hash(value))
                self.is_unique = len(self.hashes) > before
                if not self.is_unique:
                    self.hashes = None

    @property
    def is_open(self) -> bool:
        """Whether another value can change what is known."""
        return self.values is not None or (self.is_unique and self.hashes is not None)


@dataclass
class Profile:
    """One column: its values in the sample, and its different values in the whole file."""

    name: str
    index: int
    values: list[Any]
    """A value for each sampled row; None where it is missing."""
    distinct: frozenset[str] | None
    """All different values of the file, where these are at most `MAX_DISTINCT`."""
    is_unique: bool
    """Whether no two rows of the file share a value, and none is without."""

    @cached_property
    def present(self) -> list[Any]:
        return [value for value in self.values if value is not None and not (isinstance(value, str) and not value.strip())]

    @cached_property
    def texts(self) -> list[str]:
        """The scalar values as text, stripped."""
        return [value.strip() for value in self.present if isinstance(value, str)]

    def share(self, accepts: Any) -> float:
        """The part of the values that are there for which this is true."""
        return sum(map(bool, map(accepts, self.present))) / len(self.present) if self.present else 0.0

    @cached_property
    def filled(self) -> float:
        """The part of the rows that have a value."""
        return len(self.present) / len(self.values) if self.values else 0.0

    @cached_property
    def scalars(self) -> float:
        return self.share(lambda value: isinstance(value, str))

    @cached_property
    def length(self) -> float:
        """The median number of characters of the texts."""
        return float(median(map(len, self.texts))) if self.texts else 0.0

    @cached_property
    def longest(self) -> int:
        return max(map(len, self.texts), default=0)

    @cached_property
    def words(self) -> float:
        return float(median(map(word_count, self.texts))) if self.texts else 0.0

    @cached_property
    def numbers(self) -> float:
        return self.share(is_number)

    @cached_property
    def wholes(self) -> float:
        """The part of the values that are whole numbers of up to four digits, as an index is."""
        return self.share(lambda value: isinstance(value, str) and _WHOLE.fullmatch(value.strip()))

    @cached_property
    def letters(self) -> float:
        return self.share(lambda value: letter_of(value) is not None)

    @cached_property
    def lists(self) -> list[list[Any] | None]:
        """Each sampled row's list, given as such or as JSON text; None where there is none."""
        return [as_list(value) for value in self.values]

    @cached_property
    def list_share(self) -> float:
        return sum(each is not None for each in self.lists) / len(self.present) if self.present else 0.0

    @cached_property
    def objects(self) -> list[dict[str, Any]]:
        return [found for value in self.present if (found := as_object(value)) is not None]

    @property
    def is_chat(self) -> bool:
        """Whether it holds lists of chat messages, {"role", "content"}."""
        return self.share(is_chat) > 0.5

    @property
    def is_text(self) -> bool:
        """Whether it can fill a place in a prompt: text or numbers, in nearly every row."""
        return self.scalars > 0.99 and self.filled > 0.0

    @property
    def is_closed(self) -> bool:
        """Whether its values repeat: few different ones for many rows."""
        return self.distinct is not None and 2 <= len(self.distinct) <= max(2, len(self.values) // 3)


@dataclass
class Sample:
    """The rows that were looked at, and each column's profile in the file's order."""

    columns: dict[str, Profile]
    rows: int
    is_whole: bool
    unread: int
    problem: str
    size: int
    """Rows in the sample."""
    unique_together: list[tuple[str, str]] = field(default_factory=list)
    """Pairs of columns whose values are unique together, the coarser first."""


def read_sample(stream: RowStream) -> Sample:
    """Read the stream once, up to `MAX_CHARS` of text. Raises `Refused` as `RowStream.rows` does."""
    head: list[dict[str, Any]] = []
    spread: list[dict[str, Any]] = []
    whole: dict[str, _Whole] = {}
    pairs: dict[tuple[str, str], set[int]] | None = None
    stride, chars, count, unread, problem, is_whole = 1, 0, 0, 0, "", True
    for row in stream.rows():
        if row.problem:
            unread, problem = unread + 1, problem or f"Row {row.number} {row.problem}."
            continue
        count += 1
        values = row.values
        for name, value in values.items():
            column = whole.get(name)
            if column is None:
                if len(whole) >= MAX_COLUMNS:
                    continue
                column = whole[name] = _Whole(name, is_complete=count == 1)
            if column.is_open:
                column.add(value)
            chars += len(value) if isinstance(value, str) else 50
        if pairs is None:
            pairs = _pairs(values)
        if pairs:
            _add_pairs(pairs, values)
        if count <= HEAD_ROWS:
            head.append(values)
        elif count % stride == 0:
            spread.append(values)
            if len(spread) > SPREAD_ROWS:
                stride *= 2
                spread = spread[1::2]
        if chars > MAX_CHARS:
            is_whole = False
            break
    sampled = head + spread
    columns = {name: _profile(name, index, column, sampled, count) for index, (name, column) in enumerate(whole.items())}
    unique = [_coarse_first(pair, columns) for pair, seen in (pairs or {}).items() if len(seen) == count > 1]
    return Sample(columns, count, is_whole, unread, problem, len(sampled), unique)


def _profile(name: str, index: int, column: _Whole, sampled: list[dict[str, Any]], count: int) -> Profile:
    is_unique = column.is_unique and column.hashes is not None and len(column.hashes) == count
    distinct = frozenset(column.values) if column.values is not None else None
    return Profile(name, index, [values.get(name) for values in sampled], distinct, is_unique)


def _pairs(values: dict[str, Any]) -> dict[tuple[str, str], set[int]]:
    """Pairs of the first columns that are called IDs."""
    named = [name for name in values if is_named(name, IDS) or is_named(name, CLUSTERS)][:4]
    return {pair: set() for pair in combinations(named, 2)}


def _add_pairs(pairs: dict[tuple[str, str], set[int]], values: dict[str, Any]) -> None:
    """Note the row's values of each pair; a pair that repeats is no longer one."""
    for pair, seen in list(pairs.items()):
        first, second = values.get(pair[0]), values.get(pair[1])
        is_label = isinstance(first, str) and isinstance(second, str) and first and second and len(first) + len(second) < MAX_LABEL
        before = len(seen)
        if is_label:
            seen.add(hash((first, second)))
        if len(seen) == before:
            del pairs[pair]


def _coarse_first(pair: tuple[str, str], columns: dict[str, Profile]) -> tuple[str, str]:
    first, second = (columns[name].distinct for name in pair)
    is_second_coarser = second is not None and (first is None or len(second) < len(first))
    return (pair[1], pair[0]) if is_second_coarser else pair


# ── What single values are ──────────────────────────────────────────────────────────────────────────────────────────


def is_number(value: Any) -> bool:
    """Whether the value is a number, or a text that is one."""
    return isinstance(value, Number) or (isinstance(value, str) and bool(_NUMBER.fullmatch(value.strip())))


def letter_of(value: Any) -> str | None:
    """The capital letter that the value is, as the grader for choices reads it: "b", "(B)", "B."."""
    if not isinstance(value, str) or isinstance(value, Number):
        return None
    match = _LETTER.fullmatch(value.strip())
    return unicodedata.normalize("NFKC", match[1]).upper() if match else None


def whole_of(value: Any) -> int | None:
    """The index that the value is, if it is one."""
    return int(value) if isinstance(value, str) and _WHOLE.fullmatch(value.strip()) else None


def as_list(value: Any) -> list[Any] | None:
    """The list that a cell holds, as a value or as JSON text."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value, parse_int=Number, parse_float=Number)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, list) else None


def as_object(value: Any) -> dict[str, Any] | None:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def is_chat(value: Any) -> bool:
    listed = as_list(value)
    return bool(listed) and all(isinstance(each, dict) and "content" in each and "role" in each for each in listed or ())


def word_count(text: str) -> float:
    """Words of a text; where a script puts no spaces between them, two characters count as one."""
    spaced = len(text.split())
    wide = sum(1 for mark in text if ord(mark) >= 0x3040)
    return max(spaced, spaced + wide / 2)
