"""Bases and bits: conversions, bit operations and sums in other bases. Graded by `regex_match` on the whole output."""

from catalog.starter.drawing import Draws, Item, Starter

DIGITS = "0123456789abcdef"
BASES = {2: "binary", 8: "octal", 10: "decimal", 16: "hexadecimal"}
PATTERN = r"(?:0[box])?0*(?P<answer>[0-9a-f]+)\.?"
"""Digits of any base up to sixteen, with the usual prefix or leading zeros or without."""


def written(number: int, base: int) -> str:
    """The number's digits in the base, by repeated division."""
    digits = ""
    while True:
        number, digit = divmod(number, base)
        digits = DIGITS[digit] + digits
        if not number:
            return digits


def question(text: str, answer: str) -> Item:
    return Item({"question": text}, answer)


def conversion(draws: Draws) -> Item:
    source, target = draws.sample(list(BASES), 2)
    number = draws.between(70, 4000)
    return question(f"Write the {BASES[source]} number {written(number, source)} in {BASES[target]}.", written(number, target))


def bitwise(draws: Draws) -> Item:
    left, right = draws.between(17, 255), draws.between(17, 255)
    kind, name = draws.below(3), draws.pick([2, 16])
    operation, result = [("AND", left & right), ("OR", left | right), ("XOR", left ^ right)][kind]
    by = draws.between(1, 3)
    rotated = ((result << by) | (result >> (8 - by))) & 0xFF
    shown = f"{left:08b}" if name == 2 else f"{left:02x}"
    other = f"{right:08b}" if name == 2 else f"{right:02x}"
    return question(
        f"Take the bitwise {operation} of the 8-bit {BASES[name]} numbers {shown} and {other}, then rotate the 8 bits of the result "
        f"left by {by} (bits that leave on the left come back on the right). Give the result in {BASES[name]}.",
        written(rotated, name),
    )


def sum_in_a_base(draws: Draws) -> Item:
    base = draws.pick([3, 5, 6, 7, 9, 12])
    left, right, minus = draws.between(60, 900), draws.between(60, 900), draws.between(5, 59)
    return question(
        f"All numbers here, the answer too, are in base {base}{' (with a for ten and b for eleven)' if base == 12 else ''}. "
        f"What is {written(left, base)} + {written(right, base)} − {written(minus, base)}?",
        written(left + right - minus, base),
    )


STARTER = Starter(
    slug="bases-and-bits",
    name="Bases and bits",
    category="Numbers",
    description="Convert between bases, combine and rotate bits, and add in base three to twelve; the answer is the number alone.",
    grader="regex_match",
    grader_options={"pattern": PATTERN, "anchored": True, "ignore_case": True},
    prompt_template="{question}\n\nReply with the number alone: no words, no spaces, no other text.",
    roles=("question",),
    max_output_tokens=1024,
    groups={"conversion": conversion, "bits": bitwise, "sum in a base": sum_in_a_base},
    per_group=36,
)
