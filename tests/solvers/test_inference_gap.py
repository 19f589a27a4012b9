"""What the solver could gain and what bounds leave open are told apart; training ends at the second."""

import numpy as np
import pytest

from structlearn import ChainClassifier, GraphClassifier
from structlearn.cli.support.flags import in_flags
from structlearn.solvers import Checkpoint
from structlearn.structures import PairwiseGraph

SIDE = 6


def frustrated(n, seed=0):
    """Each label twice in a complete graph: neighbours repel each other, and bounds stay loose."""
    rng = np.random.default_rng(seed)
    edges = np.stack(np.triu_indices(SIDE, 1), axis=1)
    y = [rng.permutation(np.arange(SIDE) % 3) for _ in range(n)]
    return [(np.eye(3)[one] + rng.normal(size=(SIDE, 3)), edges) for one in y], y


def fit(**options):
    options = {"inference": "relaxed", "regularization": 0.01, "tol": 1e-3, "random_state": 0, **options}
    return GraphClassifier(loss="hinge", **options).fit(*frustrated(20))


@pytest.fixture(scope="module")
def model():
    return fit()


def test_training_ends_where_only_bounds_keep_the_gap_open(model):
    found = model.certificate_
    assert found.passes < model.max_passes
    assert not found.converged
    assert found.gap == pytest.approx(found.solver_gap + found.inference_gap)
    assert found.solver_gap <= found.tolerance < found.inference_gap
    assert f"{found.inference_gap:.3g} open" in found.status
    assert "polytope='local'" in found.status
    assert "--inference exact" in in_flags(found.status)
    assert f"inference_gap: {found.inference_gap:.6g}" in str(found)


def test_the_optimum_is_between_dual_and_primal(model):
    """Complete graphs of six nodes are eliminated at once: that optimum is the one to enclose."""
    exact = fit(inference="auto", tol=1e-5).certificate_
    assert exact.converged
    assert exact.inference_gap == 0
    found = model.certificate_
    assert found.dual <= exact.primal <= found.primal + 1e-12
    assert exact.dual <= found.primal


def test_the_solver_has_done_its_part():
    """At its weights w, `maximize` of each graph alone finds next to nothing above z.

    With w(z), made from z by hand, the gap of these answers and of z is their gain and lambda/2 |w - w(z)|^2.
    """
    X, y = frustrated(20)
    model = fit(warm_start=True)
    lam, w = model.regularization_, model._solution.state.w
    graphs = [PairwiseGraph(SIDE, edges, 3, inference="relaxed") for _, edges in X]
    z = np.split(model._solution.z, len(X))
    delta = [graph.encode(gold) - one for graph, gold, one in zip(graphs, y, z)]
    nodes = [np.hstack([one, np.ones((SIDE, 1))]) for one, _ in X]
    of_nodes = sum(x.T @ d[: 3 * SIDE].reshape(SIDE, 3) for d, x in zip(delta, nodes)).ravel()
    of_edges = sum(d[3 * SIDE :].reshape(-1, 9).sum(axis=0) for d in delta)
    of_z = np.concatenate([of_nodes, of_edges]) / (lam * len(X))
    gap = lam / 2 * ((w - of_z) ** 2).sum()
    for graph, x, gold, one in zip(graphs, nodes, y, z):
        theta = np.concatenate([(x @ w[:12].reshape(4, 3)).ravel(), np.tile(w[12:], len(graph.edges))])
        theta += graph.cost(graph.encode(gold))
        gap += max(0.0, theta @ (graph.maximize(theta) - one)) / len(X)
    assert gap <= 10 * model.certificate_.tolerance < model.certificate_.gap


def test_a_budget_names_both_figures():
    with pytest.warns(match=r"gap .* above tol=0.001 \(bounds of inference leave .* of it open\)"):
        found = fit(max_passes=8).certificate_
    assert 1e-3 < found.solver_gap < found.gap


def test_a_resumed_run_ends_at_the_same_pass(tmp_path, model):
    with pytest.warns(match="max_passes"):
        fit(max_passes=2, checkpoint=str(tmp_path))
    again = fit(checkpoint=Checkpoint(tmp_path, resume=True))
    np.testing.assert_array_equal(again.weights_, model.weights_)
    assert again.certificate_.status == model.certificate_.status


def test_exact_inference_leaves_nothing_open():
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(5, 2)) for _ in range(8)]
    with pytest.warns(match=r"above tol=1e-09: raise"):
        found = ChainClassifier(loss="hinge", tol=1e-9, max_passes=1).fit(X, [x[:, 0] > 0 for x in X])
    assert "inference_gap" not in found.certificate_.as_dict()


def test_unknown_labels_go_on_to_the_next_problem():
    X, y = frustrated(6)
    partly = [np.where(np.arange(SIDE) == 0, -1, one) for one in y]
    begun = []
    options = {"inference": "relaxed", "regularization": 0.1, "random_state": 0}
    model = GraphClassifier(loss="hinge", callback=lambda row: begun.append(row.iteration == 0), **options)
    model.fit(X, partly)
    assert model.certificate_.inference_gap > model.certificate_.tolerance
    assert sum(begun) > 1
