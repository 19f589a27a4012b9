"""Packed data: what is packed is what is read, training on it is the same, and damage is named."""

import hashlib
import json
import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from structlearn import ChainClassifier, LinearRegressor, MatchingClassifier, MulticlassClassifier
from structlearn.core.memory import Memory, anonymous_bytes, map_zero_bytes, parse_size
from structlearn.data import DataError, PackedWriter, make_chains, make_matchings, open_packed, pack
from structlearn.storage.folder import FolderWriter


def chains(kind=np.float64, **options):
    return make_chains(30, (1, 6), 4, 5, random_state=0, dtype=kind, **options)


def trained_alike(model, data, packed):
    """Training on packed data gives the weights that training on the data itself gives."""
    alone = model.fit(*data).weights_.tobytes()
    assert model.fit(packed.X, packed.y).weights_.tobytes() == alone


def rows(n=50, d=4):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.5)
    return X, np.array(["a", "b", "c"])[np.argmax(X[:, :3], axis=1)]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix], ids=["dense", "sparse"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_and_classes(tmp_path, form, dtype):
    X, y = rows()
    X = form(X.astype(dtype))
    pack(tmp_path / "p", "classes", X, y, examples_at_once=7)
    packed = open_packed(tmp_path / "p")
    assert packed.X.dtype == dtype
    assert len(packed) == 50
    np.testing.assert_array_equal(packed.y, y)
    whole, back = (one.toarray() if sparse.issparse(one) else one for one in (X, packed.X))
    np.testing.assert_array_equal(back, whole)
    if dtype == np.float64:  # one compilation is enough
        trained_alike(MulticlassClassifier(random_state=0, tol=0.01), (X, y), packed)


def test_sets_and_numbers(tmp_path):
    X, _ = rows()
    sets = [tuple(np.flatnonzero(row > 0).tolist()) for row in X]
    pack(tmp_path / "sets", "sets", X, sets, examples_at_once=9)
    assert open_packed(tmp_path / "sets").y == sets
    pack(tmp_path / "numbers", "numbers", X, X @ np.arange(4.0), examples_at_once=9)
    packed = open_packed(tmp_path / "numbers")
    model = LinearRegressor(regularization=1e-9).fit(packed.X, packed.y)
    np.testing.assert_allclose(model.coef_, np.arange(4), atol=1e-6)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_chains(tmp_path, kind):
    X, y = chains(kind)
    y = [np.array(["n", "v", "d", "p"])[one] for one in y]
    pack(tmp_path / "p", "chain", X, y, examples_at_once=4)
    packed = open_packed(tmp_path / "p")
    assert len(packed.X) == len(packed.y) == 30
    for one, other in zip([*X, *y], [*packed.X, *packed.y], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(packed.y[-1], y[-1])
    assert packed.X.rows.dtype == kind
    if kind == np.float64:
        trained_alike(ChainClassifier(random_state=0, tol=0.1), (X, y), packed)


def test_models_answer_packed_examples(tmp_path):
    X, y = chains()
    pack(tmp_path / "p", "chain", X, y)
    packed, model = open_packed(tmp_path / "p"), ChainClassifier(random_state=0, tol=0.1).fit(X, y)
    assert model.score(packed.X, packed.y) == model.score(X, y)


def test_features_are_not_copied(tmp_path):
    pack(tmp_path / "p", "chain", *chains())
    packed = open_packed(tmp_path / "p")
    from structlearn.estimators.inputs.checking import stack_examples

    stacked, _ = stack_examples(packed.X, ndim=2, noun="Sequence")
    assert np.shares_memory(stacked, packed.X.rows)
    packed.X.rows[:] = 0  # a private map: the file stays
    assert open_packed(tmp_path / "p").X.rows.any()


def test_sparse_chains(tmp_path):
    X, y = chains()
    X = [sparse.csr_matrix(np.maximum(one, 0)) for one in X]
    pack(tmp_path / "p", "chain", X, y, examples_at_once=8)
    packed = open_packed(tmp_path / "p")
    np.testing.assert_array_equal(packed.X.rows.toarray(), sparse.vstack(X).toarray())
    trained_alike(ChainClassifier(random_state=0, tol=0.1), (X, y), packed)


@pytest.mark.parametrize("vectors", [True, False])
def test_matchings(tmp_path, vectors):
    X, tables = make_matchings(12, (2, 4), (2, 4), 3, random_state=0)
    vector = [np.where(one.any(axis=1), one.argmax(axis=1), -1) for one in tables]
    y = vector if vectors else tables
    pack(tmp_path / "p", "matching", X, y, examples_at_once=5)
    packed = open_packed(tmp_path / "p")
    for one, other in zip([*X, *y], [*packed.X, *packed.y], strict=True):
        np.testing.assert_array_equal(one, other)
    trained_alike(MatchingClassifier(random_state=0, tol=0.1), (X, y), packed)


def test_a_damaged_folder_is_refused_by_the_name_of_the_file(tmp_path):
    folder = tmp_path / "p"
    pack(folder, "classes", *rows())
    wholes = {path: path.read_bytes() for path in folder.iterdir()}
    assert sorted(path.name for path in wholes) == ["codes.bin", "features.bin", "header.json"]
    for path, whole in wholes.items():
        flipped = bytearray(whole)
        flipped[len(whole) // 2] ^= 1
        for content in (whole[:-1], bytes(flipped), b"", whole + b"x" * 8):
            path.write_bytes(content)
            with pytest.raises(DataError, match=path.name):
                open_packed(folder)
        path.unlink()
        with pytest.raises(DataError, match=path.name):
            open_packed(folder)
        path.write_bytes(whole)
    open_packed(folder)
    with pytest.raises(DataError, match="has no header"):
        open_packed(tmp_path)


def rewritten(folder, **changes):
    """The folder with another header, its hash right."""
    from structlearn.storage.folder import HEADER, _hash_of_header

    header = json.loads((folder / HEADER).read_text())
    header.pop("sha256")
    header.update(changes)
    (folder / HEADER).write_text(json.dumps({**header, "sha256": _hash_of_header(header)}))


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"version": 99}, "has format 99"),
        ({"format": "x"}, "not packed data"),
        ({"classes": []}, "do not belong together"),
        ({"kind": "chain"}, "do not belong together"),
        ({"kind": ["chain"]}, "kind must be"),
        ({"classes": 3}, "classes must be list"),
        ({"n_features": 5}, "features are float64 of shape"),
        ({"n_features": "4"}, "n_features must be a number"),
        ({"notes": []}, "notes must be dict"),
        ({"texts": {"a": "b"}}, "texts.* must be list"),
        ({"arrays": []}, "arrays must be dict"),
        ({"arrays": {}}, "is damaged"),
    ],
)
def test_other_headers_are_refused(tmp_path, changes, why):
    pack(tmp_path / "p", "classes", *rows())
    rewritten(tmp_path / "p", **changes)
    with pytest.raises(DataError, match=why):
        open_packed(tmp_path / "p")


def test_nothing_half_written_is_left(tmp_path):
    X, y = rows()
    with (
        pytest.raises(ValueError, match="as many outputs"),
        PackedWriter(tmp_path / "p", "classes") as writer,
    ):
        writer.append(X, y[1:])
    with pytest.raises(DataError, match="nothing to pack"), PackedWriter(tmp_path / "p", "classes"):
        pass
    with pytest.raises(DataError, match="NaN"):
        pack(tmp_path / "p", "classes", np.full((2, 2), np.nan), [0, 1])
    mixed = np.array([1, *y[1:]], dtype=object)
    with pytest.raises(DataError, match="strings or numbers"):
        pack(tmp_path / "p", "classes", X, mixed, examples_at_once=1)
    assert list(tmp_path.iterdir()) == []
    pack(tmp_path / "p", "classes", X, y)
    with pytest.raises(FileExistsError, match="exists already"):
        pack(tmp_path / "p", "classes", X, y)


@pytest.mark.skipif(os.name != "posix", reason="locks of folders")
def test_what_a_killed_writer_left_goes_with_the_next_one(tmp_path):
    killed = "import os, sys; from structlearn.storage.folder import FolderWriter\n"
    killed += "with FolderWriter(sys.argv[1]): os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", killed, str(tmp_path / "packed")], check=False)
    (left,) = tmp_path.iterdir()
    with FolderWriter(tmp_path / "other"):
        assert left.exists()
    with FolderWriter(tmp_path / "packed") as alive:
        assert not left.exists()
        with FolderWriter(tmp_path / "packed"):
            assert alive.aside.exists()
    assert list(tmp_path.iterdir()) == []


def test_batches_must_fit_together(tmp_path):
    X, y = rows()
    writer = PackedWriter(tmp_path / "p", "classes").__enter__()
    writer.append(X, y)
    with pytest.raises(ValueError, match="as many outputs"):
        writer.append(X, y[1:])
    for wrong in (X[:, :2], sparse.csr_matrix(X)):
        with pytest.raises(ValueError, match="same number of features"):
            writer.append(wrong, y)
    with pytest.raises(DataError, match="A batch was refused, so nothing is packed"):
        writer.__exit__(None)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(ValueError, match="rows of features"):
        pack(tmp_path / "q", "chain", [np.zeros((2, 3))], [[1]])
    with pytest.raises(ValueError, match="Unknown kind"):
        pack(tmp_path / "q", "nonsense", X, y)


# ---- memory ---------------------------------------------------------------------------------------------


def test_arrays_beyond_the_limit_are_mapped_files(tmp_path):
    taken = anonymous_bytes()
    memory = Memory(taken + (200 << 20), tmp_path)
    array = memory.zeros((256 << 20) // 8)  # more than the limit
    array[::512] = 1.0
    assert anonymous_bytes() < taken + (128 << 20)
    assert array.sum() == array.size // 512
    assert list(tmp_path.iterdir()) == []  # without a name: nothing is left behind
    assert memory.empty(10).flags.writeable


def test_what_fits_stays_in_memory_and_room_is_given_back(tmp_path):
    memory = Memory(anonymous_bytes() + (256 << 20), tmp_path)
    small = [memory.empty((100 << 20) // 8) for _ in range(2)]
    assert [one.base is None for one in small] == [True, False]
    del small
    assert memory.empty((100 << 20) // 8).base is None


def test_training_within_a_limit_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr("structlearn.core.memory.SHARE_KEPT", 0.0)  # everything goes to files
    monkeypatch.setattr("structlearn.core.memory.SMALL", 0)
    X, y = chains()
    options = {"random_state": 0, "tol": 0.1}
    one = ChainClassifier(**options).fit(X, y)
    limit = anonymous_bytes() + (2 << 30)
    assert ChainClassifier(**options, memory=limit).fit(X, y).weights_.tobytes() == one.weights_.tobytes()


def test_not_enough_disk_is_a_sentence(tmp_path):
    with pytest.raises(OSError, match="not enough disk for") as caught:
        map_zero_bytes(1 << 60, tmp_path)
    assert caught.value.filename == str(tmp_path)


def test_sizes():
    assert parse_size("2GB") == 2 * 10**9
    assert parse_size("1.5 MiB") == 3 << 19
    assert parse_size(1000) == 1000
    for wrong in ("", "GB", "-1", "2XB", "1.2.3GB", 0):
        with pytest.raises(ValueError, match="a size such as '2GB'"):
            parse_size(wrong)
    with pytest.raises(ValueError, match="is too little: the program itself takes"):
        Memory("1KB")


def with_array(folder, name, array=None, **entry):
    """The folder with another array, or another description of one; all hashes right."""
    from structlearn.storage.folder import HEADER

    arrays = json.loads((folder / HEADER).read_text())["arrays"]
    if array is not None:
        (folder / f"{name}.bin").write_bytes(array.tobytes())
        arrays[name] = {
            "dtype": array.dtype.str,
            "shape": list(array.shape),
            "sha256": hashlib.sha256(array.tobytes()).hexdigest(),
        }
    arrays[name] = {**arrays.get(name, {}), **entry}
    rewritten(folder, arrays=arrays)


KINDS = {
    "classes": lambda: rows(),
    "sparse": lambda: (sparse.csr_matrix(rows()[0]), rows()[1]),
    "sets": lambda: (rows()[0], [("a",), ("a", "b")] * 25),
    "numbers": lambda: (rows()[0], rows()[0].sum(axis=1)),
    "chain": lambda: chains(),
    "matching": lambda: make_matchings(6, (2, 4), (2, 4), 3, random_state=0),
    "graph": lambda: (
        [(np.ones((3, 2)), [(0, 1), (1, 2)], np.ones((2, 1)), ["a", "b", "b"])] * 4,
        [[0, 1, -1]] * 4,
    ),
    "grid": lambda: ([np.ones((2, 3, 1))] * 4, [[[0, 1, 1], [0, 0, -1]]] * 4),
}


@pytest.mark.parametrize(
    ("kind", "name", "change"),
    [
        ("classes", "codes", lambda one: one + 2),
        ("classes", "codes", lambda one: one - 1),
        ("classes", "codes", lambda one: one[:-1]),
        ("classes", "codes", lambda one: one.astype(np.float64)),
        ("classes", "features", lambda one: one[:-1]),
        ("classes", "features", lambda one: one[:, :-1].copy()),
        ("classes", "features", lambda one: np.where(one == one[0, 0], np.nan, one)),
        ("sparse", "indices", lambda one: one + 4),
        ("sparse", "indices", lambda one: one - 4),
        ("sparse", "indptr", lambda one: one[::-1].copy()),
        ("sparse", "indptr", lambda one: one + 1),
        ("sparse", "data", lambda one: one[:-1]),
        ("sets", "starts", lambda one: one * 2),
        ("sets", "starts", lambda one: one[:-1]),
        ("numbers", "targets", lambda one: one[:-1]),
        ("numbers", "targets", lambda one: one * np.inf),
        ("chain", "starts", lambda one: np.r_[one[:3], -5, one[4:]]),
        ("chain", "starts", lambda one: np.r_[one[:-1], 10**12]),
        ("chain", "codes", lambda one: one + 100),
        ("matching", "shapes", lambda one: one * 2),
        ("matching", "shapes", lambda one: -one),
        ("matching", "links", lambda one: one + 50),
        ("matching", "links", lambda one: one - 50),
        ("matching", "link_starts", lambda one: one[:-1]),
        ("graph", "edges", lambda one: one + 1),
        ("graph", "edges", lambda one: one - 1),
        ("graph", "edges", lambda one: one * 0),
        ("graph", "edge_starts", lambda one: one[:-1]),
        ("graph", "edge_features", lambda one: one[:-1]),
        ("graph", "edge_features", lambda one: one * np.nan),
        ("graph", "types", lambda one: one + 1),
        ("graph", "codes", lambda one: one - 1),
        ("grid", "codes", lambda one: one + 1),
        ("grid", "shapes", lambda one: one[:, :1].copy()),
        ("grid", "shapes", lambda one: one[:, ::-1] + 1),
    ],
)
def test_arrays_that_do_not_fit_are_refused_though_their_hashes_are_right(tmp_path, kind, name, change):
    folder = tmp_path / "p"
    pack(folder, {"sparse": "classes"}.get(kind, kind), *KINDS[kind]())
    open_packed(folder)
    old = {**json.loads((folder / "header.json").read_text())["arrays"][name]}
    array = np.frombuffer((folder / f"{name}.bin").read_bytes(), old["dtype"]).reshape(old["shape"])
    with np.errstate(invalid="ignore"):
        with_array(folder, name, np.asarray(change(array)))
    with pytest.raises(DataError, match="do not belong together"):
        open_packed(folder)


@pytest.mark.parametrize(
    "entry",
    [
        {"dtype": "|O8"},
        {"dtype": "<U9"},
        {"dtype": 3},
        {"shape": [1 << 33, 1 << 33]},
        {"shape": [-1]},
        {"shape": 5},
        {"sha256": None},
    ],
)
def test_descriptions_of_arrays_that_cannot_be_are_refused(tmp_path, entry):
    pack(tmp_path / "p", "classes", *rows())
    with_array(tmp_path / "p", "codes", **entry)
    with pytest.raises(DataError, match="damaged"):
        open_packed(tmp_path / "p")


def test_names_that_lead_elsewhere_are_refused(tmp_path):
    pack(tmp_path / "p", "classes", *rows())
    (tmp_path / "out.bin").write_bytes(bytes(8))
    sha256 = hashlib.sha256(bytes(8)).hexdigest()
    with_array(tmp_path / "p", "../out", dtype="<f8", shape=[1], sha256=sha256)
    with pytest.raises(DataError, match="the name of no array"):
        open_packed(tmp_path / "p")
