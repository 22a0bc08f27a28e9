"""Cells of CSV files that people open in a spreadsheet."""

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""What makes a spreadsheet read a cell as a formula."""


def plain_cell(value: object) -> object:
    """The value; a text that would be read as a formula with an apostrophe before it, which makes it text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA_STARTS) else value
