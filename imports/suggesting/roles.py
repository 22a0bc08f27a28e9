"""Which column fills which role, from names first and values second."""

import re
from dataclasses import dataclass, field
from typing import Any

from imports.suggesting import names
from imports.suggesting.choices import FITS, NEARLY_ALL, Choices, fit
from imports.suggesting.guesses import Certainty, Guess, Withheld
from imports.suggesting.sampling import Profile, Sample, as_list, is_chat

SURE_NAMES = names.ANSWER.index("result")
"""Up to here in the list, a name says answer whatever else it might say."""
SENTENCE = 4
"""Words from which a text is more than a label."""
MIN_GROUP_ROWS = 2
MAX_NAME_WORDS = 6
"""A longer one is a sentence, not a name."""


@dataclass
class Roles:
    answer: Profile | None = None
    answer_guess: Guess | None = None
    choices: Choices | None = None
    prompt: list[Profile] = field(default_factory=list)
    prompt_certainty: Certainty = Certainty.LOW
    prompt_why: dict[str, str] = field(default_factory=dict)
    """Why each of the prompt's columns is one, by its name."""
    withheld: list[Withheld] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


# ── The answer ──────────────────────────────────────────────────────────────────────────────────────────────────────


def find_answer(sample: Sample, choices: Choices | None, chosen: str | None) -> tuple[Profile | None, Guess | None]:
    """The answer's column. `chosen` is a person's own choice, which is not questioned."""
    if chosen is not None and chosen in sample.columns:
        return sample.columns[chosen], Guess(chosen, Certainty.HIGH, "It was chosen.")
    taken = choices.roots if choices else set()
    ranked: list[tuple[float, Profile]] = []
    for profile in sample.columns.values():
        rank = names.rank(profile.name, names.ANSWER)
        if profile.name in taken or rank is None or not profile.present or _is_opposite(profile.name) or profile.is_chat:
            continue
        fits = choices is None or fit(profile, choices.lists) > FITS
        ranked.append((rank + (0 if fits else 1000) + (600 if profile.filled < 0.9 else 0), profile))
    ranked.sort(key=lambda each: each[0])
    if ranked and (choices is None or ranked[0][0] < 1000):
        return ranked[0][1], _named_answer(sample, ranked, choices)
    return _answer_by_values(sample, choices, taken, ranked)


def _is_opposite(name: str) -> bool:
    return bool(set(names.parts(name)) & names.NOT_ANSWERS) or names.is_named(name, names.OUTPUTS)


def _named_answer(sample: Sample, ranked: list[tuple[float, Profile]], choices: Choices | None) -> Guess:
    rank, profile = ranked[0]
    why = f"It is called “{profile.name}”" + (", and its values name one of the choices." if choices else ".")
    certainty = Certainty.HIGH if rank < SURE_NAMES else Certainty.MEDIUM
    for other_rank, other in ranked[1:]:
        is_rival = other_rank < SURE_NAMES if rank < SURE_NAMES else other_rank == rank
        if not is_rival or names.plain(other.name) in (*names.GROUPS, *names.WORKINGS):
            continue
        if choices is None and not _one_to_one(profile, other):
            return Guess(profile.name, Certainty.LOW, f"{why[:-1]}, but “{other.name}” could be the answer too. Look at both.")
    if len(sample.columns) == 2 and certainty == Certainty.MEDIUM:
        certainty = Certainty.HIGH
    return Guess(profile.name, certainty, why)


def _one_to_one(one: Profile, other: Profile) -> bool:
    """Whether the columns say the same in other words: each value of one goes with one value of the other."""
    pairs = {(str(a), str(b)) for a, b in zip(one.values, other.values, strict=True)}
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs}) and len(pairs) < len(one.values)


def _answer_by_values(
    sample: Sample, choices: Choices | None, taken: set[str], ranked: list[tuple[float, Profile]]
) -> tuple[Profile | None, Guess | None]:
    """The answer where no name tells: what fits the choices, else a short column, of which at best one kind stands out."""
    free = [profile for profile in sample.columns.values() if profile.name not in taken and not _is_opposite(profile.name)]
    if choices is not None:
        fitting = [profile for profile in free if fit(profile, choices.lists) > 0.99]
        if len(fitting) == 1:
            sure = Certainty.HIGH if fitting[0].letters > NEARLY_ALL else Certainty.MEDIUM
            return fitting[0], Guess(fitting[0].name, sure, "Its values, and no other column's, name one of the choices in every row.")
        if fitting:
            others = " and ".join(f"“{profile.name}”" for profile in fitting[:3])
            return fitting[-1], Guess(fitting[-1].name, Certainty.LOW, f"{others} would all fit the choices.")
        if ranked:
            profile = ranked[0][1]
            return profile, Guess(profile.name, Certainty.LOW, f"It is called “{profile.name}”, but its values do not name the choices.")
    texts = [
        profile for profile in free if profile.is_text and not names.is_named(profile.name, names.IDS | names.WORKINGS | names.REMARKS)
    ]
    if len(texts) < 2:
        return None, None
    longest = max(texts, key=lambda profile: profile.words)
    telling = [profile for profile in texts if profile is not longest and _is_telling(profile)]
    if len(telling) == 1 and len(texts) == 2 and longest.words >= SENTENCE:
        kind = "numbers" if telling[0].numbers > NEARLY_ALL else "a few short texts"
        return telling[0], Guess(telling[0].name, Certainty.MEDIUM, f"It holds {kind}, beside one column of longer texts.")
    last = telling[-1] if telling else texts[-1] if texts[-1] is not longest else texts[-2]
    return last, Guess(last.name, Certainty.LOW, "No column is called an answer, and others could be it. Look at them.")


def _is_telling(profile: Profile) -> bool:
    """Whether its values are of a kind that answers are: numbers, or few different short texts."""
    return profile.numbers > NEARLY_ALL or (profile.is_closed and profile.words <= 3)


# ── The question ────────────────────────────────────────────────────────────────────────────────────────────────────


def find_prompt(sample: Sample, roles: Roles) -> None:
    """Put the columns that make up the question into `roles`, in the file's order, and note what is kept out of it."""
    answer = roles.answer
    taken = (roles.choices.roots if roles.choices else set()) | ({answer.name} if answer else set())
    free = [profile for profile in sample.columns.values() if profile.name not in taken and not is_about_answer(profile.name)]
    usable = [profile for profile in free if profile.is_text and not names.is_named(profile.name, names.IDS | names.REMARKS)]
    questions = sorted((rank, profile.index) for profile in usable if (rank := names.rank(profile.name, names.QUESTION)) is not None)
    by_index = {profile.index: profile for profile in usable}
    contexts = [profile for profile in usable if _is_context(profile)]
    chat = [profile for profile in free if profile.is_chat]
    if questions:
        main = by_index[questions[0][1]]
        others = [profile for profile in contexts if profile is not main]
        others += [
            by_index[index]
            for rank, index in questions[1:]
            if by_index[index] not in others and rank < 20 and _adds_to(main, by_index[index])
        ]
        parts = _without_repeats([main, *others])
        roles.prompt = sorted(parts, key=lambda profile: profile.index)
        roles.prompt_certainty = Certainty.HIGH if len(roles.prompt) == 1 or main in roles.prompt else Certainty.MEDIUM
        roles.prompt_why = {profile.name: f"It is called “{profile.name}”." for profile in roles.prompt}
    elif chat:
        roles.problems.append(
            f'The column "{chat[0].name}" holds lists of chat messages. A prompt is made of text: write the question into its own column.'
        )
    elif contexts:
        roles.prompt = _without_repeats(contexts)
        roles.prompt_certainty = Certainty.HIGH if len(roles.prompt) > 1 else Certainty.MEDIUM
        roles.prompt_why = {profile.name: f"It is called “{profile.name}”." for profile in roles.prompt}
    else:
        _prompt_by_values(usable, roles)
    if roles.prompt:
        _add_fillings(sample, usable, roles)


def is_about_answer(name: str) -> bool:
    """Whether a column shows how the answer is found, or holds what a model said of it."""
    plain = names.plain(name)
    words = names.parts(name)
    if len(words) > MAX_NAME_WORDS:
        return False
    pieces = {plain, *words, "_".join(words[:-1]), "_".join(words[1:])}
    return bool(pieces & names.WORKINGS or plain in names.OUTPUTS or "_".join(words[-2:]) in names.OUTPUTS)


def _is_context(profile: Profile) -> bool:
    words = names.parts(profile.name)
    return names.plain(profile.name) in names.CONTEXT or (bool(words) and words[-1] in names.CONTEXT[:6])


def _adds_to(main: Profile, other: Profile) -> bool:
    """Whether another column with a question's name is a part of the question: `Body` and `Question`, not `question` and `title`."""
    return names.plain(other.name) in ("instruction", "claim", "statement", "sentence") and names.plain(main.name) not in (
        "question",
        "prompt",
    )


def _without_repeats(parts: list[Profile]) -> list[Profile]:
    """The parts without those that stand whole in another one in nearly every row."""
    kept = list(parts)
    for part in parts:
        if len(kept) > 1 and any(other is not part and other in kept and _stands_in(part, other) for other in parts):
            kept.remove(part)
    return kept


def _stands_in(part: Profile, whole: Profile) -> bool:
    pairs = [
        (inner.strip().casefold(), outer.casefold())
        for inner, outer in zip(part.values, whole.values, strict=True)
        if isinstance(inner, str) and isinstance(outer, str) and inner.strip()
    ]
    return bool(pairs) and sum(inner in outer for inner, outer in pairs) > 0.95 * len(pairs)


def _prompt_by_values(usable: list[Profile], roles: Roles) -> None:
    """Where no name tells, the column with the longest texts; alone it is a fair guess, beside others of its kind a poor one."""
    texts = [profile for profile in usable if profile.words >= 2 and not names.is_named(profile.name, (*names.GROUPS, *names.ANSWER))]
    if not texts:
        return
    longest = max(texts, key=lambda profile: profile.words)
    rivals = [profile for profile in texts if profile is not longest and profile.words * 2 > longest.words]
    roles.prompt = [longest]
    is_told = roles.answer_guess is not None and roles.answer_guess.certainty != Certainty.LOW
    roles.prompt_certainty = Certainty.LOW if rivals else Certainty.MEDIUM if is_told or len(usable) == 1 else Certainty.LOW
    why = "No column is called a question; its texts are the longest."
    if rivals:
        why = f"No column is called a question; “{rivals[0].name}” has texts of about the same length. Look at both."
    roles.prompt_why = {longest.name: why}


def _add_fillings(sample: Sample, usable: list[Profile], roles: Roles) -> None:
    """Where the question has `number0`, `number1` … in place of numbers, the column that lists them belongs to it."""
    main = max(roles.prompt, key=lambda profile: profile.length)
    counts = [len(set(re.findall(r"\b(?:number|num|N_)\d+\b", text))) if isinstance(text, str) else 0 for text in main.values]
    if sum(map(bool, counts)) < FITS * len(counts):
        return
    for profile in usable:
        if profile in roles.prompt or profile.share(_is_numbers) < NEARLY_ALL:
            continue
        if all(isinstance(value, str) and len(value.split()) >= count for value, count in zip(profile.values, counts, strict=True)):
            roles.prompt.append(profile)
            roles.prompt_why[profile.name] = f"It lists the numbers that “{main.name}” leaves open."
            return


def _is_numbers(value: Any) -> bool:
    return isinstance(value, str) and all(part.replace(".", "", 1).isdigit() for part in value.split())


# ── IDs, groups, clusters ───────────────────────────────────────────────────────────────────────────────────────────


def find_id(sample: Sample, taken: set[str]) -> tuple[tuple[str, ...], Guess]:
    """What tells rows apart: one column, two together, or none (then the row's number)."""
    surely = Certainty.HIGH if sample.is_whole else Certainty.MEDIUM
    seen = "every row" if sample.is_whole else f"the first {sample.rows:,} rows"
    named = [profile for profile in sample.columns.values() if names.is_named(profile.name, names.IDS) and profile.name not in taken]
    unique = sorted(
        (profile for profile in named if profile.is_unique), key=lambda profile: names.plain(profile.name) not in ("id", "question_id")
    )
    if unique:
        return (unique[0].name,), Guess(unique[0].name, surely, f"Its value is another in {seen}.")
    for pair in sample.unique_together:
        if not set(pair) & taken:
            why = f"Neither is unique, but together they are in {seen}."
            return pair, Guess(list(pair), surely, why)
    repeated = f" “{named[0].name}” repeats." if named else ""
    return (), Guess(
        None, Certainty.HIGH, f"No column that is called an ID has another value in every row: a row's number is its ID.{repeated}"
    )


def find_group(sample: Sample, taken: set[str], ids: tuple[str, ...]) -> Guess | None:
    found = []
    for profile in sample.columns.values():
        rank = names.rank(profile.name, names.GROUPS)
        if rank is None or profile.name in taken or is_about_answer(profile.name) or profile.scalars < 0.99 or profile.filled < 0.99:
            continue
        if profile.distinct is not None and len(profile.distinct) >= 2 and sample.rows >= MIN_GROUP_ROWS * len(profile.distinct):
            found.append((rank, profile))
    if found:
        rank, profile = min(found, key=lambda each: each[0])
        count = len(profile.distinct or ())
        certainty = Certainty.HIGH if rank < len(names.GROUPS) else Certainty.MEDIUM
        return Guess(profile.name, certainty, f"It sorts the rows into {count} groups, of which a sample can take evenly.")
    for name in ids if len(ids) > 1 else ():
        distinct = sample.columns[name].distinct
        if distinct is not None and len(distinct) >= 2 and sample.rows >= 5 * len(distinct):
            return Guess(name, Certainty.MEDIUM, f"It sorts the rows into {len(distinct)} groups.")
    return None


def find_cluster(sample: Sample, taken: set[str], ids: tuple[str, ...]) -> Guess | None:
    for profile in sample.columns.values():
        if names.is_named(profile.name, names.CLUSTERS) and profile.name not in taken and profile.name not in ids and profile.filled > 0.99:
            values = {str(value) for value in profile.values}
            if profile.scalars > 0.99 and 2 <= len(values) < 0.9 * len(profile.values):
                why = "Rows that share its value belong together, so their answers are not independent."
                return Guess(profile.name, Certainty.MEDIUM, why)
    return None


def withheld(sample: Sample, roles: Roles, mapped: set[str]) -> list[Withheld]:
    """The columns that are kept out of the prompt because they tell the answer, each with the reason."""
    found = []
    for profile in sample.columns.values():
        if profile.name in mapped:
            continue
        if is_about_answer(profile.name):
            is_output = not set(names.parts(profile.name)) & names.WORKINGS and names.plain(profile.name) not in names.WORKINGS
            why = "It holds what a model said or how that was graded." if is_output else "By its name it shows how the answer is found."
        elif _is_opposite(profile.name) and names.rank(profile.name, names.ANSWER) is not None:
            why = "By its name it tells which answer is not right."
        elif names.rank(profile.name, names.ANSWER) is not None and names.rank(profile.name, names.QUESTION) is None:
            why = "By its name it tells the answer, or something about it."
        elif any(is_chat(value) or as_list(value) is not None or isinstance(value, dict) for value in profile.present[:5]):
            continue
        else:
            continue
        found.append(Withheld(profile.name, why))
    return found
