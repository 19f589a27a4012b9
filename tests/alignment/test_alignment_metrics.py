import pytest

from structlearn.alignment.links import Links
from structlearn.alignment.metrics import alignment_scores

GOLD = Links.of({(0, 0), (1, 1)}, {(2, 1), (2, 2)})


def test_by_hand():
    # A = {00, 21, 02}: |A|=3, |S|=2, A and S = {00}, A and P = {00, 21}.
    scores = alignment_scores([GOLD], [{(0, 0), (2, 1), (0, 2)}])
    assert tuple(scores) == (3, 2, 1, 2)
    assert scores.precision == pytest.approx(2 / 3)
    assert scores.recall == pytest.approx(1 / 2)
    assert scores.aer == pytest.approx(1 - 3 / 5)
    assert scores.f1 == pytest.approx(2 * (2 / 3) * (1 / 2) / (2 / 3 + 1 / 2))


@pytest.mark.parametrize("predicted", [GOLD.sure, GOLD.possible])
def test_all_sure_and_only_possible_links_are_perfect(predicted):
    assert alignment_scores([GOLD], [predicted]).aer == 0


def test_counts_are_summed_over_pairs():
    # With (|A|, |S|, A and S, A and P) = (3, 2, 1, 2) and (1, 1, 0, 0): AER = 1 - 3/7, not a mean.
    scores = alignment_scores([GOLD, Links.of({(0, 0)})], [{(0, 0), (2, 1), (0, 2)}, {(1, 1)}])
    assert tuple(scores) == (4, 3, 1, 2)
    assert scores.aer == pytest.approx(1 - 3 / 7)


def test_nothing_predicted_nothing_gold():
    nothing = alignment_scores([GOLD], [()])
    assert (nothing.precision, nothing.recall, nothing.aer, nothing.f1) == (1, 0, 1, 0)
    for empty in (alignment_scores([Links.of(())], [()]), alignment_scores([], [])):
        assert (empty.precision, empty.recall, empty.aer) == (1, 1, 0)
    wrong = alignment_scores([Links.of(())], [{(0, 0)}])
    assert (wrong.precision, wrong.recall, wrong.aer) == (0, 1, 1)


def test_unequal_numbers():
    with pytest.raises(ValueError, match="zip"):
        alignment_scores([GOLD], [])
