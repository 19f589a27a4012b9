"""The PyTorch layers: against autograd through enumeration, and by finite differences."""

from itertools import pairwise, product

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from own_structures import ChooseTwo  # noqa: E402
from structlearn.problem.losses import FenchelYoungLoss, Shannon, SquaredNorm, Tsallis, Zero  # noqa: E402
from structlearn.structures import Chain, Cube, Matching, ProjectiveTree, Simplex  # noqa: E402
from structlearn.torch import StructuredLayer, StructuredLoss  # noqa: E402

#: structure, regulariser, shapes of the scores and of the shared scores, a batch of outputs
CASES = {
    "softmax": (Simplex(4), Shannon(), (3, 4), None, [0, 3, 1]),
    "sparsemax": (Simplex(4), SquaredNorm(), (3, 4), None, [0, 3, 1]),
    "entmax": (Simplex(4), Tsallis(1.5), (3, 4), None, [0, 3, 1]),
    "switches": (Cube(3), Shannon(), (2, 3), None, torch.tensor([[0, 1, 1], [1, 0, 0]])),
    "crf": (Chain(3), Shannon(), (2, 4, 3), (3, 3), torch.tensor([[0, 2, 1, 1], [2, 2, 0, 1]])),
    "sparsemap of chains": (Chain(2), SquaredNorm(), (2, 3, 2), (2, 2), torch.tensor([[0, 1, 1], [1, 1, 0]])),
    "sparsemap of matchings": (Matching(), SquaredNorm(), (2, 2, 3), None, torch.eye(3)[:2].repeat(2, 1, 1)),
    "trees": (ProjectiveTree(), Shannon(), (2, 4, 3), None, torch.tensor([[0, 1, 2], [2, 0, 2]])),
    "own": (ChooseTwo(), SquaredNorm(), (2, 4), None, torch.tensor([[1, 1, 0, 0], [0, 1, 0, 1]])),
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def scores(shape, seed=0, scale=1.0):
    values = scale * np.random.default_rng(seed).normal(size=shape)
    return torch.tensor(values, requires_grad=True)


def arguments(case):
    theta, shared = scores(case[2]), None if case[3] is None else scores(case[3], 1)
    return [theta] if shared is None else [theta, shared]


# ---- derivatives ----------------------------------------------------------------------------------------


@each_case
def test_the_loss_has_the_derivatives_of_finite_differences(case):
    structure, regularizer, *_, y = case
    loss = StructuredLoss(structure, regularizer, reduction="none")
    assert torch.autograd.gradcheck(lambda theta, *shared: loss(theta, y, *shared), arguments(case))


@each_case
def test_the_prediction_has_the_derivatives_of_finite_differences(case):
    layer = StructuredLayer(case[0], case[1])
    assert torch.autograd.gradcheck(layer, arguments(case), atol=1e-5, nondet_tol=1e-8)


@each_case
def test_the_loss_can_be_differentiated_twice(case):
    structure, regularizer, *_, y = case
    loss = StructuredLoss(structure, regularizer, reduction="none")
    function, given = (lambda theta, *shared: loss(theta, y, *shared)), arguments(case)
    assert torch.autograd.gradgradcheck(function, given, atol=1e-5, nondet_tol=1e-8)


def log_partition(theta, shared, start=0.0, end=0.0):
    """The forward algorithm of one chain, as autograd sees it."""
    ahead = theta[0] + start
    for unary in theta[1:]:
        ahead = unary + torch.logsumexp(ahead[:, None] + shared, 0)
    return torch.logsumexp(ahead + end, 0)


@pytest.mark.parametrize("scale", [0.1, 1.0, 30.0])
@pytest.mark.parametrize("ends", [False, True])
def test_the_derivative_of_marginals_is_that_of_autograd_twice(scale, ends):
    theta, tables = scores((3, 5, 4), 2, scale), scores((4 * (6 if ends else 4),), 3, scale)
    pieces = (tables[:16].reshape(4, 4), *((tables[16:20], tables[20:]) if ends else ()))
    expected = torch.autograd.grad(
        sum(log_partition(one, *pieces) for one in theta), theta, create_graph=True
    )[0]
    answers = StructuredLayer(Chain(4, start=ends, end=ends), Shannon())(theta, tables)
    v = scores(theta.shape, 4).detach()
    found, wanted = (
        torch.autograd.grad(z, [theta, tables], v, retain_graph=True) for z in (answers, expected)
    )
    torch.testing.assert_close(answers, expected)
    for one, other in zip(found, wanted):
        torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def derivative(case, theta, v, *shared):
    """J v of the layer."""
    theta = theta.detach().requires_grad_()
    return torch.autograd.grad(StructuredLayer(case[0], case[1])(theta, *shared), theta, v)[0]


@each_case
@pytest.mark.parametrize("size", [1e4, 1e8])
def test_an_example_of_large_scores_leaves_the_others_alone(case, size):
    theta, *shared = (one.detach() for one in arguments(case))
    v = scores(theta.shape, 5).detach()
    large = torch.cat([size * theta[:1], theta])
    found = derivative(case, large, torch.cat([v[:1] * size, v]), *shared)[1:]
    torch.testing.assert_close(found, derivative(case, theta, v, *shared), rtol=1e-9, atol=1e-9)


@each_case
@pytest.mark.parametrize("low", [-1e4, -1e9, -1e30])
def test_a_finite_mask_is_a_mask(case, low):
    theta, *shared = (one.detach() for one in arguments(case))
    v, last = scores(theta.shape, 5).detach(), (slice(None), *[-1] * (theta.ndim - 1))
    found = {}
    for name, value in (("finite", low), ("infinite", -np.inf)):
        masked = theta.clone()
        masked[last] = value
        found[name] = derivative(case, masked, v, *shared)
    assert not found["finite"][last].any()
    assert found["finite"].any()
    torch.testing.assert_close(found["finite"], found["infinite"], rtol=1e-6, atol=1e-9)


def test_the_gradient_of_a_crf_is_that_of_autograd_through_all_labellings():
    theta, shared = arguments(CASES["crf"])
    y = CASES["crf"][4]

    def by_enumeration():
        total = 0.0
        for table, gold in zip(theta, y.tolist()):
            values = {
                labels: sum(table[t, k] for t, k in enumerate(labels))
                + sum(shared[pair] for pair in pairwise(labels))
                for labels in product(range(3), repeat=4)
            }
            total = total + torch.logsumexp(torch.stack(list(values.values())), 0) - values[tuple(gold)]
        return total

    ours = StructuredLoss(Chain(3), Shannon(), reduction="sum")(theta, y, shared)
    expected = by_enumeration()
    assert float(ours.detach()) == pytest.approx(float(expected.detach()))
    pairs = zip(torch.autograd.grad(ours, [theta, shared]), torch.autograd.grad(expected, [theta, shared]))
    for found, wanted in pairs:
        torch.testing.assert_close(found, wanted)


def test_no_gradient_passes_a_hard_choice():
    theta = scores((3, 4))
    StructuredLayer(Simplex(4), Zero())(theta).square().sum().backward()
    assert not theta.grad.any()


# ---- values, padding, types -----------------------------------------------------------------------------


@each_case
@pytest.mark.parametrize("cost", [None, "hamming"])
def test_the_loss_is_that_of_the_library(case, cost):
    structure, regularizer, *_, y = case
    given = [one.detach() for one in arguments(case)]
    ours = StructuredLoss(structure, regularizer, cost, reduction="none")(given[0], y, *given[1:])
    loss = FenchelYoungLoss(structure, regularizer, cost)
    for found, theta, one in zip(ours, given[0].numpy(), y):
        one = one.numpy() if isinstance(one, torch.Tensor) else one
        if len(given) > 1:
            theta = np.concatenate([theta.ravel(), given[1].numpy().ravel()])
        assert float(found) == pytest.approx(loss.value(theta, one))


def test_padding_changes_nothing():
    theta, shared = scores((2, 4, 3)), scores((3, 3), 1)
    y = torch.tensor([[0, 2, -1, -1], [2, 2, 0, 1]])
    mask = torch.tensor([[True, True, False, False], [True] * 4])
    loss, layer = StructuredLoss(Chain(3), Shannon(), reduction="sum"), StructuredLayer(Chain(3), Shannon())
    padded = loss(theta, y, shared, mask=mask)
    apart = loss(theta[:1, :2], y[:1, :2], shared) + loss(theta[1:], y[1:], shared)
    torch.testing.assert_close(padded, apart)
    grad, grad_apart = (torch.autograd.grad(value, theta, retain_graph=True)[0] for value in (padded, apart))
    torch.testing.assert_close(grad, grad_apart)
    answers = layer(theta, shared, sizes=[2, 4])
    torch.testing.assert_close(answers[:1, :2], layer(theta[:1, :2], shared))
    assert not answers[0, 2:].any()


def test_padding_of_two_axes_and_decoding():
    theta = scores((2, 3, 4)).detach()
    mask = torch.zeros(2, 3, 4, dtype=torch.bool)
    mask[0, :2, :2] = True
    mask[1] = True
    layer = StructuredLayer(Matching(), SquaredNorm())
    links = layer.decode(theta, mask=mask)
    assert [table.shape for table in links] == [(2, 2), (3, 4)]
    np.testing.assert_array_equal(links[1], Matching().maximize(theta[1].numpy()))
    torch.testing.assert_close(layer(theta, mask=mask)[0, :2, :2], layer(theta[:1, :2, :2])[0])


def test_scores_of_single_precision_keep_it():
    theta = scores((3, 4)).detach().float().requires_grad_()
    loss = StructuredLoss(Simplex(4), Shannon())(theta, torch.tensor([0, 3, 1]))
    loss.backward()
    assert loss.dtype == theta.grad.dtype == torch.float32
    expected = torch.nn.functional.cross_entropy(theta, torch.tensor([0, 3, 1]))
    torch.testing.assert_close(loss, expected)


@each_case
@pytest.mark.parametrize("size", [1.0, 1e4])
def test_losses_of_single_precision_are_those_of_double(case, size):
    structure, regularizer, *_, y = case
    given = [size * one.detach().float() for one in arguments(case)]
    loss = StructuredLoss(structure, regularizer, reduction="none")
    single, double = (
        loss(theta.to(kind), y, *shared)
        for kind in (torch.float32, torch.float64)
        for theta, *shared in [given]
    )
    assert (single >= 0).all()
    torch.testing.assert_close(single.double(), double, rtol=1e-6, atol=1e-30)


def test_a_loss_of_large_scores_is_not_negative():
    """The best label by 0.01: of scores of 1e4, single precision subtracts to a thousandth at best."""
    theta = 1e4 + torch.tensor(np.random.default_rng(0).normal(size=(200, 5)), dtype=torch.float32)
    gold = theta.argmax(1)
    found = StructuredLoss(Simplex(5), SquaredNorm(), reduction="none")(theta, gold)
    assert (found >= 0).all()
    by_hand = FenchelYoungLoss(Simplex(5), SquaredNorm()).value(theta.double().numpy(), gold.numpy())
    np.testing.assert_allclose(found.numpy(), by_hand, atol=1e-6)


def test_half_precision():
    theta = scores((3, 4)).detach().bfloat16().requires_grad_()
    StructuredLoss(Simplex(4), Shannon())(theta, [0, 1, 2]).backward()
    assert theta.grad.dtype == torch.bfloat16


def test_a_forbidden_part_is_never_used_and_gets_no_gradient():
    theta = scores((2, 4))
    forbidden = torch.tensor([[False, True, False, False], [False] * 4])
    allowed = theta.masked_fill(forbidden, -np.inf)
    StructuredLoss(Simplex(4), Shannon())(allowed, [0, 2]).backward()
    assert theta.grad[0, 1] == 0
    assert torch.isfinite(theta.grad).all()


def test_a_network_learns_through_the_layer():
    """One linear layer and a chain: counting, from one-hot digits with a wrong one in three."""
    rng = np.random.default_rng(0)
    y = torch.tensor((rng.integers(4, size=(40, 1)) + np.arange(6)) % 4)
    seen = torch.where(
        torch.tensor(rng.random((40, 6)) < 0.3), torch.tensor(rng.integers(4, size=(40, 6))), y
    )
    X = torch.nn.functional.one_hot(seen, 4).double()
    network = torch.nn.Linear(4, 4).double()
    transitions = torch.nn.Parameter(torch.zeros(4, 4, dtype=torch.float64))
    loss, layer = StructuredLoss(Chain(4), Shannon()), StructuredLayer(Chain(4), Shannon())
    optimizer = torch.optim.Adam([*network.parameters(), transitions], lr=0.1)
    for _ in range(40):
        optimizer.zero_grad()
        loss(network(X), y, transitions).backward()
        optimizer.step()
    found = np.stack(layer.decode(network(X), transitions))
    assert (found != y.numpy()).mean() < 0.1 < (seen != y).double().mean()


# ---- refusals -------------------------------------------------------------------------------------------


def test_refusals():
    layer, loss = StructuredLayer(Chain(3), Shannon()), StructuredLoss(Chain(3), Shannon())
    theta, shared = scores((2, 4, 3)), scores((3, 3))
    with pytest.raises(ValueError, match="not both"):
        layer(theta, shared, sizes=[1, 2], mask=torch.ones(2, 4, dtype=torch.bool))
    with pytest.raises(ValueError, match="between 1 and the padded"):
        layer(theta, shared, sizes=[5, 2])
    with pytest.raises(ValueError, match="block that begins at 0"):
        layer(theta, shared, mask=torch.tensor([[True, False, True, True], [True] * 4]))
    with pytest.raises(ValueError, match="2 examples of scores but 1 outputs"):
        loss(theta, [[0, 1, 2, 0]], shared)
    with pytest.raises(ValueError, match="Unknown reduction"):
        StructuredLoss(Chain(3), Shannon(), reduction="max")
    with pytest.raises(TypeError, match="no marginals"):
        StructuredLayer(Matching(), Shannon())
