"""Checks that need scikit-learn only to refuse: they give and refuse what scikit-learn's do."""

import copy
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state
from sklearn.utils.validation import validate_data

import structlearn
from structlearn import MulticlassClassifier
from structlearn.estimators.scikit import FLOATS, checked_rows, drawn_seed

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


BEFORE = """
import sys, structlearn
from structlearn import MulticlassClassifier as kind
model = kind()
print(sorted(model.get_params()) == {parameters}, model.set_params(n_jobs=2).get_params()["n_jobs"])
soft = kind(loss="softmax")
model.set_params(loss="hinge")
print(hasattr(model, "predict_proba"), hasattr(soft, "predict_proba"), "sklearn" in sys.modules)
"""


def printed(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def printed_here(code):
    """As `printed`, in this process, which has imported scikit-learn."""
    with redirect_stdout(StringIO()) as out:
        exec(code, {"__name__": "__main__"})  # noqa: S102
    return out.getvalue().splitlines()


def test_parameters_need_no_scikit_learn():
    parameters = sorted(MulticlassClassifier().get_params())
    assert printed(BEFORE.format(parameters=parameters)) == ["True 2", "False True False"]


#: Ways to import scikit-learn after an estimator or before, as a whole or in part.
ORDERS = {
    "after": "from structlearn import *; import sklearn.base",
    "before": "import sklearn.base; from structlearn import *",
    "another part of it": "from structlearn import *; from sklearn.pipeline import make_pipeline",
    "some estimators before": "from structlearn import Tagger; import sklearn; from structlearn import *",
    "a thread": "from structlearn import *; import threading, importlib\n"
    "other = threading.Thread(target=importlib.import_module, args=('sklearn.svm',))\n"
    "other.start(); other.join()",
}
KINDS = """
import structlearn
from sklearn.base import BaseEstimator, clone, is_classifier, is_regressor
from sklearn.utils import get_tags
def describe(kind):
    requests = sorted(name for name in dir(kind) if name.endswith("_request") and name.startswith("set_"))
    bases = [base.__name__ for base in kind.__mro__ if base.__module__.startswith("sklearn")]
    return kind.__name__, kind.__doc__, bases, requests
for name in [*structlearn.estimators.__all__, "Tagger", "Aligner"]:
    kind = getattr(structlearn, name, None) or getattr(structlearn.estimators, name)
    print(describe(kind), issubclass(kind, BaseEstimator))
for one in (structlearn.MulticlassClassifier(loss="hinge"), structlearn.LinearRegressor()):
    print(repr(one), clone(one), is_classifier(one), is_regressor(one), get_tags(one))
"""


@pytest.mark.parametrize("order", ORDERS)
def test_estimators_are_the_same_in_every_order_of_imports(order):
    usual = printed_here(KINDS)
    assert printed(f"{ORDERS[order]}\n{KINDS}") == usual
    assert all(line.endswith(" True") for line in usual[:-2])


#: What only scikit-learn can answer, asked before anything has imported it.
ASKED = {
    "repr": "model",
    "nested parameters": "model.set_params(loss__depth=1)",
    "unknown parameters": "model.set_params(nonsense=1)",
    "tags": "model.__sklearn_tags__()",
    "routing": "model.get_metadata_routing()",
    "a page of a notebook": "sorted(model._repr_mimebundle_())",
    "score": "model.score([[0.0]], [0])",
    "a score of a subclass": "Doubled().score([[0.0]], [0])",
    "probabilities": "model.predict_proba",
    "unbound probabilities": "MulticlassClassifier.predict_proba(model, [[0.0]])",
}
ASK = """
from structlearn import MulticlassClassifier
class Doubled(MulticlassClassifier):
    def predict(self, X):
        return [0]
    def score(self, X, y):
        return 2 * super().score(X, y)
model = MulticlassClassifier(loss="hinge")
try:
    print({question})
except Exception as error:
    print(type(error), error)
"""


@pytest.mark.parametrize("name", ASKED)
def test_questions_import_scikit_learn_where_it_must_answer(name):
    question = ASK.format(question=ASKED[name])
    assert printed(question) == printed_here(question)


@pytest.mark.parametrize("state", [0, 7, 2**32 - 1, True, np.int64(3), np.random.RandomState(5)])
def test_seeds_are_drawn_as_scikit_learn_draws_them(state):
    expected = check_random_state(copy.deepcopy(state)).randint(np.iinfo(np.int32).max)
    assert drawn_seed(copy.deepcopy(state)) == expected


@pytest.mark.parametrize("state", [-1, 2**32, "a"])
def test_seeds_are_refused_as_scikit_learn_refuses_them(state):
    assert answer(lambda: drawn_seed(state)) == answer(lambda: check_random_state(state))
