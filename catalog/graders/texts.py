"""What the graders share about text: a clean form of the output, where the answer stands in it, and how two texts are compared."""

import re
import unicodedata
from collections.abc import Callable, Mapping

NORMALIZE = {"nfkc": True, "casefold": True, "collapse_whitespace": True, "strip_punctuation": False}
"""The parts of the option `normalize`, with their defaults."""


def clean(output: str) -> str:
    """The output with what no database stores replaced: lone surrogates by `?`, NUL by U+FFFD. Everything else is kept."""
    if not output.isascii():
        output = output.encode("utf-8", "replace").decode("utf-8")
    return output.replace("\x00", "\ufffd") if "\x00" in output else output


class _PunctuationToSpace(dict[int, str | int]):
    """A table for `str.translate` that fills itself: Unicode punctuation (categories P*) becomes a space."""

    def __missing__(self, code: int) -> str | int:
        value: str | int = " " if unicodedata.category(chr(code))[0] == "P" else code
        self[code] = value
        return value


_PUNCTUATION = _PunctuationToSpace()


def normalizer(options: Mapping[str, bool] = NORMALIZE) -> Callable[[str], str]:
    """A function that gives the form in which texts are compared. White space around a text never counts."""
    nfkc, casefold = options["nfkc"], options["casefold"]
    collapse, strip_punctuation = options["collapse_whitespace"], options["strip_punctuation"]

    def normalized(text: str) -> str:
        is_ascii = text.isascii()
        if nfkc and not is_ascii:
            text = unicodedata.normalize("NFKC", text)
        if casefold:
            text = text.casefold()
            if nfkc and not is_ascii:  # folding can undo composition
                text = unicodedata.normalize("NFKC", text)
        if strip_punctuation:
            text = text.translate(_PUNCTUATION)
        return " ".join(text.split()) if collapse else text.strip()

    return normalized


def describe_normalization(options: Mapping[str, bool]) -> str:
    """How texts are compared, for people: "compared after Unicode NFKC, case folding, collapsed white space"."""
    parts = {
        "nfkc": "Unicode NFKC",
        "casefold": "case folding",
        "strip_punctuation": "punctuation turned into spaces",
        "collapse_whitespace": "collapsed white space",
    }
    used = [words for name, words in parts.items() if options[name]]
    return f"compared after {', '.join(used)}" if used else "compared character by character"


def last_match(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    """The last of the pattern's matches from left to right; None without one."""
    last = None
    for match in pattern.finditer(text):
        last = match
    return last


def last_line(output: str) -> str | None:
    """The last line that is not blank, stripped; None where there is none."""
    lines = output.split("\n") if output.isascii() and "\r" not in output else output.splitlines()
    for line in reversed(lines):
        if stripped := line.strip():
            return stripped
    return None


def after_prefix(prefix: str) -> Callable[[str], str | None]:
    """A function that gives the text after the last `prefix` (any case), up to the end of that line, stripped; None without the prefix."""
    pattern = re.compile(re.escape(prefix), re.IGNORECASE)
    folded = prefix.lower()

    def extract(output: str) -> str | None:
        if output.isascii() and folded.isascii():
            start = output.lower().rfind(folded)
            end = start + len(folded) if start >= 0 else None
        else:  # lower case may have another length there
            last = last_match(pattern, output)
            end = last.end() if last else None
        if end is None:
            return None
        lines = output[end:].splitlines()
        return lines[0].strip() if lines else ""

    return extract
