"""Texts as other tools write them: messages, contents in parts, references to columns in templates. Templates are never rendered."""

import re
from typing import Any

REFERENCE = re.compile(r"\{\{\s*([A-Za-z_][\w.\-]*)\s*\}\}")


def as_text(value: Any) -> str:
    """A text or number as text; empty for everything else."""
    if isinstance(value, bool) or value is None:
        return ""
    return str(value) if isinstance(value, str | int | float) else ""


def content_text(content: Any) -> str | None:
    """The text of a message's content, which may be in parts; None where a part is no text, such as an image."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return None
    parts = []
    for part in content:
        if isinstance(part, str):
            parts.append(part)
            continue
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in {"text", "input_text", "output_text"} and isinstance(part.get("text"), str):
            parts.append(part["text"])
        elif kind not in {"reasoning", "thinking"}:
            return None
    return "\n".join(parts)


def reasoning_text(content: Any) -> str:
    """What parts of a content say as reasoning."""
    if not isinstance(content, list):
        return ""
    found = [part.get("reasoning") or part.get("thinking") for part in content if isinstance(part, dict)]
    return "\n".join(each for each in found if isinstance(each, str))


def prompt_of(messages: Any) -> tuple[str, str, bool] | None:
    """System text, prompt, and whether a conversation was written as one text; None where a message holds more than text.

    A text is a prompt. Of messages, the system's are apart; more than one other message is written out with who says what.
    """
    if isinstance(messages, str):
        return "", messages, False
    if not isinstance(messages, list):
        return None
    system, others = [], []
    for message in messages:
        if not isinstance(message, dict):
            return None
        text = content_text(message.get("content"))
        if text is None:
            return None
        if message.get("role") in {"system", "developer"}:
            system.append(text)
        elif text.strip() or not message.get("tool_calls"):
            others.append((str(message.get("role") or "user"), text))
    if len(others) == 1:
        return "\n\n".join(system), others[0][1], False
    return "\n\n".join(system), "\n\n".join(f"{role.capitalize()}: {text}" for role, text in others), bool(others)


def referenced(template: Any) -> str | None:
    """`item.label` of the text `{{ item.label }}`; None for every other text, more complicated templates too."""
    found = REFERENCE.fullmatch(template.strip()) if isinstance(template, str) else None
    return found[1] if found else None


def value_at(document: Any, path: str) -> Any:
    """The value at a dotted path, where a key with dots in it counts as itself; None where there is none."""
    if isinstance(document, dict) and path in document:
        return document[path]
    head, _, rest = path.partition(".")
    if not rest or not isinstance(document, dict):
        return document.get(head) if isinstance(document, dict) else None
    return value_at(document.get(head), rest)
