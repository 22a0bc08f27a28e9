"""Tasks that ask the same, and tasks that ask nearly the same.

Near duplicates are found by MinHash: the share of equal minima of two sets' hashes estimates the sets' Jaccard similarity (Broder, "On the
resemblance and containment of documents", 1997). The signatures are cut into bands, and only tasks that share a band are compared
(Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", chapter 3): with 8 bands of 4 minima a pair of similarity 0.85 is found
with probability 1 − (1 − 0.85⁴)⁸ = 99.7%. What is found is compared exactly before it is told. Numbers count as the same number, so that
tasks which were made from one template resemble one another.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from common.canonical import canonical_json
from imports.health.rows import MAX_EXAMPLES, Finding, HealthRow, Severity, percent, plain, tasks_words

SIMILAR = 0.85
SHINGLE = 5
"""Characters of a shingle."""
BANDS, BAND_ROWS = 8, 4
MAX_TOTAL_CHARS = 24_000_000
MIN_CHARS, MAX_CHARS = 400, 8_000
"""Of one text that is compared: all of it in most sets, its beginning in a large set of long texts."""
MAX_BUCKET = 40
MAX_COMPARED = 20_000
_CHUNK_CHARS = 400_000
_DIGITS = re.compile(r"\d+")

type Hashes = NDArray[np.uint64]


class Duplicates:
    """Collects the tasks' texts, then says which are the same. Memory: `MAX_TOTAL_CHARS` characters and some hundred bytes a task."""

    def __init__(self, count: int) -> None:
        self._limit = max(MIN_CHARS, min(MAX_CHARS, MAX_TOTAL_CHARS // max(1, count)))
        self._ids: list[str] = []
        self._texts: list[str] = []
        self._same: dict[bytes, list[int]] = {}
        self._answers: list[bytes] = []

    def add(self, row: HealthRow, text: str, own: str) -> None:
        """`text` is all that the task asks, `own` the part of it that others do not share, both in the form of `plain`."""
        index = len(self._ids)
        self._ids.append(row.task_id)
        self._same.setdefault(_digest(text), []).append(index)
        self._texts.append(_DIGITS.sub("0", own[: self._limit]))
        self._answers.append(_digest(_answer_text(row)))

    def findings(self) -> tuple[list[Finding], dict[str, Any]]:
        """What was found, and its figures."""
        count = len(self._ids)
        groups = [group for group in self._same.values() if len(group) > 1]
        repeated = sum(len(group) - 1 for group in groups)
        contradicting = [group for group in groups if len({self._answers[index] for index in group}) > 1]
        clusters, is_whole = self._near([group[0] for group in self._same.values()])
        near = sum(len(cluster) for cluster in clusters)
        found = []
        if contradicting:
            found.append(
                Finding(
                    "same_question_different_answers",
                    Severity.HIGH,
                    "The same question with different answers",
                    f"{tasks_words(sum(map(len, contradicting)))} ask the same as another and expect another answer:"
                    " no model can be right in all of them.",
                    sum(map(len, contradicting)),
                    self._examples(contradicting),
                )
            )
        if repeated:
            found.append(
                Finding(
                    "duplicates",
                    Severity.HIGH if repeated > 0.05 * count else Severity.MEDIUM if repeated > 0.01 * count else Severity.LOW,
                    "The same task again",
                    f"{tasks_words(repeated)} ({percent(repeated / count)}) repeat{'s' if repeated == 1 else ''} another word for word."
                    " What is asked twice counts twice, and makes intervals look narrower than they are.",
                    repeated,
                    self._examples(groups),
                )
            )
        if clusters:
            found.append(self._near_finding(clusters, near, count, is_whole))
        figures = {"repeated": repeated, "contradicting": sum(map(len, contradicting)), "near": near, "near_clusters": len(clusters)}
        return found, figures

    def _near_finding(self, clusters: list[list[int]], near: int, count: int, is_whole: bool) -> Finding:
        in_numbers = sum(len({self._texts[index] for index in cluster}) == 1 for cluster in clusters)
        share = near / count
        kind = ""
        if in_numbers == len(clusters):
            kind = " They differ in their numbers alone, as tasks made from a template do."
        elif in_numbers:
            kind = f" In {in_numbers:,} of {len(clusters):,} groups they differ in their numbers alone, as tasks made from a template do."
        least = "" if is_whole else "At least "
        words = f"{least}{tasks_words(near)} ({percent(share)}) are nearly the same as another, in {len(clusters):,} groups."
        return Finding(
            "near_duplicates",
            Severity.MEDIUM if share > 0.1 else Severity.LOW,
            "Nearly the same tasks",
            f"{words[:1].upper()}{words[1:]}{kind} Their answers are not independent: map a column that names each group as the cluster.",
            near,
            self._examples(clusters),
        )

    def _examples(self, groups: Iterable[Sequence[int]]) -> list[str]:
        """IDs of the first groups' first tasks, two of each, so that they can be looked at side by side."""
        found: list[str] = []
        for group in groups:
            found += [self._ids[index] for index in group[:2]]
            if len(found) >= MAX_EXAMPLES:
                break
        return found[:MAX_EXAMPLES]

    def _near(self, chosen: list[int]) -> tuple[list[list[int]], bool]:
        """Groups of tasks that resemble one another, and whether all that share a band were compared."""
        chosen = [index for index in chosen if len(self._texts[index]) >= 4 * SHINGLE]
        alike: dict[str, list[int]] = {}
        for index in chosen:
            alike.setdefault(self._texts[index], []).append(index)
        groups, is_whole = self._resembling([group[0] for group in alike.values()])
        return [whole for group in groups if len(whole := [each for index in group for each in alike[self._texts[index]]]) > 1], is_whole

    def _resembling(self, chosen: list[int]) -> tuple[list[list[int]], bool]:
        """Groups of different texts, of one text too, and whether all that share a band were compared."""
        if len(chosen) < 2:
            return [chosen] if chosen else [], True
        signatures = _signatures([self._texts[index] for index in chosen])
        parents = list(range(len(chosen)))
        compared, is_whole = 0, True
        shingles: dict[int, set[str]] = {}
        tried: set[tuple[int, int]] = set()
        for bucket in _buckets(signatures):
            first = bucket[0]
            is_whole = is_whole and len(bucket) <= MAX_BUCKET
            for other in bucket[1 : MAX_BUCKET + 1]:
                if (first, other) in tried or _root(parents, first) == _root(parents, other):
                    continue
                tried.add((first, other))
                if (signatures[first] == signatures[other]).mean() < SIMILAR - 0.15:
                    continue
                if compared == MAX_COMPARED:
                    return _grouped(parents, chosen), False
                compared += 1
                for index in (first, other):
                    if index not in shingles:
                        shingles[index] = _shingles(self._texts[chosen[index]])
                if _jaccard(shingles[first], shingles[other]) >= SIMILAR:
                    parents[_root(parents, other)] = _root(parents, first)
            if len(shingles) > 2_000:
                shingles.clear()
        return _grouped(parents, chosen), is_whole


def _digest(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=12).digest()


def _answer_text(row: HealthRow) -> str:
    """What the task expects: of a letter the text of its choice, so that choices in another order are the same."""
    if row.choices and isinstance(row.reference, str) and len(row.reference) == 1:
        place = ord(row.reference) - ord("A")
        return plain(row.choices[place]) if 0 <= place < len(row.choices) else row.reference
    return plain(canonical_json(row.reference))


def _shingles(text: str) -> set[str]:
    return {text[start : start + SHINGLE] for start in range(len(text) - SHINGLE + 1)}


def _jaccard(one: set[str], other: set[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both)


def _signatures(texts: list[str]) -> Hashes:
    """A row of 32 minima for each text, in chunks so that memory stays bounded. All texts have at least one shingle."""
    salts = np.random.default_rng(0).integers(1, 2**63, size=BANDS * BAND_ROWS, dtype=np.uint64) | np.uint64(1)
    parts, chunk, chars = [], [], 0
    for text in texts:
        chunk.append(text)
        chars += len(text)
        if chars > _CHUNK_CHARS:
            parts.append(_minima(chunk, salts))
            chunk, chars = [], 0
    if chunk:
        parts.append(_minima(chunk, salts))
    return np.concatenate(parts)


def _minima(texts: list[str], salts: Hashes) -> Hashes:
    """For each text and salt the least of its shingles' hashes: mixed windows of code points, multiplied by the salt."""
    codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), dtype=np.uint32).astype(np.uint64)
    windows = np.zeros(len(codes) - SHINGLE + 1, dtype=np.uint64)
    for step in range(SHINGLE):
        windows = windows * np.uint64(0x100000001B3) + codes[step : len(codes) - SHINGLE + 1 + step]
    windows ^= windows >> np.uint64(29)
    windows *= np.uint64(0xBF58476D1CE4E5B9)
    windows ^= windows >> np.uint64(32)
    # Windows that reach into the next text count for none: the last four of each text.
    lengths = np.array([len(text) for text in texts])
    ends = np.cumsum(lengths)
    starts = ends - lengths
    for back in range(1, SHINGLE):
        at = ends[:-1] - back
        windows[at] = windows[starts[:-1]]  # the text's own first window instead, which changes no set
    minima = np.empty((len(texts), len(salts)), dtype=np.uint64)
    for column, salt in enumerate(salts):
        minima[:, column] = np.minimum.reduceat((windows * salt) >> np.uint64(16), starts)
    return minima


def _buckets(signatures: Hashes) -> Iterable[list[int]]:
    """Tasks that agree in a whole band, band by band."""
    for band in range(BANDS):
        keys = np.zeros(len(signatures), dtype=np.uint64)
        for column in range(band * BAND_ROWS, (band + 1) * BAND_ROWS):
            keys = (keys ^ signatures[:, column]) * np.uint64(0x9E3779B97F4A7C15)
            keys ^= keys >> np.uint64(31)
        order = np.argsort(keys, kind="stable")
        runs = np.flatnonzero(np.diff(keys[order])) + 1
        for start, end in pairwise((0, *runs.tolist(), len(order))):
            if end - start > 1:
                yield order[start:end].tolist()


def _root(parents: list[int], index: int) -> int:
    while parents[index] != index:
        parents[index] = parents[parents[index]]
        index = parents[index]
    return index


def _grouped(parents: list[int], chosen: list[int]) -> list[list[int]]:
    groups: dict[int, list[int]] = defaultdict(list)
    for index in range(len(parents)):
        groups[_root(parents, index)].append(chosen[index])
    return list(groups.values())
