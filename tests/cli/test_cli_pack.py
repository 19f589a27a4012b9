"""`data pack`, and `train`, `predict` and `evaluate` on what it wrote."""

import os

import numpy as np
import pytest
from cli_cases import values

from structlearn.data import make_matchings, read_graphs, read_label_image, write_graphs, write_label_image
from structlearn.estimators.files.persistence import load_bundle


@pytest.fixture
def npz(tmp_path):
    """Matchings as an .npz file."""
    X, tables = make_matchings(12, (2, 4), (2, 4), 3, random_state=0)
    links = [(i, *pair) for i, table in enumerate(tables) for pair in np.argwhere(table)]
    path = tmp_path / "pairs.npz"
    shapes = [one.shape[:2] for one in X]
    np.savez(path, features=np.concatenate([one.reshape(-1, 3) for one in X]), shapes=shapes, links=links)
    return path


@pytest.fixture
def words(write):
    """Chunks of words with their tags."""
    noun, verb = "the D B-NP\n{} N I-NP\n", "{} V B-VP\n"
    pairs = [("dog", "runs"), ("cat", "sees"), ("dog", "sees"), ("bird", "runs")]
    return write("\n".join(noun.format(a) + verb.format(b) + ", , O\n" for a, b in pairs), "words.txt")


@pytest.fixture
def rings(tmp_path):
    """Rings of different sizes, with edge features and a label that is not known."""
    rng = np.random.default_rng(0)
    y = [rng.integers(3, size=n) for n in rng.integers(3, 6, size=12)]
    y[3][0] = -1
    edges = [np.stack([np.arange(one.size), np.roll(np.arange(one.size), -1)], axis=1) for one in y]
    X = [
        (np.eye(3)[y_] + rng.normal(size=(y_.size, 3)), e, rng.random((len(e), 2))) for y_, e in zip(y, edges)
    ]
    write_graphs(tmp_path / "rings.npz", X, y)
    return tmp_path / "rings.npz"


@pytest.fixture
def pictures(tmp_path):
    """Images of two sizes with their label images."""
    rng, place = np.random.default_rng(0), tmp_path / "pictures"
    for name in ("images", "labels"):
        (place / name).mkdir(parents=True)
    for i, columns in enumerate((4, 5, 4)):
        labels = rng.integers(2, size=(3, columns))
        np.save(place / "images" / f"p{i}.npy", np.eye(2)[labels] + 0.5 * rng.normal(size=(3, columns, 2)))
        write_label_image(place / "labels" / f"p{i}.png", labels)
    return place


@pytest.mark.parametrize(
    ("task", "data"),
    [
        ("classify", "libsvm"),
        ("tag", "tags"),
        ("chunk", "words"),
        ("match", "npz"),
        ("regress", "real"),
        ("graph", "rings"),
        ("grid", "pictures"),
    ],
)
def test_packed_data_trains_the_same_model(run, task, data, tmp_path, request):
    file, folder = request.getfixturevalue(data), tmp_path / "packed"
    options = ("--tol", 0.1, "--seed", 1)
    run("data", "pack", task, file, "--out", folder)
    run("train", task, file, "--out", tmp_path / "a.st", *options)
    run("train", task, folder, "--out", tmp_path / "b.st", *options)
    models = [load_bundle(tmp_path / name).estimator.weights_ for name in ("a.st", "b.st")]
    assert models[0].tobytes() == models[1].tobytes()
    # the model knows the file's format, and reads both
    answers = [run("predict", tmp_path / "b.st", one).stdout for one in (file, folder)]
    if task in ("tag", "chunk"):  # a file comes back whole, packed data as its labels
        answers[0] = "".join(line.split()[-1] + "\n" if line else "\n" for line in answers[0].splitlines())
    assert answers[0].strip() == answers[1].strip()
    figures = values(run("evaluate", tmp_path / "b.st", folder).stdout)
    assert figures == values(run("evaluate", tmp_path / "b.st", file).stdout)


def test_answers_for_packed_graphs_are_files_of_graphs(run, rings, tmp_path):
    folder, model, out = tmp_path / "packed", tmp_path / "model.st", tmp_path / "out.npz"
    run("data", "pack", "graph", rings, "--out", folder)
    run("train", "graph", folder, "--out", model, "--tol", 0.1, "--jobs", 2)
    run("predict", model, folder, "--out", out)
    found, given = read_graphs(out), read_graphs(rings)
    for name in ("nodes", "edges", "edge_features"):
        np.testing.assert_array_equal(found.arrays[name], given.arrays[name])
    lines = run("predict", model, rings).stdout.splitlines()
    assert [one.tolist() for one in found.y] == [[int(label) for label in line.split()] for line in lines]
    page = tmp_path / "page.html"
    run("show", model, folder, "--out", page)
    assert "<svg" in page.read_text()


def test_images_are_packed_with_a_window(run, refused, libsvm, pictures, tmp_path):
    folder, model, out = tmp_path / "packed", tmp_path / "model.st", tmp_path / "labels"
    run("data", "pack", "grid", pictures, "--out", folder, "--window", 3)
    train = ("train", "grid", folder, "--out", model, "--tol", 0.1)
    run(*train)
    assert load_bundle(model).estimator.n_features_in_ == 18
    run("predict", model, folder, "--out", out)
    run("predict", model, pictures, "--out", tmp_path / "others")
    for i in range(3):
        one, other = (read_label_image(place / f"p{i}.png") for place in (out, tmp_path / "others"))
        np.testing.assert_array_equal(one, other)
    assert "was packed with 3" in refused(*train, "--window", 5)
    assert "has no pictures" in refused("show", model, folder, "--out", tmp_path / "page.html")
    pack = ("data", "pack", "classify", libsvm, "--out", tmp_path / "q")
    assert "--window does not go with the task classify" in refused(*pack, "--window", 3)


def test_a_model_of_packed_data_within_a_limit(run, refused, libsvm, tmp_path):
    folder, model = tmp_path / "packed", tmp_path / "model.st"
    run("data", "pack", "classify", libsvm, "--out", folder)
    run("train", "classify", folder, "--out", model, "--memory", "4GB")
    command = ("train", "classify", folder, "--out", model)
    assert "is too little: the program itself takes" in refused(*command, "--memory", "1MB")
    assert "a size such as '2GB'" in refused(*command, "--memory", "much")


def test_damage_and_misuse_are_one_sentence(run, refused, libsvm, npz, tmp_path):
    folder, model = tmp_path / "packed", tmp_path / "model.st"
    pack = ("data", "pack", "classify", libsvm, "--out", folder)
    run(*pack)
    assert "exists already" in refused(*pack)
    assert "packed data of the kind 'classes', not 'chain'" in refused("train", "tag", folder, "--out", model)
    assert "--target goes with files" in refused("train", "classify", folder, "--out", model, "--target", "x")
    (folder / "data.bin").write_bytes((folder / "data.bin").read_bytes()[:-1])
    assert "data.bin is damaged" in refused("train", "classify", folder, "--out", model)
    assert "has no header.json" in refused("train", "classify", tmp_path, "--out", model)
    assert "Unknown task" in refused("data", "pack", "clasify", libsvm, "--out", tmp_path / "q")
    assert "is no .npz file" in refused("train", "match", libsvm, "--out", model)
    np.savez(tmp_path / "odd.npz", features=np.ones((3, 2)), shapes=[[2, 2]])
    assert "one row per pair of nodes" in refused("train", "match", tmp_path / "odd.npz", "--out", model)
    np.savez(tmp_path / "odd.npz", features=np.ones((4, 2)))
    assert "has no array shapes" in refused("train", "match", tmp_path / "odd.npz", "--out", model)
    np.savez(tmp_path / "odd.npz", features=np.ones((4, 2)), shapes=[[2, 2]], links=[[0, 2, 0]])
    assert "a node that its example does not have" in refused(
        "train", "match", tmp_path / "odd.npz", "--out", model
    )
    for shapes in ([[1 << 32, 1 << 32]], [[-2, -2]], [[2.5, 2]], [], [[0, 4], [2, 2]]):
        np.savez(tmp_path / "odd.npz", features=np.ones((4, 2)), shapes=shapes, links=np.empty((0, 3), int))
        assert "shapes" in refused("train", "match", tmp_path / "odd.npz", "--out", model)
    assert sorted(os.listdir(tmp_path)) == sorted([libsvm.name, npz.name, "odd.npz", "packed"])
