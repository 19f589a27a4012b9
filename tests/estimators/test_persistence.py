"""Models as files: what is read is what was written, and nothing else is read or left behind."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import structlearn
from model_files import contents, rewrite
from own_structures import ChooseTwo
from structlearn import StructuredPredictor, TreeParser, load, structures
from structlearn.estimators.stored import build, describe
from structlearn.structures import LabelledTree, Matching, ProjectiveTree
from structlearn.structures.whole import Whole

MODELS = Path(__file__).parent / "models"


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def reload(model, path):
    model.save(path)
    own = model.structure if isinstance(model, StructuredPredictor) else None
    return load(path, structure=own)


# ---- round trips ----------------------------------------------------------------------------------------


def test_a_model_comes_back_as_it_was(fitting, path):
    model = fitting.estimator.fit(fitting.X, fitting.y)
    again = reload(model, path)
    assert type(again) is type(model)
    np.testing.assert_array_equal(again.weights_, model.weights_)
    np.testing.assert_array_equal(again.coef_, model.coef_)
    assert again.certificate_ == model.certificate_
    assert again.history_.rows == model.history_.rows
    assert again.n_features_in_ == model.n_features_in_
    for found, expected in zip(again.predict(fitting.X), model.predict(fitting.X), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert again.score(fitting.X, fitting.y) == model.score(fitting.X, fitting.y)


def test_parameters_come_back(fitting, path):
    model = fitting.estimator.set_params(
        tol=0.5, solver="bcfw", solver_options={"order": "gap"}, max_seconds=9.0, random_state=3
    )
    again = reload(model.fit(fitting.X, fitting.y), path)
    assert again.get_params() == model.get_params()
    assert clone(again).get_params().keys() == model.get_params().keys()


def test_a_model_that_was_read_can_be_fitted_again(fitting, path):
    model = fitting.estimator.fit(fitting.X, fitting.y)
    again = reload(model, path).fit(fitting.X, fitting.y)
    np.testing.assert_array_equal(again.weights_, model.weights_)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("chain", {"start": True, "class_weight": {"B": 2.0}}),
        ("multilabel", {"edges": "tree", "cost": np.array([1.0, 2.0, 3.0])}),
        ("multilabel", {"edges": [(0, 2)], "fit_intercept": False}),
        ("multilabel", {"edges": "none"}),
        ("matching", {"unmatched": False, "capacities": (1, 2), "cost": {"missed": 2.0}}),
    ],
)
def test_parameters_of_every_type_come_back(make, path, name, parameters):
    model, X, y = make(name, **parameters)
    again = reload(model.fit(X, y), path)
    for key, value in parameters.items():
        np.testing.assert_array_equal(getattr(again, key), value)
        assert type(getattr(again, key)) is type(value)
    assert again.score(X, y) == model.score(X, y)


@pytest.mark.parametrize("dtype", [object, np.int64, np.bool_, "U8"])
def test_classes_of_every_type_come_back(make, path, dtype):
    model, X, y = make("multiclass")
    labels = y.astype(object) if dtype is object else (y == "cat").astype(dtype)
    again = reload(model.fit(X, labels), path)
    assert again.classes_.dtype == model.classes_.dtype
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_label_sets_come_back(make, path):
    model, X, y = make("multilabel")
    model.fit(X, [tuple(np.array(["x", "y", "z"])[row == 1]) for row in y])
    assert reload(model, path).predict(X) == model.predict(X)


def test_bundles_keep_notes_and_texts(make, path):
    from structlearn.estimators.persistence import Bundle, load_bundle, save_bundle

    model, X, y = make("multiclass")
    texts = {"words": ["a", "", "ü"], "none": []}
    save_bundle(Bundle(model.fit(X, y), {"task": "tag"}, texts), path)
    found = load_bundle(path)
    assert found.notes == {"task": "tag"}
    assert found.texts == texts


# ---- a user's own structure -----------------------------------------------------------------------------


def test_an_own_structure_must_be_given(make, path):
    model, X, y = make("structured")
    model.fit(X, y).save(path)
    with pytest.raises(
        ValueError, match=r"structure of the user's own: pass it, load\(path, structure=...\)"
    ):
        load(path)
    again = load(path, structure=ChooseTwo())
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_a_structure_of_the_library_need_not_be_given(make, path):
    fitting = make("matching")
    tables = [np.eye(x.shape[1])[one] for x, one in zip(fitting.X, fitting.y)]
    model = StructuredPredictor(Matching(), regularization=0.1, tol=0.01, random_state=0).fit(
        fitting.X, tables
    )
    model.save(path)
    again = load(path)
    np.testing.assert_array_equal(again.predict(fitting.X)[0], model.predict(fitting.X)[0])
    assert isinstance(again.structure, Matching)
    np.testing.assert_array_equal(again.fit(fitting.X, tables).weights_, model.weights_)


def read_features(example):
    return example["features"]


def test_an_own_scoring_must_be_given(make, path):
    model, X, y = make("structured", scoring=read_features)
    named = [{"features": x} for x in X]
    model.fit(named, y).save(path)
    again = load(path, structure=ChooseTwo(), scoring=read_features)
    np.testing.assert_array_equal(again.predict(named), model.predict(named))
    with pytest.raises(ValueError, match="scoring"):
        load(path, structure=ChooseTwo())


# ---- files that are no models ---------------------------------------------------------------------------


@pytest.fixture
def saved(make, path):
    model, X, y = make("multiclass")
    model.fit(X, y).save(path)
    return path


@pytest.mark.parametrize("kept", [0.0, 0.1, 0.5, 0.99])
def test_truncated_files_are_refused(saved, kept):
    content = saved.read_bytes()
    saved.write_bytes(content[: int(kept * len(content))])
    with pytest.raises(ValueError, match="is not a structlearn model, or it is damaged"):
        load(saved)


@pytest.mark.parametrize("content", [b"", b"garbage" * 100, b"\x80\x04\x95", b"\xff" * 64])
def test_garbage_is_refused(path, content):
    path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a structlearn model, or it is damaged"):
        load(path)


def test_foreign_tensors_are_refused(path):
    save_file({"weights": np.zeros(3)}, path)
    with pytest.raises(ValueError, match="is a safetensors file but not a structlearn model"):
        load(path)


def test_missing_files_are_named(path):
    with pytest.raises(FileNotFoundError, match=f"Model file {path} does not exist"):
        load(path)


def set_in(*places, value):
    """Set a value of the header."""

    def change(header, tensors):
        *way, last = places
        for place in way:
            header = header[place]
        header[last] = value

    return change


def drop(*places):
    def change(header, tensors):
        *way, last = places
        for place in way:
            header = header[place]
        del header[last]

    return change


def tensor(name, value):
    def change(header, tensors):
        tensors[name] = np.asarray(value)

    return change


LONG = {"array": ["a", "b", "c"], "dtype": "<U999999999", "shape": [3]}
POINTERS = {"array": [1, 2, 3], "dtype": "V8", "shape": [3]}


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (set_in("version", value=99), "model format 99.*: upgrade structlearn"),
        (set_in("version", value="2"), "it lacks its format version"),
        (drop("version"), "it lacks its format version"),
        (set_in("format", value="other"), "a safetensors file but not a structlearn model"),
        (set_in("estimator", value="os"), "holds a 'os', which this version"),
        (set_in("estimator", value=["os"]), "estimator must be str"),
        (set_in("estimator", value="ChainClassifier"), "parameters.penalty is none of ChainClassifier"),
        (set_in("notes", "application", value="os"), "holds a 'os', which this version"),
        (set_in("notes", "application", value=["Tagger"]), "holds a .*, which this version"),
        (set_in("notes", value=[]), "notes must be dict"),
        (set_in("structure", value=None), "structure.name must be Simplex"),
        (set_in("structure", "name", value="Unknown"), "structure.name must be Simplex"),
        (set_in("structure", "name", value=3), "structure.name must be str"),
        (set_in("structure", "arguments", "n_labels", value=10**8), "n_labels must be 3"),
        (set_in("structure", "arguments", "more", value=1), "structure.arguments must be of n_labels"),
        (set_in("structure", "arguments", value=[]), "structure.arguments must be dict"),
        (set_in("parameters", "nonsense", value=1), "parameters.nonsense is none of"),
        (set_in("parameters", "loss", value="best"), "parameters.loss is none of"),
        (set_in("parameters", "tol", value="small"), "parameters.tol must be float, not 'small'"),
        (set_in("parameters", "fit_intercept", value={"of": "no kind"}), "of no known kind"),
        (set_in("parameters", value=None), "parameters must be dict"),
        (set_in("fitted", value=[]), "fitted must be dict"),
        (drop("fitted", "n_features_in_"), "it lacks fitted.n_features_in_"),
        (set_in("fitted", "n_features_in_", value=10**9), "it has 12 weights, not"),
        (
            set_in("fitted", "n_features_in_", value=-3),
            "fitted.n_features_in_ must be a number of at least 0",
        ),
        (drop("fitted", "classes_"), "it lacks fitted.classes_"),
        (set_in("fitted", "classes_", value="abc"), "fitted.classes_ must be an array of labels"),
        (set_in("fitted", "classes_", "dtype", value="O8x"), "of no known kind"),
        (set_in("fitted", "classes_", "shape", value=[4]), "and the shape"),
        (set_in("fitted", "classes_", value=LONG), "much longer than they are"),
        (set_in("fitted", "classes_", value=POINTERS), "not of the type"),
        (set_in("fitted", "predict", value=1), "fitted.predict is nothing that fit sets"),
        (set_in("fitted", "__class__", value=1), "fitted.__class__ is nothing that fit sets"),
        (drop("certificate"), "it lacks certificate"),
        (drop("certificate", "gap"), "it lacks certificate.gap"),
        (set_in("certificate", "gap", value=None), "certificate.gap must be float"),
        (set_in("certificate", "more", value=0), "certificate must be of"),
        (lambda header, tensors: tensors.pop("weights"), "it lacks weights"),
        (tensor("weights", np.full(12, np.nan)), "weights has numbers that are not finite"),
        (tensor("weights", np.full(12, -np.inf)), "weights has numbers that are not finite"),
        (tensor("weights", np.zeros(11)), "it has 11 weights, not 9 or 12"),
        (tensor("weights", np.zeros((3, 4))), "weights are no vector"),
        (tensor("weights", np.zeros(12, dtype=np.int64)), "weights are no vector"),
        (tensor("history", np.zeros(7)), "history is of shape"),
        (tensor("history", np.zeros((2, 70))), "history is of shape"),
        (tensor("history", np.full((2, 7), np.nan)), "history counts"),
        (tensor("text:words", np.array([255, 254], dtype=np.uint8)), "damaged"),
        (tensor("text:words", np.zeros(3)), "texts are none"),
    ],
)
def test_files_that_are_not_as_they_must_be_are_refused(saved, change, sentence, version):
    rewrite(saved, change, version)
    with pytest.raises(ValueError, match=sentence) as caught:
        load(saved)
    assert str(caught.value).startswith(str(saved))
    assert "\n" not in str(caught.value)


def test_every_byte_of_a_file_counts(saved):
    """What is changed anywhere is found, by the hash of the header or that of an array."""
    whole = saved.read_bytes()
    rng = np.random.default_rng(0)
    for at in rng.choice(len(whole), 300, replace=False):
        changed = bytearray(whole)
        changed[at] ^= 1 << int(rng.integers(8))
        saved.write_bytes(changed)
        with pytest.raises(ValueError, match=r"damaged|not a structlearn model") as caught:
            load(saved)
        assert str(caught.value).isprintable()
    saved.write_bytes(whole)
    load(saved)


def header_of(content):
    size = int.from_bytes(content[:8], "little")
    return content[8 : 8 + size], content[8 + size :]


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace(
            b"{", b'{"weights": {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]}, ', 1
        ),
        lambda text: b"[" * 200_000,
        lambda text: b'{"a":' * 60_000,
        lambda text: text.replace(b'"F64"', b'"F128"', 1),
        lambda text: text.replace(b'"shape": [12]', b'"shape": [9999999999999]', 1),
        lambda text: text.replace(b'"shape": [12]', b'"shape": [-12]', 1),
        lambda text: text.replace(b'"data_offsets": [0', b'"data_offsets": [8', 1),
        lambda text: b"{}",
        lambda text: b"null",
        lambda text: b"\xff" * 9,
    ],
)
def test_headers_that_are_none_are_refused(saved, change):
    text, arrays = header_of(saved.read_bytes())
    changed = change(text)
    assert changed != text
    saved.write_bytes(len(changed).to_bytes(8, "little") + changed + arrays)
    with pytest.raises(ValueError, match=r"is not a structlearn model|not a structlearn model") as caught:
        load(saved)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("size", [0, 1, 1 << 30, (1 << 64) - 1])
def test_headers_of_absurd_length_are_refused(saved, size):
    saved.write_bytes(size.to_bytes(8, "little") + saved.read_bytes()[8:])
    with pytest.raises(ValueError, match="its header is not as long as it says"):
        load(saved)


def test_a_file_is_refused_before_it_takes_memory(saved):
    """Sizes that a header of a few hundred bytes can claim, against what is allocated."""
    import tracemalloc

    def huge(header, tensors):
        header["sparse"]["weights"] = [1 << 31]
        tensors["weights:index"] = np.array([5], dtype=np.uint32)
        tensors["weights:value"] = np.array([5.0])
        del tensors["weights"]

    rewrite(saved, huge)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="it has 2147483648 weights, not 9 or 12"):
            load(saved)
        assert tracemalloc.get_traced_memory()[1] < 10 << 20
    finally:
        tracemalloc.stop()


def parser():
    X = [[["a", "N", "n"], ["b", "V", "v"]], [["c", "N", "n"]]] * 3
    y = [(np.array([2, 0]), np.array(["subj", "root"])), (np.array([0]), np.array(["root"]))] * 3
    return TreeParser(bits=10, label_bits=6, min_count=1, tol=0.5, random_state=0).fit(X, y), X


@pytest.fixture(scope="module")
def parser_file(tmp_path_factory):
    model, X = parser()
    path = tmp_path_factory.mktemp("parser") / "parser.safetensors"
    model.save(path)
    again = load(path)
    for one, other in zip(again.predict(X), model.predict(X), strict=True):
        assert one.heads.tolist() == other.heads.tolist()
        assert one.labels.tolist() == other.labels.tolist()
    return path.read_bytes()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (
            lambda header, tensors: header["fitted"]["templates_"].__setitem__(0, 5),
            r"templates_\[0\] must be str",
        ),
        (set_in("fitted", "known_", value=None), "fitted.known_ must be an array of codes"),
        (set_in("fitted", "labels_", value=None), None),
        (set_in("parameters", "bits", value=30), "it has 1024 weights, not 1073741824"),
        (set_in("parameters", "bits", value=1 << 40), "bits and label_bits must be from 4 to 30"),
        (set_in("parameters", "label_bits", value=30), "label_weights_ must be of shape"),
        (set_in("parameters", "columns", value="form"), "parameters.columns must be"),
        (drop("fitted", "label_weights_"), "label_weights_ must be of shape"),
        (set_in("structure", "name", value="Simplex"), "structure.name must be ProjectiveTree or"),
    ],
)
def test_damaged_parsers_are_refused(parser_file, path, change, sentence):
    path.write_bytes(parser_file)
    rewrite(path, change)
    if sentence is None:
        assert load(path).labels_ is None
        return
    with pytest.raises(ValueError, match=f"is damaged: .*{sentence}"):
        load(path)


# ---- whose structure it is ------------------------------------------------------------------------------


class Chain:
    """The user's own, of a name that is ours as well."""

    def __init__(self):
        self.inner = Matching()

    def arguments(self):
        return {"n_labels": 2}


class Wrapped(Matching):
    def __init__(self):
        super().__init__()
        self.inner = Matching()


def test_what_is_the_users_own_is_not_taken_for_ours():
    assert describe(Chain()) is None
    assert describe(Wrapped()) is None
    assert describe(LabelledTree(Chain(), 2)) is None


def test_only_our_own_wrapper_is_unwrapped():
    chain = structures.Chain(3, start=True)
    assert describe(Whole(chain)) == describe(chain)
    tree = LabelledTree(ProjectiveTree(single_root=False), 4)
    again = build(json.loads(json.dumps(describe(tree))))
    assert type(again) is LabelledTree
    assert (again.n_labels, type(again.inner), again.inner.single_root) == (4, ProjectiveTree, False)


@pytest.mark.parametrize(
    "structure",
    [
        structures.Simplex(3),
        structures.Cube(2),
        structures.LabelGraph(4, "tree"),
        structures.LabelGraph(3, []),
        structures.Chain(2, end=True),
        structures.ConditionedChain(2),
        structures.Matching(unmatched=False, capacities=(2, 3)),
        structures.Cut(3, [(0, 1), (1, 2)]),
        structures.NonProjectiveTree(),
        LabelledTree(structures.NonProjectiveTree(), 2),
    ],
    ids=lambda structure: type(structure).__name__,
)
def test_every_structure_comes_back(structure):
    again = build(json.loads(json.dumps(describe(structure))))
    assert type(again) is type(structure)
    assert describe(again) == describe(structure)


@pytest.mark.parametrize(
    "description",
    [
        {"name": "LabelGraph", "arguments": {"n_labels": 10**8, "edges": "all"}},
        {
            "name": "LabelGraph",
            "arguments": {"n_labels": 10**8, "edges": {"array": [], "dtype": "<i8", "shape": [0, 2]}},
        },
        {
            "name": "Cut",
            "arguments": {"n_nodes": 10**9, "edges": {"array": [[0, 1]], "dtype": "<i8", "shape": [1, 2]}},
        },
        {"name": "Chain", "arguments": {"n_labels": 2.5, "start": False, "end": False}},
        {"name": "Matching", "arguments": {"capacities": "ab"}},
        {"name": "LabelledTree", "arguments": {"inner": 3, "n_labels": 2}},
        {"name": "Structure", "arguments": {}},
        {"name": "Simplex"},
    ],
)
def test_structures_that_are_none_are_not_made(description):
    with pytest.raises(ValueError, match=r"structure|graph|capacities|of no known kind"):
        build(description)


# ---- writing --------------------------------------------------------------------------------------------


def test_models_that_are_not_fitted_are_not_saved(fitting, path):
    with pytest.raises(NotFittedError):
        fitting.estimator.save(path)
    assert not path.exists()


def test_a_failed_write_leaves_the_old_model_and_nothing_else(saved, make, monkeypatch):
    before = saved.read_bytes()

    def fail(array):
        raise OSError("No space left on device")

    again = load(saved)
    monkeypatch.setattr("structlearn.tensors.pieces", fail)
    with pytest.raises(OSError, match="No space left"):
        again.save(saved)
    assert saved.read_bytes() == before
    assert os.listdir(saved.parent) == [saved.name]


def test_models_with_weights_that_are_not_finite_are_not_saved(saved):
    before = saved.read_bytes()
    model = load(saved)
    model.weights_[1] = np.nan
    with pytest.raises(ValueError, match="The weights are not finite"):
        model.save(saved)
    assert saved.read_bytes() == before


def test_other_programs_can_read_a_model(saved):
    header, tensors = contents(saved)
    assert header["version"] == 3
    np.testing.assert_array_equal(tensors["weights"], load(saved).weights_)


def test_a_saved_model_stands_alone_in_its_folder(saved):
    assert os.listdir(saved.parent) == [saved.name]


def test_a_saved_model_may_be_read_by_others(make, path):
    model, X, y = make("multiclass")
    model.fit(X, y)
    for mask, mode in [(0o022, 0o644), (0o077, 0o600)]:
        before = os.umask(mask)
        try:
            model.save(path)
        finally:
            os.umask(before)
        assert path.stat().st_mode & 0o777 == mode


# ---- older files ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", [1, 3])
def test_models_of_every_format_keep_loading(version):
    model = load(MODELS / f"v{version}-chain.safetensors")
    expected = json.loads((MODELS / "v1-chain.json").read_text())
    found = model.predict([np.array(x) for x in expected["X"]])
    assert [labels.tolist() for labels in found] == expected["y"]
    assert model.certificate_.primal == expected["primal"]
    assert model.get_params()["start"] is True


def test_the_root_offers_load():
    assert structlearn.load is load
