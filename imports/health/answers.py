"""How the answers are spread, what a model gets that reads no question, and what in the choices or the prompt gives the answer away.

Tests are exact binomial tests, one-sided. Where rows have different numbers of choices, the mean of their chances is taken: of all
such sums the binomial with the mean chance is the widest (Hoeffding, "On the distribution of the number of successes in independent
trials", 1956), so the test errs on the side of saying nothing. Positions are compared by Pearson's chi-square (1900), where each
expected count is at least five (Cochran, 1954).
"""

import re
from collections import Counter
from typing import Any

from catalog.enums import Grader
from catalog.graders.multiple_choice import LETTERS
from common.canonical import canonical_json
from imports.health.chances import binomial_p, chi_square_p
from imports.health.rows import Finding, HealthRow, Severity, percent, plain, tasks_words

SURE = 0.001
"""A chance below which a pattern is told."""
MIN_TELLING = 30
MIN_EXPECTED = 5
_ALL_OF_THEM = re.compile(
    r"(?:all|none|both|neither) of (?:the )?(?:above|these|them|following)|all (?:are|answers are) (?:correct|true|right)"
    r"|(?:alle|keine)(?: der)? (?:genannten|obigen|antworten)|(?:toutes?|aucune?)[^.]{0,20}(?:ci-dessus|reponses)"
    r"|(?:todas|ninguna)[^.]{0,20}(?:anteriores|respuestas)|上記のすべて|以上都|以上皆"
)
_NUMBER_OR_WORD = re.compile(r"[-+]?\d[\d,]*(?:\.\d+)?|\w+", re.UNICODE)


class Answers:
    """Collects answers and choices, then says what they give away. Memory: one counter of different answers."""

    def __init__(self, grader: str) -> None:
        self._grader = grader
        self._counts: Counter[str] = Counter()
        self._lengths: Counter[int] = Counter()
        """Rows by their number of choices."""
        self._chance = 0.0
        self._rows = 0
        self._longest, self._all_of_them = _Tell(), _Tell()
        self._duplicate_choices: list[str] = []
        self._equal_right: list[str] = []
        self._in_question: list[str] = []
        self._in_question_count = self._short_answers = 0

    def add(self, row: HealthRow) -> None:
        self._rows += 1
        self._counts[canonical_json(row.reference)] += 1
        if row.choices:
            self._add_choices(row, row.choices)
        else:
            self._add_open(row)

    def _add_choices(self, row: HealthRow, choices: list[str]) -> None:
        chance = 1 / len(choices)
        self._chance += chance
        right = LETTERS.find(str(row.reference))
        self._lengths[len(choices)] += 1
        lengths = sorted(map(len, choices))
        if lengths[-1] > lengths[-2]:
            self._longest.add(row.task_id, chance, is_right=0 <= right < len(choices) and len(choices[right]) == lengths[-1])
        folded = [plain(choice) for choice in choices]
        telling = []
        if _ALL_OF_THEM.search("\n".join(folded)):
            telling = [place for place, choice in enumerate(folded) if _ALL_OF_THEM.search(choice)]
        if len(telling) == 1:
            self._all_of_them.add(row.task_id, chance, is_right=telling[0] == right)
        if len(set(folded)) < len(folded):
            self._duplicate_choices.append(row.task_id)
            if 0 <= right < len(folded) and folded.count(folded[right]) > 1:
                self._equal_right.append(row.task_id)

    def _add_open(self, row: HealthRow) -> None:
        accepted = row.reference if isinstance(row.reference, list) else [row.reference]
        texts = [plain(str(text)) for text in accepted if isinstance(text, str | int | float)]
        if isinstance(row.reference, dict) or not texts or all(len(text) > 40 for text in texts):
            return
        self._short_answers += 1
        asked = plain(" ".join(row.values.values()))
        if self._grader == Grader.NUMERIC:
            stands = texts[0] in {word.replace(",", "") for word in _NUMBER_OR_WORD.findall(asked)}
        else:
            stands = any(re.search(rf"(?<!\w){re.escape(text)}(?!\w)", asked) for text in texts if text)
        if stands:
            self._in_question_count += 1
            if len(self._in_question) < 10:
                self._in_question.append(row.task_id)

    def _expected(self) -> dict[str, float]:
        """How often each letter would be right, were the right choices spread evenly over each row's."""
        most = max(self._lengths, default=0)
        return {
            letter: sum(rows / length for length, rows in self._lengths.items() if place < length)
            for place, letter in enumerate(LETTERS[:most])
        }

    def floor(self) -> dict[str, float]:
        """The score to expect of the two baselines, from 0 to 1.

        `random_choice`: the mean of 1 over each row's number of choices; without choices 1 over the number of different answers, each
        as likely as any other. `most_frequent_answer`: the share of the commonest answer.
        """
        if not self._rows:
            return {"random_choice": 0.0, "most_frequent_answer": 0.0}
        chance = self._chance / self._rows if self._chance else 1 / len(self._counts)
        return {"random_choice": chance, "most_frequent_answer": max(self._counts.values()) / self._rows}

    def figures(self) -> dict[str, Any]:
        """Figures that name no answer: how many different ones, the commonest one's share, and of letters how often each is right."""
        shares: dict[str, Any] = {
            "distinct": len(self._counts),
            "commonest_share": self.floor()["most_frequent_answer"],
            "in_question_share": self._in_question_count / self._short_answers if self._short_answers else None,
        }
        if self._grader == Grader.MULTIPLE_CHOICE:
            shares["letters"] = {letter: self._counts.get(canonical_json(letter), 0) for letter in self._expected()}
            shares["longest_choice"] = self._longest.figures()
            shares["all_of_them"] = self._all_of_them.figures()
        return shares

    def findings(self) -> list[Finding]:
        found = [*self._constant(), *self._tells(), *self._positions(), *self._repeated_choices(), *self._copied()]
        return [finding for finding in found if finding is not None]

    def _constant(self) -> list[Finding]:
        floor = self.floor()["most_frequent_answer"]
        if self._rows < 10 or len(self._counts) < 1:
            return []
        if len(self._counts) == 1:
            text = "Every task has the same answer. A model that always gives it scores 100% without reading anything."
            return [Finding("constant_answer", Severity.HIGH, "One answer for all", text, self._rows)]
        fair = max(1 / len(self._counts), self._chance / self._rows)
        if floor < 0.4 or floor < 1.5 * fair:
            return []
        text = (
            f"The commonest answer is right in {percent(floor)} of the tasks. A model that always gives it scores that much;"
            " only what is above it tells anything."
        )
        return [
            Finding(
                "uneven_answers",
                Severity.HIGH if floor >= 0.8 else Severity.MEDIUM,
                "One answer is right very often",
                text,
                max(self._counts.values()),
            )
        ]

    def _tells(self) -> list[Finding]:
        found = []
        if (p := self._longest.p_value()) is not None and p < SURE and self._longest.lead >= 0.05:
            found.append(
                Finding(
                    "longest_choice",
                    Severity.HIGH if self._longest.lead >= 0.2 else Severity.MEDIUM,
                    "The longest choice gives the answer away",
                    f"Where one choice is the longest, it is right in {percent(self._longest.share)} of {tasks_words(self._longest.rows)};"
                    f" by chance it would be {percent(self._longest.chance)} (exact binomial test, {p_words(p)})."
                    " A model can score by length alone.",
                    self._longest.right,
                    self._longest.examples,
                )
            )
        if (p := self._all_of_them.p_value(at_least=10)) is not None and p < SURE:
            found.append(
                Finding(
                    "all_of_the_above",
                    Severity.MEDIUM,
                    "“All of the above” and its like are right too often",
                    "Where a choice is “all of the above”, “none of these” or the like,"
                    f" it is right in {percent(self._all_of_them.share)} of"
                    f" {tasks_words(self._all_of_them.rows)}; by chance it would be {percent(self._all_of_them.chance)}"
                    f" (exact binomial test, {p_words(p)}).",
                    self._all_of_them.right,
                    self._all_of_them.examples,
                )
            )
        return found

    def _positions(self) -> list[Finding]:
        if self._grader != Grader.MULTIPLE_CHOICE or len(self._counts) < 2:
            return []
        evenly = self._expected()
        letters = [letter for letter in evenly if evenly[letter] >= MIN_EXPECTED]
        if len(letters) < 2:
            return []
        observed = [self._counts.get(canonical_json(letter), 0) for letter in letters]
        expected = [evenly[letter] for letter in letters]
        scale = sum(observed) / sum(expected)  # letters that are too rare to be compared are left out on both sides
        if not scale:
            return []
        p = chi_square_p(observed, [scale * each for each in expected])
        most = max(range(len(letters)), key=lambda place: observed[place] / expected[place])
        lead = (observed[most] - scale * expected[most]) / sum(observed)
        if p >= SURE or lead < 0.05:
            return []
        text = (
            f"Choice {letters[most]} is right in {percent(observed[most] / sum(observed))} of the tasks; evenly spread it would be"
            f" {percent(scale * expected[most] / sum(observed))} (chi-square test, {p_words(p)})."
            " Models that favour a position gain or lose by it."
        )
        return [
            Finding(
                "position_bias",
                Severity.MEDIUM if lead >= 0.1 else Severity.LOW,
                "The right choice favours a position",
                text,
                observed[most],
            )
        ]

    def _repeated_choices(self) -> list[Finding]:
        if not self._duplicate_choices:
            return []
        count, equal = len(self._duplicate_choices), len(self._equal_right)
        text = f"{tasks_words(count)} offer{'s' if count == 1 else ''} the same choice twice"
        text += f"; in {equal:,} of them it is the right one, and a model that names its twin counts as wrong." if equal else "."
        return [
            Finding(
                "duplicate_choices",
                Severity.MEDIUM if equal else Severity.LOW,
                "The same choice twice",
                text,
                count,
                list(dict.fromkeys(self._equal_right[:5] + self._duplicate_choices)),
            )
        ]

    def _copied(self) -> list[Finding]:
        if self._short_answers < MIN_TELLING:
            return []
        share = self._in_question_count / self._short_answers
        if share < 0.3:
            return []
        text = (
            f"In {percent(share)} of the tasks the answer stands word for word in the question. Where it is one of few things named there,"
            " or a text to read from, that is meant; otherwise it can be copied."
        )
        return [
            Finding(
                "answer_in_question",
                Severity.MEDIUM if share >= 0.9 else Severity.LOW,
                "The answer stands in the question",
                text,
                self._in_question_count,
                self._in_question,
            )
        ]


class _Tell:
    """How often a choice with some mark is the right one, beside the chance of it."""

    def __init__(self) -> None:
        self.rows = self.right = 0
        self._chances = 0.0
        self.examples: list[str] = []

    def add(self, task_id: str, chance: float, *, is_right: bool) -> None:
        self.rows += 1
        self.right += is_right
        self._chances += chance
        if is_right and len(self.examples) < 10:
            self.examples.append(task_id)

    @property
    def share(self) -> float:
        return self.right / self.rows if self.rows else 0.0

    @property
    def chance(self) -> float:
        return self._chances / self.rows if self.rows else 0.0

    @property
    def lead(self) -> float:
        return self.share - self.chance

    def p_value(self, at_least: int = MIN_TELLING) -> float | None:
        """P(at least as many right | chance), one-sided and exact; None where there are too few rows to say."""
        if self.rows < at_least:
            return None
        return binomial_p(self.right, self.rows, self.chance)

    def figures(self) -> dict[str, Any] | None:
        if not self.rows:
            return None
        return {"tasks": self.rows, "right": self.right, "share": self.share, "chance": self.chance, "p_value": self.p_value()}


def p_words(p: float) -> str:
    return "p < 0.0001" if p < 0.0001 else f"p = {p:.4f}"
