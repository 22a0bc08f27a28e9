"""Letter work: follow two to four steps on the letters of a word. Graded by `exact_match` on the last line."""

from collections.abc import Callable

from catalog.starter.drawing import Draws, Item, Starter, plural

# fmt: off
WORDS = [
    "anchor", "basket", "candle", "dolphin", "emerald", "falcon", "garden", "harvest", "island", "jacket", "kitchen", "lantern",
    "meadow", "network", "orchard", "pepper", "quartz", "rocket", "saddle", "timber", "umbrella", "velvet", "window", "yellow", "zipper",
    "balcony", "cabinet", "diamond", "feather", "gallery", "horizon", "journey", "landscape", "magnet", "notebook", "octopus", "pyramid",
    "railway", "shelter", "thunder", "village", "whisper", "blanket", "chimney", "drawer", "elephant", "furnace", "glacier", "hammock",
    "insect", "kettle", "ladder", "mountain", "needle", "outline", "painter", "quarrel", "ribbon", "sandwich", "tunnel", "volcano",
    "workshop",
]
# fmt: on
VOWELS = "aeiou"
ALPHABET = "abcdefghijklmnopqrstuvwxyz"
Step = tuple[str, Callable[[str], str]]


def shifted(text: str, by: int) -> str:
    return "".join(ALPHABET[(ALPHABET.index(letter) + by) % 26] for letter in text)


def step(draws: Draws) -> Step:
    """An instruction and what it does."""
    kind, count = draws.below(9), draws.between(2, 3)
    by, letter = draws.between(1, 4), draws.pick("kqxz")
    steps: list[Step] = [
        ("Reverse the order of the letters.", lambda text: text[::-1]),
        (f"Remove every vowel ({', '.join(VOWELS)}).", lambda text: "".join(each for each in text if each not in VOWELS)),
        ("Keep only the letters at odd positions, where the first letter has position 1.", lambda text: text[::2]),
        (f"Move the first {count} letters to the end, in the same order.", lambda text: text[count:] + text[:count]),
        ("Swap the first and the last letter.", lambda text: text[-1] + text[1:-1] + text[0]),
        (f"Replace each letter by the one {plural(by, 'place')} later in the alphabet; after z comes a.", lambda text: shifted(text, by)),
        ("Put the letters in alphabetical order.", lambda text: "".join(sorted(text))),
        (f"Write the letter {letter} after every second letter.", lambda text: written_after_second(text, letter)),
        (
            "Write the first half of the letters twice; with an odd number of letters the middle one belongs to the second half.",
            doubled_half,
        ),
    ]
    return steps[kind]


def written_after_second(text: str, letter: str) -> str:
    return "".join(each + (letter if position % 2 else "") for position, each in enumerate(text))


def doubled_half(text: str) -> str:
    half = len(text) // 2
    return text[:half] * 2 + text[half:]


def make(count: int) -> Callable[[Draws], Item]:
    def one(draws: Draws) -> Item:
        while True:
            word, chosen = draws.pick(WORDS), [step(draws) for _ in range(count)]
            text, changed = word, True
            for _, apply in chosen:
                before, text = text, apply(text) if len(text) >= 4 else ""
                changed = changed and text != before
            if changed and 3 <= len(text) <= 16 and len({words for words, _ in chosen}) == count:
                steps = "\n".join(f"{number}. {words}" for number, (words, _) in enumerate(chosen, start=1))
                return Item({"word": word, "steps": steps}, text, {"steps": count})

    return one


STARTER = Starter(
    slug="letter-work",
    name="Letter work",
    category="Language",
    description="Take a word apart and put it together again in two, three or four steps: reversing, removing, shifting, sorting letters.",
    grader="exact_match",
    grader_options={"extract": "last_line"},
    prompt_template=(
        'Start with the letters of the word "{word}" and do the following, each step with the result of the one before:\n\n{steps}\n\n'
        "You may show your work. Write the final letters alone on the last line, in lower case and without spaces or quotes."
    ),
    roles=("word", "steps"),
    max_output_tokens=512,
    groups={plural(count, "step"): make(count) for count in (2, 3, 4)},
    per_group=40,
)
