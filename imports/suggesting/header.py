"""Whether the first row of a delimited file names its columns."""

from itertools import islice

from imports.reading import RowStream
from imports.suggesting import names
from imports.suggesting.guesses import Certainty, Guess
from imports.suggesting.sampling import is_number, letter_of

LOOKED_AT = 200
LONG_NAME = 60
_KNOWN = frozenset((*names.ANSWER, *names.QUESTION, *names.CONTEXT, *names.CHOICES, *names.GROUPS)) | names.IDS | names.CLUSTERS


def guess_header(stream: RowStream) -> Guess | None:
    """Whether there is a header; None where the format has none or somebody has said it already."""
    if stream.headerless is None:
        return None
    rows = [list(row.values.values()) for row in islice(stream.headerless().rows(), LOOKED_AT) if not row.problem]
    if not rows:
        return None
    first, rest = [str(cell).strip() for cell in rows[0]], rows[1:]
    known = [cell for cell in first if (len(cell) > 1 and names.plain(cell) in _KNOWN) or _is_choice_name(cell)]
    against = _why_no_header(first, [[str(cell).strip() for cell in row] for row in rest])
    named = f'The first row has the names of columns, such as "{known[0]}".' if known else ""
    if known and not against:
        return Guess(True, Certainty.HIGH, named)
    if against and not known:
        return Guess(False, Certainty.HIGH, f"The first row is data: {against}.")
    if against:
        return Guess(True, Certainty.LOW, f"{named[:-1]}, but {against}.")
    return Guess(True, Certainty.MEDIUM, "The first row differs from the others, as a header does.")


def _is_choice_name(cell: str) -> bool:
    placed = names.series(cell)
    return placed is not None and placed[0] in names.CHOICE_STEMS


def _why_no_header(first: list[str], rest: list[list[str]]) -> str:
    """What in the first row is unlike a name, in words; empty where nothing is."""
    for index, cell in enumerate(first):
        below = [row[index] for row in rest if index < len(row) and row[index]]
        if len(cell) > LONG_NAME or "\n" in cell or cell.endswith(("?", "？", ".")):
            return f"“{cell[:40].splitlines()[0]}…” is a text, not a name" if cell else ""
        if not below:
            continue
        if is_number(cell) and sum(map(is_number, below)) > 0.8 * len(below):
            return f"{cell} is a number, as in the rows below it"
        if letter_of(cell) and sum(letter_of(each) is not None for each in below) > 0.8 * len(below):
            return f"{cell} is a letter, as in the rows below it"
        if len(set(below)) < len(below) / 3 and cell in below:
            return f"“{cell[:40]}” stands in rows below it too"
    return ""
