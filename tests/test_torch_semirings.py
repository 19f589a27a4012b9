"""backend="torch" against the compiled kernels, on the CPU: values, gradients of both orders, refusals."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from structlearn.problem.losses import Shannon, SquaredNorm  # noqa: E402
from structlearn.structures import Chain, NonProjectiveTree, ProjectiveTree, Simplex  # noqa: E402
from structlearn.torch import StructuredLayer, StructuredLoss  # noqa: E402

LABELS = torch.tensor([[0, 2, 1, 1, 0], [2, -1, -1, -1, -1], [2, 2, 0, 9, 9]])
HEADS = torch.tensor([[2, 0, 2, 3, 3], [0, -1, -1, -1, -1], [0, 1, 2, 7, 7]])
#: structure, shapes of scores and shared scores, outputs
CASES = {
    "chain": (Chain(3), (3, 5, 3), (3, 3), LABELS),
    "chain with ends": (Chain(3, start=True, end=True), (3, 5, 3), (15,), LABELS),
    "forbidden steps": (Chain(3, end=True, forbidden=[(0, 1), (None, 1)]), (3, 5, 3), (12,), LABELS),
    "tree": (NonProjectiveTree(), (3, 6, 5), None, HEADS),
    "tree, several roots": (NonProjectiveTree(single_root=False), (3, 6, 5), None, HEADS),
    "projective": (ProjectiveTree(), (3, 6, 5), None, HEADS),
    "projective, several roots": (ProjectiveTree(single_root=False), (3, 6, 5), None, HEADS),
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
LENGTHS = [5, 1, 3]


def given_by(case, scale=1.0):
    rng = np.random.default_rng(0)
    shapes = [one for one in case[1:3] if one is not None]
    return [torch.tensor(scale * rng.normal(size=one), requires_grad=True) for one in shapes]


@each_case
@pytest.mark.parametrize("scale", [1.0, 5.0])
def test_both_backends_give_the_same_numbers(case, scale):
    structure, _, _, y = case
    given, found = given_by(case, scale), {}
    way = torch.randn(case[1], dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    for backend in ("compiled", "torch"):
        loss = StructuredLoss(structure, Shannon(), reduction="none", backend=backend)
        layer = StructuredLayer(structure, Shannon(), backend=backend)
        value, z = loss(given[0], y, *given[1:], sizes=LENGTHS), layer(*given, sizes=LENGTHS)
        slopes = torch.autograd.grad(value.sum(), given), torch.autograd.grad((z * way).sum(), given)
        found[backend] = [value, z, *slopes[0], *slopes[1]]
    for one, other in zip(*found.values()):
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-8)


@each_case
def test_forbidden_parts_have_no_share_and_no_slope(case):
    structure = case[0]
    theta, *rest = (one.detach() for one in given_by(case))
    part = (0, 3, 2) if structure.beyond_length == (0,) else (0, 1, 3)
    theta[part] = -np.inf
    found = {}
    for backend in ("compiled", "torch"):
        at = theta.clone().requires_grad_()
        z = StructuredLayer(structure, Shannon(), backend=backend)(at, *rest, sizes=LENGTHS)
        found[backend] = [z, *torch.autograd.grad(z.square().sum(), at)]
        assert z[part] == 0
    for one, other in zip(*found.values()):
        torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-8)


@each_case
def test_without_gradients_nothing_is_remembered(case):
    layer = StructuredLayer(case[0], Shannon(), backend="torch")
    given = given_by(case)
    with torch.no_grad():
        assert not layer(*given, sizes=LENGTHS).requires_grad
    assert not layer(*(one.detach() for one in given), sizes=LENGTHS).requires_grad


def test_refusals_name_the_example():
    loss = StructuredLoss(Chain(2), Shannon(), backend="torch")
    y, steps = torch.zeros(2, 3, dtype=int), torch.zeros(2, 2)
    theta = torch.zeros(2, 3, 2)
    theta[1, 0, 0] = np.nan
    with pytest.raises(ValueError, match="example 1 has NaN"):
        loss(theta, y, steps)
    theta[1, 0] = torch.tensor([-np.inf, 0.0])
    with pytest.raises(ValueError, match="Output 1 uses a part"):
        loss(theta, y, steps)
    theta[1, 0] = -np.inf
    with pytest.raises(ValueError, match="Example 1 forbids every output"):
        loss(theta, y, steps)
    with pytest.raises(ValueError, match="not whole part vectors"):
        StructuredLayer(Chain(2), Shannon(), backend="torch")(torch.zeros(1, 10))
    for structure, regularizer in ((Simplex(2), Shannon()), (Chain(2), SquaredNorm())):
        with pytest.raises(ValueError, match="Use backend='compiled'"):
            StructuredLayer(structure, regularizer, backend="torch")
    with pytest.raises(ValueError, match="Unknown backend"):
        StructuredLayer(Chain(2), Shannon(), backend="cuda")
