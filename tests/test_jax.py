"""The functions for JAX: against those for PyTorch, and by finite differences."""

from itertools import pairwise

import numpy as np
import pytest

jax = pytest.importorskip("jax")
torch = pytest.importorskip("torch")

from structlearn.jax import structured_layer, structured_loss  # noqa: E402
from structlearn.losses import Shannon, SquaredNorm, Zero  # noqa: E402
from structlearn.structures import Chain, Matching, ProjectiveTree, Simplex  # noqa: E402
from structlearn.torch import StructuredLayer, StructuredLoss  # noqa: E402

#: structure, regulariser, shapes of the scores and of the shared scores, a batch of outputs, sizes
CASES = {
    "sparsemax": (Simplex(4), SquaredNorm(), (3, 4), None, [0, 3, 1], None),
    "crf": (Chain(3), Shannon(), (2, 4, 3), (3, 3), [[0, 2, 1, 1], [2, 2, 0, 1]], [4, 3]),
    "sparsemap": (Chain(2), SquaredNorm(), (2, 3, 2), (2, 2), [[0, 1, 1], [1, 1, 0]], None),
    "trees": (ProjectiveTree(), Shannon(), (2, 4, 3), None, [[0, 1, 2], [2, 0, 0]], [3, 2]),
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
each_kind = pytest.mark.parametrize("kind", ["float32", "float64"])


@pytest.fixture(autouse=True)
def double():
    with jax.enable_x64(True):
        yield


def scores(case, kind="float64"):
    rng = np.random.default_rng(0)
    return [rng.normal(size=shape).astype(kind) for shape in case[2:4] if shape is not None]


def assert_same(found, expected, kind):
    assert [one.dtype for one in found] == [kind] * len(found)
    for one, other in zip(found, expected, strict=True):
        tolerance = 1e-5 if kind == "float32" else 1e-10
        np.testing.assert_allclose(one, other.detach().numpy(), rtol=tolerance, atol=tolerance)


@each_kind
@each_case
def test_losses_and_gradients_are_those_of_pytorch(case, kind):
    structure, regularizer, *_, y, sizes = case
    given = scores(case, kind)
    loss, peer = structured_loss(structure, regularizer), StructuredLoss(structure, regularizer)

    def value(*given):
        return loss(given[0], np.array(y), *given[1:], sizes=sizes)

    found = jax.jit(jax.value_and_grad(value, argnums=tuple(range(len(given)))))(*given)
    tensors = [torch.tensor(one, requires_grad=True) for one in given]
    expected = peer(tensors[0], torch.tensor(y), *tensors[1:], sizes=sizes)
    assert_same([found[0], *found[1]], [expected, *torch.autograd.grad(expected, tensors)], kind)


@each_kind
@each_case
def test_answers_and_their_derivatives_are_those_of_pytorch(case, kind):
    structure, regularizer, *_, sizes = case
    given = scores(case, kind)
    layer, peer = structured_layer(structure, regularizer), StructuredLayer(structure, regularizer)
    way = np.random.default_rng(1).normal(size=case[2]).astype(kind)
    answer, back = jax.vjp(jax.jit(lambda *given: layer(*given, sizes=sizes)), *given)
    tensors = [torch.tensor(one, requires_grad=True) for one in given]
    expected = peer(*tensors, sizes=sizes)
    slopes = torch.autograd.grad(expected, tensors, torch.tensor(way))
    assert_same([answer, *back(way)], [expected, *slopes], kind)


@each_case
def test_a_gradient_can_be_differentiated_twice(case):
    """The gradient of <grad L, v> and that of <J u, v>, against PyTorch's."""
    structure, regularizer, *_, y, sizes = case
    given, rng = scores(case), np.random.default_rng(2)
    v, u = rng.normal(size=(2, *case[2]))
    loss, layer = structured_loss(structure, regularizer), structured_layer(structure, regularizer)
    rest, tensors = given[1:], [torch.tensor(one, requires_grad=True) for one in given]

    def value(theta):
        return loss(theta, np.array(y), *rest, sizes=sizes)

    def moved(theta):
        return (layer(theta, *rest, sizes=sizes) * u).sum()

    first = (
        StructuredLoss(structure, regularizer)(tensors[0], torch.tensor(y), *tensors[1:], sizes=sizes),
        (StructuredLayer(structure, regularizer)(*tensors, sizes=sizes) * torch.tensor(u)).sum(),
    )
    for function, peer in zip((value, moved), first, strict=True):
        found = jax.grad(lambda theta, f=function: (jax.grad(f)(theta) * v).sum())(given[0])
        slope = torch.autograd.grad(peer, tensors[0], create_graph=True)[0]
        expected = torch.autograd.grad((slope * torch.tensor(v)).sum(), tensors[0])
        np.testing.assert_allclose(found, expected[0], atol=1e-6)


def test_costs_masks_and_reductions():
    given, y = scores(CASES["crf"]), np.array([[0, 2, 1, 1], [2, 2, 0, 1]])
    mask = np.arange(4) < np.array([[4], [2]])
    tensors = [torch.tensor(one) for one in given]
    for reduction in ("mean", "sum", "none"):
        loss = structured_loss(Chain(3), Zero(), "hamming", reduction, n_threads=2)
        peer = StructuredLoss(Chain(3), Zero(), "hamming", reduction)
        expected = peer(tensors[0], torch.tensor(y), tensors[1], mask=torch.tensor(mask))
        np.testing.assert_allclose(loss(given[0], y, given[1], mask=mask), expected, atol=1e-12)


def test_functions_can_be_mapped_over_batches():
    layer, theta = structured_layer(Simplex(4), Shannon()), np.random.default_rng(3).normal(size=(3, 2, 4))
    np.testing.assert_allclose(jax.vmap(layer)(theta), jax.nn.softmax(theta, axis=-1), atol=1e-12)


def test_a_network_learns():
    """Rows of x have the label of the largest of their first three entries."""
    x = np.random.default_rng(4).normal(size=(60, 5))
    y, loss = x[:, :3].argmax(axis=1), structured_loss(Simplex(3), Shannon())
    step = jax.jit(lambda w: w - 1.0 * jax.grad(lambda w: loss(x @ w, y))(w))
    weights = [np.zeros((5, 3))]
    for _ in range(30):
        weights.append(step(weights[-1]))
    values = [float(loss(x @ w, y)) for w in weights]
    assert all(later < earlier for earlier, later in pairwise(values))
    assert (np.argmax(x @ weights[-1], axis=1) == y).mean() > 0.9


def test_half_precision_stays():
    theta = jax.numpy.array([[0.5, 0.25]], dtype=jax.numpy.bfloat16)
    assert structured_layer(Simplex(2), Shannon())(theta).dtype == jax.numpy.bfloat16


def test_refusals():
    layer, loss = structured_layer(Chain(3), Shannon()), structured_loss(Chain(3), Shannon())
    theta, shared = scores(CASES["crf"])
    with pytest.raises(ValueError, match="takes scores of shape"):
        layer(theta)
    with pytest.raises(ValueError, match="not both"):
        layer(theta, shared, sizes=[1, 2], mask=np.ones((2, 4), dtype=bool))
    with pytest.raises(TypeError, match="floating-point"):
        layer(np.ones((2, 4, 3), dtype=int), shared)
    with pytest.raises(ValueError, match="2 examples of scores but outputs of shape"):
        loss(theta, np.zeros((1, 4), dtype=int), shared)
    with pytest.raises(ValueError, match="Unknown reduction"):
        structured_loss(Chain(3), Shannon(), reduction="max")
    with pytest.raises(ValueError, match="The batch is empty"):
        loss(theta[:0], np.zeros((0, 4), dtype=int), shared)
    with pytest.raises(TypeError, match="no marginals"):
        structured_layer(Matching(), Shannon())
    with pytest.raises(Exception, match="example 1"):  # JAX's own error, with our sentence
        layer(np.where(np.arange(2)[:, None, None] == 1, np.nan, theta), shared).block_until_ready()
