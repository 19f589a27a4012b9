"""Outputs that are sparse: label sets are read, others are refused with what to do."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

import structlearn
from structlearn import MultiLabelClassifier
from structlearn.metrics import exact_match, r2, subset_accuracy

ROWS, RING = np.eye(4), np.array([(0, 1)])
TABLE = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
#: X and a y that each takes
CASES = {
    "BinaryClassifier": (ROWS, np.array([0, 1, 0, 1])),
    "MulticlassClassifier": (ROWS, np.array([0, 1, 2, 1])),
    "LinearRegressor": (ROWS, np.arange(4.0)),
    "ChainClassifier": ([ROWS[:2]] * 4, TABLE),
    "SegmentClassifier": ([ROWS[:2]] * 4, [[(0, 1, "a")]] * 4),
    "MatchingClassifier": ([np.ones((2, 2, 3))] * 4, [np.eye(2)] * 4),
    "GraphClassifier": ([(ROWS[:2], RING)] * 4, TABLE),
    "GridClassifier": ([ROWS[None, :2]] * 4, TABLE[:, None]),
    "CutSegmenter": ([(ROWS[:2], RING)] * 4, TABLE),
}


def fitted(name):
    X, y = CASES[name]
    return getattr(structlearn, name)(random_state=0).fit(X, y)


@pytest.mark.filterwarnings("ignore:.*training edges between like labels")
@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.coo_array])
@pytest.mark.parametrize("name", CASES)
def test_sparse_outputs_are_refused(name, form):
    model, (X, y) = fitted(name), CASES[name]
    each = [form(np.eye(2))] * len(y)
    for given, place in ((form(TABLE), "y"), (each, r"y\[0\]")):
        said = rf"^{place} is sparse \({form.__name__}\), .* give {place}.toarray\(\).$"
        # scores of single rows are scikit-learn's, and so are its sentences
        for method in (model.fit,) if X is ROWS else (model.fit, model.score):
            with pytest.raises(TypeError, match=said):
                method(X, given)


@pytest.mark.parametrize("form", [sparse.csr_matrix, sparse.csc_array, sparse.coo_array])
def test_label_sets_may_be_sparse(form):
    dense, thin = (MultiLabelClassifier(random_state=0).fit(ROWS, y) for y in (TABLE, form(TABLE)))
    assert_array_equal(dense.weights_, thin.weights_)
    assert_array_equal(dense.predict(ROWS), thin.predict(ROWS))
    assert thin.score(ROWS, form(TABLE)) == dense.score(ROWS, TABLE)


def test_a_list_of_sparse_label_sets_is_refused():
    with pytest.raises(TypeError, match=r"^y\[0\] is sparse"):
        MultiLabelClassifier().fit(ROWS, [sparse.csr_matrix(row) for row in TABLE])


@pytest.mark.parametrize("metric", [exact_match, subset_accuracy, r2])
def test_metrics_refuse_them(metric):
    with pytest.raises(TypeError, match=r"^y is sparse \(csr_matrix\)"):
        metric(sparse.csr_matrix(TABLE), TABLE)
