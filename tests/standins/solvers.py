"""Small programs that stand in for models in the recorded comparison of `/onboarding`: they answer puzzles of knights and knaves.

None of them is a model, and each is named as a stand-in wherever it shows. They see what a model would see, the prompt alone, and go
through the choices from A on until one agrees with all that they have read. What sets them apart is how well they read.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tests.catalog.starter_solvers import is_said_truly, named_knights

Reading = Callable[[str, str, set[str]], bool]
"""Whether words are true, by speaker, where these people are the knights."""


@dataclass(frozen=True, slots=True)
class Puzzle:
    people: tuple[str, ...]
    said: Mapping[str, str]
    """What each person says, without the full stop."""
    choices: Mapping[str, str]
    """By letter."""


def read(prompt: str) -> Puzzle:
    said = dict(re.findall(r'^(\w+) says: "(.*)\."$', prompt, flags=re.MULTILINE))
    return Puzzle(tuple(said), said, dict(re.findall(r"^([A-E])\. (.*)$", prompt, flags=re.MULTILINE)))


def is_said_carelessly(words: str, speaker: str, knights: set[str]) -> bool:
    """As people misread it: "if" is taken for "exactly one of them"."""
    found = re.fullmatch(r"If (\w+) is a knight, then (\w+) is a knave", words)
    return len({found[1], found[2]} & knights) == 1 if found else is_said_truly(words, speaker, knights)


def solve(prompt: str, *, reading: Reading, statements: int | None = None, left_out: int = 0) -> str:
    """The answer with a word on how it was found. Only the first `statements` are read, or all but the last `left_out`."""
    puzzle = read(prompt)
    speakers: Sequence[str] = list(puzzle.said)[:statements] if statements else list(puzzle.said)[: len(puzzle.said) - left_out]
    lines = []
    for letter, choice in puzzle.choices.items():
        knights = named_knights(choice, list(puzzle.people))
        against = [name for name in speakers if reading(puzzle.said[name], name, knights) != (name in knights)]
        if not against:
            return "\n".join([*lines, f"{letter}: this agrees with {told(speakers)}.", "", f"Answer: {letter}"])
        name = against[0]
        kind, truth = ("knight", "false") if name in knights else ("knave", "true")
        lines.append(f"{letter}: {name} would be a {kind}, but the words would be {truth}.")
    return "\n".join([*lines, "", "None of these can be the case."])


def told(names: Sequence[str]) -> str:
    return f"what {', '.join(names[:-1])} and {names[-1]} say" if len(names) > 1 else f"what {names[0]} says"


def careful(prompt: str) -> str:
    return solve(prompt, reading=is_said_carelessly)


def brisk(prompt: str) -> str:
    return solve(prompt, reading=is_said_truly, left_out=1)


def hasty(prompt: str) -> str:
    return solve(prompt, reading=is_said_truly, statements=2)


@dataclass(frozen=True, slots=True)
class Solver:
    label: str
    about: str
    """What it does, in a sentence for readers."""
    answer: Callable[[str], str]
    """From a prompt to a text."""


SOLVERS = (
    Solver("Careful stand-in", "Checks each choice against every statement, but reads “if” as “exactly one of the two”.", careful),
    Solver("Brisk stand-in", "Checks each choice against every statement but the last.", brisk),
    Solver("Hasty stand-in", "Checks each choice against the first two statements and takes the first that fits.", hasty),
)
