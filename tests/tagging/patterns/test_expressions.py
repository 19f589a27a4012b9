"""Wapiti's regular expressions, against Python's own where the dialects say the same."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structlearn.tagging.patterns.expressions import LONGEST_TEXT, Expression

#: Items of Wapiti's dialect, and what Python calls them.
_ITEMS = {
    "a": "a",
    "B": "B",
    ".": "[^\n]",
    r"\d": "[0-9]",
    r"\D": "[^0-9]",
    r"\u": "[A-Z]",
    r"\L": "[^a-z]",
    r"\w": "[A-Za-z0-9]",
    r"\p": r"[!-/:-@\[-`{-~]",
    r"\.": r"\.",
    "[": r"\[",
    "+": r"\+",
    "(": r"\(",
}
_TIMES = {"": "", "*": "*?", "?": "?"}
_parts = st.lists(st.tuples(st.sampled_from(list(_ITEMS)), st.sampled_from(list(_TIMES))), max_size=5)


@given(_parts, st.booleans(), st.booleans(), st.text(alphabet="aaBBc01.,-[+(", max_size=8))
def test_expressions_match_what_pythons_do(parts, from_start, to_end, text):
    ours = "^" * from_start + "".join(item + times for item, times in parts) + "$" * to_end
    theirs = "^" * from_start + "".join(_ITEMS[item] + _TIMES[times] for item, times in parts)
    expected = re.search(theirs + r"\Z" * to_end, text)
    assert Expression(ours).find(text.encode()) == (None if expected is None else expected.span())


def test_characters_are_bytes_and_classes_those_of_ascii():
    assert Expression("^...").find("éé".encode()) == (0, 3)
    assert Expression(r"^\a").find("é".encode()) is None
    assert Expression(r"a\$").find(b"a$") == (0, 2)
    assert Expression("a$b").find(b"a$b") == (0, 3)  # only the last one is the end


def test_no_expression_takes_long():
    """A backtracking matcher would need 2 ** 100 steps here."""
    expression = Expression("a*" * 100 + "b")
    assert expression.find(b"a" * 200) is None
    assert Expression("^a*$").find(b"a" * (10 * LONGEST_TEXT)) == (0, LONGEST_TEXT)


@pytest.mark.parametrize("text", ["*a", "a**", "a?*", "?", "a\\", "x" * 300])
def test_what_is_no_expression_is_refused(text):
    with pytest.raises(ValueError, match=r"regular expression|repeats nothing"):
        Expression(text)
