"""Numbers read from bytes are those of `float`, to the last bit, or are left to it."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structlearn.data.number_cells import column_numbers


def column(cells, *, gaps=False):
    raw = np.frombuffer("".join(f"{cell}\n" for cell in cells).encode(), dtype=np.uint8)
    return column_numbers(raw, np.flatnonzero(raw == ord("\n")), 0, 1, gaps=gaps)


def same(found, cells):
    """Equal bit by bit: zeros have a sign."""
    return found.tobytes() == np.array([float(cell) for cell in cells]).tobytes()


spelled = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "-", "+", " "]),
    st.text("0123456789", min_size=1, max_size=20),
    st.one_of(st.just(""), st.builds(".{}".format, st.text("0123456789", max_size=18))),
    st.one_of(st.just(""), st.builds("{}{}".format, st.sampled_from(["e", "E+", "e-"]), st.integers(0, 330))),
)


@settings(deadline=None, max_examples=1000)
@given(st.one_of(st.floats(allow_nan=False, allow_infinity=False).map(repr), spelled))
def test_a_number_is_that_of_float_or_none(cell):
    found = column([cell])
    assert found is None or same(found, [cell])


def test_numbers_as_people_have_them_are_all_read():
    rng = np.random.default_rng(0)
    whole = rng.integers(-(10**17), 10**17, size=20_000)
    cells = [*map(repr, rng.normal(size=20_000).tolist()), *map(str, whole.tolist())]
    cells += [f"{x:.3f}" for x in rng.normal(size=2000)] + [f"{x:.5e}" for x in rng.normal(size=2000)]
    cells += [
        "0",
        "-0",
        "-0.0",
        ".5",
        "5.",
        "1E3",
        "+7",
        " 1 ",
        "9007199254740993",
        "000000000000000000000.25",
    ]
    assert same(column(cells), cells)


@pytest.mark.parametrize("scale", range(1, 19))
def test_digits_around_the_middle_between_two_floats(scale):
    rng = np.random.default_rng(scale)
    for value in (rng.random(300) * 10.0 ** (18 - scale)).tolist():
        middle = (Fraction(value) + Fraction(np.nextafter(value, np.inf))) / 2
        for digits in range(int(middle * 10**scale) - 1, int(middle * 10**scale) + 3):
            cell = f"{digits:019d}"
            cell = f"{cell[:-scale]}.{cell[-scale:]}"
            found = column([cell])
            assert found is None or same(found, [cell])


@pytest.mark.parametrize(
    "cell",
    [
        "x",
        "",
        " ",
        ".",
        "-",
        "1e",
        "1e+",
        "1_0",
        "1,5",
        "--1",
        "1 2",
        "nan",
        "inf",
        "0x1",
        "1e5.0",
        "1.2.3",
        "1\t",
    ],
)
def test_anything_else_is_left(cell):
    assert column(["1", cell, "2"]) is None


def test_gaps():
    np.testing.assert_array_equal(column(["1", "", "  ", "-2.5"], gaps=True), [1, np.nan, np.nan, -2.5])
    assert column(["1", "NA"], gaps=True) is None
