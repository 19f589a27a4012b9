"""Own oracles in plain Python: bounds, batches, threads, what belongs to an example, and counted calls."""

import threading

import numpy as np
import pytest

from own_structures import ChooseTwo, choose_two
from structlearn import DecisionPredictor, OracleError, StructuredPredictor
from structlearn.structures import TopK, as_structure

RNG = np.random.default_rng(0)
X = [RNG.normal(size=(size, 4)) for size in [4, 5, 6] * 6]
Y = [ChooseTwo().maximize(x @ [1.0, -1.0, 0.5, 2.0]) for x in X]
OPTIONS = {"regularization": 0.1, "tol": 1e-3, "random_state": 0}


class Loose:
    """Answers with a bound that is 0.01 too high."""

    bounded = True

    def maximize(self, theta):
        vertex = ChooseTwo().maximize(theta)
        return vertex, float(theta @ vertex) + 0.01


class Batches(ChooseTwo):
    """Answers many questions at once."""

    def __init__(self):
        self.sizes = []

    def maximize_many(self, thetas):
        self.sizes.append(len(thetas))
        return [self.maximize(theta) for theta in thetas]


class Counted(ChooseTwo):
    """Counts its calls and the threads that made them."""

    def __init__(self):
        self.calls, self.threads = 0, set()

    def maximize(self, theta):
        self.calls += 1
        self.threads.add(threading.get_ident())
        return super().maximize(theta)


class BestOf:
    """As many parts as the example says."""

    def maximize(self, theta, k):
        return TopK(theta.size, k).maximize(theta)


# ---- bounds ---------------------------------------------------------------------------------------------


def test_p_uses_the_bound_and_d_the_vertices():
    exact = StructuredPredictor(ChooseTwo(), **OPTIONS | {"tol": 1e-6}).fit(X, Y).certificate_
    loose = StructuredPredictor(Loose(), max_passes=50, **OPTIONS).fit(X, Y).certificate_
    assert not loose.converged
    assert "bounds of inference leave 0.00" in loose.status
    assert loose.inference_gap == pytest.approx(0.01, abs=1e-3)
    assert loose.dual <= exact.primal
    assert loose.primal == pytest.approx(exact.primal + 0.01, abs=1e-3)
    assert loose.gap == pytest.approx(0.01, abs=1e-3)


@pytest.mark.parametrize(
    ("bounded", "off", "sentence"),
    [
        (True, -0.1, "which is higher"),
        (False, 0.1, "bounded = True"),
        (True, np.inf, "infinite bound"),
        (True, np.nan, "which is higher"),
    ],
)
def test_values_that_cannot_be_are_refused(bounded, off, sentence):
    class Wrong:
        def maximize(self, theta):
            vertex = ChooseTwo().maximize(theta)
            return vertex, float(theta @ vertex) + off

    Wrong.bounded = bounded
    with pytest.raises(OracleError, match=sentence):
        as_structure(Wrong()).maximize(np.array([1.0, 2.0, 3.0]))


def test_a_bounded_oracle_must_return_a_bound():
    class NoBound(ChooseTwo):
        bounded = True

    with pytest.raises(OracleError, match="returned no bound"):
        as_structure(NoBound()).maximize(np.array([1.0, 2.0, 3.0]))


# ---- batches, threads, counts ---------------------------------------------------------------------------


def test_batches_are_asked_where_all_examples_are():
    oracle = Batches()
    model = StructuredPredictor(oracle, **OPTIONS).fit(X, Y)
    one_by_one = StructuredPredictor(ChooseTwo(), **OPTIONS).fit(X, Y)
    np.testing.assert_array_equal(model.weights_, one_by_one.weights_)
    assert len(X) in oracle.sizes
    oracle.sizes.clear()
    model.predict(X)
    assert oracle.sizes == [len(X)]


def test_a_batch_of_another_size_is_refused():
    class Short(ChooseTwo):
        def maximize_many(self, thetas):
            return [self.maximize(thetas[0])]

    with pytest.raises(OracleError, match=r"one answer per question \(18\); got 1"):
        StructuredPredictor(Short(), **OPTIONS).fit(X, Y)


def test_the_certificate_counts_all_calls():
    oracle = Counted()
    structure = as_structure(oracle)
    found = StructuredPredictor(structure, **OPTIONS).fit(X, Y).certificate_
    asked_before = 18  # by `fit`, to see that the oracle maximises
    assert oracle.calls - 40 <= found.calls <= oracle.calls - min(asked_before, 8)
    assert found.calls > found.oracle_calls
    assert found.as_dict()["calls"] == found.calls
    compiled = StructuredPredictor(choose_two, **OPTIONS).fit(X, Y).certificate_
    assert compiled.calls == 0
    assert "calls" not in compiled.as_dict()


def test_threads_answer_where_all_examples_are_asked():
    oracle = Counted()
    with pytest.warns(UserWarning, match="only where all examples are asked at once"):
        model = StructuredPredictor(oracle, n_jobs=2, **OPTIONS).fit(X, Y)
    alone = StructuredPredictor(ChooseTwo(), **OPTIONS).fit(X, Y)
    np.testing.assert_array_equal(model.weights_, alone.weights_)
    assert len(oracle.threads) > 1


# ---- what belongs to an example -------------------------------------------------------------------------


def test_maximize_is_given_what_belongs_to_the_example():
    sizes = [1, 2, 3] * 6
    y = [BestOf().maximize(x @ [1.0, -1.0, 0.5, 2.0], k) for x, k in zip(X, sizes)]
    model = StructuredPredictor(BestOf(), **OPTIONS).fit(X, y, instances=sizes)
    assert [int(z.sum()) for z in model.predict(X, instances=sizes[::-1])] == sizes[::-1]
    assert model.score(X, y, instances=sizes) > 0.5
    with pytest.raises(TypeError, match=r"give instances=\[...\], one per example"):
        model.predict(X)


def test_decisions_of_own_oracles_take_instances():
    rng = np.random.default_rng(1)
    features, costs, sizes = rng.normal(size=(18, 2)), rng.normal(size=(18, 5)), [1, 2, 3] * 6
    own = DecisionPredictor(BestOf(), **OPTIONS).fit(features, costs, instances=sizes)
    ours = DecisionPredictor(TopK(5, 1), **OPTIONS)
    ours.fit(features, costs, instances=[TopK(5, k) for k in sizes])
    assert own.certificate_.dual <= ours.certificate_.primal
    assert ours.certificate_.dual <= own.certificate_.primal
    np.testing.assert_array_equal(own.predict(features, instances=sizes).sum(axis=1), sizes)


def test_instances_that_cannot_be_are_refused():
    with pytest.raises(ValueError, match=r"one entry per example \(18\); got 2"):
        StructuredPredictor(BestOf(), **OPTIONS).fit(X, Y, instances=[1, 2])
    with pytest.raises(TypeError, match="ChooseTwo has not"):
        StructuredPredictor(ChooseTwo(), **OPTIONS).fit(X, Y, instances=[1] * 18)
    with pytest.raises(TypeError, match="give instances"):
        DecisionPredictor(BestOf(), **OPTIONS).fit(np.ones((3, 1)), np.ones((3, 4)))
