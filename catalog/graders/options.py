"""Checking a grader's options: every one known, of the right type, with the defaults filled in."""

import re
from collections.abc import Callable, Mapping
from typing import Any

import re2

from catalog.graders.texts import NORMALIZE
from common.errors import Refused

MAX_PATTERN = 512
MAX_PREFIX = 100
MAX_FIELDS = 50
MAX_PATH = 200

Check = Callable[[str, Any], Any]
Spec = Mapping[str, tuple[Any, Check]]
"""Each option's default and its check, which gives the value to store or raises `Refused`."""
REQUIRED = object()


def refuse(option: str, problem: str) -> Refused:
    """The refusal of one option, to be raised."""
    return Refused("invalid_grader_options", f"Grader option {option}: {problem}.", details={"option": option})


def check(spec: Spec, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with all defaults. Raises `Refused` `invalid_grader_options` for unknown, missing and wrong ones."""
    if not isinstance(options, Mapping):
        raise refuse("grader_options", "must be an object")
    for name in options:
        if name not in spec:
            known = ", ".join(spec)
            raise refuse(str(name), f"not an option of this grader; it has {known}")
    checked = {}
    for name, (default, checks) in spec.items():
        value = options.get(name, default)
        if value is REQUIRED:
            raise refuse(name, "is required")
        checked[name] = checks(name, value)
    return checked


def one_of(*allowed: Any) -> Check:
    def checks(name: str, value: Any) -> Any:
        if isinstance(value, bool) or value not in allowed:
            raise refuse(name, f"must be one of {', '.join(map(str, allowed))}")
        return value

    return checks


def flag(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise refuse(name, "must be true or false")
    return value


def prefix(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > MAX_PREFIX or len(value.splitlines()) > 1:
        raise refuse(name, f"must be one line of text of at most {MAX_PREFIX} characters")
    return value


def normalize(name: str, value: Any) -> dict[str, bool]:
    """An object of flags; `true` stands for the defaults and `false` for comparing character by character."""
    if isinstance(value, bool):
        return dict(NORMALIZE) if value else dict.fromkeys(NORMALIZE, False)
    if not isinstance(value, Mapping):
        raise refuse(name, "must be an object of flags, true or false")
    for key, is_set in value.items():
        if key not in NORMALIZE:
            raise refuse(f"{name}.{key}", f"is not known; there are {', '.join(NORMALIZE)}")
        flag(f"{name}.{key}", is_set)
    return {**NORMALIZE, **value}


def field_paths(name: str, value: Any) -> list[str]:
    """Dotted paths such as `address.city` or `items.0`."""
    if not isinstance(value, list) or not value or len(value) > MAX_FIELDS:
        raise refuse(name, f"must be a list of 1 to {MAX_FIELDS} dotted paths")
    for path in value:
        if not isinstance(path, str) or not path or len(path) > MAX_PATH or not all(path.split(".")):
            raise refuse(name, f"{path!r} is not a dotted path")
    if len(set(value)) < len(value):
        raise refuse(name, "names a path twice")
    return list(value)


def compile_pattern(pattern: str, *, ignore_case: bool = False, dot_all: bool = False) -> "re2._Regexp":
    """The pattern on RE2, which needs time linear in the text whatever the pattern. Raises `Refused` `invalid_pattern`."""
    if not isinstance(pattern, str) or not pattern:
        raise Refused("invalid_pattern", "The pattern is empty.")
    if len(pattern) > MAX_PATTERN:
        raise Refused("invalid_pattern", f"The pattern has {len(pattern)} characters; at most {MAX_PATTERN} are allowed.")
    if len(re.findall(r"\(\?P?<answer>", pattern)) > 1:  # RE2 takes it, and only the first would ever be read
        raise Refused("invalid_pattern", "The pattern names the group answer twice.")
    settings = re2.Options()
    settings.log_errors = False
    settings.case_sensitive = not ignore_case
    settings.dot_nl = dot_all
    try:
        return re2.compile(pattern, settings)
    except (re2.error, UnicodeEncodeError) as error:
        words = error.args[0].decode("utf-8", "replace") if error.args and isinstance(error.args[0], bytes) else str(error)
        raise Refused(
            "invalid_pattern",
            f"The pattern cannot be used: {words}. Patterns are RE2: no back-references and no look-around.",
            details={"pattern": pattern.encode("utf-8", "replace").decode()},
        ) from None


def answer_group(pattern: "re2._Regexp") -> int:
    """Which group holds the answer: the one named `answer`, else the only one, else 0, the whole match."""
    return pattern.groupindex.get("answer", 1 if pattern.groups == 1 else 0)
