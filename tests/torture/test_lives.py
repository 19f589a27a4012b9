"""A share of the lives of `make torture`, of kinds whose kernels other tests need as well."""

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from structlearn.solvers import Solution
from torture import chain_problems, lives, part_problems, problems
from torture.beings import Being, Regressor

FEW = (
    Being(chain_problems.Chains, ("hinge / auto", "softmax / sdca", "softmax / lbfgs")),
    Being(problems.Multiclass, ("hinge / auto", "hinge / subgradient", "softmax / sdca", "softmax / lbfgs")),
    Being(part_problems.LocalCopy),
    Regressor(),
)


@pytest.mark.parametrize("being", FEW, ids=str)
def test_certificates_hold_all_through_a_life(being):
    machine = type("Life", (lives.Life,), {"beings": (being,)})
    run_state_machine_as_test(machine, settings=settings(lives.one_life(), max_examples=8, derandomize=True))


def test_a_dual_point_of_another_problem_is_found_out(monkeypatch):
    """With the checks of a warm start taken out, some life ends badly."""

    def unchecked(self, problem):
        fits = self.point is None or self.point.shape == (problem.point_start[-1],)
        return self if fits and self.w.size == problem.n_weights else None

    monkeypatch.setattr(Solution, "start_for", unchecked)
    monkeypatch.setattr(lives, "BEINGS", (Being(part_problems.LocalCopy, ("hinge / auto", "hinge / fw")),))
    assert any(lives.run(seed)[1] for seed in range(40))
