"""The examples of docs/own-structure.md run, in order, and do what the page says."""

import re
from pathlib import Path

import numpy as np
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "own-structure.md"


@pytest.fixture(scope="module")
def pieces():
    """The page's code: the data and the plain structure, the compiled one, the soft one, the network."""
    found = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    data, plain, positive, check, compiled, soft, network = found
    return {
        "plain": data + plain + positive + check,
        "compiled": compiled,
        "soft": soft,
        "network": network,
    }


@pytest.fixture(scope="module")
def names(pieces):
    """What the first two examples leave behind."""
    found = {}
    exec(pieces["plain"] + pieces["compiled"], found)  # noqa: S102  (our own page)
    return found


def right(found, y):
    return np.mean([np.array_equal(a, b) for a, b in zip(found, y)])


def test_the_plain_and_the_compiled_structure_reach_one_optimum(names):
    plain, compiled = names["model"], names["compiled"]
    for model in (plain, compiled):
        assert model.certificate_.converged
        assert right(model.predict(names["X"]), names["y"]) > 0.7
    assert plain.certificate_.primal == pytest.approx(compiled.certificate_.primal, abs=2e-3)


def test_weights_that_are_not_negative_cost_a_higher_objective(names):
    free, bound = names["model"], names["upward"]
    assert free.coef_.min() < 0 <= bound.coef_.min()
    assert bound.certificate_.converged
    assert bound.certificate_.primal > free.certificate_.dual


def test_the_check_finds_no_problem(names):
    assert names["check_structure"](names["AtMostTwo"](), names["X"], names["y"]).ok


def test_the_soft_structure_has_probabilities(names, pieces):
    found = dict(names)
    exec(pieces["soft"], found)  # noqa: S102  (our own page)
    X, y, soft = found["X"], found["y"], found["soft"]
    assert soft.certificate_.converged
    assert right(soft.predict(X), y) > 0.7
    assert found["check_structure"](found["SoftAtMostTwo"](), X, y).ok
    assert all(0 < mean.sum() < 2 for mean in soft.predict_marginals(X))


def test_the_network_learns_the_sets(names, pieces):
    pytest.importorskip("torch")
    found = dict(names)
    exec(pieces["network"], found)  # noqa: S102  (our own page)
    assert right(found["chosen"], found["y"]) > 0.7
    shares = found["shares"].detach().numpy()
    assert shares.min() >= -1e-9
    assert shares.max() <= 1 + 1e-9
    assert (shares.sum(axis=1) <= 2 + 1e-9).all()
