"""The whole suggestion for a file."""

from typing import Any

from catalog.enums import Grader
from common.errors import Refused
from imports.manifests import ImportManifest, parse_manifest
from imports.mapping import RowProblem, row_mapper
from imports.reading import Row, RowStream
from imports.suggesting import names
from imports.suggesting import roles as finding
from imports.suggesting.answers import AnswerPlan, lowest, plan_choices, plan_open
from imports.suggesting.choices import Choices, find_choices
from imports.suggesting.guesses import COLUMN, Certainty, Guess, Suggestion
from imports.suggesting.header import guess_header
from imports.suggesting.prompts import output_tokens, prompt_template, role_names
from imports.suggesting.sampling import Profile, Sample, as_list, read_sample

_DELIMITERS = {",": "commas", "\t": "tabs", ";": "semicolons", "|": "bars"}


def suggest(stream: RowStream, *, filename: str = "", answer: str | None = None) -> Suggestion:
    """How the file might become a benchmark, from names and from rows spread over the whole of it.

    `answer` is a column that a person has chosen as the answer: grader and prompt are then guessed for it. Where the first row of a
    delimited file is data, the guess `header` is False and columns are named `column_1` and so on, as a stream opened so has them.
    Raises `Refused` where the file cannot be read.
    """
    guesses = _reading(stream)
    if "header" in guesses and guesses["header"].value is False and stream.headerless is not None:
        stream = stream.headerless()
    sample = read_sample(stream)
    unread = _why_unreadable(sample)
    if unread:
        return Suggestion(guesses, problems=(unread,), rows=sample.rows, is_whole=sample.is_whole, unreadable_rows=sample.unread)
    roles = finding.Roles()
    roles.choices, problems = find_choices(sample, answer)
    roles.answer, roles.answer_guess = finding.find_answer(sample, roles.choices, answer)
    if roles.answer is not None and roles.choices is not None and _is_made_of(roles.choices, roles.answer):
        roles.choices = None
    roles.problems += problems
    finding.find_prompt(sample, roles)
    if roles.answer is None or roles.answer_guess is None:
        roles.problems.append("No column was found that could hold the answers.")
        return _told(guesses, sample, roles)
    guesses[f"{COLUMN}answer"] = roles.answer_guess
    plan = _plan(roles, sample)
    roles.problems += plan.problems
    if plan.grader == Grader.MULTIPLE_CHOICE and roles.choices is not None:
        guesses[f"{COLUMN}choices"] = roles.choices.guess()
    _add_prompt(guesses, sample, roles, plan)
    _add_labels(guesses, sample, roles, plan)
    guesses |= plan.guesses
    guesses["max_output_tokens"] = output_tokens(plan)
    return _told(guesses, sample, roles) if roles.problems else _tried(guesses, sample, roles)


def _reading(stream: RowStream) -> dict[str, Guess]:
    """What reading the file has shown of it."""
    found = {}
    if (header := guess_header(stream)) is not None:
        found["header"] = header
    elif stream.header is False:
        found["header"] = Guess(False, Certainty.HIGH, "It was chosen.")
    if stream.delimiter is not None:
        words = _DELIMITERS.get(stream.delimiter, f"“{stream.delimiter}”")
        found["delimiter"] = Guess(
            stream.delimiter, Certainty.HIGH, f"Cells are parted by {words}: it gives the rows the same number of cells."
        )
    if stream.encoding is not None:
        is_guess = any(warned.code == "byob_guessed_encoding" for warned in stream.warnings)
        why = "The file is not UTF-8 and fits this encoding; look at its accents." if is_guess else "The whole file is valid in it."
        found["encoding"] = Guess(stream.encoding, Certainty.MEDIUM if is_guess else Certainty.HIGH, why)
    return found


def _why_unreadable(sample: Sample) -> str:
    if not sample.rows:
        hint = " A JSON file holds one object a line, or one array of objects." if sample.problem.find("JSON") >= 0 else ""
        return f"No row of the file can be read. {sample.problem}{hint}" if sample.unread else "The file has no rows."
    if sample.rows == 1:
        for profile in sample.columns.values():
            listed = as_list(profile.values[0])
            if listed and all(isinstance(item, dict) for item in listed) and not profile.is_chat:
                return f'The file is one object, and its rows stand in the list "{profile.name}". Save that list as a file of its own.'
    return ""


def _is_made_of(choices: Choices, answer: Profile) -> bool:
    return answer.name in choices.roots


def _plan(roles: finding.Roles, sample: Sample) -> AnswerPlan:
    assert roles.answer is not None
    if roles.choices is not None:
        return plan_choices(roles.answer, roles.choices.lists)
    return plan_open(roles.answer, roles.prompt[0] if roles.prompt else None)


def _holds_outputs(sample: Sample) -> bool:
    return sum(names.is_named(name, names.OUTPUTS | {"output", "response", "model"}) for name in sample.columns) >= 2


def _add_prompt(guesses: dict[str, Guess], sample: Sample, roles: finding.Roles, plan: AnswerPlan) -> None:
    if not roles.prompt and plan.grader != Grader.MULTIPLE_CHOICE:
        if not roles.problems:
            hint = " It seems to hold answers of models: those are imported as recorded answers." if _holds_outputs(sample) else ""
            roles.problems.append(f"No column was found that could hold the question.{hint}")
        return
    placed = role_names(roles.prompt)
    for role, profile in placed.items():
        guesses[f"{COLUMN}{role}"] = Guess(profile.name, roles.prompt_certainty, roles.prompt_why[profile.name])
    if placed:
        guesses["prompt_template"] = prompt_template(placed, plan, roles.prompt_certainty)
    else:
        why = "No column holds a question, so the choices are asked about alone. Say what is asked of them."
        guesses["prompt_template"] = Guess(f"Which of these is right?{prompt_template({}, plan, Certainty.LOW).value}", Certainty.LOW, why)


def _add_labels(guesses: dict[str, Guess], sample: Sample, roles: finding.Roles, plan: AnswerPlan) -> None:
    assert roles.answer is not None
    taken = {roles.answer.name, *(profile.name for profile in roles.prompt)} | (roles.choices.roots if roles.choices else set())
    ids, guesses[f"{COLUMN}id"] = finding.find_id(sample, taken)
    group = finding.find_group(sample, taken, ids)
    if group is not None:
        guesses[f"{COLUMN}group"] = group
    cluster = finding.find_cluster(sample, taken | ({group.value} if group else set()), ids)
    if cluster is not None:
        guesses[f"{COLUMN}cluster"] = cluster


def _told(guesses: dict[str, Guess], sample: Sample, roles: finding.Roles) -> Suggestion:
    mapped = {name for key, guess in guesses.items() if key.startswith(COLUMN) for name in _names(guess.value)}
    return Suggestion(
        guesses,
        tuple(finding.withheld(sample, roles, mapped)),
        tuple(roles.problems),
        sample.rows,
        sample.is_whole,
        sample.unread,
    )


def _names(value: Any) -> list[str]:
    return [] if value is None else list(value) if isinstance(value, list) else [value]


def _tried(guesses: dict[str, Guess], sample: Sample, roles: finding.Roles) -> Suggestion:
    """The suggestion after its manifest was put to the sampled rows: what these refuse lowers the certainty and is told."""
    told = _told(guesses, sample, roles)
    try:
        manifest = parse_manifest({"name": "A suggestion", "rights_attestation": True, **told.manifest()})
    except Refused as refusal:
        roles.problems.append(refusal.message)
        return _told(guesses, sample, roles)
    failed, first = _failures(manifest, sample)
    if failed:
        answer = guesses[f"{COLUMN}answer"]
        words = f"{answer.why} {failed} of {sample.size} rows that were looked at would be refused: {first}."
        guesses[f"{COLUMN}answer"] = Guess(answer.value, lowest(answer.certainty, Certainty.LOW), words)
        return _told(guesses, sample, roles)
    return told


def _failures(manifest: ImportManifest, sample: Sample) -> tuple[int, str]:
    mapped, failed, first = row_mapper(manifest), 0, ""
    for index in range(sample.size):
        row = Row(index + 1, None, {name: profile.values[index] for name, profile in sample.columns.items()})
        try:
            mapped(row)
        except RowProblem as problem:
            failed, first = failed + 1, first or problem.message
    return failed, first
