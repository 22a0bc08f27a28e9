"""Where a row's choices are: in one column that holds a list, or in a column each."""

from dataclasses import dataclass
from typing import Any

from catalog.graders.texts import normalizer
from imports.manifests import MAX_CHOICES
from imports.suggesting import names
from imports.suggesting.guesses import Certainty, Guess
from imports.suggesting.sampling import Profile, Sample, letter_of, whole_of

FITS = 0.9
"""The part of the rows from which a thing that holds for most is taken to be meant for all."""
NEARLY_ALL = 0.99
UNNAMED = "column"
"""What columns are called where a file has no header: `column_1` and so on."""
_same = normalizer()


@dataclass
class Choices:
    """Where a row's choices are, and the list for each sampled row; None where a row has none that could be used."""

    columns: tuple[str, ...]
    in_one: bool
    lists: list[list[str] | None]
    certainty: Certainty
    why: str

    def guess(self) -> Guess:
        return Guess(self.columns[0] if self.in_one else list(self.columns), self.certainty, self.why)

    @property
    def roots(self) -> set[str]:
        return set(self.columns) | {column.partition(".")[0] for column in self.columns}


def find_choices(sample: Sample, answer_name: str | None) -> tuple[Choices | None, list[str]]:
    """The choices, and why columns that look like choices cannot be used."""
    problems: list[str] = []
    found: list[tuple[float, Choices]] = []
    for profile in sample.columns.values():
        if profile.name == answer_name:
            continue
        rank = names.rank(profile.name, names.CHOICES)
        is_answer_too = names.rank(profile.name, names.ANSWER) is not None  # `answers` may be the accepted ones
        if profile.list_share > FITS:
            if any(isinstance(item, dict | list) for listed in profile.lists for item in listed or ()):
                if rank is not None and not profile.is_chat and not is_answer_too:
                    problems.append(f'The choices in "{profile.name}" are objects. Write them as a list of texts.')
                continue
            lists = [_usable(listed) for listed in profile.lists]
            fitting = sum(listed is not None for listed in lists) / max(1, len(lists))
            if fitting > FITS and ((rank is not None and not is_answer_too) or _fits_any(sample, lists, profile.name)):
                certainty = Certainty.HIGH if rank is not None and fitting > 0.99 else Certainty.MEDIUM
                why = (
                    "It holds a list of texts in each row."
                    if fitting > 0.99
                    else "It holds a list of texts in most rows; the others will be refused."
                )
                found.append((rank if rank is not None else 500.0, Choices((profile.name,), True, lists, certainty, why)))
        elif rank is not None and profile.objects:
            found += _inside(profile, rank)
            if not found and profile.scalars < 0.5:
                problems.append(f'The choices in "{profile.name}" are objects. Write them as a list of texts.')
    if not found and (several := _several(sample, answer_name) or _before_answer(sample, answer_name)) is not None:
        found.append((0.0, several))
    if not found:
        return None, problems
    return min(found, key=lambda each: each[0])[1], []


def _usable(listed: list[Any] | None) -> list[str] | None:
    """The list as choices; None where the importer would refuse it."""
    if listed is None or not 2 <= len(listed) <= MAX_CHOICES:
        return None
    return listed if all(isinstance(item, str) and item.strip() for item in listed) else None


def _fits_any(sample: Sample, lists: list[list[str] | None], own: str) -> bool:
    """Whether some column names one of the choices in nearly every row, by its name an answer."""
    return any(
        profile.name != own and names.rank(profile.name, names.ANSWER) is not None and fit(profile, lists) > FITS
        for profile in sample.columns.values()
    )


def _inside(profile: Profile, rank: float) -> list[tuple[float, Choices]]:
    """Lists within an object, such as {"text": […], "label": […]}."""
    found = []
    for key in ("text", "texts", "choices", "options", "choice"):
        lists = [_usable(each.get(key)) if isinstance(each, dict) and isinstance(each.get(key), list) else None for each in profile.values]
        if sum(listed is not None for listed in lists) > FITS * len(lists):
            why = f'The list "{key}" inside the column holds the texts of the choices.'
            found.append((rank, Choices((f"{profile.name}.{key}",), True, lists, Certainty.HIGH, why)))
    return found


def _several(sample: Sample, answer_name: str | None) -> Choices | None:
    """One column for each choice: `choice0`, `choice1`, … or `A`, `B`, `C`, `D`."""
    stems: dict[str, dict[int, Profile]] = {}
    for profile in sample.columns.values():
        placed = names.series(profile.name)
        if placed is not None and profile.name != answer_name and profile.scalars > FITS:
            stems.setdefault(placed[0], {})[placed[1]] = profile
    best: Choices | None = None
    for stem, places in stems.items():
        ordered = [places[place] for place in sorted(places)]
        start = min(places)
        is_run = sorted(places) == list(range(start, start + len(places))) and start in (0, 1)
        if not is_run or not 2 <= len(ordered) <= MAX_CHOICES or stem == UNNAMED:
            continue
        lists = [_usable(list(values)) for values in zip(*(profile.values for profile in ordered), strict=True)]
        fitting = sum(listed is not None for listed in lists) / max(1, len(lists))
        is_named = stem in names.CHOICE_STEMS or not stem
        if fitting < 0.5 or not (is_named or _is_exactly_choices(sample, lists, ordered)):
            continue
        certainty = Certainty.HIGH if is_named and fitting > 0.99 else Certainty.MEDIUM
        rest = "" if fitting > 0.99 else " Some rows have fewer choices; they will be refused."
        why = f"Each of the {len(ordered)} columns {ordered[0].name} to {ordered[-1].name} holds one choice.{rest}"
        candidate = Choices(tuple(profile.name for profile in ordered), False, lists, certainty, why)
        if best is None or len(candidate.columns) > len(best.columns):
            best = candidate
    return best


def _before_answer(sample: Sample, answer_name: str | None) -> Choices | None:
    """In a file without names: a last column of letters A to D says that the four columns before it are the choices."""
    columns = list(sample.columns.values())
    if not all((placed := names.series(profile.name)) is not None and placed[0] == UNNAMED for profile in columns):
        return None
    answer = sample.columns[answer_name] if answer_name in sample.columns else columns[-1]
    letters = {letter_of(value) for value in answer.distinct or ()}
    if not letters or None in letters or len(letters) < 2:
        return None
    count = max(ord(letter) for letter in letters if letter) - ord("A") + 1
    before = columns[: answer.index][-count:]
    lists = [_usable(list(values)) for values in zip(*(profile.values for profile in before), strict=True)]
    if len(before) < count or fit(answer, lists) < NEARLY_ALL or sum(listed is not None for listed in lists) < FITS * len(lists):
        return None
    sure = Certainty.HIGH if answer.index == count + 1 else Certainty.MEDIUM
    why = f"The answers are letters up to {max(letter for letter in letters if letter)}, and {count} columns stand before them."
    return Choices(tuple(profile.name for profile in before), False, lists, sure, why)


def _is_exactly_choices(sample: Sample, lists: list[list[str] | None], ordered: list[Profile]) -> bool:
    """Whether columns without a telling name are choices: an answer column fits them, and they are no parts of a question."""
    if any(names.rank(profile.name, (*names.QUESTION, *names.CONTEXT)) is not None for profile in ordered):
        return False
    own = {profile.name for profile in ordered}
    return any(profile.name not in own and fit(profile, lists) > 0.99 for profile in sample.columns.values())


def fit(answer: Profile, lists: list[list[str] | None]) -> float:
    """The part of the rows whose answer is the letter, number or text of one of the choices, by whichever of these fits best."""
    rows = [(value, listed) for value, listed in zip(answer.values, lists, strict=True) if listed]
    if not rows:
        return 0.0
    letters = sum((letter := letter_of(value)) is not None and ord(letter) - 65 < len(listed) for value, listed in rows)
    indices = sum((index := whole_of(value)) is not None and 0 <= index <= len(listed) for value, listed in rows)
    texts = sum(isinstance(value, str) and any(_same(choice) == _same(value) for choice in listed) for value, listed in rows)
    return max(letters, indices, texts) / len(rows)
