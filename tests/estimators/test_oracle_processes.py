"""Own oracles in plain Python with `parallel = "processes"`."""

import copy
import multiprocessing
import os

import numpy as np
import pytest

from own_structures import BestApart, ChooseTwo, ChooseTwoApart, EndsApart, RaisesApart
from structlearn import DecisionPredictor, OracleError, StructuredPredictor
from structlearn.structures import TopK, as_structure

RNG = np.random.default_rng(0)
X = [RNG.normal(size=(size, 4)) for size in [4, 5, 6] * 8]
Y = [ChooseTwo().maximize(x @ [1.0, -1.0, 0.5, 2.0] + RNG.normal(size=len(x))) for x in X]
OPTIONS = {"regularization": 0.05, "tol": 1e-4, "random_state": 0}


def others(folder):
    """The numbers of the processes, other than this one, that have answered."""
    return {int(one.name) for one in folder.iterdir()} - {os.getpid()}


@pytest.mark.parametrize("solver", ["auto", "bcfw", "fw", "cutting-plane"])
def test_processes_answer_and_end_with_the_fit(tmp_path, solver):
    oracle = ChooseTwoApart(tmp_path)
    model = StructuredPredictor(oracle, n_jobs=2, solver=solver, max_passes=5000, **OPTIONS).fit(X, Y)
    alone = StructuredPredictor(ChooseTwo(), **OPTIONS).fit(X, Y).certificate_
    found = model.certificate_
    assert others(tmp_path)
    assert not multiprocessing.active_children()
    assert found.converged
    assert max(found.dual, alone.dual) <= min(found.primal, alone.primal)
    asked_before = 48  # by `fit`, to see that the oracle maximises
    assert oracle.calls_here <= asked_before < found.calls


def test_batches_at_one_w_are_the_same_every_time(tmp_path):
    fits = [StructuredPredictor(ChooseTwoApart(tmp_path), n_jobs=2, **OPTIONS).fit(X, Y) for _ in range(2)]
    np.testing.assert_array_equal(fits[0].weights_, fits[1].weights_)


def test_one_job_stays_in_this_process(tmp_path):
    oracle = ChooseTwoApart(tmp_path)
    model = StructuredPredictor(oracle, **OPTIONS).fit(X, Y)
    same = StructuredPredictor(ChooseTwo(), **OPTIONS).fit(X, Y)
    np.testing.assert_array_equal(model.weights_, same.weights_)
    assert not others(tmp_path)


def test_predictions_are_shared_out(tmp_path):
    model = StructuredPredictor(ChooseTwoApart(tmp_path), n_jobs=2, **OPTIONS).fit(X, Y)
    model.structure_.inner.calls_here = 0
    predicted = model.predict(X)
    assert model.structure_.inner.calls_here == 0
    assert not multiprocessing.active_children()
    for x, z in zip(X, predicted):
        np.testing.assert_array_equal(z, ChooseTwo().maximize(x @ model.coef_))


def test_decisions_with_instances_in_processes():
    rng = np.random.default_rng(1)
    features, costs, sizes = rng.normal(size=(18, 2)), rng.normal(size=(18, 5)), [1, 2, 3] * 6
    own = DecisionPredictor(BestApart(), n_jobs=2, **OPTIONS).fit(features, costs, instances=sizes)
    ours = DecisionPredictor(TopK(5, 1), **OPTIONS)
    ours.fit(features, costs, instances=[TopK(5, k) for k in sizes])
    assert own.certificate_.dual <= ours.certificate_.primal
    assert ours.certificate_.dual <= own.certificate_.primal
    np.testing.assert_array_equal(own.predict(features, instances=sizes).sum(axis=1), sizes)
    assert not multiprocessing.active_children()


@pytest.mark.parametrize(
    ("kind", "error", "sentence"),
    [(RaisesApart, ArithmeticError, "a bad day"), (EndsApart, OracleError, "ended early")],
)
def test_what_fails_there_is_raised_here(kind, error, sentence):
    with pytest.raises(error, match=sentence):
        StructuredPredictor(kind(), n_jobs=2, **OPTIONS).fit(X, Y)
    assert not multiprocessing.active_children()


def test_an_object_that_cannot_be_sent_is_refused():
    class Local(ChooseTwo):
        parallel = "processes"

    with pytest.raises(TypeError, match=r"cannot be sent to other processes .* leave out parallel"):
        StructuredPredictor(Local(), n_jobs=2, **OPTIONS).fit(X, Y)


def test_an_unknown_way_is_refused():
    class Wrong(ChooseTwo):
        parallel = "fibres"

    with pytest.raises(ValueError, match="must be 'threads' or 'processes'; got 'fibres'"):
        as_structure(Wrong())


def test_a_copy_has_no_processes(tmp_path):
    structure = as_structure(ChooseTwoApart(tmp_path))
    with structure.ahead.working():
        other = copy.deepcopy(structure)
        assert structure.ahead.in_processes
        assert not other.ahead.in_processes
