"""Where two texts differ, word by word. Pure; what it takes is bounded, whatever the texts are.

Words carry the space that follows them, so that long texts of few kinds of words do not match by their spaces. Texts with too many words
are told apart by lines, and those with too many lines not at all: a comparison that ends late shows nothing.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

MOST_PIECES = 2_000
"""Words, or else lines, of each text that are compared, after what both begin and end with is set aside."""
MOST_PAIRS = 20_000
"""Up to so many pairs of equal pieces every word counts; above it those that are most of a text only lengthen what others match."""
MOST_CHARACTERS = 400_000
"""Of each text; a longer one is shown unmarked."""

_WORDS = re.compile(r"\w+\s*|[^\w\s]\s*|\s+")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")

type Unit = Literal["words", "lines", ""]


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a text, and whether only this text has it."""

    text: str
    is_own: bool


@dataclass(frozen=True, slots=True)
class Difference:
    """Both texts in pieces. `unit` says what was compared: words or lines, and nothing where the texts are too long."""

    left: list[Piece]
    right: list[Piece]
    unit: Unit

    @property
    def is_same(self) -> bool:
        return self.unit != "" and not any(piece.is_own for piece in (*self.left, *self.right))


def tell_apart(left: str, right: str) -> Difference:
    """The two texts with what only one of them has marked. The pieces put together are the texts again."""
    if left == right:
        return Difference(_pieces([(left, False)]), _pieces([(right, False)]), "words")
    if max(len(left), len(right)) <= MOST_CHARACTERS:
        units: tuple[tuple[Unit, re.Pattern[str]], ...] = (("words", _WORDS), ("lines", _LINES))
        for unit, pattern in units:
            found = _compare(pattern.findall(left), pattern.findall(right))
            if found is not None:
                return Difference(*found, unit)
    return Difference(_pieces([(left, False)]), _pieces([(right, False)]), "")


def _compare(left: Sequence[str], right: Sequence[str]) -> tuple[list[Piece], list[Piece]] | None:
    """None where there are too many pieces. Pieces are alike that differ in their space alone."""
    a, b = [each.strip() for each in left], [each.strip() for each in right]
    shorter = min(len(a), len(b))
    head = next((at for at in range(shorter) if a[at] != b[at]), shorter)
    tail = next((at for at in range(shorter - head) if a[-1 - at] != b[-1 - at]), shorter - head)
    ends = len(a) - tail, len(b) - tail
    if max(ends) - head > MOST_PIECES:
        return None
    marks = [(left, [False] * len(a)), (right, [False] * len(b))]
    middle_a, middle_b = a[head : ends[0]], b[head : ends[1]]
    matcher = SequenceMatcher(None, middle_a, middle_b, autojunk=_pairs(middle_a, middle_b) > MOST_PAIRS)
    for kind, from_a, to_a, from_b, to_b in matcher.get_opcodes():
        if kind != "equal":
            for (_, own), start, stop in zip(marks, (from_a, from_b), (to_a, to_b), strict=True):
                own[head + start : head + stop] = [True] * (stop - start)
    found = [_pieces(list(zip(texts, own, strict=True))) for texts, own in marks]
    return found[0], found[1]


def _pairs(a: Sequence[str], b: Sequence[str]) -> int:
    counts = Counter(b)
    return sum(times * counts[piece] for piece, times in Counter(a).items())


def _pieces(texts: Sequence[tuple[str, bool]]) -> list[Piece]:
    """Neighbouring texts of a kind as one piece. The space after the last own word is no part of what differs."""
    found: list[Piece] = []
    for text, is_own in texts:
        if not text:
            continue
        if found and found[-1].is_own == is_own:
            found[-1] = Piece(found[-1].text + text, is_own)
        else:
            found.append(Piece(text, is_own))
    return [part for piece in found for part in _without_space(piece)]


def _without_space(piece: Piece) -> list[Piece]:
    if not piece.is_own:
        return [piece]
    words = piece.text.rstrip()
    return [each for each in (Piece(words, True), Piece(piece.text[len(words) :], False)) if each.text]
