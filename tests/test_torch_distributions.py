"""Distributions over outputs as tensors: against enumeration, autograd and frequencies."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from brute import STRUCTURES, score_of  # noqa: E402
from structlearn.structures import (  # noqa: E402
    Chain,
    ConditionedChain,
    ConstituencyTree,
    Cube,
    LabelGraph,
    Matching,
    MonotoneAlignment,
    NonProjectiveTree,
    ProjectiveTree,
    Segments,
    Simplex,
)
from structlearn.torch import PerturbedLayer, StructuredDistribution  # noqa: E402

SEGMENTS = Segments(2, 2)
#: structure, its family, shape of scores and of shared scores, lengths, shapes of the examples
CASES = {
    "simplex": (Simplex(4), "simplex", (2, 4), None, None, [(1, 4)] * 2),
    "cube": (Cube(3), "cube", (2, 3), None, None, [(1, 3)] * 2),
    "chain": (Chain(3), "chain", (2, 3, 3), (3, 3), [3, 2], [(3, 3), (2, 3)]),
    "conditioned chain": (
        ConditionedChain(2),
        "conditioned chain",
        (2, 3, 6),
        None,
        [3, 1],
        [(3, 6), (1, 6)],
    ),
    "label graph": (LabelGraph(3, "all"), "label graph", (2, 3), (12,), None, [(1, 3)] * 2),
    "segments": (
        SEGMENTS,
        "segments",
        (2, 3, SEGMENTS.n_columns),
        (SEGMENTS.n_shared,),
        [3, 2],
        [(3, SEGMENTS.n_columns), (2, SEGMENTS.n_columns)],
    ),
    "projective tree": (ProjectiveTree(), "projective tree", (2, 4, 3), None, [3, 2], [(4, 3), (3, 2)]),
    "tree": (NonProjectiveTree(), "tree", (2, 4, 3), None, [3, 2], [(4, 3), (3, 2)]),
    "constituency": (ConstituencyTree(2), "constituency tree", (2, 3, 3, 2), None, [3, 2], [(9, 2), (4, 2)]),
    "alignment": (MonotoneAlignment(), "alignment", (2, 3, 3), None, [[2, 3], [3, 3]], [(2, 3), (3, 3)]),
}
each_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def scores(*shape, seed=0):
    return torch.tensor(np.random.default_rng(seed).normal(size=shape), requires_grad=True)


def given_by(case, seed=0):
    theta, shared = scores(*case[2], seed=seed), None if case[3] is None else scores(*case[3], seed=seed + 1)
    return [theta] if shared is None else [theta, shared]


def made(case, seed=0):
    return StructuredDistribution(case[0], *given_by(case, seed), lengths=case[4])


def enumerated(case, b, seed=0):
    """All outputs of example b, their scores, and their local parts laid out as scores are."""
    family, shape = STRUCTURES[case[1]], case[5][b]
    dist = made(case, seed)
    outputs = family.outputs(shape)
    parts = np.array([family.write(y, shape).ravel() for y in outputs])
    own = dist._part_vectors()[b].ravel()
    return outputs, score_of(own, parts), parts, own


@each_case
def test_everything_that_is_a_number_is_that_of_an_enumeration(case):
    p, q = made(case), made(case, 5)
    for b in range(2):
        outputs, score, parts, _ = enumerated(case, b)
        other = enumerated(case, b, 5)[1]
        log_z, log_q = np.logaddexp.reduce(score), np.logaddexp.reduce(other)
        probability = np.exp(score - log_z)
        wanted = {
            "log_partition": (p.log_partition, log_z),
            "entropy": (p.entropy(), -(probability * (score - log_z)).sum()),
            "cross_entropy": (p.cross_entropy(q), -(probability * (other - log_q)).sum()),
            "kl": (p.kl(q), (probability * (score - log_z - other + log_q)).sum()),
            "registered": (
                torch.distributions.kl_divergence(p, q),
                (probability * (score - log_z - other + log_q)).sum(),
            ),
        }
        for found, value in wanted.values():
            assert found[b].item() == pytest.approx(value, abs=1e-9)
        local = p._batch.layout.n_local[b]
        found = p._batch.part_vectors(p.marginals.detach().numpy(), np.zeros((2, p._flat.numel())))[b]
        np.testing.assert_allclose(found.ravel()[:local], (probability @ parts)[:local], atol=1e-9)
        best = outputs[int(score.argmax())]
        for y, wanted_score in ((best, score.max()), (outputs[-1], score[-1])):
            rest = p.decode(p.mode)[1 - b]
            pair = [y, rest] if b == 0 else [rest, y]
            assert p.log_prob(pair)[b].item() == pytest.approx(wanted_score - log_z, abs=1e-9)
        np.testing.assert_array_equal(p.decode(p.argmax)[b], best)


@each_case
def test_everything_that_depends_on_scores_can_be_differentiated(case):
    given = given_by(case)
    other = made(case, 5)
    outputs = other.decode(other.mode)

    def numbers(*given):
        p = StructuredDistribution(case[0], *given, lengths=case[4])
        return p.log_partition, p.log_prob(outputs), p.entropy(), p.cross_entropy(other), other.kl(p)

    assert torch.autograd.gradcheck(numbers, given, atol=1e-5, nondet_tol=1e-8)
    gradient = torch.autograd.grad(numbers(*given)[0].sum(), given[0])[0]
    torch.testing.assert_close(gradient, made(case).marginals, rtol=0, atol=1e-12)


@each_case
def test_the_best_and_samples_are_events_of_the_right_scores_and_frequencies(case):
    p = made(case)
    _, score, _, _ = enumerated(case, 1)
    events, found = p.topk(4)
    wanted = np.sort(score)[::-1][:4]
    np.testing.assert_allclose(found[: len(wanted), 1].detach().numpy(), wanted, atol=1e-9)
    torch.testing.assert_close(events[0], p.mode)
    log_prob = p.log_prob(events[:1])
    torch.testing.assert_close(log_prob, found[:1] - p.log_partition)
    # frequencies of parts: within five standard deviations
    torch.manual_seed(0)
    drawn = p.sample((400,))
    again = p.sample((2, 3), generator=torch.Generator().manual_seed(7))
    torch.testing.assert_close(again, p.sample((2, 3), generator=torch.Generator().manual_seed(7)))
    assert again.shape == (2, 3, *p.theta.shape)
    assert p.log_prob(again).shape == (2, 3, 2)
    mean = p.marginals.detach()
    deviation = (mean * (1 - mean) / 400).clamp_min(0).sqrt()
    assert ((drawn.mean(0) - mean).abs() <= 5 * deviation + 1e-9).all()


def test_fewer_outputs_than_are_asked_for_are_followed_by_zeros_of_score_minus_infinity():
    events, found = StructuredDistribution(Simplex(2), torch.tensor([[0.0, 1.0], [-np.inf, 2.0]])).topk(3)
    assert found.tolist() == [[1.0, 2.0], [0.0, -np.inf], [-np.inf, -np.inf]]
    assert events[1].tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert not events[2].any()


def test_forbidden_parts_have_no_share_and_no_slope():
    theta = torch.tensor([[0.0, 1.0, -np.inf]], dtype=torch.float64, requires_grad=True)
    p, q = (
        StructuredDistribution(Simplex(3), one) for one in (theta, torch.zeros(1, 3, dtype=torch.float64))
    )
    (slope,) = torch.autograd.grad(p.entropy().sum() + p.kl(q).sum(), theta)
    assert torch.isfinite(slope).all()
    assert q.cross_entropy(p).item() == np.inf
    assert q.kl(p).item() == np.inf


def test_single_precision_has_the_numbers_of_double_precision():
    theta = 30 * torch.randn(3, 8, 5, generator=torch.Generator().manual_seed(0))
    single, double = (
        StructuredDistribution(Chain(5), one, torch.zeros(5, 5).to(one)) for one in (theta, theta.double())
    )
    for name in ("entropy", "log_partition"):
        one, other = (getattr(p, name) for p in (single, double))
        one, other = (value() if callable(value) else value for value in (one, other))
        assert one.dtype == torch.float32
        torch.testing.assert_close(one.double(), other, rtol=1e-6, atol=1e-6)


def test_an_empty_batch_has_empty_answers():
    p = StructuredDistribution(NonProjectiveTree(), torch.zeros(0, 3, 2))
    assert p.sample((4,)).shape == (4, 0, 3, 2)
    assert p.log_partition.shape == p.entropy().shape == (0,)


def test_refusals_are_sentences():
    with pytest.raises(TypeError, match="Matching has no marginals"):
        StructuredDistribution(Matching(), torch.zeros(1, 2, 2))
    p = StructuredDistribution(Simplex(3), torch.zeros(2, 3))
    with pytest.raises(ValueError, match="Example 1 is not the parts of an output"):
        p.log_prob(torch.tensor([[1.0, 0, 0], [1.0, 1, 0]]))
    with pytest.raises(ValueError, match="outputs of one structure"):
        p.kl(StructuredDistribution(Cube(3), torch.zeros(2, 3)))
    given = torch.zeros(1, 3, 2), torch.zeros(2, 2)
    chains = [StructuredDistribution(Chain(2), *given, lengths=[n]) for n in (2, 3)]
    with pytest.raises(ValueError, match="same lengths"):
        chains[0].kl(chains[1])
    with pytest.raises(ValueError, match="Scores must be finite"):
        _ = StructuredDistribution(Simplex(2), torch.tensor([[np.nan, 0.0]])).log_partition


# ---- perturb and maximise -------------------------------------------------------------------------------


def test_gumbel_noise_on_a_simplex_makes_the_softmax_and_its_derivative():
    theta = torch.tensor([[0.3, -0.5, 1.0]], dtype=torch.float64, requires_grad=True)
    way = torch.tensor([[1.0, -2.0, 0.5]], dtype=torch.float64)
    torch.manual_seed(0)
    layer = PerturbedLayer(Simplex(3), "gumbel", n_samples=20_000)
    (slope,) = torch.autograd.grad(layer(theta), theta, way)
    p = torch.softmax(theta, -1)
    (wanted,) = torch.autograd.grad(p, theta, way)
    torch.testing.assert_close(layer(theta), p, rtol=0, atol=0.02)
    torch.testing.assert_close(slope, wanted, rtol=0, atol=0.06)


@pytest.mark.parametrize("noise", ["gaussian", "gumbel"])
def test_the_estimate_of_the_slope_is_unbiased_with_the_variance_that_is_stated(noise):
    """Two switches: E 1[theta + sigma Z > 0] is known, and so is its derivative."""
    torch.manual_seed(0)
    theta = torch.tensor([[0.4, -0.7]], dtype=torch.float64)
    sigma, size, copies = 0.8, 5, 20_000
    many = theta.expand(copies, 2).clone().requires_grad_()
    layer = PerturbedLayer(Cube(2), noise, sigma=sigma, n_samples=size)
    way = torch.tensor([1.0, -1.0], dtype=torch.float64)
    (slope,) = torch.autograd.grad(layer(many), many, way.expand(copies, 2))
    at = -theta[0] / sigma
    if noise == "gaussian":
        density = torch.exp(-(at**2) / 2) / np.sqrt(2 * np.pi)
    else:
        density = torch.exp(-at - torch.exp(-at))
    wanted = way * density / sigma
    error = slope.std(0) / np.sqrt(copies)
    assert ((slope.mean(0) - wanted).abs() < 5 * error).all()
    draws = (torch.randn if noise == "gaussian" else lambda *s: -torch.empty(*s).exponential_().log())(
        200_000, 2
    )
    draws = draws.double()
    value = ((theta + sigma * draws > 0).double() * way).sum(1)
    factor = draws if noise == "gaussian" else 1 - torch.exp(-draws)
    stated = ((value - value.mean())[:, None] ** 2 * factor**2).mean(0) / sigma**2 / size
    assert (slope.var(0) < 1.6 * stated).all()


def test_perturbed_matchings_are_mixtures_of_matchings_and_padding_stays_zero():
    theta = scores(2, 3, 4)
    layer = PerturbedLayer(Matching(), n_samples=50)
    z = layer(theta, sizes=[[2, 2], [3, 4]])
    assert (z.sum(1) <= 1 + 1e-12).all()
    assert (z.sum(2) <= 1 + 1e-12).all()
    assert not z[0, 2:].any()
    (slope,) = torch.autograd.grad(z.square().sum(), theta)
    assert slope[1].any()
    assert not slope[0, 2:].any()


def test_shared_parts_are_perturbed_as_parts_of_their_own():
    chain = Chain(2)
    z = PerturbedLayer(chain, n_samples=4)(scores(3, 2 * 2 + 4))
    torch.testing.assert_close(z[:, :4].sum(1), torch.full((3,), 2.0, dtype=torch.float64))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"noise": "uniform"}, "Unknown noise"),
        ({"sigma": 0.0}, "sigma must be positive"),
        ({"n_samples": 1}, "at least 2"),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        PerturbedLayer(Cube(2), **options)
