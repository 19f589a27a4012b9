"""First and second derivatives of every structure with every regulariser that layers serve."""

import pytest

torch = pytest.importorskip("torch")

from structlearn.losses import Shannon, SquaredNorm, Tsallis, Zero  # noqa: E402
from structlearn.structures import (  # noqa: E402
    Chain,
    ConditionedChain,
    ConstituencyTree,
    Cube,
    Cut,
    LabelGraph,
    LabelledTree,
    Matching,
    MonotoneAlignment,
    NonProjectiveTree,
    PairwiseGraph,
    ProjectiveTree,
    Segments,
    Simplex,
)
from structlearn.torch import StructuredLayer, StructuredLoss  # noqa: E402

BOTH = (Shannon(), SquaredNorm())
#: structure, shapes of the scores and of the shared scores, sizes, regularisers
CASES = {
    "simplex": (Simplex(4), (2, 4), None, None, (*BOTH, Tsallis(1.5))),
    "cube": (Cube(3), (2, 3), None, None, BOTH),
    "chain": (Chain(3, start=True, end=True), (2, 3, 3), (15,), [3, 2], BOTH),
    "forbidden steps": (Chain(3, forbidden=[(0, 1)]), (2, 3, 3), (3, 3), [3, 2], BOTH),
    "conditioned chain": (ConditionedChain(2), (2, 3, 6), None, [3, 2], BOTH),
    "segments": (Segments(2, 2, whole=True), (2, 3, 11), (13,), [3, 2], BOTH),
    "label graph": (LabelGraph(3), (2, 3), (12,), None, BOTH),
    "pairwise graph": (PairwiseGraph(3, [(0, 1), (1, 2)], 2), (2, 14), None, None, BOTH),
    "projective tree": (ProjectiveTree(), (2, 4, 3), None, [3, 2], BOTH),
    "tree": (NonProjectiveTree(), (2, 4, 3), None, [3, 2], BOTH),
    "labelled tree": (LabelledTree(ProjectiveTree(), 2), (2, 4, 3, 2), None, [3, 2], BOTH),
    "constituency": (ConstituencyTree(2), (2, 3, 3, 2), None, [3, 2], BOTH),
    "alignment": (MonotoneAlignment(), (2, 3, 3), None, [[2, 3], [3, 3]], BOTH),
    "matching": (Matching(), (2, 2, 3), None, None, (SquaredNorm(),)),
    "cut": (Cut(3, [(0, 1), (1, 2)]), (2, 5), None, None, (SquaredNorm(),)),
}
PAIRS = [
    pytest.param(*case[:4], omega, id=f"{name}, {type(omega).__name__}")
    for name, case in CASES.items()
    for omega in case[4]
]


def scores(*shape, seed):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=torch.float64, generator=generator).requires_grad_()


@pytest.mark.long
@pytest.mark.parametrize(("structure", "shape", "shared_shape", "sizes", "omega"), PAIRS)
def test_derivatives_are_those_of_differences(structure, shape, shared_shape, sizes, omega):
    given = [scores(*shape, seed=0)] + ([] if shared_shape is None else [scores(*shared_shape, seed=1)])
    others = [scores(*one.shape, seed=2).detach() for one in given]
    y = StructuredLayer(structure, Zero()).decode(*others, sizes=sizes)
    loss, layer = StructuredLoss(structure, omega, reduction="none"), StructuredLayer(structure, omega)

    def losses(theta, *shared):
        return loss(theta, y, *shared, sizes=sizes)

    def answers(theta, *shared):
        return layer(theta, *shared, sizes=sizes)

    assert torch.autograd.gradcheck(losses, given, atol=1e-6)
    assert torch.autograd.gradcheck(answers, given, eps=1e-4, atol=1e-5, nondet_tol=1e-8)
    assert torch.autograd.gradgradcheck(losses, given, atol=1e-5, nondet_tol=1e-8)
    assert torch.autograd.gradgradcheck(answers, given, eps=1e-4, atol=1e-5, nondet_tol=1e-6)
