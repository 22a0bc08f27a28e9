"""Stock ledgers: word problems of three to eight steps with facts that do not matter. Graded by `numeric`, the last number."""

from collections.abc import Callable

from catalog.starter.drawing import Draws, Item, Starter, plural

GOODS = ["hinges", "candles", "marbles", "bolts", "tiles", "bulbs", "corks", "brushes", "pegs", "buttons", "seed packets", "notebooks"]
SHOPS = ["A hardware shop", "A market stall", "A craft shop", "A warehouse", "A village shop", "A school shop"]
PEOPLE = ["Ada", "Bruno", "Celia", "Dario", "Elin", "Farid", "Greta", "Hugo", "Ines", "Jonas"]
FRACTIONS = {2: "half", 3: "a third", 4: "a quarter", 5: "a fifth"}


def step(draws: Draws, stock: int, goods: str) -> tuple[str, int]:
    """One thing that happens, and the stock after it."""
    kinds = ["delivery", "sale", "return", "fraction", "percent", "double", "boxes"]
    while True:
        kind = draws.pick(kinds)
        if kind == "delivery":
            crates, each = draws.between(2, 9), draws.between(6, 24)
            return f"A delivery brings {crates} crates of {each} {goods} each.", stock + crates * each
        if kind == "sale" and stock > 30:
            sold = draws.between(7, stock // 2)
            return f"{draws.pick(PEOPLE)} buys {sold} {goods}.", stock - sold
        if kind == "return":
            back = draws.between(3, 19)
            return f"{draws.pick(PEOPLE)} brings back {back} {goods}, which go into stock again.", stock + back
        if kind == "fraction" and stock > 40:
            parts = draws.pick(list(FRACTIONS))
            if stock % parts == 0:
                return f"A customer takes {FRACTIONS[parts]} of all the {goods} in stock.", stock - stock // parts
        if kind == "percent" and stock > 40:
            percent = draws.pick([5, 10, 15, 20, 25, 30, 40])
            if stock * percent % 100 == 0:
                return (
                    f"It turns out that {percent}% of the {goods} in stock are damaged, and these are thrown away.",
                    stock - stock * percent // 100,
                )
        if kind == "double" and stock < 120:
            return f"The owner then buys as many {goods} as there are in stock at that moment.", 2 * stock
        if kind == "boxes" and stock > 60:
            size = draws.between(4, 9)
            boxes = draws.between(2, stock // size // 2)
            return f"{draws.pick(PEOPLE)} fills {boxes} boxes with {size} {goods} each and sends them away.", stock - boxes * size


def distractors(draws: Draws, goods: str, count: int) -> list[str]:
    """Different sentences with a number that changes nothing."""
    person, other = draws.sample(PEOPLE, 2)
    sentences = [
        f"{person} looks at the {goods} for {draws.between(3, 40)} minutes and leaves without buying any.",
        f"The price of the {goods} is raised by {draws.between(3, 40)}%.",
        f"{other} moves {draws.between(3, 9)} of the {goods} from the back room to the front window.",
        f"On the same day {draws.between(3, 40)} customers ask for paint, which is sold out.",
        f"The shelf with the {goods} is {draws.between(3, 40)} cm wider than the one below it.",
        f"{other} leaves a deposit of {draws.between(3, 40)} euros for a ladder.",
    ]
    return draws.sample(sentences, count)


def make(steps: int, asides: int) -> Callable[[Draws], Item]:
    def one(draws: Draws) -> Item:
        goods, stock = draws.pick(GOODS), draws.between(24, 90)
        story = [f"{draws.pick(SHOPS)} starts the week with {stock} {goods}."]
        for _ in range(steps):
            sentence, stock = step(draws, stock, goods)
            story.append(sentence)
        for sentence in distractors(draws, goods, asides):
            story.insert(draws.between(1, len(story)), sentence)
        story.append(f"How many {goods} are in stock at the end?")
        return Item({"story": " ".join(story)}, stock, {"steps": steps, "distractors": asides})

    return one


STARTER = Starter(
    slug="stock-ledgers",
    name="Stock ledgers",
    category="Arithmetic",
    description="Word problems about a shop's stock in three, five and eight steps, with sentences that do not matter mixed in.",
    grader="numeric",
    grader_options={"extract": "last_number"},
    prompt_template="{story}\n\nWork through the events in order. End your answer with a line that holds only the final number, in digits.",
    roles=("story",),
    max_output_tokens=512,
    groups={plural(steps, "step"): make(steps, asides) for steps, asides in ((3, 2), (5, 2), (8, 3))},
    per_group=40,
)
