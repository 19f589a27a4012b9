"""Compiled batches of the PyTorch layers: padding, types, threads, processes, copies, and what is refused."""

import copy
import io
import multiprocessing
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from structlearn.problem import batch_answers  # noqa: E402
from structlearn.problem.losses import Shannon, SquaredNorm, Tsallis, Zero  # noqa: E402
from structlearn.structures import (  # noqa: E402
    Chain,
    ConditionedChain,
    ConstituencyTree,
    Cube,
    Matching,
    MonotoneAlignment,
    NonProjectiveTree,
    ProjectiveTree,
    Simplex,
)
from structlearn.torch import CRF, StructuredLayer, StructuredLoss  # noqa: E402
from structlearn.torch.layers import batch_of  # noqa: E402

LENGTHS = [5, 1, 3]
LABELS = torch.tensor([[0, 2, 1, 1, 3], [3, -1, -1, -1, -1], [2, 2, 0, 99, 99]])
HEADS = torch.tensor([[2, 0, 2, 3, 3], [0, -1, -1, -1, -1], [0, 1, 2, 7, 7]])
TREE_SIZES = [(n + 1, n) for n in LENGTHS]
#: structure, shapes of scores and shared scores, outputs in one tensor, sizes, the sizes of the outputs
PADDED = {
    "simplex": (Simplex(4), (3, 4), None, torch.tensor([1, 3, 0]), None, None),
    "cube": (Cube(4), (3, 4), None, torch.tensor([[1, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]]), None, None),
    "chain": (Chain(4), (3, 5, 4), (4, 4), LABELS, LENGTHS, LENGTHS),
    "chain with ends": (Chain(4, start=True, end=True), (3, 5, 4), (24,), LABELS, LENGTHS, LENGTHS),
    "chain with a start": (Chain(4, start=True), (3, 5, 4), (20,), LABELS, LENGTHS, LENGTHS),
    "chain with an end": (Chain(4, end=True), (3, 5, 4), (20,), LABELS, LENGTHS, LENGTHS),
    "forbidden steps": (Chain(4, forbidden=[(0, 3)]), (3, 5, 4), (4, 4), LABELS, LENGTHS, LENGTHS),
    "conditioned chain": (ConditionedChain(4), (3, 5, 20), None, LABELS, LENGTHS, LENGTHS),
    "trees": (NonProjectiveTree(), (3, 6, 5), None, HEADS, TREE_SIZES, LENGTHS),
    "projective trees": (ProjectiveTree(), (3, 6, 5), None, HEADS, TREE_SIZES, LENGTHS),
}
each_padded = pytest.mark.parametrize("case", PADDED.values(), ids=PADDED)


def scores(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape), requires_grad=True)


def given_by(case):
    theta, shared = scores(*case[1]), None if case[2] is None else scores(*case[2], seed=1)
    return [theta] if shared is None else [theta, shared]


def one_by_one(y, sizes):
    """The outputs as a list, which the structure encodes one after the other."""
    return [one if sizes is None else one[:n] for one, n in zip(y, sizes or [None] * len(y))]


@each_padded
@pytest.mark.parametrize("cost", [None, "hamming", "count"])
@pytest.mark.parametrize("regularizer", [Shannon(), SquaredNorm(), Zero()])
def test_outputs_in_one_tensor_are_those_of_a_list(case, cost, regularizer):
    structure, _, _, y, sizes, own = case
    loss = StructuredLoss(structure, regularizer, cost, reduction="none")
    given = given_by(case)
    found, wanted = (loss(given[0], one, *given[1:], sizes=sizes) for one in (y, one_by_one(y, own)))
    torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
    way = scores(3, seed=2).detach()
    for one, other in zip(*(torch.autograd.grad((v * way).sum(), given) for v in (found, wanted))):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-12)


@each_padded
def test_derivatives_of_padded_batches_with_costs(case):
    structure, _, _, y, sizes, _ = case
    loss = StructuredLoss(structure, Shannon(), "hamming", reduction="none")

    def function(theta, *shared):
        return loss(theta, y, *shared, sizes=sizes)

    assert torch.autograd.gradcheck(function, given_by(case))
    assert torch.autograd.gradgradcheck(function, given_by(case), atol=1e-5, nondet_tol=1e-8)


@each_padded
@pytest.mark.parametrize("regularizer", [Shannon(), SquaredNorm()])
def test_single_precision_is_double_rounded_once(case, regularizer):
    structure, _, _, y, sizes, _ = case
    loss = StructuredLoss(structure, regularizer, reduction="none")
    layer, found = StructuredLayer(structure, regularizer), {}
    for kind in (torch.float32, torch.float64):
        # the same numbers in both types
        given = [one.detach().float().to(kind).requires_grad_() for one in given_by(case)]
        value = loss(given[0], y, *given[1:], sizes=sizes)
        z = layer(given[0], *given[1:], sizes=sizes)
        found[kind] = [value, z, *torch.autograd.grad(value.sum(), given)]
        assert all(one.dtype is kind for one in found[kind])
    for single, double in zip(*found.values()):
        torch.testing.assert_close(single.double(), double, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("regularizer", [Shannon(), SquaredNorm(), Tsallis(1.5), Tsallis(1.2)])
def test_rows_move_in_single_precision_as_in_double(regularizer):
    theta, way = scores(50, 7), scores(50, 7, seed=1).detach()
    layer = StructuredLayer(Simplex(7), regularizer)
    wanted = torch.autograd.grad(layer(theta), theta, way)[0]
    single = theta.detach().float().requires_grad_()
    found = torch.autograd.grad(layer(single), single, way.float())[0]
    torch.testing.assert_close(found.double(), wanted, rtol=1e-4, atol=1e-5)
    # and as the rule that can be differentiated once more
    twice = torch.autograd.grad(layer(theta), theta, way, create_graph=True)[0]
    torch.testing.assert_close(twice, wanted, rtol=1e-9, atol=1e-12)


def test_a_direction_that_is_not_finite_spoils_its_own_row_alone():
    theta = scores(2, 4)
    way = torch.ones(2, 4, dtype=torch.float64)
    way[0, 1] = np.inf
    found = torch.autograd.grad(StructuredLayer(Simplex(4), Shannon())(theta), theta, way)[0]
    assert found[0].isnan().all()
    assert not found[1].isnan().any()


# ---- threads, processes, copies -------------------------------------------------------------------------


def crf_case():
    torch.manual_seed(0)
    theta, y = torch.randn(40, 9, 5), torch.randint(5, (40, 9))
    mask = torch.arange(9) < torch.randint(1, 10, (40, 1))
    return CRF(5, batch_first=True), theta, y, mask


@pytest.fixture
def two_threads(monkeypatch):
    before = torch.get_num_threads()
    monkeypatch.setattr(batch_answers, "LEAST_PARTS", 1)
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_threads_change_no_number(two_threads):
    crf, theta, y, mask = crf_case()
    together = crf(theta, y, mask, "none"), crf.marginals(theta, mask)
    torch.set_num_threads(1)
    alone = crf(theta, y, mask, "none"), crf.marginals(theta, mask)
    for one, other in zip(together, alone):
        torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize("case", ["chain with ends", "conditioned chain"])
def test_derivatives_by_faces_that_were_kept_are_those_of_answers_found_again(case, two_threads):
    structure, *_, sizes, _ = PADDED[case]
    layer, (theta, *shared) = StructuredLayer(structure, SquaredNorm()), given_by(PADDED[case])
    way = scores(*theta.shape, seed=4).detach()
    found = torch.autograd.grad(layer(theta, *shared, sizes=sizes), [theta, *shared], way)
    batch = batch_of(layer.loss, theta, shared[0] if shared else None, sizes, None)
    each = np.tile([one.detach().numpy().ravel() for one in shared] or [[]], (3, 1))
    local, of_shared = batch.derivative(
        theta.detach().numpy(), each, way.numpy(), np.zeros_like(each), faces=None
    )
    expected = [local, of_shared.sum(0)][: len(found)]
    for one, other in zip(found, expected):
        np.testing.assert_allclose(one.flatten(), other.ravel(), atol=1e-10)


class Sentences(torch.utils.data.Dataset):
    """Marginals of random scores, which workers compute."""

    def __init__(self, crf, theta):
        self.crf, self.theta = crf, theta

    def __len__(self):
        return len(self.theta)

    def __getitem__(self, k):
        return self.crf.marginals(self.theta[k : k + 1])[0].detach()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_workers_of_a_loader_answer_as_their_parent(two_threads):
    """The parent has used threads before they are forked; in workers PyTorch has one."""
    crf, theta, *_ = crf_case()
    expected = crf.marginals(theta)
    loader = torch.utils.data.DataLoader(
        Sentences(crf, theta), batch_size=8, num_workers=2, multiprocessing_context="fork"
    )
    torch.testing.assert_close(torch.cat(list(loader)), expected)


def _answer_in_a_child(pipe, module, *given):
    pipe.send(module(*given).item())
    pipe.close()


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_process_answers_after_its_parent_has_used_threads(two_threads):
    module, *given = crf_case()
    expected = module(*given).item()
    torch.set_num_threads(1)  # torch's own threads do not survive a fork
    context = multiprocessing.get_context("fork")
    here, there = context.Pipe()
    child = context.Process(target=_answer_in_a_child, args=(there, module, *given))
    child.start()
    assert here.poll(60)
    assert here.recv() == expected
    child.join()


def test_modules_are_copied_and_stored():
    module, *given = crf_case()
    expected = module(*given)
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other = CRF(5, batch_first=True)
    other.load_state_dict(torch.load(file))
    for one in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), other):  # noqa: S301
        assert one(*given) == expected


# ---- refusals -------------------------------------------------------------------------------------------

LAYERS = {
    "chain": (Chain(3), (3, 4, 3), (3, 3), torch.zeros(3, 4, dtype=int)),
    "simplex": (Simplex(3), (3, 3), None, torch.zeros(3, dtype=int)),
    "matching": (Matching(), (3, 2, 2), None, torch.eye(2).repeat(3, 1, 1)),
    "trees": (NonProjectiveTree(), (3, 3, 2), None, torch.tensor([[0, 1]] * 3)),
}


@pytest.mark.parametrize("case", LAYERS.values(), ids=LAYERS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_scores_that_are_no_numbers_are_refused_with_their_example(case, value):
    structure, shape, shared, y = case
    theta = torch.zeros(shape)
    theta[2].view(-1)[0] = value
    rest = [] if shared is None else [torch.zeros(shared)]
    with pytest.raises(ValueError, match="example 2 has NaN or"):
        StructuredLayer(structure, SquaredNorm())(theta, *rest)
    with pytest.raises(ValueError, match="example 2 has NaN or"):
        StructuredLoss(structure, SquaredNorm())(theta, y, *rest)
    if shared is not None:
        rest[0][0, 0] = value
        with pytest.raises(ValueError, match="Shared scores must be finite or -inf"):
            StructuredLoss(structure, SquaredNorm())(torch.zeros(shape), y, *rest)


def test_an_example_that_allows_nothing_and_gold_that_is_forbidden_are_named():
    theta, shared = torch.zeros(3, 4, 3), torch.zeros(3, 3)
    y = torch.zeros(3, 4, dtype=int)
    theta[1, 2, :2] = -np.inf
    with pytest.raises(ValueError, match="Output 1 uses a part whose score is -inf"):
        StructuredLoss(Chain(3), Shannon())(theta, y, shared)
    theta[1, 2] = -np.inf
    with pytest.raises(ValueError, match="Example 1 forbids every output"):
        StructuredLoss(Chain(3), Shannon())(theta, y, shared)


#: what is wrong -> structure, shape of scores, shared, outputs, what the error must say
WRONG_OUTPUTS = {
    "a label": (Chain(3), (2, 3, 3), (3, 3), [[0, 1, 2], [0, 3, 0]], "Output 1 .*Label 3 is outside"),
    "a step": (
        Chain(3, forbidden=[(0, 2)]),
        (2, 3, 3),
        (3, 3),
        [[0, 1, 2], [0, 2, 0]],
        "Output 1 .*forbidden",
    ),
    "a class": (Simplex(3), (2, 3), None, [0, -1], "Output 1 .*Label -1 is outside"),
    "a switch": (Cube(2), (2, 2), None, [[0, 1], [0, 2]], "Output 1 .*between 0 and 1; got 2"),
    "a head": (NonProjectiveTree(), (2, 4, 3), None, [[0, 1, 2], [0, 1, 4]], "Output 1 .*head 4"),
    "a cycle": (NonProjectiveTree(), (2, 4, 3), None, [[0, 1, 2], [0, 3, 2]], "Output 1 .*cycle"),
    "a loop": (NonProjectiveTree(), (2, 4, 3), None, [[0, 1, 2], [0, 2, 2]], "Output 1 .*cycle"),
    "two roots": (NonProjectiveTree(), (2, 4, 3), None, [[0, 1, 2], [0, 0, 2]], "Output 1 .*under the root"),
    "arcs": (ProjectiveTree(), (2, 5, 4), None, [[0, 1, 2, 3], [3, 4, 0, 3]], "Output 1 .*cross"),
}


@pytest.mark.parametrize("case", WRONG_OUTPUTS.values(), ids=WRONG_OUTPUTS)
def test_outputs_that_are_not_in_the_structure_are_named(case):
    structure, shape, shared, y, message = case
    rest = [] if shared is None else [torch.zeros(shared)]
    with pytest.raises(ValueError, match=message):
        StructuredLoss(structure, SquaredNorm())(torch.zeros(shape), torch.tensor(y), *rest)


def test_all_small_vectors_of_heads_are_trees_or_refused_as_encode_says():
    """Every vector of heads of three words, beside the structure's own check."""
    for structure in (NonProjectiveTree(), NonProjectiveTree(single_root=False), ProjectiveTree()):
        loss = StructuredLoss(structure, Zero())
        for heads in np.ndindex(4, 4, 4):
            try:
                structure.encode(np.array(heads))
            except ValueError:
                with pytest.raises(ValueError, match="Output 0"):
                    loss(torch.zeros(1, 4, 3), torch.tensor([heads]))
            else:
                loss(torch.zeros(1, 4, 3), torch.tensor([heads]))


SPANS = torch.tensor([[[0, 2, 1], [0, 1, 0], [1, 2, 1]], [[0, 1, 1], [7, 7, -1], [7, 7, -1]]])
PATHS = torch.tensor([[[1, 1, 0], [0, 0, 1]], [[1, 0, 9], [0, 1, 9]]])
#: structure, shape of scores, outputs in one tensor, sizes
TABLES = {
    "constituency trees": (ConstituencyTree(2), (2, 2, 2, 2), SPANS, [2, 1]),
    "alignments": (MonotoneAlignment(), (2, 2, 3), PATHS, [[2, 3], [2, 2]]),
}


@pytest.mark.parametrize("case", TABLES.values(), ids=TABLES)
@pytest.mark.parametrize("regularizer", [Shannon(), SquaredNorm()])
def test_derivatives_of_tables(case, regularizer):
    structure, shape, y, sizes = case
    loss, layer = (
        StructuredLoss(structure, regularizer, reduction="none"),
        StructuredLayer(structure, regularizer),
    )
    assert torch.autograd.gradcheck(lambda theta: loss(theta, y, sizes=sizes), scores(*shape))
    assert torch.autograd.gradcheck(
        lambda theta: layer(theta, sizes=sizes), scores(*shape), atol=1e-5, nondet_tol=1e-8
    )
    assert torch.autograd.gradgradcheck(
        lambda theta: loss(theta, y, sizes=sizes), scores(*shape), atol=1e-5, nondet_tol=1e-8
    )
