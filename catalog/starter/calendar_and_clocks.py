"""Calendar and clocks: weekdays, dates, arrival times and timetables. Graded by `exact_match` after the prefix ANSWER:."""

from datetime import date, datetime, timedelta
from math import lcm

from catalog.starter.drawing import Draws, Item, Starter

CITIES = ["Arvene", "Belmora", "Corvask", "Dunhollow", "Elvastad", "Farrow Bay", "Gildern", "Hestia", "Ismar", "Jorvel"]
ORDINALS = ["first", "second", "third", "fourth", "fifth"]


def spoken(day: date) -> str:
    """ "5 March 2031"."""
    return f"{day.day} {day:%B %Y}"


def some_day(draws: Draws) -> date:
    return date(2021, 1, 1) + timedelta(days=draws.below(365 * 18))


def weekday(draws: Draws) -> Item:
    start = some_day(draws)
    end = start + timedelta(days=draws.between(40, 1500) * draws.pick([1, 1, -1]))
    question = f"{spoken(start)} is a {start:%A}. What day of the week is {spoken(end)}?"
    return Item({"question": question, "form": "the name of the day in English"}, f"{end:%A}")


def day_count(draws: Draws) -> Item:
    start, days = some_day(draws), draws.between(45, 600)
    end = start + timedelta(days=days)
    form = "the date as YYYY-MM-DD"
    if draws.below(2):
        return Item({"question": f"Which date is {days} days after {spoken(start)}?", "form": form}, end.isoformat())
    return Item({"question": f"Which date is {days} days before {spoken(end)}?", "form": form}, start.isoformat())


def arrival(draws: Draws) -> Item:
    here, there = draws.sample(CITIES, 2)
    ahead = draws.between(-11 * 60, 12 * 60, 30) or 90
    leaves = datetime(2029, 1, 1) + timedelta(minutes=draws.between(0, 7 * 24 * 60 - 5, 5))  # noqa: DTZ001  (a Monday on no zone's clock)
    flight = draws.between(95, 16 * 60, 5)
    arrives = leaves + timedelta(minutes=flight + ahead)
    relation = f"{abs(ahead) // 60} hours and {abs(ahead) % 60} minutes {'ahead of' if ahead > 0 else 'behind'}"
    question = (
        f"The clocks in {there} are {relation} those in {here}. A plane leaves {here} at {leaves:%H:%M} on {leaves:%A}, local time, "
        f"and flies for {flight // 60} hours and {flight % 60} minutes. What are the local time and the day in {there} when it lands?"
    )
    return Item(
        {"question": question, "form": "the time as HH:MM on the 24-hour clock, a space, and the name of the day"}, f"{arrives:%H:%M %A}"
    )


def timetable(draws: Draws) -> Item:
    while True:
        first, second = draws.between(8, 40), draws.between(9, 45)
        together = lcm(first, second)
        if first != second and 90 <= together <= 1200:
            break
    starts = datetime(2029, 1, 1 + draws.below(7), draws.between(4, 22), draws.between(0, 55, 5))  # noqa: DTZ001
    count = draws.between(1, min(5, max(1, 2400 // together)))
    ends = starts + timedelta(minutes=together * count)
    question = (
        f"Day and night, the red tram leaves every {first} minutes and the blue tram every {second} minutes. At {starts:%H:%M} on "
        f"{starts:%A} both leave together. When do they leave together for the {ORDINALS[count - 1]} time after that?"
    )
    return Item(
        {"question": question, "form": "the time as HH:MM on the 24-hour clock, a space, and the name of the day"}, f"{ends:%H:%M %A}"
    )


STARTER = Starter(
    slug="calendar-and-clocks",
    name="Calendar and clocks",
    category="Time",
    description="Days of the week, day counts across leap years, arrival times across time zones, and timetables that meet.",
    grader="exact_match",
    grader_options={"extract": "answer_prefix", "prefix": "ANSWER:"},
    prompt_template="{question}\n\nReason briefly. Then finish with one line that begins with ANSWER: and gives {form}, and nothing else.",
    roles=("question", "form"),
    max_output_tokens=768,
    groups={"weekday": weekday, "day count": day_count, "arrival": arrival, "timetable": timetable},
    per_group=30,
)
