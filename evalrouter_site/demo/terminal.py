"""What the demo shows in a terminal: a progress bar and the result's table. Without a terminal, plain lines."""

from collections.abc import Mapping
from typing import Any, TextIO

from common.money import format_usd

BAR_WIDTH = 32


class ProgressBar:
    """One line that is drawn over itself; where the output is no terminal, a line for every tenth."""

    def __init__(self, out: TextIO) -> None:
        self.out = out
        self.is_terminal = out.isatty()
        self.last = -1

    def show(self, progress: Mapping[str, Any]) -> None:
        """Draw the run's `progress` object."""
        planned, processed = int(progress["planned"]), int(progress["processed"])
        share = processed / planned if planned else 0.0
        words = f"{processed:,} of {planned:,} · {progress['errors']} errors · {format_usd(int(progress['spend_microusd']))}"
        if self.is_terminal:
            filled = round(share * BAR_WIDTH)
            self.out.write(f"\r  {'█' * filled}{'░' * (BAR_WIDTH - filled)} {share:4.0%}  {words} \x1b[K")
        elif int(share * 10) > self.last:
            self.last = int(share * 10)
            self.out.write(f"  {share:4.0%}  {words}\n")
        self.out.flush()

    def end(self) -> None:
        if self.is_terminal:
            self.out.write("\n")
            self.out.flush()


def result_table(result: Mapping[str, Any]) -> list[str]:
    """The lines of the result's table: a row for each model, best first, with its interval, coverage, errors and cost."""
    rows = [["Model", "Score", "95% interval", "Graded", "Errors", "Cost"]]
    for subject in sorted(result["subjects"], key=_score, reverse=True):
        headline, counts = subject["headline"], subject["counts"]
        interval = headline["interval"] if headline else None
        rows.append(
            [
                subject["label"],
                "–" if headline is None or headline["value"] is None else f"{headline['value']:.1%}",
                "–" if not interval else f"{interval['low']:.1%} to {interval['high']:.1%}",
                f"{counts['graded']:,} of {counts['planned']:,}",
                f"{counts['errors']:,}",
                format_usd(int(subject["charge_microusd"])),
            ]
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  " + row[0].ljust(widths[0]) + "".join("  " + cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))
        for row in rows
    ]
    return [lines[0], "  " + "─" * (len(lines[0]) - 2), *lines[1:]]


def _score(subject: Mapping[str, Any]) -> float:
    headline = subject["headline"]
    return -1.0 if headline is None or headline["value"] is None else float(headline["value"])
