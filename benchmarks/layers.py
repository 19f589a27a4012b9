"""Structured layers and losses of PyTorch, beside the packages that people use for them.

    python benchmarks/layers.py [--double]

One thread, loss and backward pass in float32 (float64 with --double), CPU milliseconds: medians of runs
that take turns. Peers: pytorch-crf for chains, `torch.logdet` of the Laplacian for non-projective trees,
the entmax package for sparsemax and 1.5-entmax, torch-struct for small chains, semi-Markov chains and
trees. Rows of marginals differentiate them once more; SparseMAP stands beside our own softmax. Before
anything is timed, values and gradients are compared: with the peer's in float64 to 1e-9, and ours in
float32 with those in float64 to 1e-5 of the largest. The last rows are (128, 100, 20) by the wall clock,
with one thread and with two.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import torch
from common import machine, note, recorded

from structlearn.losses import Shannon, SquaredNorm, Tsallis
from structlearn.structures import Chain, NonProjectiveTree, ProjectiveTree, Segments, Simplex
from structlearn.torch import StructuredLayer, StructuredLoss

QUICK = [[]]

CHAINS = [(8, 20, 5), (32, 30, 20), (32, 100, 20), (128, 40, 9), (128, 60, 9), (16, 50, 100)]
ROWS = [(1280, 20), (64, 10_000)]
TREES = [(32, 30)]
SPARSE = (32, 40, 20)
#: Batch, length, labels and the most tokens of a segment; batch, length and labels.
SEGMENTS = [(8, 20, 4, 5)]
MARGINALS = [(32, 30, 20)]
#: Entries of torch-struct's table of steps, beyond which it takes seconds.
MOST_FOR_TORCH_STRUCT = 1_000_000
#: torch-struct adds 1e-5 to its Laplacian here.
ROUGH = "trees, one root"
ROUNDS, SECONDS = 15, 0.05

Run = Callable[[], list[torch.Tensor]]


def scores(*shape: int, kind: torch.dtype, scale: float = 1.0) -> torch.Tensor:
    """Gaussian scores that ask for a gradient."""
    return (scale * torch.randn(*shape, dtype=torch.float64)).to(kind).requires_grad_()


def compare(what: str, make: Callable[[torch.dtype], dict[str, Run]], kind: torch.dtype) -> None:
    """Print and note the times of runs that return the same tensors; the first is ours."""
    torch.manual_seed(0)
    double = {name: run() for name, run in make(torch.float64).items()}
    torch.manual_seed(0)
    runs = make(kind)
    first = next(iter(runs))
    for found in double.values():
        check(found, double[first], 1e-4 if what.startswith(ROUGH) else 1e-9)
    check(runs[first](), double[first], 1e-5)
    taken = dict(zip(runs, take_turns(list(runs.values()))))
    for name, seconds in taken.items():
        print(f"{what:34} {name:14} {1e3 * seconds:9.3f} ms {seconds / taken[first]:7.2f}x")
        note(what=what, by=name, ms=1e3 * seconds, times=seconds / taken[first])


def check(found: list[torch.Tensor], expected: list[torch.Tensor], tolerance: float) -> None:
    """Refuse tensors that differ by more than a part of their largest entry."""
    for one, other in zip(found, expected):
        size = float(other.detach().abs().max())
        torch.testing.assert_close(one.double(), other.double(), rtol=0.0, atol=tolerance * size)


def take_turns(runs: list[Run], clock: Callable[[], float] = time.process_time) -> list[float]:
    """Return the median seconds of each run; every round has as many repetitions as fill some time."""
    repeats = []
    for run in runs:
        begin = clock()
        run()
        repeats.append(max(1, int(SECONDS / max(clock() - begin, 1e-6))))
    taken: list[list[float]] = [[] for _ in runs]
    for _ in range(ROUNDS):
        for run, n, seconds in zip(runs, repeats, taken):
            begin = clock()
            for _ in range(n):
                run()
            seconds.append((clock() - begin) / n)
    return [statistics.median(one) for one in taken]


def with_gradients(value: Callable[[], torch.Tensor], *of: torch.Tensor) -> Run:
    """Return a run of a function and of its backward pass."""
    return lambda: [found := value(), *torch.autograd.grad(found, of)]


def chain_runs(shape: tuple[int, int, int], kind: torch.dtype) -> dict[str, Run]:
    """Losses of a batch of sequences of several lengths."""
    batch, length, k = shape
    theta, y = scores(*shape, kind=kind), torch.randint(k, shape[:2])
    sizes = torch.randint(max(length // 2, 1), length + 1, (batch,))
    sizes[0] = length
    mask = torch.arange(length) < sizes[:, None]
    shared = scores(k * k + 2 * k, kind=kind, scale=0.3)
    loss = StructuredLoss(Chain(k, start=True, end=True), Shannon(), reduction="sum")
    runs = {"structlearn": with_gradients(lambda: loss(theta, y, shared, mask=mask), theta, shared)}
    if batch * length * k * k <= MOST_FOR_TORCH_STRUCT:
        runs |= struct_chain(theta, y, shared, sizes)
    try:
        from torchcrf import CRF
    except ImportError:
        return runs
    peer = CRF(k, batch_first=True).to(kind)
    with torch.no_grad():
        peer.transitions.copy_(shared[: k * k].reshape(k, k))
        peer.start_transitions.copy_(shared[k * k : k * k + k])
        peer.end_transitions.copy_(shared[k * k + k :])

    def run() -> list[torch.Tensor]:
        value = -peer(theta, y, mask=mask)
        of = (theta, peer.transitions, peer.start_transitions, peer.end_transitions)
        local, *tables = torch.autograd.grad(value, of)
        return [value, local, torch.cat([table.flatten() for table in tables])]

    return {**runs, "pytorch-crf": run}


def torch_struct() -> Any:
    """Return the package, or None where it is not installed."""
    try:
        return importlib.import_module("torch_struct")
    except ImportError:
        return None


def struct_chain(
    theta: torch.Tensor, y: torch.Tensor, shared: torch.Tensor, sizes: torch.Tensor
) -> dict[str, Run]:
    """The loss of sequences by torch-struct, whose potentials are one table per step, (to, from)."""
    peer, k, at = torch_struct(), theta.shape[2], torch.arange(theta.shape[1])
    if peer is None:
        return {}

    def value() -> torch.Tensor:
        steps, start, end = shared[: k * k].reshape(k, k), shared[k * k : -k], shared[-k:]
        own = theta + (at == 0)[:, None] * start + (at == sizes[:, None] - 1)[:, :, None] * end
        potentials = own[:, 1:, :, None] + steps.T
        potentials = torch.cat([potentials[:, :1] + own[:, :1, None, :], potentials[:, 1:]], 1)
        gold = (own.gather(2, y[:, :, None])[:, :, 0] * (at < sizes[:, None])).sum()
        gold = gold + (steps[y[:, :-1], y[:, 1:]] * (at[1:] < sizes[:, None])).sum()
        return peer.LinearChainCRF(potentials, lengths=sizes).partition.sum() - gold

    return {"torch-struct": with_gradients(value, theta, shared)}


def struct_trees(kind: str, theta: torch.Tensor) -> Any:
    """A distribution of torch-struct over trees, with the scores of the root on the diagonal."""
    n = theta.shape[2]
    return getattr(torch_struct(), kind)(
        theta[:, 1:] * (1 - torch.eye(n).to(theta)) + torch.diag_embed(theta[:, 0])
    )


def tree_runs(shape: tuple[int, int], kind: torch.dtype) -> dict[str, Run]:
    """Losses of non-projective trees; by the determinant of the Laplacian."""
    batch, n = shape
    theta, y = scores(batch, n + 1, n, kind=kind), torch.arange(n).repeat(batch, 1)
    loss = StructuredLoss(NonProjectiveTree(single_root=False), Shannon(), reduction="sum")

    def by_logdet() -> torch.Tensor:
        weights = theta.exp() * (1 - torch.eye(n + 1, n, dtype=kind).roll(1, 0))
        laplacian = torch.diag_embed(weights.sum(1)) - weights[:, 1:]
        gold = theta.gather(1, y[:, None]).sum()
        return torch.logdet(laplacian).sum() - gold

    return {
        "structlearn": with_gradients(lambda: loss(theta, y), theta),
        "torch.logdet": with_gradients(by_logdet, theta),
    }


def single_root_runs(shape: tuple[int, int], kind: torch.dtype) -> dict[str, Run]:
    """Losses of non-projective trees with one word under the root, as torch-struct has them."""
    batch, n = shape
    theta, y = scores(batch, n + 1, n, kind=kind), torch.arange(n).repeat(batch, 1)
    loss = StructuredLoss(NonProjectiveTree(), Shannon(), reduction="sum")
    runs = {"structlearn": with_gradients(lambda: loss(theta, y), theta)}
    return runs | struct_tree_loss("NonProjectiveDependencyCRF", theta, y)


def struct_tree_loss(kind: str, theta: torch.Tensor, y: torch.Tensor) -> dict[str, Run]:
    """The same loss by torch-struct."""
    if torch_struct() is None:
        return {}

    def value() -> torch.Tensor:
        gold = theta.gather(1, y[:, None]).sum()
        return struct_trees(kind, theta).partition.sum() - gold

    return {"torch-struct": with_gradients(value, theta)}


def projective_runs(shape: tuple[int, int], kind: torch.dtype) -> dict[str, Run]:
    """Losses of projective trees."""
    batch, n = shape
    theta, y = scores(batch, n + 1, n, kind=kind), torch.arange(n).repeat(batch, 1)
    loss = StructuredLoss(ProjectiveTree(single_root=False), Shannon(), reduction="sum")
    runs = {"structlearn": with_gradients(lambda: loss(theta, y), theta)}
    return runs | struct_tree_loss("DependencyCRF", theta, y)


def marginal_runs(shape: tuple[int, int], kind: torch.dtype) -> dict[str, Run]:
    """Marginals of projective trees, differentiated in one direction."""
    batch, n = shape
    theta = scores(batch, n + 1, n, kind=kind)
    way = torch.randn(batch, n + 1, n, dtype=torch.float64).to(kind)
    way[:, range(1, n + 1), range(n)] = 0.0
    layer = StructuredLayer(ProjectiveTree(single_root=False), Shannon())
    runs = {"structlearn": with_gradients(lambda: (layer(theta) * way).sum(), theta)}
    if torch_struct() is None:
        return runs

    def by_torch_struct() -> torch.Tensor:
        marginals = struct_trees("DependencyCRF", theta).marginals
        root = marginals.diagonal(dim1=1, dim2=2)
        return (marginals * way[:, 1:]).sum() + (root * way[:, 0]).sum()

    return {**runs, "torch-struct": with_gradients(by_torch_struct, theta)}


def segment_runs(shape: tuple[int, int, int, int], kind: torch.dtype) -> dict[str, Run]:
    """Losses of segmentations whose every segment has a score: by begin, length and label."""
    batch, length, k, most = shape
    structure = Segments(k, most, gaps=False, whole=True)
    own, pairs = scores(batch, length, most, k, kind=kind), scores(k, k, kind=kind, scale=0.3)
    none, rest = torch.zeros(batch, length, 3 * k, dtype=kind), torch.zeros(most * k, dtype=kind)
    begins = range(0, length, 2)
    gold = [[(i, min(i + 2, length), (i + b) % k) for i in begins] for b in range(batch)]
    y = [torch.tensor(one) for one in gold]
    loss = StructuredLoss(structure, Shannon(), reduction="sum")

    def value() -> torch.Tensor:
        return loss(torch.cat([none, own.flatten(2)], 2), y, torch.cat([pairs.flatten(), rest]))

    runs, peer = {"structlearn": with_gradients(value, own, pairs)}, torch_struct()
    if peer is None:
        return runs
    chosen = torch.tensor([[length * b + i, j - i - 1, c] for b in range(batch) for i, j, c in gold[b]])
    steps = torch.tensor([[one[2], other[2]] for each in gold for one, other in pairwise(each)])
    first = torch.full((k,), -1e9, dtype=kind)  # the label before the first segment is always 0
    first[0] = 0.0

    def by_torch_struct() -> torch.Tensor:
        joined = own[:, 1:, :, :, None] + pairs.T
        edges = torch.cat([own[:, :1, :, :, None] + first, joined], 1)
        total = peer.SemiMarkovCRF(torch.cat([edges[:, :, :1], edges], 2)).partition.sum()
        gold_score = own.flatten(0, 1)[tuple(chosen.T)].sum() + pairs[tuple(steps.T)].sum()
        return total - gold_score

    return {**runs, "torch-struct": with_gradients(by_torch_struct, own, pairs)}


def chain_marginal_runs(shape: tuple[int, int, int], kind: torch.dtype) -> dict[str, Run]:
    """Marginals of chains, differentiated in one direction."""
    k = shape[2]
    theta, shared = scores(*shape, kind=kind), scores(k, k, kind=kind, scale=0.3)
    way = torch.randn(*shape, dtype=torch.float64).to(kind)
    layer, peer = StructuredLayer(Chain(k), Shannon()), torch_struct()
    runs = {"structlearn": with_gradients(lambda: (layer(theta, shared) * way).sum(), theta, shared)}
    if peer is None:
        return runs

    def by_torch_struct() -> torch.Tensor:
        potentials = theta[:, 1:, :, None] + shared.T
        potentials = torch.cat([potentials[:, :1] + theta[:, :1, None, :], potentials[:, 1:]], 1)
        steps = peer.LinearChainCRF(potentials).marginals  # (batch, length - 1, to, from)
        found = torch.cat([steps[:, :1].sum(2), steps.sum(3)], 1)
        return (found * way).sum()

    return {**runs, "torch-struct": with_gradients(by_torch_struct, theta, shared)}


def sparsemap_runs(shape: tuple[int, int, int], kind: torch.dtype) -> dict[str, Run]:
    """SparseMAP of chains, forward and backward; `softmax` has other values, and is not compared."""
    k = shape[2]
    theta, shared = scores(*shape, kind=kind), scores(k, k, kind=kind, scale=0.3)
    way = torch.randn(*shape, dtype=torch.float64).to(kind)
    layer = StructuredLayer(Chain(k), SquaredNorm())
    return {"structlearn": with_gradients(lambda: (layer(theta, shared) * way).sum(), theta, shared)}


def softmax_runs(shape: tuple[int, int, int], kind: torch.dtype) -> dict[str, Run]:
    """Marginals of the same chains, forward and backward."""
    k = shape[2]
    theta, shared = scores(*shape, kind=kind), scores(k, k, kind=kind, scale=0.3)
    way = torch.randn(*shape, dtype=torch.float64).to(kind)
    layer = StructuredLayer(Chain(k), Shannon())
    return {"structlearn": with_gradients(lambda: (layer(theta, shared) * way).sum(), theta, shared)}


OMEGAS = {"sparsemax": SquaredNorm(), "entmax15": Tsallis(1.5)}


def layer_runs(name: str, shape: tuple[int, int], kind: torch.dtype) -> dict[str, Run]:
    """Predictions for rows of scores."""
    theta, way = scores(*shape, kind=kind), torch.randn(*shape, dtype=torch.float64).to(kind)
    layer = StructuredLayer(Simplex(shape[1]), OMEGAS[name])
    runs = {"structlearn": with_gradients(lambda: (layer(theta) * way).sum(), theta)}
    try:
        import entmax
    except ImportError:
        return runs
    answer = getattr(entmax, name)
    return {**runs, "entmax": with_gradients(lambda: (answer(theta, dim=-1) * way).sum(), theta)}


def loss_runs(name: str, shape: tuple[int, int], kind: torch.dtype) -> dict[str, Run]:
    """Losses of rows of scores."""
    theta, y = scores(*shape, kind=kind), torch.randint(shape[1], shape[:1])
    loss = StructuredLoss(Simplex(shape[1]), OMEGAS[name])
    runs = {"structlearn": with_gradients(lambda: loss(theta, y), theta)}
    try:
        import entmax
    except ImportError:
        return runs
    kinds = {"sparsemax": entmax.SparsemaxLoss, "entmax15": entmax.Entmax15Loss}
    peer = kinds[name](reduction="elementwise_mean")
    return {**runs, "entmax": with_gradients(lambda: peer(theta, y), theta)}


def threads(kind: torch.dtype) -> None:
    """Print how much faster two threads are than one, by the wall clock."""
    run, seconds = chain_runs((128, 100, 20), kind)["structlearn"], []
    for number in (1, 2):
        torch.set_num_threads(number)
        seconds.append(take_turns([run], time.perf_counter)[0])
    torch.set_num_threads(1)
    what = "chain (128, 100, 20), wall clock"
    for number, taken in zip((1, 2), seconds):
        by = f"{number} thread{'s' * (number > 1)}"
        print(f"{what:34} {by:14} {1e3 * taken:9.3f} ms {taken / seconds[0]:7.2f}x")
        note(what=what, by=by, ms=1e3 * taken, times=taken / seconds[0])


def main(given: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--double", action="store_true", help="float64 instead of float32")
    parser.add_argument("--only", default="", help="rows whose name begins like this")
    arguments: Any = parser.parse_args(given)
    kind = torch.float64 if arguments.double else torch.float32
    torch.set_num_threads(1)
    print(machine())
    made: list[tuple[str, Callable[[torch.dtype], dict[str, Run]]]] = []
    made += [(f"chain {shape}", partial(chain_runs, shape)) for shape in CHAINS]
    made += [(f"trees {shape}", partial(tree_runs, shape)) for shape in TREES]
    made += [(f"trees, one root {shape}", partial(single_root_runs, shape)) for shape in TREES]
    made += [(f"projective trees {shape}", partial(projective_runs, shape)) for shape in TREES]
    made += [(f"marginals of projective trees {shape}", partial(marginal_runs, shape)) for shape in TREES]
    made += [(f"marginals of chains {shape}", partial(chain_marginal_runs, shape)) for shape in MARGINALS]
    made += [(f"segments {shape}", partial(segment_runs, shape)) for shape in SEGMENTS]
    made.append((f"SparseMAP layer of chains {SPARSE}", partial(sparsemap_runs, SPARSE)))
    made.append((f"softmax layer of chains {SPARSE}", partial(softmax_runs, SPARSE)))
    for name in ("sparsemax", "entmax15"):
        for shape in ROWS:
            made.append((f"{name} layer {shape}", partial(layer_runs, name, shape)))
            made.append((f"{name} loss {shape}", partial(loss_runs, name, shape)))
    for what, make in made:
        if what.startswith(arguments.only):
            compare(what, make, kind)
    if "threads".startswith(arguments.only):
        threads(kind)


if __name__ == "__main__":
    recorded(main, peers=("pytorch-crf", "torch-struct", "entmax", "torch"))
