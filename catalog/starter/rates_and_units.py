"""Rates and units: speed, flow, mixtures, growth and shared work. Graded by `numeric` within a fifth of a per cent."""

from fractions import Fraction

from catalog.starter.drawing import Draws, Item, Starter

PLACES = 6


def item(question: str, answer: Fraction) -> Item:
    """The answer is kept to six decimals: far finer than the tolerance."""
    return Item({"question": question}, f"{float(answer):.{PLACES}f}")


def journey(draws: Draws) -> Item:
    first, second = draws.between(18, 95), draws.between(20, 140)
    slow, fast, stop = draws.between(24, 60), draws.between(65, 120), draws.between(8, 45)
    hours = Fraction(first, slow) + Fraction(second, fast) + Fraction(stop, 60)
    return item(
        f"A coach drives {first} km at {slow} km/h, stands still for {stop} minutes and then drives another {second} km at {fast} km/h. "
        "What is its average speed over the whole time, the stop included, in km/h?",
        (first + second) / hours,
    )


def tank(draws: Draws) -> Item:
    litres, filled = draws.between(240, 1800, 20), draws.pick([10, 20, 25, 30, 40])
    tap, other, drain = draws.between(9, 30), draws.between(480, 1500, 30), draws.between(2, 7)
    net = tap + Fraction(other, 60) - drain
    return item(
        f"A tank holds {litres} litres and is {filled}% full. One tap adds {tap} litres a minute, a second one {other} litres an hour, "
        f"while {drain} litres a minute run out through a leak. After how many minutes is the tank full?",
        litres * Fraction(100 - filled, 100) / net,
    )


def mixture(draws: Draws) -> Item:
    weak, strong = draws.between(4, 18), draws.between(45, 80)
    goal, amount = draws.between(weak + 4, 38), draws.between(150, 900, 10)
    return item(
        f"You have {amount} ml of a {weak}% salt solution and plenty of a {strong}% one. How many millilitres of the {strong}% solution "
        f"must be added to get a {goal}% solution? (Percentages are by volume, and volumes add up.)",
        Fraction(amount * (goal - weak), strong - goal),
    )


def growth(draws: Draws) -> Item:
    start, percent, hours, loss = draws.between(300, 4000, 50), draws.between(6, 28), draws.between(4, 8), draws.between(20, 90, 10)
    amount = start * (1 + Fraction(percent, 100)) ** hours - loss
    after = draws.between(2, 4)
    return item(
        f"A culture of {start} cells grows by {percent}% every hour. After {hours} hours {loss} cells are taken out as a sample, and the "
        f"rest goes on growing by {percent}% an hour for {after} more hours. How many cells does the calculation give then? "
        "Do not round on the way.",
        amount * (1 + Fraction(percent, 100)) ** after,
    )


def shared_work(draws: Draws) -> Item:
    first, second = draws.between(5, 14), draws.between(6, 20)
    head_start = draws.between(30, 150, 10)
    rest = 1 - Fraction(head_start, 60 * first)
    together = rest / (Fraction(1, first) + Fraction(1, second))
    return item(
        f"One machine prints an edition in {first} hours, another in {second} hours. The first starts alone; after {head_start} minutes "
        "the second joins, and both print until the edition is done. How many minutes does the whole job take?",
        head_start + 60 * together,
    )


STARTER = Starter(
    slug="rates-and-units",
    name="Rates and units",
    category="Measurement",
    description="Average speeds, tanks with leaks, mixtures, growth and shared work, with units to convert; right within 0.2%.",
    grader="numeric",
    grader_options={"extract": "last_number", "rel_tol": 0.002},
    prompt_template=(
        "{question}\n\n"
        "Show your steps briefly. End with a line that holds only the number, without a unit, with at least four significant digits."
    ),
    roles=("question",),
    max_output_tokens=768,
    groups={"journey": journey, "tank": tank, "mixture": mixture, "growth": growth, "shared work": shared_work},
    per_group=24,
)
