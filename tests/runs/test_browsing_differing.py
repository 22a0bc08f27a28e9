"""Where two answers differ, word by word, whatever the texts are."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs.browsing.differing import MOST_CHARACTERS, MOST_PIECES, Difference, tell_apart


def marked(difference: Difference) -> tuple[list[str], list[str]]:
    return [each.text for each in difference.left if each.is_own], [each.text for each in difference.right if each.is_own]


def texts(difference: Difference) -> tuple[str, str]:
    return "".join(each.text for each in difference.left), "".join(each.text for each in difference.right)


@pytest.mark.parametrize(
    ("left", "right", "own"),
    [
        ("The answer is 6.", "The answer is 7.", (["6"], ["7"])),
        ("The answer is 6.", "The answer is 6.", ([], [])),
        ("a b c d", "a c d", (["b"], [])),
        ("one two", "one two three four", ([], ["three four"])),
        ("Yes, it is", "Yes it is", ([","], [])),
        ("", "all of it", ([], ["all of it"])),
        ("שלום עולם טוב", "שלום עולם רע", (["טוב"], ["רע"])),
        ("価格は六円", "価格は七円", (["価格は六円"], ["価格は七円"])),  # without spaces a line of a script is one word
        ("a\u202eb c", "a\u202eb d", (["c"], ["d"])),
    ],
)
def test_words_of_one_text_alone_are_marked(left: str, right: str, own: tuple[list[str], list[str]]) -> None:
    found = tell_apart(left, right)
    assert (marked(found), texts(found), found.unit) == (own, (left, right), "words")


def test_space_alone_is_no_difference() -> None:
    found = tell_apart("one two\nthree", "one  two three")
    assert (found.is_same, texts(found)) == (True, ("one two\nthree", "one  two three"))


@given(st.text(max_size=80), st.text(max_size=80))
def test_pieces_put_together_are_the_texts(left: str, right: str) -> None:
    assert texts(tell_apart(left, right)) == (left, right)


@given(st.lists(st.sampled_from("ab"), max_size=30), st.lists(st.sampled_from("ab"), max_size=30))
def test_what_is_left_unmarked_is_the_same_in_both(left: list[str], right: list[str]) -> None:
    found = tell_apart(" ".join(left), " ".join(right))
    common = ["".join(each.text for each in side if not each.is_own).split() for side in (found.left, found.right)]
    assert common[0] == common[1]


def test_too_many_words_are_told_apart_by_lines() -> None:
    left = "\n".join(f"line {n} of the text" for n in range(1_000))
    right = left.replace("line 500 ", "row 500 ").replace("line 3 ", "row 3 ")
    found = tell_apart(f"x{left} y", f"z{right} w")
    assert (found.unit, texts(found)) == ("lines", (f"x{left} y", f"z{right} w"))
    assert "line 500 of the text" in marked(found)[0]


def test_what_both_begin_and_end_with_does_not_count_as_words_to_compare() -> None:
    same = "word " * (2 * MOST_PIECES)
    assert marked(tell_apart(f"{same}one {same}", f"{same}two {same}")) == (["one"], ["two"])


def test_too_long_texts_are_shown_unmarked() -> None:
    long = "x" * (MOST_CHARACTERS + 1)
    found = tell_apart(long, "y")
    assert (found.unit, marked(found), texts(found), found.is_same) == ("", ([], []), (long, "y"), False)


@pytest.mark.parametrize("kinds", [2, 20, 110, 5_000])
def test_texts_of_any_number_of_kinds_of_words_are_compared(kinds: int) -> None:
    drawn = random.Random(kinds)
    left, right = (" ".join(f"w{drawn.randrange(kinds)}" for _ in range(MOST_PIECES - 1)) for _ in range(2))
    assert texts(tell_apart(left, right)) == (left, right)
