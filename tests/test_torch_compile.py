"""Layers inside torch.compile, torch.func and torch.export."""

import shutil

import pytest

torch = pytest.importorskip("torch")

from structlearn.problem.losses import Shannon, SquaredNorm  # noqa: E402
from structlearn.structures import Chain, Simplex  # noqa: E402
from structlearn.torch import CRF, DecisionLoss, StructuredLayer, StructuredLoss  # noqa: E402


class Network(torch.nn.Module):
    """A linear map on either side of a layer."""

    def __init__(self, layer):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.layer, self.last = torch.nn.Linear(3, 4), layer, torch.nn.Linear(4, 2)

    def forward(self, x, *rest):
        return self.last(torch.tanh(self.layer(torch.relu(self.first(x)), *rest)))


class Trained(torch.nn.Module):
    """A linear map and a loss."""

    def __init__(self, loss):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.loss = torch.nn.Linear(3, 4), loss

    def forward(self, x, *rest):
        return 2 * self.loss(torch.relu(self.first(x)), *rest).mean()


X, Y = torch.linspace(-1, 1, 30).reshape(2, 5, 3), torch.tensor([[0, 1, 2, 3, 0], [3, 3, 1, 1, 2]])
MODELS = {
    "layer": (Network(StructuredLayer(Simplex(4), SquaredNorm())), (X[0],)),
    "layer of chains": (Network(StructuredLayer(Chain(4), Shannon())), (X, torch.ones(4, 4))),
    "loss": (Trained(StructuredLoss(Chain(4), Shannon())), (X, Y, torch.eye(4))),
    "crf": (Trained(CRF(4, batch_first=True)), (X, Y)),
    "decisions": (Trained(DecisionLoss(Simplex(4))), (X[0], torch.eye(4)[[0, 1, 2, 3, 0]])),
}
#: torch.compile itself looks at the gradients of tensors in the middle
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
each_model = pytest.mark.parametrize("case", MODELS.values(), ids=MODELS)


@each_model
def test_a_compiled_network_has_the_values_and_gradients_of_a_plain_one(case):
    model, given = case
    torch._dynamo.reset()
    compiled = torch.compile(model, backend="aot_eager")
    found, weights = {}, list(model.parameters())
    for name, one in (("plain", model), ("compiled", compiled)):
        value = one(*given).square().sum()
        found[name] = [value, *torch.autograd.grad(value, weights)]
    for one, other in zip(found["compiled"], found["plain"]):
        torch.testing.assert_close(one, other)


@pytest.mark.long
@pytest.mark.skipif(shutil.which("gcc") is None, reason="inductor needs a C++ compiler")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_network_is_trained_by_the_default_backend():
    """Inductor writes C++ for what surrounds the loss; two steps, as without it."""
    torch._dynamo.reset()
    weights = []
    for compiled in (False, True):
        model = Trained(StructuredLoss(Chain(4), Shannon()))
        called = torch.compile(model) if compiled else model
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for _ in range(2):
            optimizer.zero_grad()
            called(X, Y, torch.eye(4)).backward()
            optimizer.step()
        weights.append(torch.cat([one.detach().flatten() for one in model.parameters()]))
    assert not torch.equal(weights[0], torch.cat([one.flatten() for one in Trained(None).parameters()]))
    torch.testing.assert_close(*weights)


@each_model
def test_a_layer_breaks_the_graph_of_a_network_once(case):
    model, given = case
    torch._dynamo.reset()
    assert torch._dynamo.explain(model)(*given).graph_break_count <= 1


@each_model
def test_what_cannot_be_transformed_says_so(case):
    model, given = case
    with pytest.raises(RuntimeError, match="pass all examples at once"):
        torch.func.vmap(model, in_dims=(0, *[None] * (len(given) - 1)))(given[0][None], *given[1:])
    with pytest.raises(RuntimeError, match="cannot be exported"):
        torch.export.export(model, given, strict=False)
