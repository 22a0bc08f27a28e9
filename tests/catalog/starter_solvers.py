"""Answers of the starter catalog computed again, from the words a model receives alone and by another way than the generators take."""

import itertools
import re
from collections.abc import Callable
from typing import Any

Values = dict[str, Any]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
FRACTIONS = {"half": 2, "a third": 3, "a quarter": 4, "a fifth": 5}
MONTHS = "January February March April May June July August September October November December".split()  # noqa: SIM905
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # noqa: SIM905


def stock_ledgers(values: Values) -> str:
    """Reads the story sentence by sentence; a sentence of no known kind fails the test."""
    stock = 0
    effects: list[tuple[str, Callable[[int, re.Match[str]], int]]] = [
        (r"starts the week with (\d+) ", lambda _, found: int(found[1])),
        (r"^A delivery brings (\d+) crates of (\d+) \D+ each$", lambda held, found: held + int(found[1]) * int(found[2])),
        (r"^\w+ buys (\d+) ", lambda held, found: held - int(found[1])),
        (r"^\w+ brings back (\d+) ", lambda held, found: held + int(found[1])),
        (r"^A customer takes (half|a third|a quarter|a fifth) of all", lambda held, found: divided(held, FRACTIONS[found[1]])),
        (r"^It turns out that (\d+)% of the .* thrown away$", lambda held, found: held - whole(held * int(found[1]), 100)),
        (r"^The owner then buys as many", lambda held, _: held + held),
        (r"^\w+ fills (\d+) boxes with (\d+) .* sends them away$", lambda held, found: held - int(found[1]) * int(found[2])),
        (r"looks at|price of|moves|ask for paint|shelf with|deposit|^How many", lambda held, _: held),
    ]
    for sentence in re.split(r"[.?] ?", values["story"].removesuffix("?")):
        [(effect, found)] = [(effect, found) for pattern, effect in effects if (found := re.search(pattern, sentence))]
        stock = effect(stock, found)
        assert stock > 0
    return str(stock)


def whole(number: int, divisor: int) -> int:
    quotient, rest = divmod(number, divisor)
    assert rest == 0
    return quotient


def divided(held: int, parts: int) -> int:
    return held - whole(held, parts)


def numbers(text: str) -> list[float]:
    return [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]


def rates_and_units(values: Values) -> float:
    """By simulation or another formula, in floating point."""
    question = values["question"]
    given = numbers(question)
    if question.startswith("A coach"):
        first, slow, stop, second, fast = given
        return (first + second) * 3600 / (first / slow * 3600 + stop * 60 + second / fast * 3600)
    if question.startswith("A tank"):
        litres, filled, tap, other, drain = given
        level, minutes, tick = litres * filled / 100, 0.0, 1 / 64
        a_tick = (tap + other / 60 - drain) * tick
        while level + a_tick < litres:
            level, minutes = level + a_tick, minutes + tick
        return minutes + (litres - level) / a_tick * tick
    if question.startswith("You have"):
        amount, weak, strong, _, goal = given
        low, high = 0.0, 1e6
        for _ in range(200):  # bisection on the concentration of the mixture
            middle = (low + high) / 2
            is_too_weak = (amount * weak + middle * strong) / (amount + middle) < goal
            low, high = (middle, high) if is_too_weak else (low, middle)
        return low
    if question.startswith("A culture"):
        cells, percent, hours, loss, _, after = given
        for hour in range(int(hours + after)):
            if hour == hours:
                cells -= loss
            cells += cells * percent / 100
        return cells
    assert question.startswith("One machine")
    first, second, head_start = given
    done, minutes = 0.0, 0.0
    while done < 1:
        speed = 1 / (60 * first) + (1 / (60 * second) if minutes >= head_start else 0)
        step = min(1.0, (1 - done) / speed)
        done, minutes = (1.0 if step < 1 else done + speed), minutes + step
    return minutes


def day_number(day: int, month: int, year: int) -> int:
    """Julian day number of a Gregorian date, by the usual integer formula; no calendar library."""
    shift = (14 - month) // 12
    years, months = year + 4800 - shift, month + 12 * shift - 3
    return day + (153 * months + 2) // 5 + 365 * years + years // 4 - years // 100 + years // 400 - 32045


def calendar_and_clocks(values: Values) -> str:
    question = values["question"]
    dates = [(int(day), MONTHS.index(month) + 1, int(year)) for day, month, year in re.findall(r"(\d+) ([A-Z][a-z]+) (\d{4})", question)]
    if "What day of the week" in question:
        start, end = (day_number(*day) for day in dates)
        assert DAYS[start % 7] in question  # Julian day 0 was a Monday
        return DAYS[end % 7]
    if found := re.search(r"(\d+) days (after|before)", question):
        wanted = day_number(*dates[0]) + int(found[1]) * (1 if found[2] == "after" else -1)
        year = dates[0][2]
        candidates = itertools.product(range(year - 2, year + 3), range(1, 13), range(1, 32))
        days = [
            (y, m, d)
            for y, m, d in candidates
            if day_number(d, m, y) == wanted and (d <= 28 or day_number(1, m % 12 + 1, y + m // 12) > wanted)
        ]
        [(year, month, day)] = days
        return f"{year:04d}-{month:02d}-{day:02d}"
    found = re.search(r"(\d\d):(\d\d) on (\w+day)", question)
    assert found
    minute = (DAYS.index(found[3]) * 24 + int(found[1])) * 60 + int(found[2])
    if "tram" in question:
        trams = re.findall(r"(\d+) minutes", question)
        count = ["first", "second", "third", "fourth", "fifth"].index(re.search(r"for the (\w+) time", question)[1]) + 1  # type: ignore[index]
        first, second = map(int, trams)
        meetings = (waited for waited in itertools.count(1) if waited % first == 0 and waited % second == 0)
        minute += next(itertools.islice(meetings, count - 1, None))
    else:
        zone, flight = re.findall(r"(\d+) hours and (\d+) minutes", question)
        sign = -1 if "behind" in question else 1
        minute += int(flight[0]) * 60 + int(flight[1]) + sign * (int(zone[0]) * 60 + int(zone[1]))
    minute %= 7 * 24 * 60
    return f"{minute // 60 % 24:02d}:{minute % 60:02d} {DAYS[minute // 1440]}"


def letter_work(values: Values) -> str:
    letters = list(values["word"])
    for line in values["steps"].splitlines():
        words = line.partition(". ")[2]
        if words == "Reverse the order of the letters.":
            letters.reverse()
        elif words.startswith("Remove every vowel"):
            letters = list(re.sub("[aeiou]", "", "".join(letters)))
        elif words.startswith("Keep only the letters at odd positions"):
            letters = [letter for position, letter in enumerate(letters, start=1) if position % 2 == 1]
        elif found := re.match(r"Move the first (\d) letters to the end", words):
            for _ in range(int(found[1])):
                letters.append(letters.pop(0))
        elif words == "Swap the first and the last letter.":
            letters[0], letters[-1] = letters[-1], letters[0]
        elif found := re.match(r"Replace each letter by the one (\d) places? later", words):
            letters = [chr((ord(letter) - 97 + int(found[1])) % 26 + 97) for letter in letters]
        elif words == "Put the letters in alphabetical order.":
            letters = [letter for candidate in LETTERS.lower() for letter in letters if letter == candidate]
        elif found := re.match(r"Write the letter (\w) after every second letter", words):
            letters = list(re.sub(r"(..)", rf"\1{found[1]}", "".join(letters)))
        else:
            assert words.startswith("Write the first half of the letters twice")
            half = [letters[position] for position in range((len(letters) - len(letters) % 2) // 2)]
            letters = half + half + letters[len(half) :]
    return "".join(letters)


def knights_and_knaves(values: Values) -> str:
    """Every choice and every other world is tried on the words themselves; one world alone must hold, and one choice must be it."""
    said = dict(re.findall(r'^(\w+) says: "(.*)\."$', values["statements"], flags=re.MULTILINE))
    people = list(said)
    fitting = []
    for bits in range(2 ** len(people)):
        knights = {person for place, person in enumerate(people) if bits >> place & 1}
        if all(is_said_truly(words, speaker, knights) == (speaker in knights) for speaker, words in said.items()):
            fitting.append(knights)
    [knights] = fitting
    right = [letter for letter, choice in zip(LETTERS, values["choices"], strict=False) if named_knights(choice, people) == knights]
    assert len({frozenset(named_knights(choice, people)) for choice in values["choices"]}) == len(values["choices"])
    [letter] = right
    return letter


def named_knights(choice: str, people: list[str]) -> set[str]:
    if choice.startswith("All"):
        return set(people)
    return {person for person in people if re.search(rf"\b{person}\b", choice)}


def is_said_truly(words: str, speaker: str, knights: set[str]) -> bool:
    counts = {"one": 1, "two": 2, "three": 3, "four": 4}
    if found := re.fullmatch(r"Exactly (\w+) of us (?:is a knight|are knights)", words):
        return len(knights) == counts[found[1]]
    if found := re.fullmatch(r"(\w+) is a (knave|knight)", words):
        return (found[1] in knights) == (found[2] == "knight")
    if found := re.fullmatch(r"(\w+) and (\w+) are both knights", words):
        return {found[1], found[2]} <= knights
    if found := re.fullmatch(r"(\w+) and (\w+) are of different kinds", words):
        return len({found[1], found[2]} & knights) == 1
    if found := re.fullmatch(r"(\w+) and I are of the same kind", words):
        return len({found[1], speaker} & knights) != 1
    if found := re.fullmatch(r"At least one of (\w+) and (\w+) is a knave", words):
        return not {found[1], found[2]} <= knights
    if found := re.fullmatch(r"If (\w+) is a knight, then (\w+) is a knave", words):
        return found[1] not in knights or found[2] not in knights
    found = re.fullmatch(r"(\w+) is a knight or (\w+) is a knave, or both", words)
    assert found, words
    return found[1] in knights or found[2] not in knights


def one_way_streets(values: Values) -> str:
    """By powers of the town's adjacency, not by a search."""
    streets: dict[str, set[str]] = {}
    for here, there in re.findall(r"^From (\w+) Square you can drive to (.*)\.$", values["streets"], flags=re.MULTILINE):
        streets[here] = set(re.split(r", | and ", there))
    squares = sorted(streets)
    least = {(here, there): 0 if here == there else 1 if there in streets[here] else 99 for here in squares for there in squares}
    for middle, here, there in itertools.product(squares, repeat=3):
        least[here, there] = min(least[here, there], least[here, middle] + least[middle, there])
    named = re.findall(r"(\w+) Square", values["question"])
    if "NOT be reached" in values["question"]:
        [wrong] = [letter for letter, square in zip(LETTERS, values["choices"], strict=False) if least[named[0], square] >= 99]
        return wrong
    return LETTERS[values["choices"].index(str(least[named[0], named[1]]))]


def table_to_json(values: Values) -> dict[str, Any]:
    header, _, *lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in values["table"].splitlines()]
    rows = [dict(zip(header, line, strict=True)) for line in lines]
    question = values["question"]
    if found := re.search(r"do not lie in the region (\w+)", question):
        rows = [row for row in rows if row["region"] != found[1]]
    elif found := re.search(r"lie in the region (\w+)", question):
        rows = [row for row in rows if row["region"] == found[1]]
    if found := re.search(r"were opened before (\d+)", question):
        rows = [row for row in rows if int(row["opened"]) < int(found[1])]
    if found := re.search(r"are higher than (\d+) m", question):
        rows = [row for row in rows if int(row["height (m)"]) > int(found[1])]
    ranked = sorted(rows, key=lambda row: int(row["height (m)"]), reverse=True)
    place = 1 if "second highest" in question else 0
    return {"count": len(rows), "name": ranked[place]["station"], "total": sum(int(row["visitors"]) for row in rows)}


def trace_the_program(values: Values) -> list[str]:
    """The program turned into Python, line by line, and run."""
    rules = [
        (r"set xs to (.*)", r"xs = [\1]"),
        (r"set ys to nothing", r"ys = []"),
        (r"set (\w+) to (.*)", r"\1 = \2"),
        (r"repeat (\d+) times", r"for _ in range(\1):"),
        (r"while (\w+) is less than (\d+)", r"while \1 < \2:"),
        (r"for (\w) from (\w+) to (\d+)", r"for \1 in range(\2, \3 + 1):"),
        (r"for each x in xs", r"for x in xs:"),
        (r"if (.+) is divisible by (\d+)", r"if (\1) % \2 == 0:"),
        (r"if x is greater than (\d+)", r"if x > \1:"),
        (r"else", r"else:"),
        (r"put (.+) at the front of ys", r"ys = [\1] + ys"),
        (r"put (.+) at the end of ys", r"ys = ys + [\1]"),
        (r"print ys", r"printed = ys"),
        (r"print (.+)", r"printed = [\1]"),
    ]
    python = []
    for line in values["program"].splitlines():
        words = line.lstrip()
        pattern, replacement = next(rule for rule in rules if re.fullmatch(rule[0], words))
        python.append(line[: len(line) - len(words)] + re.sub(f"^{pattern}$", replacement, words))
    names: dict[str, Any] = {}
    exec("\n".join(python), {"range": range}, names)
    printed = [str(number) for number in names["printed"]]
    return list(dict.fromkeys([", ".join(printed), ",".join(printed)]))


def bases_and_bits(values: Values) -> str:
    question = values["question"]
    bases = {"binary": 2, "octal": 8, "decimal": 10, "hexadecimal": 16}
    if found := re.fullmatch(r"Write the (\w+) number (\w+) in (\w+)\.", question):
        return in_base(int(found[2], bases[found[1]]), bases[found[3]])
    if found := re.match(r"Take the bitwise (\w+) of the 8-bit (\w+) numbers (\w+) and (\w+), .* left by (\d) ", question):
        base = bases[found[2]]
        pairs = zip(*(f"{int(number, base):08b}" for number in (found[3], found[4])), strict=True)
        ones = {"AND": {2}, "OR": {1, 2}, "XOR": {1}}[found[1]]
        bits = "".join("1" if pair.count("1") in ones else "0" for pair in pairs)
        by = int(found[5])
        return in_base(int(bits[by:] + bits[:by], 2), base)
    found = re.search(r"in base (\d+).* What is (\w+) \+ (\w+) − (\w+)\?", question)
    assert found, question
    base = int(found[1])
    left, right, minus = (int(found[place], base) for place in (2, 3, 4))
    return in_base(left + right - minus, base)


def in_base(number: int, base: int) -> str:
    """Digits from the highest power down."""
    power = max(power for power in range(20) if base**power <= number) if number else 0
    digits = ""
    for exponent in range(power, -1, -1):
        digit, number = divmod(number, base**exponent)
        digits += "0123456789abcdef"[digit]
    return digits
