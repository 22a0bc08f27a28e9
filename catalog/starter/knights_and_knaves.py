"""Knights and knaves: who tells the truth? Every puzzle has exactly one solution. Graded by `multiple_choice`."""

from collections.abc import Callable
from itertools import product

from catalog.starter.drawing import Draws, Item, Starter, listed

PEOPLE = ["Alba", "Boris", "Clio", "Dorian", "Edda", "Felix", "Gerda", "Hamid"]
CHOICES = 5
World = dict[str, bool]
"""Who is a knight."""
Claim = tuple[str, Callable[[World], bool]]
COUNTS = {1: "one", 2: "two", 3: "three", 4: "four"}


def claim(draws: Draws, speaker: str, people: list[str]) -> Claim:
    """What a person says, and whether it is true in a world."""
    first, second = draws.sample([person for person in people if person != speaker], 2)
    number = draws.between(1, len(people) - 1)
    claims: list[Claim] = [
        (f"{first} is a knave.", lambda world: not world[first]),
        (f"{first} is a knight.", lambda world: world[first]),
        (f"{first} and {second} are both knights.", lambda world: world[first] and world[second]),
        (f"{first} and {second} are of different kinds.", lambda world: world[first] != world[second]),
        (f"{first} and I are of the same kind.", lambda world: world[first] == world[speaker]),
        (f"At least one of {first} and {second} is a knave.", lambda world: not (world[first] and world[second])),
        (f"If {first} is a knight, then {second} is a knave.", lambda world: not (world[first] and world[second])),
        (f"{first} is a knight or {second} is a knave, or both.", lambda world: world[first] or not world[second]),
        (f"Exactly {COUNTS[number]} of us {'is a knight' if number == 1 else 'are knights'}.", lambda world: sum(world.values()) == number),
    ]
    return draws.pick(claims)


def named(world: World) -> str:
    """A solution in words: who the knights are."""
    knights = [person for person, is_knight in world.items() if is_knight]
    if not knights:
        return "Nobody is a knight."
    if len(knights) == len(world):
        return "All of them are knights."
    return f"Only {listed(knights)} {'is a knight' if len(knights) == 1 else 'are knights'}."


def make(count: int) -> Callable[[Draws], Item]:
    def one(draws: Draws) -> Item:
        while True:
            people = sorted(draws.sample(PEOPLE, count))
            worlds = [dict(zip(people, kinds, strict=True)) for kinds in product([True, False], repeat=count)]
            claims = {person: claim(draws, person, people) for person in people}
            solutions = [world for world in worlds if all(holds(world) == world[person] for person, (_, holds) in claims.items())]
            if len(solutions) == 1:
                break
        [solution] = solutions
        others = draws.sample([world for world in worlds if world != solution], CHOICES - 1)
        choices = [named(world) for world in draws.shuffled([solution, *others])]
        said = "\n".join(f'{person} says: "{words}"' for person, (words, _) in claims.items())
        answer = "ABCDE"[choices.index(named(solution))]
        return Item({"people": listed(people), "statements": said, "choices": choices}, answer, {"people": count})

    return one


STARTER = Starter(
    slug="knights-and-knaves",
    name="Knights and knaves",
    category="Logic",
    description="Knights always tell the truth and knaves always lie. Three to five people speak; who is what?",
    grader="multiple_choice",
    grader_options={},
    prompt_template=(
        "On an island everyone is either a knight, who always tells the truth, or a knave, who always lies. You meet {people}.\n\n"
        "{statements}\n\nWhich of these is the case?\n{choices}\n\n"
        'Reason briefly. Then finish with a line of the form "Answer: X", where X is the letter of the right choice.'
    ),
    roles=("people", "statements"),
    max_output_tokens=1024,
    groups={f"{count} people": make(count) for count in (3, 4, 5)},
    per_group=40,
)
