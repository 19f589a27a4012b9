"""Words that are linked to several words of a longer side."""

import numpy as np
import pytest

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.gold.features import STRONG
from structlearn.alignment.text.balance import agreement_power, link_threshold, surplus
from structlearn.alignment.text.bitext import Vocabulary


@pytest.mark.parametrize(
    ("m", "n", "k"), [(100, 100, 1.0), (100, 124, 1.0), (124, 100, 1.0), (250, 100, 4.0)]
)
def test_surplus_is_what_exceeds_the_usual_ratio(m, n, k):
    found = surplus(Vocabulary(["a", "b"], [m - 1, 1]), Vocabulary(["c"], [n]))
    assert found == pytest.approx(k)


def test_sides_of_like_length_are_as_ever():
    assert (agreement_power(1.0), link_threshold(1.0)) == (1.0, 0.5)
    assert (agreement_power(2.0), link_threshold(2.0)) == (0.25, 0.375)


@pytest.fixture(scope="module")
def letters():
    """Words of one side and their letters on the other, one to three of thirty a word, and the links."""
    rng = np.random.default_rng(0)
    spelled = {f"word{k}": [f"{c:c}" for c in 0x4E00 + rng.integers(30, size=1 + k % 3)] for k in range(40)}
    pairs, links = [], []
    for _ in range(150):
        words = [f"word{k}" for k in rng.integers(40, size=rng.integers(4, 9))]
        pairs.append((words, [letter for word in words for letter in spelled[word]]))
        owner = [i for i, word in enumerate(words) for _ in spelled[word]]
        links.append({(i, j) for j, i in enumerate(owner)})
    return pairs, links


def test_words_are_linked_to_all_of_their_letters(letters):
    pairs, links = letters
    aligner = Aligner(random_state=0).fit(pairs)
    right = sum(len(known & found) for known, found in zip(links, aligner.predict(pairs)))
    assert right / sum(map(len, links)) > 0.9
    k = surplus(aligner.statistics_.source_words, aligner.statistics_.target_words)
    assert aligner.weights_[0] * STRONG == pytest.approx(-link_threshold(k))
