"""From a template and a row's values to the messages a model receives.

Plain replacement in one pass: what a row says is never a template.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from catalog.graders.multiple_choice import LETTERS
from common.errors import Refused

CHOICES = "choices"
NEVER_DELIVERED = frozenset({"answer", "id", "group", "cluster"})
"""Roles that no template may name: they grade, identify and sample rows."""
MAX_RENDERED = 100_000
"""Characters of a rendered user message."""

_TOKEN = re.compile(r"\{\{|\}\}|\{([A-Za-z_][A-Za-z0-9_]*)\}|[{}]")


@lru_cache(maxsize=512)
def parse_template(template: str) -> tuple[tuple[str, str], ...]:
    """The template as pairs of literal text and the role that follows it, "" after the last. Raises Refused `invalid_template`."""
    parts, literal, position = [], "", 0
    for match in _TOKEN.finditer(template):
        literal += template[position : match.start()]
        position = match.end()
        if match[1]:
            parts.append((literal, match[1]))
            literal = ""
        elif match[0] in ("{{", "}}"):
            literal += match[0][0]
        else:
            raise Refused(
                "invalid_template",
                f"The template has a lone {match[0]} at character {match.start() + 1}; {{{{ and }}}} stand for braces.",
                details={"position": match.start()},
            )
    parts.append((literal + template[position:], ""))
    return tuple(parts)


def check_template(template: str, roles: Iterable[str], *, has_choices: bool) -> None:
    """Raise Refused unless the template names every prompt role, {choices} where there are choices, and nothing else.

    Codes: `invalid_template`, `forbidden_placeholder`, `unknown_placeholder`, `missing_placeholder`.
    """
    if not isinstance(template, str) or not template.strip():
        raise Refused("invalid_template", "The prompt template is empty.")
    named = {role for _, role in parse_template(template) if role}
    expected = set(roles) | ({CHOICES} if has_choices else set())
    if forbidden := sorted(named & NEVER_DELIVERED):
        raise Refused(
            "forbidden_placeholder",
            f"The template names {{{forbidden[0]}}}, which is never sent to a model.",
            details={"placeholders": forbidden},
        )
    if unknown := sorted(named - expected):
        known = ", ".join(f"{{{role}}}" for role in sorted(expected)) or "none"
        raise Refused(
            "unknown_placeholder",
            f"The template names {{{unknown[0]}}}, but no column is mapped to it. Known placeholders: {known}.",
            details={"placeholders": unknown},
        )
    if missing := sorted(expected - named):
        raise Refused(
            "missing_placeholder",
            f"The template does not name {{{missing[0]}}}. Every mapped prompt column must appear in it.",
            details={"placeholders": missing},
        )


def render_choices(choices: Sequence[str]) -> str:
    """Lettered lines: `A. text`, `B. text`, …"""
    return "\n".join(f"{letter}. {choice}" for letter, choice in zip(LETTERS, choices, strict=False))


def render_template(template: str, values: Mapping[str, Any]) -> str:
    """The template with each role's value in place. Raises KeyError for a role without a value."""
    out = []
    for literal, role in parse_template(template):
        out.append(literal)
        if role:
            value = values[role]
            out.append(value if isinstance(value, str) else render_choices(value) if role == CHOICES else str(value))
    return "".join(out)


def render_messages(manifest: Mapping[str, Any], values: Mapping[str, Any]) -> list[dict[str, str]]:
    """What a model receives for a row: the system prompt, verbatim, where the manifest has one, and the user message."""
    user = {"role": "user", "content": render_template(manifest["prompt_template"], values)}
    system = manifest.get("system_prompt")
    return [{"role": "system", "content": system}, user] if system else [user]


def prompt_bytes(messages: Iterable[Mapping[str, str]]) -> int:
    """UTF-8 bytes of all the messages' texts."""
    return sum(len(message["content"].encode()) for message in messages)
