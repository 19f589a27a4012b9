"""The tasks `graph` and `grid`: files in and out, figures, pages, and what is refused."""

import json
import os

import numpy as np
import pytest
from cli_cases import values
from numpy.testing import assert_allclose, assert_array_equal
from PIL import Image

from structlearn import GraphClassifier, GridClassifier, load
from structlearn.data import read_graphs, read_image_folder, read_label_image, write_graphs, write_label_image

FAST = ("--regularization", "0.1", "--tol", "0.05")
HOSTILE = "<script>alert(1)</script>\x1b[31m"


def rings(n=12, seed=0):
    rng = np.random.default_rng(seed)
    edges = np.array([(0, 1), (1, 2), (2, 3), (3, 0)])
    y = [rng.permutation([0, 1, 2, 2]) for _ in range(n)]
    return [(np.eye(3)[one] + 0.7 * rng.normal(size=(4, 3)), edges) for one in y], y


@pytest.fixture
def npz(tmp_path):
    path = tmp_path / "rings.npz"
    write_graphs(path, *rings())
    return path


@pytest.fixture
def folder(tmp_path):
    """Images of which the left half is dark and labelled 3, the right one light and labelled 7."""
    rng = np.random.default_rng(0)
    place = tmp_path / "pictures"
    for name in ("images", "labels"):
        (place / name).mkdir(parents=True)
    labels = np.where(np.arange(6) < 3, 3, 7) * np.ones((4, 1), dtype=int)
    for i in range(4):
        pixels = np.where(labels == 3, 60, 190) + 40 * rng.normal(size=(4, 6))
        Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8)).save(place / "images" / f"p{i}.png")
        write_label_image(place / "labels" / f"p{i}.png", labels)
    return place


@pytest.fixture
def model(run, npz, tmp_path):
    run("train", "graph", npz, "--out", tmp_path / "model.st", *FAST)
    return tmp_path / "model.st"


# ---- graphs -----------------------------------------------------------------------------------------------


def test_graphs_there_and_back(run, npz, model, tmp_path):
    X, y = rings()
    same = GraphClassifier(regularization=0.1, tol=0.05, random_state=0).fit(X, y)
    assert_array_equal(load(model).weights_, same.weights_)
    lines = run("predict", model, npz).stdout.splitlines()
    assert [list(map(int, line.split())) for line in lines] == [one.tolist() for one in same.predict(X)]
    run("predict", model, npz, "--out", tmp_path / "out.npz")
    found = read_graphs(tmp_path / "out.npz")
    assert_array_equal(found.y, same.predict(X))
    assert_array_equal(found.arrays["nodes"], np.concatenate([one[0] for one in X]))
    shown = values(run("evaluate", model, npz).stdout)
    assert shown["accuracy"] == f"{same.score(X, y):.6g}"
    assert shown["nodes"] == "48"
    figures = json.loads(run("evaluate", model, npz, "--json").stdout)
    gold, predicted = np.concatenate(y), np.concatenate(same.predict(X))
    overlaps = [
        np.sum((gold == k) & (predicted == k)) / np.sum((gold == k) | (predicted == k)) for k in range(3)
    ]
    assert figures["mean_iou"] == pytest.approx(np.mean(overlaps))
    assert "task: graph" in run("info", model).stdout
    assert "0 - 0" in run("weights", model).stdout
    assert run("evaluate", model, tmp_path / "out.npz").stdout.startswith("accuracy: 1\n")


def test_unknown_labels_and_options(run, tmp_path):
    X, y = rings()
    y = [np.where(np.arange(4) == i % 4, -1, one) for i, one in enumerate(y)]
    write_graphs(tmp_path / "some.npz", [(*x, np.ones((4, 2))) for x in X], y)
    options = ("--pairs", "potts", "--latent-states", "2", "--loss", "softmax")
    run("train", "graph", tmp_path / "some.npz", "--out", tmp_path / "m.st", *FAST, *options)
    model = load(tmp_path / "m.st")
    assert model.get_params()["pairs"] == "potts"
    assert model.coef_.shape == (6, 3)
    assert values(run("evaluate", tmp_path / "m.st", tmp_path / "some.npz").stdout)["nodes"] == "36"
    probabilities = run("predict", tmp_path / "m.st", tmp_path / "some.npz", "--marginals").stdout
    assert probabilities.count("\n\n") == len(X) - 1
    first = dict(cell.split(":") for cell in probabilities.splitlines()[0].split())
    assert sum(map(float, first.values())) == pytest.approx(1, abs=1e-5)
    assert "1 0 - 1 0" in run("weights", tmp_path / "m.st", "--json").stdout


def test_drawn_graphs(run, npz, model, tmp_path):
    run("show", model, npz, "--out", tmp_path / "page.html", "--limit", "5")
    page = (tmp_path / "page.html").read_text()
    assert page.count("<svg") == 5
    assert "5 of 12 graphs are shown, the worst first." in page
    wrong = np.sum([p != q for p, q in zip(load(model).predict(rings()[0]), rings()[1])], axis=1)
    assert page.count('class="ring"') == sum(sorted(wrong)[-5:])
    X, _ = rings(2)
    write_graphs(tmp_path / "plain.npz", X, positions=[np.arange(8.0).reshape(4, 2)] * 2)
    run("show", model, tmp_path / "plain.npz", "--out", tmp_path / "page.html")
    assert "2 graphs, in their order." in (tmp_path / "page.html").read_text()
    assert 'class="ring"' not in (tmp_path / "page.html").read_text()


def arrays(**changes):
    found = {
        "nodes": np.eye(4),
        "edges": np.array([(0, 1), (1, 0)]),
        "sizes": np.array([(2, 1), (2, 1)]),
        "labels": np.array([0, 1, 1, 0]),
    }
    return {name: value for name, value in {**found, **changes}.items() if value is not None}


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"nodes": None}, "has no array nodes"),
        ({"edges": None}, "has no array edges"),
        ({"labels": None}, "has no array labels to learn from"),
        (
            {"edges": np.array([(0, 1), (0, 2)])},
            "edge 0 of graph 1 is (0, 2); it must join two of the nodes 0 to 1",
        ),
        ({"edges": np.array([(0, -1), (0, 1)])}, "edge 0 of graph 0 is (0, -1)"),
        ({"edges": np.array([(0, 2**32 + 1), (0, 1)])}, "edge 0 of graph 0 is (0, 4294967297)"),
        ({"edges": np.array([(0, 0), (0, 1)])}, "edge 0 of graph 0 is (0, 0); it must join two"),
        ({"edges": np.array([0, 1])}, "edges must have 2 axes"),
        ({"edges": np.array([(0.5, 1), (0, 1)])}, "edges must hold whole numbers, not 0.5 (row 0)"),
        ({"edges": np.array([(0, 1), (0, np.nan)])}, "edges must hold whole numbers, not nan (row 1)"),
        (
            {"edges": np.array([(0, 1), (0, 2**64 - 1)], dtype=np.uint64)},
            "whole numbers, not 18446744073709551615",
        ),
        ({"edge_features": np.ones((3, 1))}, "edge_features has 3 rows; edges has 2"),
        ({"edge_features": np.ones((2, 0))}, "edge_features has no columns"),
        (
            {"edge_features": np.array([[1, 1], [1, np.nan]])},
            "edge_features has nan in row 1, column 1, of graph 1",
        ),
        (
            {"edge_features": np.full((2, 1), -1e200)},
            "edge_features has -1e+200 in row 0, column 0, of graph 0",
        ),
        ({"nodes": np.full((4, 4), np.inf)}, "nodes has inf in row 0, column 0, of graph 0"),
        (
            {"nodes": np.diag([1, 1, 1, np.nan]).astype(np.float16)},
            "nodes has nan in row 3, column 3, of graph 1",
        ),
        ({"nodes": np.eye(4) * 1e151}, "features are numbers of at most 1e+150"),
        ({"nodes": np.empty((4, 0))}, "nodes has no columns"),
        ({"nodes": np.eye(4, dtype=object)}, "nodes.npy holds no numbers"),
        ({"labels": np.ones((4, 1))}, "labels must have 1 axis, not 2"),
        ({"labels": np.array([0, 1, 1])}, "labels has 3 rows; nodes has 4"),
        ({"labels": np.array([0, 1, 1, -2])}, "labels must be at least 0"),
        ({"labels": np.array(["a", "b", "a", "b"])}, "holds no numbers"),
        ({"labels": np.array([0, 0, 0, -1])}, "has the label 0 alone"),
        ({"labels": np.full(4, -1)}, "no label that is known"),
        (
            {"sizes": np.array([(2, 1), (2, 2)])},
            "sizes must add up to the 4 nodes and 2 edges that there are, not to 4 and 3",
        ),
        ({"sizes": np.array([(2**62, 1), (2**62, 1)])}, "sizes must add up"),
        (
            {"sizes": np.array([(4, 2), (0, 0)])},
            "each with a node or more, not 0 nodes and 0 edges in graph 1",
        ),
        (
            {"sizes": np.array([(2, 3), (2, -1)])},
            "each with a node or more, not 2 nodes and -1 edges in graph 1",
        ),
        ({"sizes": np.empty((0, 2))}, "one graph or more, each with a node or more, not none"),
    ],
)
def test_refused_files_of_graphs(refused, tmp_path, changes, problem):
    np.savez(tmp_path / "x.npz", **arrays(**changes))
    told = refused("train", "graph", tmp_path / "x.npz", "--out", tmp_path / "m.st")
    assert problem in told
    assert "x.npz" in told
    assert [path.name for path in tmp_path.iterdir()] == ["x.npz"]


@pytest.mark.parametrize(
    "nodes",
    [np.eye(4, dtype=bool), np.eye(4, dtype=np.int8), np.eye(4, dtype=np.float16), np.eye(4, dtype=">f4")],
)
def test_features_of_any_kind_of_number(run, tmp_path, nodes):
    for name, kind in (("plain", np.float64), ("other", nodes.dtype)):
        np.savez(tmp_path / f"{name}.npz", **arrays(nodes=nodes.astype(kind)))
        run("train", "graph", tmp_path / f"{name}.npz", "--out", tmp_path / f"{name}.st", *FAST)
    assert_allclose(*(load(tmp_path / f"{name}.st").weights_ for name in ("plain", "other")), atol=1e-4)


def test_other_refusals(refused, run, npz, model, folder, tmp_path):
    out = ("--out", tmp_path / "m.st")
    assert "is no .npz file" in refused("train", "graph", model, *out)
    (tmp_path / "empty.npz").write_bytes(b"")
    assert "is no .npz file" in refused("train", "graph", tmp_path / "empty.npz", *out)
    assert "--target goes with tables" in refused("train", "graph", npz, "--target", "y", *out)
    assert "--connectivity does not go with the task graph" in refused(
        "train", "graph", npz, "--connectivity", "8", *out
    )
    assert "--window does not go with the task tag" in refused("train", "tag", npz, "--window", "3", *out)
    assert "pairs is one of" in refused("train", "graph", npz, "--pairs", "cubes", *out)
    assert "has no labels to compare with" in _refused_without_labels(refused, model, tmp_path)
    X, y = rings(2)
    write_graphs(tmp_path / "wide.npz", [(np.ones((4, 5)), x[1]) for x in X], y)
    for command in (("predict",), ("evaluate",), ("show", "--out", tmp_path / "page.html")):
        told = refused(command[0], model, tmp_path / "wide.npz", *command[1:])
        assert "wide.npz has 5 features per node, but the model was trained with 3" in told
    assert not (tmp_path / "page.html").exists()
    write_graphs(tmp_path / "edges.npz", [(*x, np.ones((4, 2))) for x in X], y)
    told = refused("predict", model, tmp_path / "edges.npz", "--out", tmp_path / "p.npz")
    assert "edges.npz has 2 edge features, but the model was trained with 1" in told
    assert not (tmp_path / "p.npz").exists()
    write_graphs(tmp_path / "unknown.npz", X, [np.full(4, -1)] * 2)
    assert "unknown.npz has no labels to compare with" in refused("evaluate", model, tmp_path / "unknown.npz")
    states = ("--latent-states", 10**9)
    assert 'Class "0" has 12 nodes, but --latent-states asks for 1000000000 states' in refused(
        "train", "graph", npz, *states, *out
    )
    assert "is not a folder" in refused("train", "grid", npz, *out)
    assert "--window must be odd" in refused("train", "grid", folder, "--window", "2", *out)
    assert "connectivity is 4 or 8" in refused("train", "grid", folder, "--connectivity", "5", *out)


def test_types_of_nodes_that_training_had_not(refused, run, npz, tmp_path):
    X, y = rings(4)
    for name, types in (("typed", [0, 1, 0, 1]), ("other", [0, 7, 0, 1])):
        write_graphs(tmp_path / f"{name}.npz", [(*x, None, np.array(types)) for x in X], y)
    run("train", "graph", tmp_path / "typed.npz", "--out", tmp_path / "typed.st", *FAST)
    run("predict", tmp_path / "typed.st", tmp_path / "typed.npz")
    assert "other.npz has nodes of type 7" in refused(
        "predict", tmp_path / "typed.st", tmp_path / "other.npz"
    )
    assert "rings.npz has no array node_types" in refused("predict", tmp_path / "typed.st", npz)


@pytest.mark.filterwarnings("error")
def test_positions_that_are_none(run, model, tmp_path):
    places = [np.array([(0, 0), (1e300, -1e300), (np.nan, np.inf), (1, 2)])] * 2
    write_graphs(tmp_path / "far.npz", rings(2)[0], positions=places)
    run("show", model, tmp_path / "far.npz", "--out", tmp_path / "page.html")
    assert "nan" not in (tmp_path / "page.html").read_text().split("<svg", 1)[1].lower().split("</svg>")[0]


def _refused_without_labels(refused, model, tmp_path):
    write_graphs(tmp_path / "bare.npz", rings(2)[0])
    return refused("evaluate", model, tmp_path / "bare.npz")


# ---- images -----------------------------------------------------------------------------------------------


def test_images_there_and_back(run, folder, tmp_path):
    run("train", "grid", folder, "--out", tmp_path / "m.st", "--connectivity", "8", "--window", "3", *FAST)
    model = load(tmp_path / "m.st")
    assert isinstance(model, GridClassifier)
    assert model.n_features_in_ == 9
    scores = values(run("evaluate", tmp_path / "m.st", folder).stdout)
    assert float(scores["accuracy"]) > 0.95
    assert scores["pixels"] == "96"
    (folder / "labels").rename(tmp_path / "gold")
    run("predict", tmp_path / "m.st", folder, "--out", folder / "labels")
    assert values(run("evaluate", tmp_path / "m.st", folder).stdout)["accuracy"] == "1"
    lines = run("predict", tmp_path / "m.st", folder).stdout.splitlines()
    assert lines[0].split() == [str(k) for k in read_label_image(folder / "labels" / "p0.png").ravel()]
    shown = run("weights", tmp_path / "m.st").stdout
    assert "channel 0 at +0,+0" in shown
    assert "down left: 3 - 3" in shown


def test_drawn_images_and_hostile_names(run, folder, tmp_path):
    for name in ("images", "labels"):
        (folder / name / "p0.png").rename(folder / name / f"{HOSTILE.replace('/', '_')}.png")
    run("train", "grid", folder, "--out", tmp_path / "m.st", *FAST)
    run("show", tmp_path / "m.st", folder, "--out", tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<script>alert" not in page
    assert "\x1b" not in page
    assert "&lt;script&gt;alert" in page
    assert page.count("data:image/png;base64,") == 16
    run("predict", tmp_path / "m.st", folder, "--out", tmp_path / "made")
    assert len(list((tmp_path / "made").iterdir())) == 4
    (folder / "labels" / "p1.png").unlink()
    (folder / "images" / "p1.png").rename(folder / "images" / "p\x1b[31m1.png")
    told = run("evaluate", tmp_path / "m.st", folder, code=2).stderr
    assert "does not exist: each image needs a label image" in told
    assert "\x1b" not in told


def test_arrays_as_images_and_void_labels(run, folder, tmp_path):
    for i in range(4):
        np.save(folder / "images" / f"p{i}.npy", np.ones((4, 6, 2)) * np.arange(6)[:, None])
        (folder / "images" / f"p{i}.png").unlink()
    labels = read_label_image(folder / "labels" / "p0.png")
    labels[0] = -1
    write_label_image(folder / "labels" / "p0.png", labels)
    assert (np.asarray(Image.open(folder / "labels" / "p0.png"))[0] == 255).all()
    found = read_image_folder(folder)
    assert (found.y[0][0] == -1).all()
    run("train", "grid", folder, "--out", tmp_path / "m.st", *FAST)
    assert values(run("evaluate", tmp_path / "m.st", folder).stdout)["pixels"] == "90"


def damage(folder, kind):
    image, labels = folder / "images" / "p1.png", folder / "labels" / "p1.png"
    if kind == "truncated":
        image.write_bytes(image.read_bytes()[:50])
    elif kind == "truncated labels":
        labels.write_bytes(labels.read_bytes()[:45])
    elif kind == "empty":
        image.write_bytes(b"")
    elif kind == "size":
        write_label_image(labels, np.zeros((4, 5), dtype=int))
    elif kind == "colours":
        Image.fromarray(np.zeros((4, 6, 3), dtype=np.uint8)).save(labels)
    elif kind == "mixed":
        Image.fromarray(np.zeros((4, 6, 3), dtype=np.uint8)).save(image)
    elif kind == "missing":
        labels.unlink()
    elif kind == "twice":
        np.save(folder / "images" / "p1.npy", np.zeros((4, 6, 1)))
    elif kind == "pickle":
        image.unlink()
        np.save(folder / "images" / "p1.npy", np.array([{}]), allow_pickle=True)
    elif kind == "no labels":
        (folder / "labels").rename(folder / "other")
    elif kind == "no images":
        (folder / "images").rename(folder / "other")
    elif kind == "pipe":
        image.unlink()
        os.mkfifo(image)
    elif kind == "nan":
        image.unlink()
        np.save(image.with_suffix(".npy"), np.diag([1, 1, np.nan, 1])[:, :, None])
    elif kind == "void":
        for path in labels.parent.iterdir():
            write_label_image(path, np.full((4, 6), -1))
    elif kind == "bomb":
        Image.new("L", (20000, 20000)).save(image)


@pytest.mark.parametrize(
    ("kind", "problem"),
    [
        ("truncated", "p1.png is no picture, or it is damaged"),
        ("truncated labels", "p1.png is no picture, or it is damaged"),
        ("empty", "p1.png is no picture, or it is damaged"),
        ("size", "p1.png is 5 x 4 pixels large, but its image 6 x 4"),
        ("colours", "is not a label image: it must have 8 bits"),
        ("mixed", "the image p1 has 3 values a pixel, not 1"),
        ("missing", "each image needs a label image of its name"),
        ("twice", 'two images named "p1"'),
        ("pickle", "holds no numbers"),
        ("no labels", "has no folder labels to learn from"),
        ("no images", "has no images"),
        ("pipe", "p1.png is not a file"),
        ("nan", "p1.npy has nan in row 2, column 2; features are numbers of at most 1e+150"),
        ("void", "pictures has no label that is known"),
        ("bomb", "exceeds limit"),
    ],
)
def test_refused_folders(refused, folder, tmp_path, kind, problem):
    damage(folder, kind)
    assert problem in refused("train", "grid", folder, "--out", tmp_path / "m.st")


def test_where_label_images_go(refused, run, folder, tmp_path):
    run("train", "grid", folder, "--out", tmp_path / "m.st", *FAST)
    (tmp_path / "file").write_text("")
    assert "this is a file" in refused("predict", tmp_path / "m.st", folder, "--out", tmp_path / "file")
    for place in (folder, folder / "images"):
        assert "uses this folder" in refused("predict", tmp_path / "m.st", folder, "--out", place)


# ---- lambda -----------------------------------------------------------------------------------------------


def test_lambda_is_chosen_by_the_data(run, npz, tmp_path):
    X, y = rings()
    expected = GraphClassifier(tol=0.05, random_state=0).fit(X, y)
    number = f"{expected.regularization_:g}"
    for k, flags in enumerate([(), ("--regularization", "auto")]):
        out = tmp_path / f"{k}.st"
        told = run("train", "graph", npz, "--out", out, "--tol", "0.05", *flags).stderr
        assert f"--regularization auto stands for {number} on this data." in told
        assert_array_equal(load(out).weights_, expected.weights_)
        assert f"regularization={expected.regularization_}" in run("info", out).stdout
    out = tmp_path / "given.st"
    told = run("train", "graph", npz, "--out", out, "--regularization", repr(expected.regularization_))
    assert "stands for" not in told.stderr
    assert load(out).regularization == expected.regularization_


def test_lambda_of_images(run, folder, tmp_path):
    run("train", "grid", folder, "--out", tmp_path / "m.st", "--tol", "0.05")
    model, images = load(tmp_path / "m.st"), read_image_folder(folder)
    expected = GridClassifier(tol=0.05, random_state=0).fit(images.X, images.y)
    assert model.regularization_ == expected.regularization_


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("train", "graph", "{npz}", "--regularization", "often"), "must be a number, or auto; got 'often'."),
        (("train", "graph", "{npz}", "--regularization", "-1"), "must be at least 0; got -1.0."),
        (("train", "tag", "{npz}", "--regularization", "auto"), "must be a finite number; got 'auto'."),
        (("tune", "graph", "{npz}", "--regularization", "auto,1"), "numbers with commas between them"),
    ],
)
def test_other_lambdas_are_refused(run, npz, tmp_path, command, said):
    given = [npz if one == "{npz}" else one for one in command]
    assert said in run(*given, "--out", tmp_path / "m.st", code=2).stderr
