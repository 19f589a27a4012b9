"""Text of others in our sentences: one printable line, not too long, and still to be recognised."""

from copy import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structlearn.core.wording import LONGEST, count_of, list_names, plain, quote
from structlearn.data import DataError

anything = st.text(st.characters(codec=None), max_size=700)  # surrogates and control characters, too


@given(anything, st.integers(40, 600))
def test_a_sentence_is_one_printable_line(text, most):
    found = plain(text, most)
    assert found.isprintable()
    assert len(found) <= most


@given(anything, st.integers(1, 100))
def test_a_quotation_is_printable_and_short(text, most):
    found = quote(text, most)
    assert found.isprintable()
    assert len(found) <= 2 * most + 30


@given(st.lists(anything, max_size=30))
def test_a_list_is_printable_and_short(names):
    found = list_names(names)
    assert found.isprintable()
    assert len(found) <= 1500


@given(st.text(st.characters(categories=["L", "N", "P"]), max_size=60).filter(lambda text: '"' not in text))
def test_common_text_is_left_alone(text):
    text = text.replace("\\", "/")
    assert plain(text) == text
    assert quote(text) == f'"{text}"'


def test_what_is_cut_and_what_is_escaped():
    assert quote("\x1b[31mred\x00\n\u202e\udcff") == r'"\x1b[31mred\x00\n\u202e\udcff"'
    assert quote('say "a\\b"') == r'"say \"a\\b\""'
    assert quote("x" * 1_700_000) == f'"{"x" * 60}"... (1700000 characters)'
    assert plain("two\r\nlines\x1b[2J") == r"two lines\x1b[2J"
    assert plain(f"file.txt, line 1: {'x' * 10**6}; use tabs.").startswith("file.txt, line 1: xxx")
    assert plain(f"file.txt, line 1: {'x' * 10**6}; use tabs.").endswith("xxx; use tabs.")
    assert list_names(["a", "b\t", *map(str, range(20))], most=3) == r"a, b\t, 0 and 19 more"


def test_errors_of_readers_are_such_sentences():
    error = DataError.at("odd\x1b[2J\nname", 3, "x" * 10**6)
    assert str(error).isprintable()
    assert len(str(error)) <= LONGEST
    assert str(error).startswith(r"odd\x1b[2J name, line 3: ")
    assert str(copy(error)) == str(error)  # as other processes get it


@pytest.mark.parametrize("given", [None, 3, b"\xff", float("nan")])
def test_anything_can_be_quoted(given):
    assert quote(given) == f'"{given}"'.replace("\\", "\\\\")


@pytest.mark.parametrize(
    ("n", "expected"), [(0, "0 pixels"), (1, "1 pixel"), (2, "2 pixels"), (21, "21 pixels")]
)
def test_one_thing_is_not_many(n, expected):
    assert count_of(n, "pixel") == expected
