"""The PyTorch layers: against autograd through enumeration, and by finite differences."""

import re
from itertools import pairwise, product

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from own_structures import ChooseTwo  # noqa: E402
from structlearn.problem.losses import FenchelYoungLoss, Shannon, SquaredNorm, Tsallis, Zero  # noqa: E402
from structlearn.structures import (  # noqa: E402
    Chain,
    ConditionedChain,
    Cube,
    Cut,
    LabelGraph,
    LabelledTree,
    Matching,
    NonProjectiveTree,
    PairwiseGraph,
    ProjectiveTree,
    Segments,
    Simplex,
)
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


# ---- shapes ---------------------------------------------------------------------------------------------

#: What is wrong -> structure, regulariser, shapes of scores and shared scores, and what the error must name
WRONG_SHAPES = {
    "transitions forgotten": (Chain(4), (3, 5, 4), None, "no shared scores"),
    "transitions per example": (Chain(4), (3, 5, 4), (3, 4, 4), "(3, 4, 4)"),
    "a table that is not square": (Chain(4), (3, 5, 4), (4, 5), "(4, 5)"),
    "other labels": (Chain(4), (3, 5, 6), (4, 4), "(3, 5, 6)"),
    "no batch axis": (Chain(4), (5, 4), (4, 4), "(5, 4)"),
    "no batch axis, no transitions": (Chain(4), (5, 4), None, "(5, 4)"),
    "labels before positions": (Chain(4), (3, 4, 5), (4, 4), "(3, 4, 5)"),
    "ends forgotten": (Chain(4, start=True), (3, 5, 4), (4, 4), "(20,)"),
    "a part vector of no length": (Chain(4), (3, 18), None, "(3, 18)"),
    "steps of a conditioned chain forgotten": (ConditionedChain(3), (2, 5, 3), None, "(batch, length, 12)"),
    "steps of a conditioned chain shared": (ConditionedChain(3), (2, 5, 12), (3, 3), "(3, 3)"),
    "segments by states": (Segments(2, 3), (2, 6, 3), (15,), "(batch, length, 7)"),
    "segments without lengths": (Segments(2, 3), (2, 6, 7), (9,), "(15,)"),
    "no root": (ProjectiveTree(), (2, 4, 4), None, "(batch, words + 1, words)"),
    "arcs by modifier": (NonProjectiveTree(), (2, 3, 4), None, "(2, 3, 4)"),
    "labels of arcs": (LabelledTree(ProjectiveTree(), 2), (2, 4, 3), None, "(batch, words + 1, words, 2)"),
    "a matching without a batch": (Matching(), (3, 4), None, "(batch, rows, columns)"),
    "shared scores of a matching": (Matching(), (2, 3, 4), (3, 4), "shared scores of shape (3, 4)"),
    "other classes": (Simplex(4), (3, 5), None, "(batch, 4)"),
    "classes without a batch": (Simplex(4), (4,), None, "(4,)"),
    "switches by position": (Cube(3), (2, 5, 3), None, "(batch, 3)"),
    "pairs forgotten": (LabelGraph(3), (2, 3), None, "(3, 2, 2)"),
    "pairs of another graph": (LabelGraph(3), (2, 3), (2, 4), "(2, 4)"),
    "nodes alone": (Cut(3, [(0, 1), (1, 2)]), (2, 3), None, "(batch, 5)"),
    "states alone": (PairwiseGraph(3, [(0, 1), (1, 2)], 2), (2, 3, 2), None, "(batch, 14)"),
    "an own structure without a batch": (ChooseTwo(), (4,), None, "(batch, parts)"),
}


@pytest.mark.parametrize("case", WRONG_SHAPES.values(), ids=WRONG_SHAPES)
def test_shapes_that_do_not_fit_are_refused_before_anything_is_joined(case):
    structure, theta, shared, named = case
    regularizer = SquaredNorm()
    given = [torch.zeros(theta), *([] if shared is None else [torch.zeros(shared)])]
    layer, loss = StructuredLayer(structure, regularizer), StructuredLoss(structure, regularizer)
    for ask in (layer, layer.decode, lambda theta, *shared: loss(theta, [0] * len(theta), *shared)):
        with pytest.raises(ValueError, match=re.escape(named)) as caught:
            ask(*given)
        assert " takes scores of shape (batch, " in str(caught.value)


#: Structure, shapes of scores and shared scores of a batch that it takes
RIGHT_SHAPES = {
    "chain": (Chain(3), (2, 4, 3), (3, 3)),
    "chain, flat transitions": (Chain(3), (2, 4, 3), (9,)),
    "chain with ends": (Chain(3, start=True, end=True), (2, 4, 3), (15,)),
    "chain, part vectors": (Chain(3), (2, 21), None),
    "conditioned chain": (ConditionedChain(3), (2, 4, 12), None),
    "segments": (Segments(2, 3), (2, 4, 7), (15,)),
    "segments, scored one by one": (Segments(2, 3, whole=True), (2, 4, 13), (15,)),
    "trees": (NonProjectiveTree(), (2, 4, 3), None),
    "labelled trees": (LabelledTree(ProjectiveTree(), 2), (2, 4, 3, 2), None),
    "matchings": (Matching(), (2, 3, 4), None),
    "label graph": (LabelGraph(3), (2, 3), (3, 2, 2)),
    "label graph, part vectors": (LabelGraph(3), (2, 15), None),
    "cut": (Cut(3, [(0, 1), (1, 2)]), (2, 5), None),
    "graph": (PairwiseGraph(3, [(0, 1), (1, 2)], 2), (2, 14), None),
    "own": (ChooseTwo(), (2, 5), None),
}


@pytest.mark.parametrize("case", RIGHT_SHAPES.values(), ids=RIGHT_SHAPES)
def test_every_structure_answers_for_a_table_as_for_its_part_vector(case):
    structure, shape, shared_shape = case
    theta = scores(shape).detach()
    shared = None if shared_shape is None else scores(shared_shape, 1).detach()
    layer = StructuredLayer(structure, SquaredNorm())
    structure = layer.loss.structure
    decoded, found = layer.decode(theta, shared), layer(theta, shared)
    for b, table in enumerate(theta.numpy()):
        parts = table
        if table.ndim != structure.part_ndim or shared is not None:
            columns = np.cumsum(structure.column_blocks or (table.shape[-1],))[:-1]
            local = np.concatenate([one.ravel() for one in np.split(table, columns, axis=-1)])
            parts = np.concatenate([local, np.zeros(0) if shared is None else shared.numpy().ravel()])
        np.testing.assert_array_equal(decoded[b], structure.decode(structure.maximize(parts)))
        z = structure.project(parts).ravel()[: table.size]
        np.testing.assert_allclose(np.sort(found[b].numpy().ravel()), np.sort(z), atol=1e-9)


def test_a_conditioned_chain_with_the_same_steps_is_a_chain():
    """Each position has its labels' scores, then the table of the step to it; padding is at the end."""
    theta, steps = scores((3, 5, 4)), scores((4, 4), 1)
    rows = torch.cat([theta, steps.flatten().expand(3, 5, -1)], -1)
    sizes = [5, 1, 3]
    conditioned = StructuredLayer(ConditionedChain(4), Shannon())(rows, sizes=sizes)[..., :4]
    torch.testing.assert_close(conditioned, StructuredLayer(Chain(4), Shannon())(theta, steps, sizes=sizes))


def test_outputs_that_do_not_fit_are_refused():
    theta, shared = scores((2, 4, 3)), scores((3, 3))
    loss = StructuredLoss(Chain(3), Shannon())
    for y in (torch.zeros(2, 3, dtype=int), torch.zeros(2, 5, dtype=int), torch.zeros(2, dtype=int)):
        with pytest.raises(ValueError, match="Output 0 does not fit its scores"):
            loss(theta, y, shared)
    with pytest.raises(ValueError, match=r"Output 1 .*outside 0 \.\. 2"):
        loss(theta, torch.tensor([[0, 1, 2, 0], [0, 1, 3, 0]]), shared)
    with pytest.raises(ValueError, match="one entry per example"):
        loss(theta, torch.tensor(1), shared)
    with pytest.raises(ValueError, match="it has 8 parts, but there are scores of 4"):
        StructuredLoss(Simplex(4), Shannon())(scores((2, 4)), torch.zeros(2, 2, dtype=int))
    with pytest.raises(ValueError, match="between 0 and 1; got 3"):
        StructuredLoss(Cube(3), Shannon())(scores((1, 3)), torch.tensor([[1, 3, 0]]))


def test_outputs_of_padded_batches_are_cut_along_their_own_axes():
    tree, labelled = torch.tensor([[2, 0, -1], [0, 1, 2]]), LabelledTree(ProjectiveTree(), 2)
    y = torch.stack([tree, torch.ones_like(tree)], -1)
    theta, sizes = scores((2, 4, 3, 2)), [(3, 2), (4, 3)]
    found = StructuredLoss(labelled, Shannon(), reduction="none")(theta, y, sizes=sizes)
    alone = StructuredLoss(labelled, Shannon())(theta[:1, :3, :2], y[:1, :2])
    torch.testing.assert_close(found[0], alone)
    rows = torch.tensor([[1, -1, 0], [1, 0, -1]])  # each row's column
    links, sizes = scores((2, 3, 2)), [(3, 1), (2, 2)]
    y = [torch.tensor([-1, 0, -1]), rows[1]]
    found = StructuredLoss(Matching(), SquaredNorm(), reduction="none")(links, torch.stack(y), sizes=sizes)
    alone = StructuredLoss(Matching(), SquaredNorm())(links[1:, :2], rows[1:, :2])
    torch.testing.assert_close(found[1], alone)


def test_sizes_and_masks_that_do_not_fit_are_refused():
    layer = StructuredLayer(Chain(3), Shannon())
    given = scores((2, 4, 3)), scores((3, 3))
    for sizes in ([1, 2, 3], [[1, 2], [2, 3]], [[[1]], [[2]]], [1]):
        with pytest.raises(ValueError, match=r"Sizes must have the shape \(2,\)"):
            layer(*given, sizes=sizes)
    with pytest.raises(ValueError, match="Sizes must be integers"):
        layer(*given, sizes=[1.0, 2.0])
    for shape in ((2, 5), (3, 4), (2,), (2, 4, 3)):
        with pytest.raises(ValueError, match=r"\(batch, length\), here \(2, 4\)"):
            layer(*given, mask=torch.ones(shape, dtype=torch.bool))
    for padding in ({"sizes": [1, 2]}, {"mask": torch.ones(2, 4)}):
        with pytest.raises(ValueError, match="have the same size"):
            StructuredLayer(Simplex(4), Shannon())(scores((2, 4)), **padding)
    with pytest.raises(ValueError, match=r"Example 1 has scores of shape \(3, 3\)"):
        StructuredLayer(ProjectiveTree(), Shannon())(scores((2, 4, 3)), sizes=[[4, 3], [3, 3]])
    with pytest.raises(ValueError, match=r"example 0 has \(5, 4\)"):  # one number is that of words
        StructuredLayer(ProjectiveTree(), Shannon())(scores((2, 4, 3)), sizes=[4, 3])


def test_scores_that_are_no_floating_tensors_are_refused():
    layer = StructuredLayer(Simplex(4), Shannon())
    with pytest.raises(TypeError, match=r"floating-point numbers; got torch.int64"):
        layer(torch.zeros(2, 4, dtype=int))
    with pytest.raises(TypeError, match="got ndarray"):
        layer(np.zeros((2, 4)))
    with pytest.raises(ValueError, match="must have a batch axis"):
        layer(torch.tensor(1.0))


def test_an_empty_batch_has_empty_answers():
    theta, shared = scores((0, 5, 4)), scores((4, 4))
    layer = StructuredLayer(Chain(4), Shannon())
    assert layer(theta, shared).shape == (0, 5, 4)
    assert layer.decode(theta, shared) == []
    assert layer(theta, shared, sizes=[]).shape == (0, 5, 4)
    losses = StructuredLoss(Chain(4), Shannon(), reduction="sum")(theta, [], shared)
    losses.backward()
    assert losses == 0
    assert not shared.grad.any()
    with pytest.raises(ValueError, match="The batch is empty"):
        StructuredLoss(Chain(4), Shannon())(theta, [], shared)


# ---- negative parts, and one more derivative ------------------------------------------------------------


class Signs:
    """All vectors of -1 and 1: the answer to `SquaredNorm()` is theta, cut off at -1 and 1."""

    def maximize(self, theta):
        return np.where(theta >= 0, 1.0, -1.0)


def test_parts_may_be_negative():
    theta = torch.tensor([[-0.5, 0.3, 2.0, 0.0], [-2.0, -0.1, 0.6, 0.9]], dtype=torch.float64)
    layer = StructuredLayer(Signs(), SquaredNorm())
    torch.testing.assert_close(layer(theta), theta.clamp(-1, 1))
    slopes = torch.autograd.functional.jacobian(layer, theta).reshape(8, 8)
    torch.testing.assert_close(slopes, torch.diag((theta.flatten().abs() < 1).double()))
    loss = StructuredLoss(Signs(), SquaredNorm())
    assert torch.autograd.gradcheck(
        lambda theta: loss(theta, [[1, -1, 1, -1], [-1, -1, 1, 1]]), [scores((2, 4))], atol=1e-5
    )


def test_differences_of_pairs_may_be_negative():
    """Antisymmetric tables: a part is p(a, b) - p(b, a), which is 0 where scores are."""
    layer = StructuredLayer(PairwiseGraph(3, [(0, 1), (1, 2)], 2, "antisymmetric"), Shannon())
    for size in (0.0, 1.0):
        theta = (size * scores((2, 8))).detach().requires_grad_()
        assert torch.autograd.gradcheck(layer, [theta], atol=1e-6)


@each_case
def test_the_prediction_can_be_differentiated_twice(case):
    layer = StructuredLayer(case[0], case[1])
    assert torch.autograd.gradgradcheck(layer, arguments(case), atol=1e-5, nondet_tol=1e-6)


@each_case
def test_a_second_derivative_does_not_need_that_the_first_depends_on_more_scores(case):
    """Of sum(z): the gradient that comes back is constant, so nothing but the layer says it can move."""
    theta, *shared = arguments(case)
    way = scores(theta.shape, 7).detach()

    def slope(theta):
        value = (StructuredLayer(case[0], case[1])(theta, *shared) * way).sum()
        return torch.autograd.grad(value, theta, create_graph=True)[0]

    found = torch.autograd.grad((slope(theta) * way).sum(), theta)[0]
    h, moved = 1e-4, []
    for direction in torch.eye(theta.numel(), dtype=torch.float64).reshape(-1, *theta.shape):
        ahead, back = (slope((theta + side * h * direction).detach().requires_grad_()) for side in (1, -1))
        moved.append(((ahead - back) * way).sum().item() / (2 * h))
    np.testing.assert_allclose(found.numpy().ravel(), moved, atol=1e-5)


def test_a_third_derivative_is_refused():
    theta = scores((2, 4))
    value = StructuredLayer(Simplex(4), Shannon())(theta)[:, 0].sum()
    first = torch.autograd.grad(value, theta, create_graph=True)[0]
    second = torch.autograd.grad(first[:, 0].sum(), theta, create_graph=True)[0]
    with pytest.raises(RuntimeError, match="differentiated twice"):
        torch.autograd.grad(second.sum(), theta)


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
