import numpy as np
import pytest
from sklearn.datasets import load_digits

from structlearn.data import DataError, digit_triplets, pair_features, read_triplets
from structlearn.data.triplets import PAIRS


def test_a_pair_needs_both_its_members(tmp_path):
    judgements = [
        *[(0, 1, 2), (1, 0, 2), (2, 0, 1)],  # 0 and 1 choose each other
        *[(3, 4, 5), (4, 5, 3), (5, 3, 4)],  # a circle
        *[(8, 7, 6), (7, 8, 6)],  # 7 and 8
        (0, 3, 6),  # one voice
    ]
    path = tmp_path / "judged.npz"
    np.savez(path, X=np.eye(9), triplets=np.array(judgements, dtype=np.int16))
    items, triplets, outcomes = read_triplets(path)
    assert items.shape == (9, 9)
    assert triplets.tolist() == [[0, 1, 2], [6, 7, 8]]
    assert [PAIRS[outcome] for outcome in outcomes] == [(0, 1), (1, 2)]


def test_judgements_of_a_hidden_distance(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(7, 2))
    away = np.linalg.norm(X[:, None] - X, axis=-1)
    heads = [(a, b, c) for a in range(7) for b in range(7) for c in range(7) if len({a, b, c}) == 3]
    np.savez(
        tmp_path / "t.npz", X=X, triplets=np.array([one for one in heads if away[one[:2]] < away[one[::2]]])
    )
    _, triplets, outcomes = read_triplets(tmp_path / "t.npz")
    assert len(triplets) == 35
    for items, outcome in zip(triplets, outcomes):
        assert outcome == np.argmin([away[items[a], items[b]] for a, b in PAIRS])


@pytest.mark.parametrize(
    "arrays",
    [
        {"X": np.eye(3)},
        {"X": np.eye(3), "triplets": np.array([[0, 1, 3]])},
        {"X": np.eye(3), "triplets": np.array([[0.0, 1.0, 2.0]])},
        {"X": np.array([[np.nan]] * 3), "triplets": np.array([[0, 1, 2]])},
        {"X": np.array([{}, 1], dtype=object), "triplets": np.array([[0, 1, 2]])},
    ],
)
def test_bad_files(tmp_path, arrays):
    path = tmp_path / "bad.npz"
    np.savez(path, **arrays)
    with pytest.raises(DataError, match=r"bad\.npz"):
        read_triplets(path)
    path.write_bytes(b"no archive")
    with pytest.raises(DataError, match=r"no \.npz file"):
        read_triplets(path)
    with pytest.raises(DataError, match="does not exist"):
        read_triplets(tmp_path / "absent.npz")


def test_digit_triplets_are_two_of_a_kind():
    digits = load_digits().target
    items, triplets, outcomes = digit_triplets(200, random_state=3)
    for three, outcome in zip(digits[triplets], outcomes):
        assert [three[a] == three[b] for a, b in PAIRS] == [k == outcome for k in range(3)]
    assert len({len(set(three)) for three in triplets.tolist()}) == 1
    assert set(outcomes) == {0, 1, 2}
    np.testing.assert_array_equal(triplets, digit_triplets(200, random_state=3)[1])
    assert items.max() == 1


def test_pair_features():
    items = np.array([[0.0, 1.0], [2.0, 5.0], [1.0, 1.0]])
    assert pair_features(items, np.array([[0, 1, 2]])).tolist() == [[[2, 4], [1, 0], [1, 4]]]
