import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structlearn.alignment.symmetrize import (
    grow_diag,
    grow_diag_final,
    grow_diag_final_and,
    intersection,
    symmetrize_tables,
    union,
)

# Both directions agree on 00 and 33. Forward alone has 01 (beside 00) and 12 (diagonal to 01); backward alone
# has 44 (diagonal to 33) and 34 (between 33 and 44, whose words have links then), 60 (one word taken) and 77.
FORWARD = {(0, 0), (3, 3), (0, 1), (1, 2)}
BACKWARD = {(0, 0), (3, 3), (4, 4), (3, 4), (6, 0), (7, 7)}
GROWN = {(0, 0), (3, 3), (0, 1), (1, 2), (3, 4), (4, 4)}


def test_by_hand():
    assert intersection(FORWARD, BACKWARD) == {(0, 0), (3, 3)}
    assert union(FORWARD, BACKWARD) == FORWARD | BACKWARD
    # From 33, the straight neighbour 34 is added before the diagonal one 44, whose row is still free.
    assert grow_diag(FORWARD, BACKWARD) == GROWN
    assert grow_diag_final(FORWARD, BACKWARD) == GROWN | {(6, 0), (7, 7)}
    assert grow_diag_final_and(FORWARD, BACKWARD) == GROWN | {(7, 7)}


def test_growing_stops_where_both_words_are_taken():
    # 01 and 10 would close a square whose words are all linked.
    assert grow_diag({(0, 0), (1, 1), (0, 1)}, {(0, 0), (1, 1), (1, 0)}) == {(0, 0), (1, 1)}


def test_final_sees_what_it_added():
    # Nothing agrees: of 00 and 01 only the first has both words free.
    assert grow_diag_final_and({(0, 0), (0, 1)}, {(5, 5)}) == {(0, 0), (5, 5)}
    assert grow_diag_final({(0, 0), (0, 1), (1, 1)}, {(1, 0)}) == {(0, 0), (0, 1), (1, 1)}


def literal_grow_diag_final(forward, backward, both, size):
    """The published pseudo-code, over all cells."""
    links = forward & backward

    def free(i, j):
        return all(i != a for a, _ in links), all(j != b for _, b in links)

    added = True
    while added:
        added = False
        for e in range(size):
            for f in range(size):
                if (e, f) not in links:
                    continue
                for de, df in ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)):
                    new = e + de, f + df
                    if any(free(*new)) and new in forward | backward:
                        links = links | {new}
                        added = True
    for side in (forward, backward):
        for e in range(size):
            for f in range(size):
                if (e, f) in side and (all if both else any)(free(e, f)):
                    links = links | {(e, f)}
    return links


LINKS = st.frozensets(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12)


@given(LINKS, LINKS)
def test_against_the_pseudo_code(forward, backward):
    for both, method in ((False, grow_diag_final), (True, grow_diag_final_and)):
        assert method(forward, backward) == literal_grow_diag_final(forward, backward, both, 6)


@given(LINKS, LINKS)
def test_between_intersection_and_union(forward, backward):
    for method in (intersection, union, grow_diag, grow_diag_final, grow_diag_final_and):
        assert forward & backward <= method(forward, backward) <= forward | backward


def test_tables():
    forward, backward = np.eye(2, 3), np.eye(2, 3)
    forward[0, 2] = 1
    np.testing.assert_array_equal(symmetrize_tables(forward, backward, union), forward)
    np.testing.assert_array_equal(symmetrize_tables(forward, backward, intersection), np.eye(2, 3))
    np.testing.assert_array_equal(symmetrize_tables(forward, backward), forward)  # 02 is diagonal to 11
    with pytest.raises(ValueError, match=r"shapes \(2, 3\) and \(3, 2\)"):
        symmetrize_tables(forward, backward.T)
