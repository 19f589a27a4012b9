"""Own `marginals` and `project`, plain and compiled: against enumeration, and refused if they are wrong."""

from itertools import combinations

import numba
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from own_structures import (
    ChooseTwo,
    CompiledChooseTwo,
    CompiledSoftChooseTwo,
    SoftChooseTwo,
    choose_two,
    marginals_of_two,
    project_on_two,
)
from structlearn import OracleError, StructuredPredictor
from structlearn.structures import as_structure, check_structure
from structlearn.structures.own_records import CalledMarginals, CalledProjection, CompiledMarginals
from structlearn.structures.regularized import Quadratic

RNG = np.random.default_rng(0)
X = [RNG.normal(size=(size, 3)) for size in [4, 5] * 8]
Y = [ChooseTwo().maximize(x @ [1.0, -1.0, 0.5] + RNG.normal(size=len(x))) for x in X]
OPTIONS = {"regularization": 0.05, "tol": 1e-6, "random_state": 0}
BOTH = pytest.mark.parametrize("kind", [SoftChooseTwo, CompiledSoftChooseTwo])


def vertices(n):
    """All choices of two of n parts."""
    return np.array([np.isin(np.arange(n), chosen) for chosen in combinations(range(n), 2)], dtype=float)


# ---- answers ----------------------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
def test_answers_are_the_objects_own(kind, scale):
    structure = as_structure(kind())
    theta = scale * np.random.default_rng(1).normal(size=6)
    scores = vertices(6) @ theta
    mean, log_z = structure.marginals(theta)
    assert log_z == pytest.approx(logsumexp(scores))
    np.testing.assert_allclose(mean, np.exp(scores - logsumexp(scores)) @ vertices(6), atol=1e-12)
    np.testing.assert_allclose(structure.project(theta), structure.by_vertices.project(theta), atol=1e-8)


def test_stacks_and_lists_have_own_answers():
    structure = as_structure(SoftChooseTwo())
    thetas = np.random.default_rng(2).normal(size=(3, 5))
    stacked = structure.marginals(thetas)
    assert stacked.mean.shape == (3, 5)
    np.testing.assert_allclose(stacked.mean.sum(axis=1), 2)
    for theta, point in zip(thetas, structure.project(list(thetas))):
        np.testing.assert_array_equal(point, SoftChooseTwo().project(theta))


# ---- training ---------------------------------------------------------------------------------------------


def written_out(w, loss):
    """P(w), from all outputs of every example."""
    value = OPTIONS["regularization"] / 2 * w @ w
    for x, y in zip(X, Y):
        theta, all_outputs = x @ w, vertices(len(x))
        if loss == "softmax":
            value += (logsumexp(all_outputs @ theta) - theta @ y) / len(X)
            continue
        z = as_structure(ChooseTwo()).project(theta)
        value += (theta @ z - z @ z / 2 + y @ y / 2 - theta @ y) / len(X)
    return value


@BOTH
@pytest.mark.parametrize("loss", ["softmax", "sparsemax"])
@pytest.mark.parametrize("solver", ["auto", "lbfgs", "sdca"])
def test_smooth_losses_are_trained_to_the_optimum(kind, loss, solver):
    model = StructuredPredictor(kind(), loss=loss, solver=solver, **OPTIONS).fit(X, Y)
    found = model.certificate_
    best = minimize(written_out, np.zeros(3), args=(loss,), tol=1e-12).fun
    assert found.converged
    assert found.primal == pytest.approx(written_out(model.weights_, loss), abs=1e-9)
    assert found.dual <= best + 1e-9
    assert found.primal >= best - 1e-9


def test_the_projection_replaces_the_active_set():
    own = StructuredPredictor(SoftChooseTwo(), loss="sparsemax", **OPTIONS).fit(X, Y)
    plain = StructuredPredictor(ChooseTwo(), loss="sparsemax", **OPTIONS).fit(X, Y)
    assert own.certificate_.primal == pytest.approx(plain.certificate_.primal, abs=2e-6)
    assert own.certificate_.calls < plain.certificate_.calls
    np.testing.assert_allclose(own.predict_marginals(X)[0].sum(), 2)


@numba.njit
def inexact(theta, out):
    project_on_two(theta, out)
    out *= 1 - 1e-7
    out += 2e-7 / theta.size


class InexactCompiled(CompiledSoftChooseTwo):
    project = staticmethod(inexact)


class Inexact(SoftChooseTwo):
    def project(self, theta):
        return super().project(theta) * (1 - 1e-7) + 2e-7 / theta.size


@pytest.mark.parametrize("kind", [Inexact, InexactCompiled])
def test_the_value_of_an_inexact_projection_is_a_bound(kind):
    structure, theta = as_structure(kind()), np.array([2.0, 1.7, 0.4, -3.0, 0.0])
    best = SoftChooseTwo().project(theta)
    point, value = structure.respond(Quadratic(structure.record), theta)
    assert theta @ point - point @ point / 2 < theta @ best - best @ best / 2 - 1e-9
    assert theta @ best - best @ best / 2 <= value <= theta @ best - best @ best / 2 + 1e-5


def test_an_oracle_without_marginals_says_so():
    with pytest.raises(TypeError, match="has no method `marginals`"):
        StructuredPredictor(ChooseTwo(), loss="softmax").fit(X, Y)


def test_only_what_an_object_has_is_used():
    class WithMarginals(ChooseTwo):
        marginals = SoftChooseTwo.marginals

    class WithProjection(ChooseTwo):
        project = SoftChooseTwo.project

    class CompiledWithMarginals(CompiledChooseTwo):
        marginals = staticmethod(marginals_of_two)

    assert isinstance(as_structure(WithMarginals()).record, CalledMarginals)
    assert isinstance(as_structure(WithProjection()).record, CalledProjection)
    assert isinstance(as_structure(CompiledWithMarginals()).record, CompiledMarginals)
    theta = np.array([1.0, 0.2, -1.0, 0.5])
    np.testing.assert_allclose(
        as_structure(WithMarginals()).project(theta), SoftChooseTwo().project(theta), atol=1e-8
    )


# ---- instances --------------------------------------------------------------------------------------------


class Listed:
    """The outputs of an example are its instance."""

    def maximize(self, theta, outputs):
        return outputs[np.argmax(outputs @ theta)]

    def marginals(self, theta, outputs):
        scores = outputs @ theta
        return np.exp(scores - logsumexp(scores)) @ outputs, logsumexp(scores)


def test_marginals_are_given_what_belongs_to_the_example():
    instances = [vertices(len(x)) for x in X]
    listed = StructuredPredictor(Listed(), loss="softmax", **OPTIONS).fit(X, Y, instances=instances)
    same = StructuredPredictor(SoftChooseTwo(), loss="softmax", **OPTIONS).fit(X, Y)
    assert listed.certificate_.primal == pytest.approx(same.certificate_.primal, abs=2e-6)


class WrongForOne(Listed):
    """Minimises where the instance has ten outputs."""

    def maximize(self, theta, outputs):
        return super().maximize(-theta if len(outputs) == 10 else theta, outputs)


class WrongMarginals(Listed):
    """Half of log Z."""

    def marginals(self, theta, outputs):
        mean, log_z = super().marginals(theta, outputs)
        return mean, log_z / 2


@pytest.mark.parametrize(
    ("kind", "sentence"), [(WrongForOne, "seems to minimise"), (WrongMarginals, "log Z is|derivatives")]
)
def test_instances_of_examples_are_asked_about(kind, sentence):
    instances = [vertices(len(x)) for x in X]
    with pytest.raises(OracleError, match=sentence):
        StructuredPredictor(kind(), **OPTIONS).fit(X, Y, instances=instances)


def test_instances_are_for_vectors():
    class Table(Listed):
        part_ndim = 2

    with pytest.raises(ValueError, match="write its parts in one vector"):
        StructuredPredictor(Table()).fit([np.ones((2, 2, 3))], [np.eye(2)], instances=[1])


# ---- refusals ---------------------------------------------------------------------------------------------


class NotADerivative(SoftChooseTwo):
    def marginals(self, theta):
        mean, log_z = super().marginals(theta)
        return 0.9 * mean, log_z


class TooLow(SoftChooseTwo):
    def marginals(self, theta):
        mean, log_z = super().marginals(theta)
        return mean, log_z - 3.0


class OtherOutputs(SoftChooseTwo):
    """Marginals of all subsets: consistent, but not of this polytope."""

    def marginals(self, theta):
        return 1 / (1 + np.exp(-theta)), float(np.log1p(np.exp(theta)).sum())


class MeanAlone(SoftChooseTwo):
    def marginals(self, theta):
        return super().marginals(theta)[0]


class Short(SoftChooseTwo):
    def marginals(self, theta):
        mean, log_z = super().marginals(theta)
        return mean[1:], log_z


class Infinite(SoftChooseTwo):
    def marginals(self, theta):
        return super().marginals(theta)[0], np.inf


class NotProjected(SoftChooseTwo):
    """The Euclidean projection onto the whole space."""

    def project(self, theta):
        return theta


class BestVertex(SoftChooseTwo):
    def project(self, theta):
        return self.maximize(theta)


class NaNProjection(SoftChooseTwo):
    def project(self, theta):
        return theta * np.nan


@numba.njit
def no_marginals(theta, out):
    return marginals_of_two(theta, out) + 1.0 + theta[0]


@numba.njit
def writes_half(theta, out):
    choose_two(theta, out)
    out /= 2


class CompiledWrongMarginals(CompiledSoftChooseTwo):
    marginals = staticmethod(no_marginals)


class CompiledWrongProjection(CompiledSoftChooseTwo):
    project = staticmethod(writes_half)


#: Wrong answers -> what the sentence must say
WRONG = {
    "scaled": (NotADerivative, "not the derivatives of log Z"),
    "too low": (TooLow, "below the score"),
    "other outputs": (OtherOutputs, "no mixture of outputs|below the score"),
    "no log-partition": (MeanAlone, r"must return \(mean, log_partition\)"),
    "too short": (Short, "must return a vector of 5 parts"),
    "infinite": (Infinite, "must be a finite number"),
    "outside": (NotProjected, "no mixture of outputs"),
    "a vertex": (BestVertex, "theta can be approached further"),
    "NaN": (NaNProjection, "project must return finite numbers"),
    "compiled marginals": (CompiledWrongMarginals, "not the derivatives of log Z"),
    "compiled projection": (CompiledWrongProjection, "falls short"),
}


@pytest.mark.parametrize(("kind", "sentence"), WRONG.values(), ids=WRONG)
def test_wrong_answers_are_refused_at_the_door(kind, sentence):
    same_size = [(x, y) for x, y in zip(X, Y) if len(x) == 5]
    inputs, outputs = zip(*same_size)
    with pytest.raises(OracleError, match=sentence):
        StructuredPredictor(kind(), **OPTIONS).fit(list(inputs), list(outputs))
    assert not check_structure(kind(), list(inputs), list(outputs)).ok


@BOTH
def test_right_answers_are_left_in_peace(kind):
    report = check_structure(kind(), X, Y)
    assert report.ok, str(report)
    assert {"marginals", "projections"} <= set(report.checks)


def test_compiled_and_plain_functions_do_not_mix():
    class Mixed(CompiledChooseTwo):
        marginals = SoftChooseTwo.marginals

    class MixedToo(ChooseTwo):
        marginals = staticmethod(marginals_of_two)

    for kind in (Mixed, MixedToo):
        with pytest.raises(TypeError, match="must both be Numba functions"):
            as_structure(kind())


def test_a_compiled_function_that_raises_is_named():
    @numba.njit
    def raises(theta, out):
        raise ValueError("no")

    class Raising(CompiledSoftChooseTwo):
        marginals = staticmethod(raises)

    with pytest.raises(RuntimeError, match="raised an exception or returned NaN"):
        as_structure(Raising()).marginals(np.ones(4))
