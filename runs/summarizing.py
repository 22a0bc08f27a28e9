"""What a comparison says, in one or two sentences that claim no more than its adjusted results."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from runs.statistics import Metric, smallest_difference_seen, smallest_mean_difference
from runs.statistics.choosing import Difference

MOST_NAMED = 4
"""More models than this are counted, not named."""


@dataclass(frozen=True, slots=True)
class Side:
    """A compared subject, by its place in the ranking."""

    index: int
    label: str


type Pairs = Mapping[tuple[int, int], tuple[Difference, bool]]
"""Two places, the better first → their difference, and whether they are told apart."""


def summarize(*, sides: Sequence[Side], pairs: Pairs, metric: Metric, compared: int, planned: int, left_out: int, has_too_few: bool) -> str:
    """The summary of a comparison. `sides` are in the order of the ranking, empty where no task is compared."""
    names = _names(sides)
    if not compared:
        return "No task was finished by every model, so there is nothing to compare." if planned else "There is nothing to compare."
    if len(sides) == 1:
        return (
            f"Only {names[0]} can be ranked: the other models did not get far enough."
            if left_out
            else "Only one model ran, so there is nothing to compare."
        )
    if has_too_few:
        return (
            f"No winner is named: {planned - compared:,} of {planned:,} tasks were not finished by every model, "
            "and their answers could change the order."
        )
    tied = [place for place in range(1, len(sides)) if not pairs[0, place][1]]
    if not tied:
        return _ahead_of_all(names, pairs[0, 1][0], metric)
    behind = [names[place] for place in range(1, len(sides)) if place not in tied]
    sentence = _cannot_tell(names, tied, pairs, metric, compared)
    return f"{sentence} {names[0]} is ahead of {_listed(behind)}." if behind else sentence


def outlook(sides: Sequence[Side], needed: Mapping[tuple[int, int], int | None], *, compared: int, population: int) -> str | None:
    """What more tasks would show: of the pairs that are not told apart the one that needs the fewest, the best model's first.

    `needed` says of two places, the better first, about how many more tasks; None where none are, or would help. An estimate: it takes the
    difference and the disagreements of these tasks for those of all.
    """
    known = [(places, more) for places, more in needed.items() if more]
    if not known:
        return None
    (a, b), more = min(known, key=lambda each: (each[0][0] != 0, each[1]))
    names = _names(sides)
    first, second = names[a], names[b]
    if compared >= population > 0:
        return (
            f"Every task was used. To tell {first} and {second} apart at this difference would take about {about(compared + more)} "
            f"tasks in all (an estimate), more than the benchmark has ({population:,})."
        )
    sentence = f"About {about(more)} more task{'s' if more != 1 else ''} would separate {first} and {second} at this difference"
    if compared + more > population > 0:
        return f"{sentence} (an estimate): more than the benchmark has ({population:,})."
    return f"{sentence} (an estimate)."


def about(count: int) -> str:
    """A count to two digits, rounded up: more would be said than is known."""
    size = 10 ** max(0, len(str(count)) - 2)
    return f"{-(-count // size) * size:,}"


def _ahead_of_all(names: Sequence[str], difference: Difference, metric: Metric) -> str:
    amount = _amount(difference.estimate.value, metric)
    if interval := difference.estimate.interval:
        amount += f" ({_figure(interval.low, metric)} to {_figure(interval.high, metric)})"
    if len(names) == 2:
        return f"{names[0]} is ahead of {names[1]} by {amount}."
    return f"{names[0]} is ahead of every other model; the next is {names[1]}, behind by {amount}."


def _cannot_tell(names: Sequence[str], tied: Sequence[int], pairs: Pairs, metric: Metric, compared: int) -> str:
    """That the best and those at `tied` are not told apart, and what difference would have been."""
    tasks = "This one task" if compared == 1 else f"These {compared:,} tasks"
    close = [names[place] for place in tied]
    all_alike = all(not pairs[a, b][1] for a in tied for b in tied if a < b)
    if all_alike and len(close) < MOST_NAMED:
        who = f"tell {_listed([names[0], *close])} apart"
    else:
        who = f"tell {names[0]} apart from {_listed(close)}"
    shows = max(_smallest(pairs[0, place][0]) for place in tied)
    if metric.is_share and shows >= 1:
        return f"{tasks} cannot {who}: there are too few to show any difference."
    if not shows:
        return f"{tasks} cannot {who}."
    return f"{tasks} cannot {who}; a difference of about {_rough(shows, metric)} would show."


def _smallest(difference: Difference) -> float:
    """The least difference that this pair on these tasks would have shown four times in five."""
    if difference.table and difference.p_method == "mcnemar_mid":
        return smallest_difference_seen(difference.table.n, difference.table.a_only + difference.table.b_only)
    return smallest_mean_difference(difference.estimate.stderr or 0.0)


def _names(sides: Sequence[Side]) -> list[str]:
    """Labels, with the number of the model where two have the same."""
    labels = [side.label for side in sides]
    return [side.label if labels.count(side.label) == 1 else f"{side.label} (model {side.index + 1})" for side in sides]


def _listed(names: Sequence[str]) -> str:
    if len(names) > MOST_NAMED:
        return f"{len(names)} other models"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _figure(value: float, metric: Metric) -> str:
    """A difference as a number: points of a hundredth for shares, three significant digits for other metrics."""
    text = f"{100 * value:.1f}" if metric.is_share else f"{value:.3g}"
    return text.replace("-", "−") if float(text) else text.lstrip("-")


def _amount(value: float, metric: Metric) -> str:
    return f"{_figure(value, metric)} points" if metric.is_share else _figure(value, metric)


def _rough(value: float, metric: Metric) -> str:
    if not metric.is_share:
        return f"{value:.2g}"
    points = f"{100 * value:.0f}" if value >= 0.0295 else f"{100 * value:.1f}"
    return f"{points} points"
