"""Filters of the import pages: `{% load importing %}`."""

from typing import Any

from django import template

from imports.forms import DELIMITERS, FORMAT_WORDS
from imports.wording import in_words

register = template.Library()

_ENCODINGS = {
    "utf-8": "UTF-8",
    "utf-16": "UTF-16",
    "utf-32": "UTF-32",
    "cp1252": "Windows-1252 (Western Europe)",
    "cp1250": "Windows-1250 (Central Europe)",
    "cp1251": "Windows-1251 (Cyrillic)",
    "cp1253": "Windows-1253 (Greek)",
    "cp1254": "Windows-1254 (Turkish)",
    "cp1255": "Windows-1255 (Hebrew)",
    "cp1256": "Windows-1256 (Arabic)",
    "iso8859-1": "ISO 8859-1 (Latin 1)",
    "iso8859-15": "ISO 8859-15 (Latin 9)",
    "shift_jis": "Shift JIS (Japanese)",
    "euc_jp": "EUC-JP (Japanese)",
    "iso2022_jp": "ISO-2022-JP (Japanese)",
    "euc_kr": "EUC-KR (Korean)",
    "gb18030": "GB 18030 (Chinese)",
    "gbk": "GBK (Chinese)",
    "gb2312": "GB 2312 (Chinese)",
    "big5": "Big5 (Chinese)",
    "koi8-r": "KOI8-R (Russian)",
    "koi8-u": "KOI8-U (Ukrainian)",
}
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


@register.filter
def bytes_words(count: int | None) -> str:
    """A size in words: "812 bytes", "1.2 MiB", "64 MiB"; an em dash for none."""
    if count is None:
        return "—"
    if count < 1024:
        return f"{count} byte{'' if count == 1 else 's'}"
    size = float(count)
    unit = 0
    while size >= 1024 and unit < len(_UNITS) - 1:
        size, unit = size / 1024, unit + 1
    return f"{size:,.1f}".removesuffix(".0") + f" {_UNITS[unit]}"


@register.filter
def encoding_words(name: str) -> str:
    return _ENCODINGS.get(name) or name.upper().replace("_", "-")


@register.filter
def delimiter_words(delimiter: str) -> str:
    return dict(DELIMITERS).get(delimiter, delimiter)


@register.filter
def format_words(name: str) -> str:
    return {"jsonl": "JSON", "csv": "delimited text", "parquet": "Parquet"}.get(name, FORMAT_WORDS.get(name, name))


@register.filter
def plain_refusal(message: Any) -> str:
    """A refusal's message without the manifest's own names."""
    return in_words(str(message))


@register.filter
def part(mapping: Any, name: str) -> Any:
    """A part of a mapping whose name is only known in the template."""
    return mapping.get(name) if isinstance(mapping, dict) else None


@register.filter
def blank_zero(value: Any) -> Any:
    """Nothing for a zero, which is what the field means when it is empty."""
    return "" if value == 0 else value
