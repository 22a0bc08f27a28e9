"""Trace the program: what does a short program in a made-up language print? Graded by `regex_match` anywhere in the output."""

from collections.abc import Callable

from catalog.starter.drawing import Draws, Item, Starter

PATTERN = r"(?i)output\W*?(?P<answer>-?\d+(?:\s*,\s*-?\d+)*)\W*\z"


def accepted(values: list[int]) -> list[str]:
    """The printed values, with and without spaces after the commas."""
    return list(dict.fromkeys([", ".join(map(str, values)), ",".join(map(str, values))]))


def program(lines: list[str], printed: list[int]) -> Item:
    return Item({"program": "\n".join(lines)}, accepted(printed), {"lines": len(lines)})


def repeat_loop(draws: Draws) -> Item:
    a, b, times, add = draws.between(2, 15), draws.between(1, 9), draws.between(4, 7), draws.between(2, 6)
    divisor, minus = draws.between(2, 4), draws.between(3, 11)
    lines = [
        f"set a to {a}",
        f"set b to {b}",
        f"repeat {times} times",
        f"    if a is divisible by {divisor}",
        f"        set a to a - {minus}",
        "    else",
        "        set a to a + b",
        f"    set b to b + {add}",
        "print a, b",
    ]
    for _ in range(times):
        a = a - minus if a % divisor == 0 else a + b
        b += add
    return program(lines, [a, b])


def while_loop(draws: Draws) -> Item:
    n, limit = draws.between(17, 60), draws.between(90, 400)
    add, factor, cut = draws.between(3, 13), draws.between(2, 3), draws.between(5, 9)
    lines = [
        f"set n to {n}",
        "set steps to 0",
        f"while n is less than {limit}",
        "    if n is divisible by 2",
        f"        set n to n + {add}",
        "    else",
        f"        set n to n * {factor} - {cut}",
        "    set steps to steps + 1",
        "print n, steps",
    ]
    steps = 0
    while n < limit:
        n = n + add if n % 2 == 0 else n * factor - cut
        steps += 1
    return program(lines, [n, steps]) if 4 <= steps <= 14 else while_loop(draws)


def list_work(draws: Draws) -> Item:
    numbers = [draws.between(1, 30) for _ in range(draws.between(5, 7))]
    bound, add, divisor = draws.between(8, 22), draws.between(2, 9), draws.between(2, 3)
    lines = [
        f"set xs to {', '.join(map(str, numbers))}",
        "set ys to nothing",
        "for each x in xs",
        f"    if x is greater than {bound}",
        f"        put x - {bound} at the front of ys",
        "    else",
        f"        if x is divisible by {divisor}",
        f"            put x + {add} at the end of ys",
        "print ys",
    ]
    result: list[int] = []
    for x in numbers:
        if x > bound:
            result.insert(0, x - bound)
        elif x % divisor == 0:
            result.append(x + add)
    return program(lines, result) if len(result) >= 3 else list_work(draws)


def nested_loops(draws: Draws) -> Item:
    outer, inner, skip, start = draws.between(3, 5), draws.between(3, 5), draws.between(2, 3), draws.between(0, 9)
    lines = [
        f"set total to {start}",
        f"for i from 1 to {outer}",
        f"    for j from i to {inner + 1}",
        f"        if i + j is divisible by {skip}",
        "            set total to total - j",
        "        else",
        "            set total to total + i * j",
        "print total",
    ]
    total = start
    for i in range(1, outer + 1):
        for j in range(i, inner + 2):
            total += -j if (i + j) % skip == 0 else i * j
    return program(lines, [total])


KINDS: dict[str, Callable[[Draws], Item]] = {
    "repeat loop": repeat_loop,
    "while loop": while_loop,
    "list": list_work,
    "nested loops": nested_loops,
}

STARTER = Starter(
    slug="trace-the-program",
    name="Trace the program",
    category="Code",
    description="Follow a short program in a made-up language by hand, through loops, branches and lists, to what it prints.",
    grader="regex_match",
    grader_options={"pattern": PATTERN, "anchored": False},
    prompt_template=(
        "What does this program print? Indented lines belong to the line above them that is less indented; numbers are whole numbers; "
        "a list is printed with commas between its numbers.\n\n{program}\n\n"
        'Trace it step by step. Then finish with one line of the form "Output: …" with the printed numbers, separated by commas.'
    ),
    roles=("program",),
    max_output_tokens=1024,
    groups=KINDS,
    per_group=30,
)
