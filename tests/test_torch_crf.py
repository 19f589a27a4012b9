"""The CRF module: against enumeration, and against pytorch-crf where it is installed."""

from itertools import pairwise, product

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from structlearn.torch import CRF  # noqa: E402

LENGTHS = torch.tensor([4, 1, 3])
MASK = torch.arange(4) < LENGTHS[:, None]


def example(forbidden=None, **options):
    torch.manual_seed(0)
    crf = CRF(3, batch_first=True, forbidden=forbidden, **options).double()
    for table in crf.parameters():
        torch.nn.init.normal_(table)
    theta = torch.randn(3, 4, 3, dtype=torch.float64, requires_grad=True)
    return crf, theta, torch.tensor([[0, 1, 1, 0], [1, -7, -7, -7], [1, 1, 0, 50]])


def score(crf, theta, labels):
    found = crf.start_transitions[labels[0]] + crf.end_transitions[labels[-1]]
    found = found + sum(theta[t, k] for t, k in enumerate(labels))
    return found + sum(crf.transitions[pair] for pair in pairwise(labels))


def allowed(n, forbidden):
    """All label sequences of this length without a forbidden step."""
    for labels in product(range(3), repeat=n):
        if not set(pairwise([None, *labels, None])) & set(forbidden):
            yield labels


@pytest.mark.parametrize("forbidden", [[], [(0, 2), (None, 2), (2, None)]])
def test_values_gradients_decoding_and_marginals_are_those_of_enumeration(forbidden):
    crf, theta, y = example(forbidden or None)
    found, expected, best, means = crf(theta, y, MASK, "none"), [], [], torch.zeros_like(theta)
    for b, n in enumerate(LENGTHS.tolist()):
        outputs = list(allowed(n, forbidden))
        values = torch.stack([score(crf, theta[b], labels) for labels in outputs])
        expected.append(score(crf, theta[b], y[b, :n].tolist()) - torch.logsumexp(values, 0))
        best.append(list(outputs[int(values.argmax())]))
        for labels, p in zip(outputs, values.softmax(0)):
            means[b, range(n), labels] += p
    torch.testing.assert_close(found, torch.stack(expected))
    assert crf.decode(theta, MASK) == best
    torch.testing.assert_close(crf.marginals(theta, MASK), means)
    of = [theta, *crf.parameters()]
    for one, other in zip(*(torch.autograd.grad(sum(values), of) for values in (found, expected))):
        torch.testing.assert_close(one, other)


def test_reductions_and_the_order_of_axes():
    crf, theta, y = example()
    each = crf(theta, y, MASK, "none")
    torch.testing.assert_close(crf(theta, y, MASK), each.sum())
    torch.testing.assert_close(crf(theta, y, MASK, "mean"), each.mean())
    torch.testing.assert_close(crf(theta, y, MASK, "token_mean"), each.sum() / MASK.sum())
    crf.batch_first = False
    given = theta.transpose(0, 1), MASK.T
    torch.testing.assert_close(crf(given[0], y.T, given[1].to(torch.uint8), "none"), each)
    means = crf.marginals(*given)
    crf.batch_first = True
    torch.testing.assert_close(means.transpose(0, 1), crf.marginals(theta, MASK))


def test_derivatives():
    crf, theta, y = example()
    tables = [table.detach().requires_grad_() for table in crf.parameters()]
    names = [name for name, _ in crf.named_parameters()]

    def call(theta, *tables):
        return torch.func.functional_call(crf, dict(zip(names, tables)), (theta, y, MASK, "none"))

    assert torch.autograd.gradcheck(call, [theta, *tables])
    assert torch.autograd.gradgradcheck(call, [theta, *tables], atol=1e-5, nondet_tol=1e-8)


@pytest.mark.filterwarnings("ignore:where received a uint8:UserWarning")
@pytest.mark.parametrize("batch_first", [False, True])
def test_it_stands_in_for_pytorch_crf(batch_first):
    torchcrf = pytest.importorskip("torchcrf")
    torch.manual_seed(1)
    peer, ours = torchcrf.CRF(5, batch_first=batch_first), CRF(5, batch_first=batch_first)
    ours.load_state_dict(peer.state_dict())
    theta, y = torch.randn(6, 7, 5), torch.randint(5, (6, 7))
    mask = torch.arange(7) < torch.tensor([7, 3, 1, 2, 7, 5])[:, None]
    if not batch_first:
        theta, y, mask = (one.transpose(0, 1).contiguous() for one in (theta, y, mask))
    for given in ((theta, y, mask), (theta, y)):
        for reduction in ("sum", "mean", "token_mean", "none"):
            found, wanted = (crf(*given, reduction=reduction) for crf in (ours, peer))
            torch.testing.assert_close(found, wanted, rtol=1e-5, atol=1e-5)
    assert ours.decode(theta, mask) == peer.decode(theta, mask)


def test_refusals():
    crf, theta, y = example([(0, 2)])
    with pytest.raises(ValueError, match="Unknown reduction 'max'"):
        crf(theta, y, reduction="max")
    with pytest.raises(ValueError, match=r"Tags must have the shape .*\(3, 4\); got \(3, 3\)"):
        crf(theta, y[:, :3])
    with pytest.raises(ValueError, match=r"\(batch, length, 3\).*got scores of shape \(3, 4, 2\)"):
        crf.decode(theta[..., :2])
    holes = MASK.clone()
    holes[0, 1] = False
    with pytest.raises(ValueError, match=r"example 0.*padding at the end"):
        crf(theta, y, holes)
    with pytest.raises(ValueError, match=r"example 1.*padding at the end"):
        crf(theta, y, MASK & (torch.arange(3) != 1)[:, None])
    with pytest.raises(ValueError, match=r"Output 1 .*Label -7"):
        crf(theta, y)
    y[2, :2] = torch.tensor([0, 2])
    with pytest.raises(ValueError, match=r"Output 2 .*forbidden step"):
        crf(theta, y, MASK)
    with pytest.raises(ValueError, match="The batch is empty"):
        crf(theta[:0], y[:0], reduction="mean")
    assert crf.decode(theta[:0]) == []
    assert np.isfinite(crf(theta[:0], y[:0]).item())
