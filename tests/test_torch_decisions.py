"""Losses of decisions for networks: against enumeration, differences, and the certified optimum."""

from itertools import product

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from structlearn import DecisionPredictor  # noqa: E402
from structlearn.structures import Knapsack, ShortestPath  # noqa: E402
from structlearn.torch import DecisionLoss  # noqa: E402

PATHS = ShortestPath([(0, 1), (1, 3), (0, 2), (2, 3), (0, 3), (1, 2)], source=0, target=3)
ALL_PATHS = np.array([[1, 1, 0, 0, 0, 0], [0, 0, 1, 1, 0, 0], [0, 0, 0, 0, 1, 0], [1, 0, 0, 1, 0, 1]], float)
PACKINGS = Knapsack([2, 3, 4, 5], 7)
ALL_PACKINGS = np.array([z for z in product((0.0, 1.0), repeat=4) if np.dot(z, [2, 3, 4, 5]) <= 7])
CASES = {"paths": (PATHS, ALL_PATHS, "min"), "packings": (PACKINGS, ALL_PACKINGS, "max")}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def costs_of(case, n=8, seed=0):
    rng = np.random.default_rng(seed)
    size = case[1].shape[1]
    predicted = torch.tensor(rng.normal(1, 1, size=(n, size)), requires_grad=True)
    return predicted, torch.tensor(rng.uniform(0.2, 2, size=(n, size)))


def best_of(table, costs, sense):
    values = costs @ table.T
    return table[(values.argmin(1) if sense == "min" else values.argmax(1))]


@each_case
@pytest.mark.parametrize("alpha", [2.0, 0.7])
def test_spo_plus_is_the_textbook_form(case, alpha):
    structure, table, sense = case
    predicted, true = costs_of(case)
    c_hat, c = predicted.detach().numpy(), true.numpy()
    if sense == "max":  # the form of the paper is for costs
        c_hat, c = -c_hat, -c
    best = best_of(table, c, "min")
    # max_z <c - alpha c_hat, z> + alpha <c_hat, z*> - <c, z*>
    expected = ((c - alpha * c_hat) @ table.T).max(1) + ((alpha * c_hat - c) * best).sum(1)
    found = DecisionLoss(structure, alpha=alpha, sense=sense)(predicted, true)
    assert float(found.detach()) == pytest.approx(expected.mean(), rel=1e-12)


@each_case
def test_imitation_is_the_hinge_with_hamming_costs(case):
    structure, table, sense = case
    predicted, true = costs_of(case)
    best = best_of(table, true.numpy(), sense)
    sign = 1.0 if sense == "max" else -1.0
    scores = sign * 2 * predicted.detach().numpy()
    wrong = np.abs(table[None] - best[:, None]).mean(2)
    margins = wrong + (scores[:, None] * (table[None] - best[:, None])).sum(2)
    found = DecisionLoss(structure, "imitation", sense=sense)(predicted, true)
    assert float(found.detach()) == pytest.approx(margins.max(1).mean(), rel=1e-12)


@each_case
@pytest.mark.parametrize("loss", ["spo+", "imitation", "perturbed"])
def test_the_gradient_is_that_of_differences(case, loss):
    predicted, true = costs_of(case, n=3, seed=1)

    def value(costs):  # the same noise in every call
        return DecisionLoss(case[0], loss, sense=case[2], random_state=0)(costs, true)

    assert torch.autograd.gradcheck(value, (predicted,))


def test_the_perturbed_loss_nears_its_expectation():
    predicted, true = costs_of(CASES["paths"], n=1)
    loss = DecisionLoss(PATHS, "perturbed", noise=0.5, n_samples=4000, random_state=0)
    loss(predicted, true).backward()
    rng = np.random.default_rng(1)
    scores = -2 * predicted.detach().numpy() + 0.5 * rng.standard_normal((40000, 6))
    mean = best_of(ALL_PATHS, scores, "max").mean(0)
    expected = -2 * (mean - best_of(ALL_PATHS, true.numpy(), "min")[0])
    np.testing.assert_allclose(predicted.grad.numpy()[0], expected, atol=0.06)


def test_decisions_that_are_known_are_not_solved_again():
    predicted, true = (one.detach() for one in costs_of(CASES["paths"]))
    loss = DecisionLoss(PATHS)
    best = loss.decide(true)
    np.testing.assert_array_equal(best, best_of(ALL_PATHS, true.numpy(), "min"))
    assert float(loss(predicted, true, best)) == float(loss(predicted, true))
    assert float(loss(predicted, true, 1 - best)) != float(loss(predicted, true))


def test_a_linear_layer_comes_near_the_certified_optimum():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    costs = (X @ rng.binomial(1, 0.5, (3, 6)) + 3) ** 2 / 9 * rng.uniform(0.5, 1.5, (60, 6))
    strength = 0.05
    model = DecisionPredictor(PATHS, regularization=strength, tol=1e-6, random_state=0).fit(X, costs)
    layer, loss = torch.nn.Linear(3, 6).double(), DecisionLoss(PATHS)
    true = torch.tensor(costs)
    best = loss.decide(true)
    least = np.inf
    for step in range(400):
        value = loss(layer(torch.tensor(X)), true, best)
        value = value + strength / 2 * sum((one**2).sum() for one in layer.parameters())
        least = min(least, float(value.detach()))
        layer.zero_grad()
        value.backward()
        with torch.no_grad():
            for one in layer.parameters():
                one -= one.grad / (strength * (step + 2))
    certificate = model.certificate_
    assert certificate.dual <= least <= certificate.primal * 1.02


def test_single_precision_stays():
    predicted, true = costs_of(CASES["paths"])
    assert DecisionLoss(PATHS)(predicted.float(), true.float()).dtype is torch.float32


def test_refusals():
    predicted, true = costs_of(CASES["paths"])
    with pytest.raises(ValueError, match="Unknown loss 'hinge'"):
        DecisionLoss(PATHS, "hinge")
    with pytest.raises(ValueError, match="Unknown sense"):
        DecisionLoss(PATHS, sense="least")
    with pytest.raises(ValueError, match="must be positive"):
        DecisionLoss(PATHS, alpha=0.0)
    loss = DecisionLoss(PATHS)
    with pytest.raises(ValueError, match="both have the shape"):
        loss(predicted, true[:, :3])
    with pytest.raises(ValueError, match="has 6 parts; got 5"):
        loss(predicted[:, :5], true[:, :5])
    with pytest.raises(TypeError, match="floating-point"):
        loss(torch.ones(2, 6, dtype=torch.int64), true[:2])
    with pytest.raises(ValueError, match="lower the learning rate"):
        loss(predicted * float("nan"), true)
    with pytest.raises(ValueError, match="leave such examples out"):
        loss(predicted, true / 0)
