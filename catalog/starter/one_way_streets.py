"""One-way streets: what can be reached, and in how many streets. Graded by `multiple_choice`, the choices as numbers or names."""

from catalog.starter.drawing import Draws, Item, Starter, listed

SQUARES = ["Acorn", "Barley", "Cobalt", "Dahlia", "Ember", "Fennel", "Garnet", "Hazel", "Indigo", "Jasper", "Kelp", "Lupin"]
LETTERS = "ABCDEF"
Streets = dict[str, list[str]]


def town(draws: Draws, count: int) -> Streets:
    """One to three streets out of each square."""
    squares = draws.sample(SQUARES, count)
    return {here: draws.sample([there for there in squares if there != here], draws.pick([1, 1, 2, 2, 3])) for here in squares}


def distances(streets: Streets, start: str) -> dict[str, int]:
    """The least number of streets from the start to every square that can be reached, breadth first."""
    found, edge = {start: 0}, [start]
    while edge:
        here = edge.pop(0)
        for there in streets[here]:
            if there not in found:
                found[there] = found[here] + 1
                edge.append(there)
    return found


def told(draws: Draws, streets: Streets) -> str:
    return "\n".join(f"From {here} Square you can drive to {listed(sorted(streets[here]))}." for here in draws.shuffled(list(streets)))


def reach(draws: Draws) -> Item:
    while True:
        streets = town(draws, draws.between(8, 11))
        start = draws.pick(list(streets))
        found = distances(streets, start)
        lost = [square for square in streets if square not in found]
        far = [square for square, steps in found.items() if steps >= 2]
        if lost and len(far) >= 3:
            break
    wrong = draws.pick(lost)
    choices = draws.shuffled([wrong, *draws.sample(far, 3)])
    question = f"Which of these squares can NOT be reached from {start} Square, however many streets you use?"
    return Item({"streets": told(draws, streets), "question": question, "choices": choices}, LETTERS[choices.index(wrong)])


def fewest(draws: Draws) -> Item:
    while True:
        streets = town(draws, draws.between(9, 12))
        start = draws.pick(list(streets))
        far = [(square, steps) for square, steps in distances(streets, start).items() if 2 <= steps <= 6]
        if far and max(steps for _, steps in far) >= 4:
            break
    wanted = draws.between(2, max(steps for _, steps in far))
    goal, steps = draws.pick([pair for pair in far if pair[1] == wanted])
    question = f"What is the least number of streets you must drive along to get from {start} Square to {goal} Square?"
    choices = [str(number) for number in range(2, 7)]
    return Item(
        {"streets": told(draws, streets), "question": question, "choices": choices}, LETTERS[choices.index(str(steps))], {"streets": steps}
    )


STARTER = Starter(
    slug="one-way-streets",
    name="One-way streets",
    category="Planning",
    description="A town of eight to twelve squares with one-way streets between them: which square cannot be reached, and how far is it?",
    grader="multiple_choice",
    grader_options={},
    prompt_template=(
        "All streets in this town are one-way.\n\n{streets}\n\n{question}\n{choices}\n\n"
        'Reason briefly. Then finish with a line of the form "Answer: X", where X is the letter of the right choice.'
    ),
    roles=("streets", "question"),
    max_output_tokens=1024,
    groups={"reach": reach, "fewest streets": fewest},
    per_group=50,
)
