"""Table to JSON: pick, count and add up rows of a small table. Graded by `json_field_match`, the first JSON object."""

from collections.abc import Callable
from dataclasses import dataclass

from catalog.starter.drawing import Draws, Item, Starter

FIRST = [
    "Amber",
    "Birch",
    "Copper",
    "Dove",
    "Eagle",
    "Fern",
    "Granite",
    "Heron",
    "Iron",
    "Juniper",
    "Kestrel",
    "Linden",
    "Maple",
    "North",
    "Otter",
]
SECOND = ["Ridge", "Hut", "Point", "Hollow", "Peak", "Lodge", "Pass", "Crossing"]
REGIONS = ["East", "West", "South", "Coast"]


@dataclass(frozen=True, slots=True)
class Station:
    name: str
    region: str
    height: int
    opened: int
    visitors: int


@dataclass(frozen=True, slots=True)
class Condition:
    words: str
    holds: Callable[[Station], bool]


def stations(draws: Draws) -> list[Station]:
    """Nine to fourteen stations; no two share a name, a height or a number of visitors."""
    count = draws.between(9, 14)
    names = [f"{first} {draws.pick(SECOND)}" for first in draws.sample(FIRST, count)]
    heights, visitors = draws.sample(range(310, 2900, 7), count), draws.sample(range(120, 9900, 13), count)
    return [
        Station(name, draws.pick(REGIONS), height, draws.between(1921, 2009), seen)
        for name, height, seen in zip(names, heights, visitors, strict=True)
    ]


def condition(draws: Draws, kind: int) -> Condition:
    region, year, height = draws.pick(REGIONS), draws.between(1945, 1990), draws.between(800, 2100, 50)
    if kind == 0:
        return Condition(f"lie in the region {region}", lambda each: each.region == region)
    if kind == 1:
        return Condition(f"were opened before {year}", lambda each: each.opened < year)
    if kind == 2:
        return Condition(f"are higher than {height} m", lambda each: each.height > height)
    return Condition(f"do not lie in the region {region}", lambda each: each.region != region)


def table(rows: list[Station]) -> str:
    lines = ["| station | region | height (m) | opened | visitors |", "|---|---|---|---|---|"]
    return "\n".join([*lines, *(f"| {each.name} | {each.region} | {each.height} | {each.opened} | {each.visitors} |" for each in rows)])


def make(conditions: int, rank: int) -> Callable[[Draws], Item]:
    def one(draws: Draws) -> Item:
        while True:
            rows = stations(draws)
            used = [condition(draws, kind) for kind in draws.sample([draws.pick([0, 3]), 1, 2], conditions)]
            chosen = [each for each in rows if all(rule.holds(each) for rule in used)]
            if rank + 1 < len(chosen) < len(rows) - 1:
                break
        by_height = sorted(chosen, key=lambda each: -each.height)
        question = (
            f"Take the stations that {' and that '.join(rule.words for rule in used)}. How many are there (count), which of them is the "
            f"{'second highest' if rank else 'highest'} (name), and how many visitors do they have together (total)?"
        )
        answer = {"count": len(chosen), "name": by_height[rank].name, "total": sum(each.visitors for each in chosen)}
        return Item({"table": table(rows), "question": question}, answer, {"rows": len(rows), "conditions": conditions})

    return one


STARTER = Starter(
    slug="table-to-json",
    name="Table to JSON",
    category="Data",
    description="Filter a small table by one, two or three conditions, count, rank and add up, and answer as a JSON object.",
    grader="json_field_match",
    grader_options={"fields": ["count", "name", "total"], "extract": "first_object", "normalize_strings": True},
    prompt_template=(
        "{table}\n\n{question}\n\n"
        "Answer with one JSON object with the keys count (a number), name (a text) and total (a number), and with no other JSON."
    ),
    roles=("table", "question"),
    max_output_tokens=768,
    groups={"one condition": make(1, 0), "two conditions": make(2, 0), "second highest": make(2, 1)},
    per_group=34,
)
