import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_svmlight_file

from structlearn.data import DataError, read_libsvm, write_libsvm

SMALL = "1 1:0.5 3:-2e-3\n-1 2:1\n# nothing\n\n+1 qid:7 1:1 4:0 # a comment 9:9\n"


def test_small_file_by_hand(write):
    X, y = read_libsvm(write(SMALL))
    np.testing.assert_array_equal(X.toarray(), [[0.5, 0, -2e-3, 0], [0, 1, 0, 0], [1, 0, 0, 0]])
    np.testing.assert_array_equal(y, [1, -1, 1])
    assert isinstance(X, sparse.csr_matrix)
    assert X.dtype == np.float64
    assert y.dtype == np.int64


def test_same_as_scikit_learn(write):
    rng = np.random.default_rng(0)
    X = sparse.random(60, 25, density=0.3, random_state=1, format="csr")
    rows = (
        " ".join([f"{rng.normal()}", *(f"{j + 1}:{v!r}" for j, v in zip(X[i].indices, X[i].data.tolist()))])
        for i in range(60)
    )
    path = write("\n".join(rows))
    ours, y = read_libsvm(path, n_features=25)
    theirs, z = load_svmlight_file(str(path), n_features=25)
    np.testing.assert_array_equal(ours.toarray(), theirs.toarray())
    np.testing.assert_array_equal(y, z)


def test_multilabel_same_as_scikit_learn(write):
    path = write("0,4 1:0.64 2:0.66\n 2:5\n3 2:1 6:2\n1:7\n0,1,2\n")
    X, y = read_libsvm(path, multilabel=True)
    theirs, z = load_svmlight_file(str(path), multilabel=True)
    np.testing.assert_array_equal(X.toarray(), theirs.toarray())
    assert y == [(0, 4), (), (3,), (), (0, 1, 2)] == [tuple(map(int, labels)) for labels in z]
    assert all(type(label) is int for labels in y for label in labels)


def test_multilabel_with_names_and_only_empty_sets(write):
    assert read_libsvm(write("sea,sun 1:1\nsun 1:2\n"), multilabel=True)[1] == [("sea", "sun"), ("sun",)]
    assert read_libsvm(write(" 1:1\n\t2:1\nqid:3 1:4\n"), multilabel=True)[1] == [(), (), ()]


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        (["1", "02"], np.array([1, 2])),
        (["1", "2.5"], np.array([1.0, 2.5])),
        (["1", "b"], np.array(["1", "b"])),
        (["nan", "b"], np.array(["nan", "b"])),
        (["1_0", "2"], np.array(["1_0", "2"])),
    ],
)
def test_labels(write, labels, expected):
    y = read_libsvm(write("".join(f"{label} 1:1\n" for label in labels)))[1]
    np.testing.assert_array_equal(y, expected)
    assert y.dtype.kind == expected.dtype.kind


def test_examples_without_features(write):
    X, y = read_libsvm(write("1\n2 2:1\n3\n3\n"))
    np.testing.assert_array_equal(X.toarray(), [[0, 0], [0, 1], [0, 0], [0, 0]])
    np.testing.assert_array_equal(y, [1, 2, 3, 3])
    assert read_libsvm(write("1\n2\n"))[0].shape == (2, 0)


def test_each_line_may_begin_again_from_one(write):
    X, _ = read_libsvm(write("1 1:1 2:2\n1 1:3\n1\n1 1:4 2:5\n"))
    np.testing.assert_array_equal(X.toarray(), [[1, 2], [3, 0], [0, 0], [4, 5]])


def test_padding_and_refusal_of_more_features(write):
    path = write("1 1:1\n\n1 300:1\n", "scene.txt")
    assert read_libsvm(path, n_features=400)[0].shape == (2, 400)
    assert read_libsvm(path, n_features=300)[0].shape == (2, 300)
    with pytest.raises(
        DataError, match=r"scene\.txt, line 3: .*has 300 features, the model was trained on 294"
    ):
        read_libsvm(path, n_features=294)


@pytest.mark.parametrize(
    ("second", "message"),
    [
        ("1 0:3", r"feature index 0 is not positive \(libsvm counts from 1\)\."),
        ("1 1:1 -4:3", "feature index -4 is not positive"),
        ("1 2:1 2:3", "feature index 2 follows 2; indices must increase"),
        ("1 1:1 5:1 3:3", "feature index 3 follows 5; indices must increase"),
        ("1 3000000000:1", "feature index 3000000000 is too large"),
        ("1 99999999999999999999:1", "feature index 99999999999999999999 is too large"),
        ("1 1048577:1", "feature index 1048577 is too large for a file of 4 entries"),
        ("1 a:3", 'feature index "a" is not an integer'),
        ("1 1.5:3", 'feature index "1.5" is not an integer'),
        ("1 1_0:3", 'feature index "1_0" is not an integer'),
        ("1 ٣:3", 'feature index "٣" is not an integer'),
        ("1 1:x", 'the value of feature 1 holds "x", which is not a number'),
        ("1 1:1_0", 'the value of feature 1 holds "1_0", which is not a number'),
        ("1 1:1 2:", "the value of feature 2 is empty"),
        ("1 1:2:3", 'the value of feature 1 holds "2:3", which is not a number'),
        ("1 1:1 2:nan", "the value of feature 2 is not finite"),
        ("1 1:1e999", "the value of feature 1 is not finite"),
        ("1 1:1 seven", '"seven" is not of the form index:value'),
        ("1:3", r'the label is missing \(the line begins with "1:3"\)'),
        ("0,4 1:3", '"0,4" is a set of labels'),
        ("nan 1:3", 'the label "nan" is not finite'),
    ],
)
def test_errors_name_the_line(write, second, message):
    # The first line has two entries, the second is a comment: entries, rows and lines all differ.
    with pytest.raises(DataError, match=rf"bad\.txt, line 3: {message}"):
        read_libsvm(write(f"1 1:1 2:1\n# comment\n{second}\n1 1:1\n", "bad.txt"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0,,1 1:1", 'an empty label in "0,,1"'),
        ("0, 1:1", 'an empty label in "0,"'),
        ("0,1,0 1:1", 'a label occurs twice in "0,1,0"'),
        (" 0,4 1:1", '"0,4" is not of the form index:value'),
    ],
)
def test_multilabel_errors(write, line, message):
    with pytest.raises(DataError, match=f"line 2: {message}"):
        read_libsvm(write(f"1 1:1\n{line}\n"), multilabel=True)


def test_large_indices_are_fine_where_they_are_credible(write):
    assert read_libsvm(write("1 1048576:1\n"))[0].shape == (1, 1 << 20)
    assert read_libsvm(write("1 2000000:1\n"), n_features=1 << 22)[0].shape == (1, 1 << 22)
    entries = " ".join(f"{k}:1" for k in range(1, 2000))
    assert read_libsvm(write(f"1 {entries} 2000000:1\n"))[0].shape == (1, 2_000_000)


def test_no_examples(write):
    with pytest.raises(DataError, match=r"file\.txt holds no examples"):
        read_libsvm(write("# only\n\n"))


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(st.characters(categories=["L", "N"]), min_size=1).filter(lambda s: not s.isspace())


@settings(deadline=None)
@given(
    rows=st.lists(st.dictionaries(st.integers(0, 30), FLOATS, max_size=5), min_size=1, max_size=8),
    data=st.data(),
)
def test_round_trip(tmp_path_factory, rows, data):
    path = tmp_path_factory.mktemp("round") / "x.txt.gz"
    X = np.zeros((len(rows), 31))
    for i, row in enumerate(rows):
        X[i, list(row)] = list(row.values())
    y = data.draw(st.lists(st.integers(-(10**6), 10**6), min_size=len(rows), max_size=len(rows)))
    write_libsvm(path, X, y)
    again, labels = read_libsvm(path, n_features=31)
    np.testing.assert_array_equal(again.toarray(), X)
    assert labels.tolist() == y


@settings(deadline=None)
@given(
    st.lists(
        st.lists(NAMES.filter(str.isalpha).filter(lambda s: s.lower() not in ("nan", "inf")), unique=True)
    )
)
def test_multilabel_round_trip(tmp_path_factory, sets):
    sets = [*sets, ["a", "b"]]
    path = tmp_path_factory.mktemp("round") / "x.txt"
    X = sparse.eye(len(sets), 4, format="csr")
    write_libsvm(path, X, sets, multilabel=True)
    again, labels = read_libsvm(path, multilabel=True, n_features=4)
    np.testing.assert_array_equal(again.toarray(), X.toarray())
    assert labels == [tuple(labels) for labels in sets]


def test_written_file_by_hand(tmp_path):
    write_libsvm(tmp_path / "x", np.array([[0, 1.5], [0, 0], [0.1, 0]]), [[1, 2], [], [3]], multilabel=True)
    assert (tmp_path / "x").read_text() == "1,2 2:1.5\n 1:0\n3 1:0.1\n"
    write_libsvm(tmp_path / "x", np.array([[0, 1.5], [0, 0]]), np.array(["a", "b"]))
    assert (tmp_path / "x").read_text() == "a 2:1.5\nb\n"


@pytest.mark.parametrize("label", ["", "a b", "a,b", "a:b", "a#"])
def test_labels_that_cannot_be_written(tmp_path, label):
    with pytest.raises(ValueError, match="cannot be written"):
        write_libsvm(tmp_path / "x", np.ones((1, 1)), [label])


def test_lengths_must_agree(tmp_path):
    with pytest.raises(ValueError, match="X has 2 rows, y has 1 labels"):
        write_libsvm(tmp_path / "x", np.ones((2, 1)), [1])


def test_scene(shared_file):
    path = shared_file("scene", "scene_train.gz")
    X, y = read_libsvm(path, multilabel=True)
    assert X.shape == (1211, 294)
    assert {label for labels in y for label in labels} == set(range(6))
    with gzip.open(path) as stream:
        theirs, z = load_svmlight_file(stream, multilabel=True)
    np.testing.assert_array_equal(X.toarray(), theirs.toarray())
    assert y == [tuple(map(int, labels)) for labels in z]
