"""`multiple_choice`: one letter, read by three rules in a fixed order.

1. The whole output is one letter (any case), optionally in parentheses, then optionally `.`, `)` or `:`.
2. Otherwise the last "answer", optional "is", optional `:` or `-`, then an upper-case letter that stands alone, optionally in parentheses.
   Several letters there ("Answer: A, B and C") are no answer to a question with one.
3. Otherwise the one choice whose normalized text equals the whole output.

Full-width letters and signs count as their plain forms (NFKC). A letter outside the row's choices scores 0.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from catalog.graders import options as checks
from catalog.graders.texts import last_match, normalizer
from catalog.graders.verdicts import Step, Verdict, clipped, read, unreadable

OPTIONS: checks.Spec = {
    "answer_format": ("letter", checks.one_of("letter", "index", "text")),
    "index_base": (0, checks.one_of(0, 1)),
}
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

_WHOLE = re.compile(r"(?:\(([A-Za-z])\)|([A-Za-z]))[.):]?", re.ASCII)
# Possessive quantifiers: a long run of spaces after "answer" must not be tried in every way.
_ANSWER = re.compile(r"(?i:answer)(?:\s++(?i:is)\b)?+\s*+[:\-]?+\s*+\(?+([A-Z])(?!\w)")
_ANOTHER = re.compile(  # on the same line: "A or B", "A, B and C"; "I" counts only where a list goes on or ends, it may be the word
    r"\)?+(?:[ \t]*+(?:[/&+]|,?+[ \t]*+(?:and|or)\b)[ \t]*+|-)\(?+[A-HJ-Z](?!\w)"
    r"|\)?+[ \t]*+(?:[,;/&+]|,?+[ \t]*+(?:and|or)\b)[ \t]*+\(?+[A-Z](?!\w)\)?+[ \t]*+(?:$|[.,;/&+\n]|and\b|or\b)"
)
_same = normalizer()


def compile(options: Mapping[str, Any]) -> Callable[[str, Any, Sequence[str] | None], Verdict]:
    return grade


def grade(output: str, reference: Any, choices: Sequence[str] | None = None) -> Verdict:
    text = output.strip()
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    if not text:
        return unreadable("empty_answer")
    if len(text) <= 4 and (whole := _WHOLE.fullmatch(text)):
        return _verdict((whole[1] or whole[2]).upper(), reference, choices, Step("whole output is one letter", text))
    if stated := last_match(_ANSWER, text):
        step = Step("last stated answer", clipped(stated[0]))
        if _ANOTHER.match(text, stated.end()):
            return unreadable("several_letters", step, Step("more letters follow", clipped(text[stated.start() : stated.end() + 20])))
        return _verdict(stated[1], reference, choices, step)
    same = _same(text)
    equal = [letter for letter, choice in zip(LETTERS, choices or (), strict=False) if _same(choice) == same]
    if len(equal) == 1:
        return _verdict(equal[0], reference, choices, Step("whole output is the text of a choice", clipped(text)))
    return unreadable("ambiguous_choice" if equal else "no_letter")


def _verdict(letter: str, reference: str, choices: Sequence[str] | None, step: Step) -> Verdict:
    if choices is not None and LETTERS.index(letter) >= len(choices):
        return read(False, letter, step, reason="not_a_listed_choice")
    return read(letter == reference, letter, step)


def reference(options: Mapping[str, Any], raw: Any, choices: Sequence[str] | None = None) -> str:
    """The letter of the right choice, from a letter, an index or the choice's text."""
    if not choices:
        raise ValueError("the row has no choices")
    if len(choices) > len(LETTERS):
        raise ValueError(f"{len(choices)} choices; at most {len(LETTERS)} are allowed")
    return {"letter": _from_letter, "index": _from_index, "text": _from_text}[options["answer_format"]](options, raw, choices)


def _from_letter(options: Mapping[str, Any], raw: Any, choices: Sequence[str]) -> str:
    match = _WHOLE.fullmatch(unicodedata.normalize("NFKC", raw).strip()) if isinstance(raw, str) else None
    if not match:
        raise ValueError(f"the answer {clipped(str(raw), 60)!r} is not a letter")
    letter = (match[1] or match[2]).upper()
    if LETTERS.index(letter) >= len(choices):
        raise ValueError(f"the answer {letter} is not one of the {len(choices)} choices")
    return letter


def _from_index(options: Mapping[str, Any], raw: Any, choices: Sequence[str]) -> str:
    is_whole = isinstance(raw, int) or (isinstance(raw, float) and raw.is_integer())
    if isinstance(raw, bool) or not (is_whole or (isinstance(raw, str) and re.fullmatch(r"\s*[-+]?[0-9]{1,4}\s*", raw))):
        raise ValueError(f"the answer {clipped(str(raw), 60)!r} is not an index")
    index, base = int(raw), options["index_base"]
    if not 0 <= index - base < len(choices):
        raise ValueError(f"the answer index {index} is outside {base} to {len(choices) - 1 + base}")
    return LETTERS[index - base]


def _from_text(options: Mapping[str, Any], raw: Any, choices: Sequence[str]) -> str:
    text = raw if isinstance(raw, str) else str(raw)
    equal = [letter for letter, choice in zip(LETTERS, choices, strict=False) if choice == text]
    if not equal:
        same = _same(text)
        equal = [letter for letter, choice in zip(LETTERS, choices, strict=False) if _same(choice) == same]
    if not equal:
        raise ValueError(f"the answer {clipped(text, 60)!r} is not the text of a choice")
    if len(equal) > 1:
        raise ValueError(f"the answer {clipped(text, 60)!r} is the text of the choices {', '.join(equal)}")
    return equal[0]


def describe(options: Mapping[str, Any]) -> str:
    return (
        'The letter is read from an output that is one letter, else from the last "answer" followed by an upper-case letter, '
        "else from an output that equals the text of one choice; it must be the reference letter."
    )


def write(options: Mapping[str, Any], reference: Any, choices: Sequence[str] | None = None) -> str:
    return reference
