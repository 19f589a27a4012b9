import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from structlearn.data import DataError, FeatureVocabulary, read_columns, split_rows


@pytest.fixture
def read(write):
    return lambda content, **options: read_columns(write(content, "tokens.txt"), **options)


def named(X, names):
    """Each row of a matrix as a mapping from feature names to values that are not zero."""
    rows = X.toarray() if sparse.issparse(X) else X
    return [{name: value for name, value in zip(names, row) if value} for row in rows.tolist()]


def test_numbers_names_and_words(read):
    vocabulary = FeatureVocabulary()
    X, lengths = vocabulary.fit_transform(
        read("2.5 shape=Xx len=3 dog A\n-1 shape=x len=0.5 cat B\n\n0 shape=x len=1 a=b A\n")
    )
    assert isinstance(X, sparse.csr_matrix)
    assert X.dtype == np.float64
    assert lengths.tolist() == [2, 1]
    assert named(X, vocabulary.names_) == [
        {"0": 2.5, "shape=Xx": 1, "len": 3, "3=dog": 1},
        {"0": -1, "shape=x": 1, "len": 0.5, "3=cat": 1},
        {"shape=x": 1, "len": 1, "a=b": 1},
    ]
    assert X.nnz == 11, "zeros are not stored"
    assert not vocabulary.dense_


def test_numbers_among_words_are_words(read):
    vocabulary = FeatureVocabulary()
    X, _ = vocabulary.fit_transform(read("in w=in A\n1987 w=1987 A\nnan w=nan A\nid=8 w=inf A\n"))
    assert named(X, vocabulary.names_) == [
        {"0=in": 1, "w=in": 1},
        {"0=1987": 1, "w=1987": 1},
        {"0=nan": 1, "w=nan": 1},
        {"id=8": 1, "w=inf": 1},
    ]


@pytest.mark.parametrize("cell", ["=", "=x", "x=", "3=x", "1_0", "==", "٣"])
def test_strings_that_are_not_name_and_value(read, cell):
    vocabulary = FeatureVocabulary()
    vocabulary.fit_transform(read(f"{cell} A\n"))
    assert vocabulary.names_ == [f"0={cell}"]


def test_value_may_hold_an_equals_sign_and_columns_share_names(read):
    vocabulary = FeatureVocabulary()
    X, _ = vocabulary.fit_transform(read("w=a=b w=c A\nw=c w=c B\n"))
    assert named(X, vocabulary.names_) == [{"w=a=b": 1, "w=c": 1}, {"w=c": 1}]


def test_all_numbers_are_a_dense_matrix(read):
    vocabulary = FeatureVocabulary()
    X, lengths = vocabulary.fit_transform(read("1 0 -2e1 A\n3 0 .5 B\n\n1 0 1 A\n"))
    assert isinstance(X, np.ndarray)
    np.testing.assert_array_equal(X, [[1, 0, -20], [3, 0, 0.5], [1, 0, 1]])
    assert [piece.shape for piece in split_rows(X, lengths)] == [(2, 3), (1, 3)]
    again, _ = FeatureVocabulary.from_lines(vocabulary.to_lines()).transform(
        read("7 8 9\n", label_column=None)
    )
    np.testing.assert_array_equal(again, [[7, 8, 9]])


def test_named_numbers_alone_are_sparse(read):
    X, _ = FeatureVocabulary().fit_transform(read("a=1 b=2 A\na=3 b=4 A\n"))
    assert sparse.issparse(X)
    np.testing.assert_array_equal(X.toarray(), [[1, 2], [3, 4]])


def test_unknown_features_are_ignored_and_counted(read):
    vocabulary = FeatureVocabulary().fit(read("dog 1 len=2 A\ncat 2 len=1 B\n"))
    assert vocabulary.n_unknown_ == 0
    X, lengths = vocabulary.transform(
        read("cat 5 len=7\n\nbird 0.5 len=long\n\n8 1 size=3\n", label_column=None)
    )
    assert named(X, vocabulary.names_) == [{"0=cat": 1, "1": 5, "len": 7}, {"1": 0.5}, {"1": 1}]
    assert lengths.tolist() == [1, 1, 1]
    assert vocabulary.n_unknown_ == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 a A\n2 b A\n\nnan a A\n", 'line 4: feature column 0 holds "nan", which is not finite'),
        ("a 1 A\nb inf A\n", 'line 2: feature column 1 holds "inf", which is not finite'),
        ("a len=1 A\nb len=1e999 A\n", 'line 2: feature column 1 holds "1e999", which is not finite'),
    ],
)
def test_numbers_must_be_finite(read, content, message):
    with pytest.raises(DataError, match=rf"tokens\.txt, {message}"):
        FeatureVocabulary().fit(read(content))


@pytest.mark.parametrize("train", ["1 2 A\n", "1 x A\n"])
@pytest.mark.parametrize(
    ("cell", "problem"),
    [("x", 'holds "x", which is not a number'), ("a=3", 'holds "a=3"'), ("nan", 'holds "nan"')],
)
def test_numbers_must_stay_numbers(read, train, cell, problem):
    vocabulary = FeatureVocabulary().fit(read(train))
    with pytest.raises(DataError, match=rf"tokens\.txt, line 3: feature column 0 {problem}"):
        vocabulary.transform(read(f"3 2\n\n{cell} 2\n", label_column=None))


def test_number_of_columns_must_agree(read):
    vocabulary = FeatureVocabulary().fit(read("1 x A\n"))
    with pytest.raises(
        DataError, match=r"tokens\.txt, line 2: 3 feature columns; the model was trained on 2"
    ):
        vocabulary.transform(read("\n1 x y\n", label_column=None))


def test_lines(read):
    vocabulary = FeatureVocabulary().fit(read("dog 1 len=2 A\n# 2 len=1 B\n"))
    assert vocabulary.to_lines() == ["columns 3", "0=dog", "0=#", "1", "len"]


@pytest.mark.parametrize("lines", [[], ["3"], ["columns x"], ["columns 2", "a", "a"]])
def test_lines_that_are_no_vocabulary(lines):
    with pytest.raises(DataError, match="vocabulary"):
        FeatureVocabulary.from_lines(lines)


CELL = st.sampled_from(["1", "2.5", "dog", "cat", "a=1", "a=2", "a=x", "b=3", "=", "columns"])


@settings(deadline=None)
@given(st.integers(1, 3).flatmap(lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=1)))
def test_saved_vocabulary_encodes_as_the_fitted_one(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("round") / "x.txt"
    path.write_text("".join(" ".join(row) + "\n" for row in rows))
    sequences = read_columns(path, label_column=None)
    vocabulary = FeatureVocabulary()
    X, _ = vocabulary.fit_transform(sequences)
    saved = FeatureVocabulary.from_lines("\n".join(vocabulary.to_lines()).split("\n"))
    again, _ = saved.transform(sequences)
    assert saved.n_unknown_ == 0
    assert named(again, saved.names_) == named(X, vocabulary.names_)
    assert X.shape == again.shape == (len(rows), len(vocabulary.names_))


def test_conll2000(shared_file):
    vocabulary = FeatureVocabulary()
    X, lengths = vocabulary.fit_transform(read_columns(shared_file("conll2000", "train.txt.gz")))
    assert X.shape == (lengths.sum(), len(vocabulary.names_))
    # A word and a part of speech each.
    assert np.unique(X.sum(axis=1)).tolist() == [2]
    test = read_columns(shared_file("conll2000", "test.txt.gz"), n_feature_columns=2)
    X_test, _ = vocabulary.transform(test)
    known = set(vocabulary.names_)
    cells = [(f"0={word}", f"1={tag}") for i in range(len(test)) for word, tag in test.tokens(i)]
    assert vocabulary.n_unknown_ == sum(name not in known for pair in cells for name in pair) > 0
    assert X_test.nnz == 2 * len(cells) - vocabulary.n_unknown_
