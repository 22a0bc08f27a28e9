"""From answers to a grader: what a column of answers holds, by which rule it can be compared, and what has to be taken out of it first."""

import json
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from catalog.enums import Grader
from catalog.graders.multiple_choice import LETTERS
from catalog.graders.texts import normalizer
from imports.manifests import answer_pattern
from imports.reading import Number
from imports.suggesting.guesses import Certainty, Guess
from imports.suggesting.sampling import Profile, as_list, is_number, letter_of, whole_of, word_count

NEARLY_ALL = 0.99
MAX_FIELDS = 20
SHORT_ANSWER = 5
"""Words up to which an answer is compared as a whole with good hope."""
_MARKERS = (
    "####",
    "A:",
    "Answer:",
    "ANSWER:",
    "The answer is",
    "the answer is",
    "Final answer:",
    "Antwort:",
    "答え:",
    "答案:",
    "答案：",
    "答え：",
)
_BOXED = r"\\boxed\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
_ONE_NUMBER = r"([-+]?\d[\d,]*(?:\.\d+)?)"
_SPECIAL = re.compile(r"[.^$*+?{}\[\]\\|()]")
_same = normalizer()


@dataclass
class AnswerPlan:
    """How answers are graded: guesses by the manifest's key, and what the prompt has to ask for."""

    grader: str
    guesses: dict[str, Guess]
    longest: int = 20
    """Characters of the longest answer seen."""
    labels: tuple[str, ...] = ()
    """All answers there are, where these are few."""
    fields: tuple[str, ...] = ()
    works_it_out: bool = False
    """Whether a model is likely to write its way to the answer."""
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def plan_choices(answer: Profile, choices: list[list[str] | None]) -> AnswerPlan:
    """Multiple choice: whether the answer is a letter, an index (and from where it counts) or the choice's text."""
    rows = [(value, listed) for value, listed in zip(answer.values, choices, strict=True) if value is not None and listed]
    fits = {
        "letter": sum(_is_letter_of(value, listed) for value, listed in rows),
        "index": sum(_index_fits(value, len(listed)) for value, listed in rows),
        "text": sum(_is_text_of(value, listed) for value, listed in rows),
    }
    total = len(rows) or 1
    best = max(fits, key=lambda kind: fits[kind])
    share = fits[best] / total
    rivals = [kind for kind, count in fits.items() if kind != best and count / total > NEARLY_ALL and not _agree(rows, best, kind)]
    odd = total - fits[best]
    options: dict[str, Any] = {"answer_format": best}
    certainty = Certainty.HIGH if share > NEARLY_ALL and not odd else Certainty.MEDIUM if share > 0.95 else Certainty.LOW
    words = {
        "letter": "The answers are the letters of the choices.",
        "index": "The answers are the numbers of the choices.",
        "text": "The answers are the texts of the choices.",
    }[best]
    if best == "index":
        base, sure, words = _index_base(answer, rows)
        options["index_base"] = base
        certainty = min(certainty, sure, key=_order)
    if rivals:
        certainty, words = Certainty.LOW, f"{words[:-1]}, but they could be read as {' or '.join(rivals)} too, with another result."
    elif odd:
        words = f"{words[:-1]}, but {odd} of {total} that were looked at are not: these rows will be refused."
    task = Guess(
        str(Grader.MULTIPLE_CHOICE),
        Certainty.HIGH if share > NEARLY_ALL else certainty,
        "Each row has choices, and its answer is one of them.",
    )
    if share < 0.5:
        task = Guess(
            str(Grader.MULTIPLE_CHOICE),
            Certainty.LOW,
            "There are choices, but most answers are neither their letter, nor number, nor text.",
        )
    return AnswerPlan(
        str(Grader.MULTIPLE_CHOICE),
        {"task": task, "grader_options": Guess(options, certainty, words)},
        works_it_out=_mean_words(choices) > 1,
    )


def _order(certainty: Certainty) -> int:
    return [Certainty.LOW, Certainty.MEDIUM, Certainty.HIGH].index(certainty)


def lowest(*certainties: Certainty) -> Certainty:
    return min(certainties, key=_order)


def _mean_words(choices: list[list[str] | None]) -> float:
    counts = [word_count(choice) for listed in choices[:50] for choice in listed or ()]
    return sum(counts) / len(counts) if counts else 0.0


def _is_letter_of(value: Any, listed: list[str]) -> bool:
    letter = letter_of(value)
    return letter is not None and letter in LETTERS and LETTERS.index(letter) < len(listed)


def _index_fits(value: Any, length: int) -> bool:
    index = whole_of(value)
    return index is not None and 0 <= index <= length


def _is_text_of(value: Any, listed: list[str]) -> bool:
    return isinstance(value, str) and sum(_same(choice) == _same(value) for choice in listed) == 1


def _agree(rows: list[tuple[Any, list[str]]], one: str, other: str) -> bool:
    """Whether both ways of reading name the same choice in every row. An index is read from 0, and from 1."""
    return any(all(_place(*row, one, base) == _place(*row, other, base) for row in rows) for base in (0, 1))


def _place(value: Any, listed: list[str], kind: str, base: int) -> int | None:
    if kind == "letter":
        letter = letter_of(value)
        return LETTERS.index(letter) if letter else None
    if kind == "index":
        index = whole_of(value)
        return None if index is None else index - base
    return next((place for place, choice in enumerate(listed) if isinstance(value, str) and _same(choice) == _same(value)), None)


def _index_base(answer: Profile, rows: list[tuple[Any, list[str]]]) -> tuple[int, Certainty, str]:
    """Where the numbers of choices begin: 0 where some row has a 0, 1 where some row has as many as there are choices."""
    known = [(index, len(listed)) for value, listed in rows if (index := whole_of(value)) is not None]
    everywhere = {index for value in answer.distinct or () if (index := whole_of(value)) is not None} | {index for index, _ in known}
    withheld = sorted(index for index in everywhere if index < 0)
    shortest = min((length for _, length in known), default=0)
    has_zero, has_top = 0 in everywhere, any(index == length for index, length in known) or any(index == shortest for index in everywhere)
    has_top = has_top if len({length for _, length in known}) == 1 else any(index == length for index, length in known)
    note = f" {withheld[0]} stands where the label is withheld: those rows will be refused." if withheld else ""
    if has_zero and not has_top:
        return 0, Certainty.LOW if withheld else Certainty.HIGH, f"The answers are the numbers of the choices, from 0.{note}"
    if has_top and not has_zero:
        return 1, Certainty.LOW if withheld else Certainty.HIGH, f"The answers are the numbers of the choices, from 1.{note}"
    if has_zero and has_top:
        words = "Some answers are 0 and some are as high as there are choices, so some are outside whichever way they are counted."
        return 0, Certainty.LOW, words + note
    words = "No answer is 0 and none is as high as there are choices, so the rows do not tell whether they count from 0 or from 1."
    return 0, Certainty.LOW, words + note


def plan_open(answer: Profile, question: Profile | None) -> AnswerPlan:
    """A grader for answers without choices: JSON, a number, or text, perhaps after something is taken out of the cell."""
    if answer.objects and len(answer.objects) > 0.9 * len(answer.present):
        return _plan_json(answer)
    if answer.share(lambda value: isinstance(value, list) or _is_text_list(as_list(value))) > NEARLY_ALL:
        return _plan_lists(answer)
    if answer.share(lambda value: isinstance(value, bool)) > NEARLY_ALL:
        task = Guess(str(Grader.EXACT_MATCH), Certainty.HIGH, "The answers are true and false.")
        options = Guess({"extract": "last_line", "normalize": {"strip_punctuation": True}}, Certainty.MEDIUM, "The last line is compared.")
        return AnswerPlan(str(Grader.EXACT_MATCH), {"task": task, "grader_options": options}, labels=("true", "false"), longest=5)
    texts = answer.texts
    if not texts:
        return _unusable(answer)
    if share_of_numbers(texts) > NEARLY_ALL:
        return _plan_numbers(answer, texts)
    taken = _what_to_take(answer)
    if taken is not None:
        guess, values = taken
        is_numeric = share_of_numbers(values) > NEARLY_ALL
        plan = _plan_numbers(answer, values) if is_numeric else _plan_texts(answer, values, None)
        plan.guesses["answer_pattern"] = guess
        plan.works_it_out = True
        return plan
    return _plan_texts(answer, texts, question)


def share_of_numbers(texts: list[str]) -> float:
    return sum(map(is_number, texts)) / len(texts) if texts else 0.0


def _is_text_list(value: list[Any] | None) -> bool:
    return bool(value) and all(isinstance(item, str) for item in value or ())


def _unusable(answer: Profile) -> AnswerPlan:
    task = Guess(str(Grader.EXACT_MATCH), Certainty.LOW, f'The column "{answer.name}" holds no text or number to compare with.')
    problem = f'The answers in "{answer.name}" are neither text, numbers nor JSON objects.'
    return AnswerPlan(str(Grader.EXACT_MATCH), {"task": task}, problems=[problem])


def _plan_json(answer: Profile) -> AnswerPlan:
    counted = Counter(key for each in answer.objects for key in each)
    everywhere = [key for key in answer.objects[0] if counted[key] == len(answer.objects)]
    fields = [key for key in everywhere if "." not in key and key][:MAX_FIELDS]
    why = f"Every answer is a JSON object with the fields {', '.join(fields)}."
    certainty = Certainty.HIGH
    if not fields:
        fields = [key for key, _ in counted.most_common(MAX_FIELDS) if "." not in key and key] or ["answer"]
        certainty, why = Certainty.LOW, "The answers are JSON objects, but no field is in all of them."
    options = Guess(
        {"fields": fields, "extract": "first_object"}, certainty, f"{why} The first object in the output is compared field by field."
    )
    longest = max(len(json.dumps(each, ensure_ascii=False)) for each in answer.objects)
    task = Guess(str(Grader.JSON_FIELD_MATCH), certainty, why)
    return AnswerPlan(str(Grader.JSON_FIELD_MATCH), {"task": task, "grader_options": options}, longest=longest, fields=tuple(fields))


def _plan_lists(answer: Profile) -> AnswerPlan:
    items = [str(item) for value in answer.present for item in as_list(value) or () if isinstance(item, str)]
    if any(isinstance(item, dict | list) for value in answer.present for item in as_list(value) or ()) or not items:
        return _unusable(answer)
    task = Guess(str(Grader.EXACT_MATCH), Certainty.MEDIUM, "Each answer is a list, which is read as the texts that are accepted.")
    options = _text_options(items)
    return AnswerPlan(str(Grader.EXACT_MATCH), {"task": task, "grader_options": options}, longest=max(map(len, items)))


def _plan_numbers(answer: Profile, texts: list[str]) -> AnswerPlan:
    fractions = sum(len(text.rstrip("0%").partition(".")[2]) >= 3 for text in texts) / len(texts)
    options: dict[str, Any] = {"extract": "last_number"}
    certainty, why = Certainty.HIGH, "The last number in the output is the answer, compared as an exact decimal."
    if fractions > 0.1:
        options["rel_tol"] = 0.001
        certainty = Certainty.LOW
        why = "Many answers have three decimals or more, so numbers within a thousandth count as equal. Set the tolerance that is meant."
    task = Guess(str(Grader.NUMERIC), Certainty.HIGH, "The answers are numbers.")
    values = {whole_of(text) for text in answer.distinct or ()}
    is_code = len(answer.texts) >= 20 and None not in values and 2 <= len(values) <= 20 and max(values) == len(values) - 1 + min(values)  # type: ignore[type-var, operator]
    if is_code and "answer_pattern" not in (answer.name,) and _sounds_like_label(answer.name):
        task = Guess(
            str(Grader.NUMERIC),
            Certainty.LOW,
            "The answers are a few whole numbers. If they stand for classes, map a column with their names.",
        )
    return AnswerPlan(
        str(Grader.NUMERIC),
        {"task": task, "grader_options": Guess(options, certainty, why)},
        longest=max(map(len, texts)),
        works_it_out=not is_code,
    )


def _sounds_like_label(name: str) -> bool:
    return any(word in name.casefold() for word in ("label", "class", "category", "target", "cop", "gold"))


def _plan_texts(answer: Profile, texts: list[str], question: Profile | None) -> AnswerPlan:
    longest = max(map(len, texts))
    words = sorted(map(word_count, texts))[len(texts) // 2]
    labels: tuple[str, ...] = ()
    if answer.distinct is not None and answer.is_closed and texts is answer.texts and len(answer.distinct) <= 12 and longest < 20:
        labels = tuple(sorted({text.strip() for text in answer.distinct}))
    options = _text_options(texts)
    task = Guess(str(Grader.EXACT_MATCH), Certainty.HIGH if labels or words <= 3 else Certainty.MEDIUM, "The answers are short texts.")
    if labels:
        task = Guess(task.value, Certainty.HIGH, f"The answers are one of {len(labels)} texts.")
    elif answer.is_closed and answer.distinct is not None and texts is answer.texts:
        task = Guess(
            task.value,
            Certainty.MEDIUM,
            f"The answers are one of {len(answer.distinct)} texts, which the prompt does not list: a model not told of them has to guess.",
        )
    if question is not None and share_of_letters(texts) > NEARLY_ALL:
        why = "The answers are letters, and no column has choices: they must stand in the question."
        task = Guess(task.value, Certainty.MEDIUM, why)
        options = Guess({"extract": "last_line", "normalize": {"strip_punctuation": True}}, Certainty.MEDIUM, "(B) and B. count as B.")
    elif words > SHORT_ANSWER:
        why = f"Many answers have {words:.0f} words or more: exact match asks for the very same words, and no grader here judges meaning."
        task = Guess(task.value, Certainty.LOW, why)
    return AnswerPlan(str(Grader.EXACT_MATCH), {"task": task, "grader_options": options}, longest=longest, labels=labels)


def share_of_letters(texts: list[str]) -> float:
    return sum(letter_of(text) is not None for text in texts) / len(texts) if texts else 0.0


def _text_options(texts: list[str]) -> Guess:
    options: dict[str, Any] = {"extract": "last_line"}
    why = "The last line is compared, so that a model may think before it."
    if not any(unicodedata.category(mark)[0] == "P" for text in set(texts) for mark in text):
        options["normalize"] = {"strip_punctuation": True}
        why += " No answer has punctuation, so a full stop after it does not count."
    return Guess(options, Certainty.MEDIUM, why)


def _what_to_take(answer: Profile) -> tuple[Guess, list[str]] | None:
    """A pattern that takes the answer out of every sampled cell, and what it takes."""
    cells = answer.texts
    if all("\\boxed{" in cell for cell in cells):
        values = _taken(_BOXED, cells)
        if values is not None:
            return Guess(_BOXED, Certainty.MEDIUM, r"The answer stands in \boxed{…}; the text around it is the way to it."), values
    last_lines = [cell.splitlines()[-1].strip() for cell in cells]
    for marker in _MARKERS:
        if all(marker in line for line in last_lines):
            truth = [line.rpartition(marker)[2].strip() for line in last_lines]
            literal = _SPECIAL.sub(r"\\\g<0>", marker)
            for pattern in (rf"{literal}\s*(.+)", rf"(?m)^{literal}\s*(.+)$", rf"{literal}\s*([^\n]+?)\.?\s*\z"):
                values = _taken(pattern, cells)
                if values is not None and [value.rstrip(".") for value in values] == [text.rstrip(".") for text in truth]:
                    return Guess(
                        pattern, Certainty.HIGH, f"The answer is what follows “{marker}”; the text before it is the way to it."
                    ), values
    rest = Counter(re.sub(_ONE_NUMBER, "", cell).strip() for cell in cells)
    if len(rest) <= 3 and len(cells) >= 10 and all(len(re.findall(_ONE_NUMBER, cell)) == 1 for cell in cells):
        values = _taken(_ONE_NUMBER, cells)
        if values is not None and share_of_numbers(values) == 1:
            units = ", ".join(f"“{unit}”" for unit in sorted(rest) if unit)
            return Guess(_ONE_NUMBER, Certainty.MEDIUM, f"Each answer is one number beside {units}."), values
    return None


def _taken(pattern: str, cells: list[str]) -> list[str] | None:
    """What the pattern takes out of each cell; None where it misses one."""
    extract = answer_pattern(pattern)
    values = [extract(cell) for cell in cells]
    return None if any(not value or not value.strip() for value in values) else [value.strip() for value in values if value]


def is_answer_number(value: Any) -> bool:
    return isinstance(value, Number) or is_number(value)
