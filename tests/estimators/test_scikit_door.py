"""Checks that need scikit-learn only to refuse: they give and refuse what scikit-learn's do."""

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

import structlearn
from structlearn import MulticlassClassifier
from structlearn.estimators.scikit import FLOATS, checked_rows

X = np.arange(12.0).reshape(4, 3)
NAN, INFINITE = X.copy(), X.copy()
NAN[1, 2], INFINITE[0, 0] = np.nan, -np.inf
INPUTS = {
    "floats": X,
    "single precision": X.astype(np.float32),
    "half precision": X.astype(np.float16),
    "the other byte order": X.astype(">f8"),
    "integers": X.astype(int),
    "columns first": np.asfortranarray(X),
    "every second row": X[::2],
    "a list": X.tolist(),
    "a masked array": np.ma.array(X),
    "a table": pd.DataFrame(X, columns=["a", "b", "c"]),
    "strings": X.astype(str).astype(object),
    "NaN": NAN,
    "infinity": INFINITE,
    "complex": X * 1j,
    "no rows": X[:0],
    "a vector": X[0],
    "three axes": X[None],
    "too few columns": X[:, :2],
    "CSR": sparse.csr_matrix(X),
    "a CSR array": sparse.csr_array(X),
    "CSR of integers": sparse.csr_array(X.astype(int)),
    "CSC": sparse.csc_matrix(X),
    "CSR with NaN": sparse.csr_matrix(NAN),
    "CSR with too few columns": sparse.csr_matrix(X[:, :2]),
    "CSR without rows": sparse.csr_matrix(X[:0]),
    "a sparse vector": sparse.coo_array(X[0]),
}


def answer(check):
    """What comes of a check: the kind, form and values of its answer, or its refusal."""
    try:
        found = check()
    except (TypeError, ValueError) as error:
        return type(error), str(error)
    values = found.toarray() if sparse.issparse(found) else found
    order = getattr(getattr(found, "flags", None), "c_contiguous", None)
    return type(found), found.dtype.str, order, values.tolist()


@pytest.fixture(scope="module")
def model():
    return MulticlassClassifier(max_passes=5, tol=10.0).fit(X, [0, 1, 0, 1])


@pytest.mark.filterwarnings("ignore")  # of names of features
@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("order", ["C", None])
def test_rows_are_checked_as_scikit_learn_checks_them(model, name, order):
    given = INPUTS[name]
    options = {"accept_sparse": "csr", "dtype": FLOATS, "order": order, "reset": False}
    expected = answer(lambda: validate_data(model, given, **options))
    assert answer(lambda: checked_rows(model, given, order=order)) == expected


def test_names_of_features_are_compared():
    named = pd.DataFrame(X, columns=["a", "b", "c"])
    model = MulticlassClassifier(max_passes=5, tol=10.0).fit(named, [0, 1, 0, 1])
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.predict(X)
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(named[["b", "a", "c"]])


@pytest.mark.parametrize("name", structlearn.estimators.__all__)
def test_estimators_are_scikit_learns(name):
    assert issubclass(getattr(structlearn.estimators, name), BaseEstimator)


STANDINS = """
from structlearn.core.prediction_only import promise_only_to_predict
promise_only_to_predict()
import structlearn, sys
from structlearn import {name} as kind
model = kind()
print(sorted(model.get_params()) == {parameters}, model.set_params(n_jobs=2).get_params()["n_jobs"])
try:
    model.set_params(nonsense=1)
except ValueError as error:
    print(error)
soft = kind(loss="softmax")
model.set_params(loss="hinge")
print(hasattr(model, "predict_proba"), hasattr(soft, "predict_proba"), "sklearn" in sys.modules)
"""


def test_stand_ins_have_the_parameters_of_the_real_ones():
    parameters = sorted(MulticlassClassifier().get_params())
    code = STANDINS.format(name="MulticlassClassifier", parameters=parameters)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    first, second, third = done.stdout.splitlines()
    assert first == "True 2"
    assert second == "MulticlassClassifier has no parameter 'nonsense'."
    assert third == "False True False"
