"""One protocol for all problems: each kind has what `Problem` says, of the types that it says."""

from inspect import signature
from typing import get_origin, get_type_hints

import numpy as np
import pytest
from scipy import sparse

from brute import problem
from structlearn.core.rounding import Magnitude
from structlearn.distributed.spread import SpreadObjective
from structlearn.distributed.worker import Facts
from structlearn.problem.least_squares import LeastSquares
from structlearn.problem.penalties import ElasticNet
from structlearn.problem.problem import Composite, Problem
from structlearn.solvers import LBFGS, Extragradient
from structlearn.solvers.checkpoint import digest
from structlearn.solvers.first_order.projected_gradient import ProjectedGradient
from structlearn.solvers.needs import check_needs
from structlearn.structures import Chain

X = np.asfortranarray(np.random.default_rng(0).normal(size=(6, 3)))


def squares(X):
    return LeastSquares(X, np.arange(6.0), ElasticNet(0.1), 0.1)


def spread():
    facts = Facts(6.0, 6, 3, "digest", Magnitude(1.0, 1.0, 1.0, 3, 2, 6, 3, 6), 0)
    return SpreadObjective(OneWorker(), Chain(2), 0.5, [facts])


class OneWorker:
    """An engine whose only worker has a loss of 1/4 everywhere."""

    def call(self, name, arguments):
        assert name == "loss"
        return dict.fromkeys(arguments, 0.25)


KINDS = {
    "chain": lambda: problem("chain").objective,
    "least squares": lambda: squares(X),
    "least squares, sparse": lambda: squares(sparse.csc_matrix(X)),
    "on workers": spread,
}
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
def test_every_problem_has_what_is_asked_of_it(kind):
    found = KINDS[kind]()
    assert isinstance(found, Problem)
    for name, member in vars(Problem).items():
        if isinstance(member, property):
            said = get_type_hints(member.fget)["return"]
            assert isinstance(getattr(found, name), get_origin(said) or said), name
    w = np.ones(found.n_weights)
    value = found.primal(w)
    assert isinstance(value, float)
    assert 0.0 <= found.primal_rounding(w, value) <= 1e-9 * value


@each_kind
def test_methods_take_the_arguments_that_the_protocol_names(kind):
    found = KINDS[kind]()
    protocol = Composite if hasattr(found, "predictions") else Problem
    for name in ("primal", "primal_rounding", "predictions", "dual_of_map"):
        if hasattr(protocol, name):
            said = list(signature(getattr(protocol, name)).parameters)[1:]
            assert list(signature(getattr(found, name)).parameters)[: len(said)] == said


def test_what_a_problem_lacks_is_refused_at_the_door():
    with pytest.raises(ValueError, match="Solver 'lbfgs' needs all data on one machine"):
        check_needs(LBFGS(), spread())
    with pytest.raises(ValueError, match="is for loss='hinge'"):
        check_needs(Extragradient(), squares(X))
    with pytest.raises(ValueError, match="without shared parts"):
        check_needs(ProjectedGradient(), problem("chain").objective)
    check_needs(LBFGS(), squares(X))


def test_the_content_of_a_problem_tells_it_from_others():
    kinds = [make() for make in KINDS.values()] + [squares(2 * X)]
    assert len({digest(one, None, 0.1) for one in kinds}) == len(kinds)
    assert digest(squares(X), None, 0.1) == digest(squares(X.copy(order="F")), None, 0.1)
