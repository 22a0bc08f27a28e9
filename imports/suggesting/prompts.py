"""A prompt to begin with: the question's parts, and an instruction that fits the grader."""

import re
import unicodedata

from catalog.enums import Grader
from catalog.manifests import MAX_OUTPUT_TOKENS
from catalog.rendering import NEVER_DELIVERED
from imports.suggesting.answers import AnswerPlan, lowest
from imports.suggesting.guesses import Certainty, Guess
from imports.suggesting.names import CONTEXT, plain
from imports.suggesting.sampling import Profile

THINKING_TOKENS = 1024
CHARS_A_TOKEN = 2
_RESERVED = NEVER_DELIVERED | {"choices"}


def role_names(prompt: list[Profile]) -> dict[str, Profile]:
    """A placeholder for each column: its own name where it can be one, else `question`, `context` or `text`."""
    found: dict[str, Profile] = {}
    for profile in prompt:
        ascii_name = unicodedata.normalize("NFKD", profile.name).encode("ascii", "ignore").decode()
        name = re.sub(r"\W+", "_", ascii_name).strip("_").lower()[:60]
        if not re.fullmatch(r"[a-z_][a-z0-9_]*", name) or name in _RESERVED or re.fullmatch(r"column_\d+", name):
            name = "question" if len(prompt) == 1 or plain(profile.name) not in CONTEXT else "context"
        while name in found:
            name = f"{name}_2"
        found[name] = profile
    return found


def prompt_template(roles: dict[str, Profile], plan: AnswerPlan, sure: Certainty) -> Guess:
    """The template: short parts side by side, long ones and several kinds each on their own lines with their names."""
    template = f"{_question(roles)}{_choices(plan)}{_instruction(plan)}"
    return Guess(template, lowest(sure, Certainty.MEDIUM), _why(plan))


def _question(roles: dict[str, Profile]) -> str:
    if len(roles) <= 1:
        return "".join(f"{{{role}}}" for role in roles)
    reads_on = len(roles) == 2 and all(
        profile.words < 60 and plain(profile.name) in ("body", "question", "ques") for profile in roles.values()
    )
    if reads_on:
        return " ".join(f"{{{role}}}" for role in roles)
    if any(plain(profile.name) in ("instruction", "question", "problem", "prompt", "frage") for profile in roles.values()):
        return "\n\n".join(
            f"{{{role}}}" if profile.words >= 4 else f"{role.replace('_', ' ').capitalize()}: {{{role}}}" for role, profile in roles.items()
        )
    return "\n\n".join(f"{role.replace('_', ' ').capitalize()}: {{{role}}}" for role in roles)


def _choices(plan: AnswerPlan) -> str:
    return "\n\n{choices}" if plan.grader == Grader.MULTIPLE_CHOICE else ""


def _instruction(plan: AnswerPlan) -> str:
    if plan.grader == Grader.MULTIPLE_CHOICE:
        return '\n\nAnswer with one letter as "ANSWER: <letter>".'
    if plan.grader == Grader.NUMERIC:
        return "\n\nGive the answer as one number on the last line."
    if plan.grader == Grader.JSON_FIELD_MATCH:
        return (
            f"\n\nAnswer with one JSON object and nothing else. Its fields: {', '.join(plan.fields)}."
            if plan.fields
            else "\n\nAnswer with JSON."
        )
    if plan.labels:
        return f"\n\nAnswer with one of these alone on the last line: {', '.join(plan.labels)}"
    return "\n\nGive the answer alone on the last line, without other words."


def _why(plan: AnswerPlan) -> str:
    asks = {
        Grader.MULTIPLE_CHOICE: "It asks for a letter in the form that the grader reads.",
        Grader.NUMERIC: "It asks for the number last, which is what the grader takes.",
        Grader.JSON_FIELD_MATCH: "It asks for JSON alone and names the fields.",
    }
    return (
        asks.get(Grader(plan.grader), "It asks for the answer alone on the last line, which is what the grader compares.")
        + " Word it as your task needs."
    )


def output_tokens(plan: AnswerPlan) -> Guess:
    """Room for the longest answer, and for the way to it where a model is likely to write one."""
    needed = 64 + plan.longest // CHARS_A_TOKEN
    if plan.works_it_out or plan.grader in (Grader.NUMERIC, Grader.MULTIPLE_CHOICE):
        tokens, why = max(THINKING_TOKENS, needed), "A model may write its way to the answer; what it does not write costs nothing."
    else:
        tokens, why = max(256, needed), f"The longest answer that was looked at has {plan.longest:,} characters."
    tokens = 1 << (tokens - 1).bit_length()
    return Guess(min(tokens, MAX_OUTPUT_TOKENS), Certainty.MEDIUM, f"{why} Models that reason before they answer need more.")
