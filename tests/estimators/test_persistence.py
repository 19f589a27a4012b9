"""Models as files: what is read is what was written, and nothing else is read or left behind."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import structlearn
from model_files import contents
from own_structures import ChooseTwo
from structlearn import ChainClassifier, StructuredPredictor, load, structures
from structlearn.estimators.files.values import build, describe
from structlearn.structures import LabelledTree, Matching, ProjectiveTree
from structlearn.structures.unshared import Whole

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
    from structlearn.estimators.files.persistence import Bundle, load_bundle, save_bundle

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
        structures.Segments(2, 3, end=True, whole=True),
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


@pytest.fixture
def saved(make, path):
    model, X, y = make("multiclass")
    model.fit(X, y).save(path)
    return path


def test_models_that_are_not_fitted_are_not_saved(fitting, path):
    with pytest.raises(NotFittedError):
        fitting.estimator.save(path)
    assert not path.exists()


def test_a_failed_write_leaves_the_old_model_and_nothing_else(saved, make, monkeypatch):
    before = saved.read_bytes()

    def fail(array):
        raise OSError("No space left on device")

    again = load(saved)
    monkeypatch.setattr("structlearn.storage.tensors.pieces", fail)
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


@pytest.mark.parametrize("name", ["v4-mapped", "v5-named"])
def test_models_of_later_formats_keep_loading(name):
    model = load(MODELS / f"{name}.safetensors")
    expected = json.loads((MODELS / "v4-v5.json").read_text())[name[:2]]
    X = [np.array(x) for x in expected["X"]] if name == "v4-mapped" else expected["X"]
    assert [labels.tolist() for labels in model.predict(X)] == expected["y"]
    assert model.certificate_.primal == expected["primal"]


def test_models_of_segments_keep_loading():
    tagger = load(MODELS / "v5-segments.safetensors")
    expected = json.loads((MODELS / "v5-segments.json").read_text())
    for found, right in zip(tagger.predict_spans(expected["X"]), expected["spans"], strict=True):
        assert [list(span[:3]) for span in found] == [span[:3] for span in right]
        assert [span[3] for span in found] == pytest.approx([span[3] for span in right], abs=1e-8)
    assert tagger.certificate_.primal == expected["primal"]


def expected_of(name):
    """What the commit that wrote a model file answered with it."""
    return json.loads((MODELS / f"{name}.json").read_text())


def assert_answers(model, X, expected):
    """Answers of a model, and its probabilities, are those that were stored."""
    assert [labels.tolist() for labels in model.predict(X)] == expected["y"]
    for found, right in zip(model.predict_marginals(X), expected["marginals"], strict=True):
        np.testing.assert_allclose(found, right, atol=1e-12)


def test_calibrated_models_of_format_6_keep_loading():
    model, expected = load(MODELS / "v6-calibrated.safetensors"), expected_of("v6-calibrated")
    assert_answers(model, [np.array(x) for x in expected["X"]], expected)
    assert (model.temperature_, model.certificate_.primal) == (expected["temperature"], expected["primal"])


def test_taggers_inside_taggers_of_format_7_keep_loading():
    model, expected = load(MODELS / "v7-bundled.safetensors"), expected_of("v7-bundled")
    assert_answers(model, expected["X"], expected)
    assert [one.tolist() for one in model.taggers["pos"].predict(expected["X"])] == expected["inner"]


def test_taggers_with_arrays_of_format_8_keep_loading():
    model, expected = load(MODELS / "v8-arrays.safetensors"), expected_of("v8-arrays")
    arrays = [np.array(one) for one in expected["arrays"]]
    assert_answers(model, list(zip(expected["words"], arrays, strict=True)), expected)


def test_models_of_tables_of_format_9_keep_loading():
    model, expected = load(MODELS / "v9-table.safetensors"), expected_of("v9-table")
    X = np.array(expected["X"], dtype=object)
    assert model.predict(X).tolist() == expected["y"]
    np.testing.assert_allclose(model.decision_function(X), expected["scores"], atol=1e-12)


def test_small_taggers_of_format_10_keep_loading():
    model, expected = load(MODELS / "v10-small.safetensors"), expected_of("v10-small")
    assert_answers(model, expected["X"], expected)


def test_tag_dictionaries_of_format_11_keep_loading():
    model, expected = load(MODELS / "v11-candidates.safetensors"), expected_of("v11-candidates")
    assert_answers(model, expected["X"], expected)
    assert any((np.array(one) == 0).any() for one in expected["marginals"])


def test_models_of_columns_of_format_11_keep_loading():
    model, expected = load(MODELS / "v11-columns.safetensors"), expected_of("v11-columns")
    X = np.array(expected["X"], dtype=object)
    assert model.predict(X).tolist() == expected["y"]
    np.testing.assert_allclose(model.decision_function(X), expected["scores"], atol=1e-12)


def test_there_is_a_file_of_every_format():
    from structlearn.storage.model_file import VERSION

    versions = {contents(path)[0]["version"] for path in MODELS.glob("*.safetensors")}
    assert versions == set(range(1, VERSION + 1))


def test_the_root_offers_load():
    assert structlearn.load is load


def test_the_history_of_a_file_has_the_columns_of_a_row():
    from structlearn.solvers.solution import Row
    from structlearn.storage.model_file import HISTORY_COLUMNS

    assert len(Row._fields) == HISTORY_COLUMNS


def test_a_model_whose_parameters_no_longer_fit_its_weights_is_not_saved(tmp_path):
    """The file could not be read again."""
    X = [np.ones((2, 3)), np.zeros((1, 3))]
    model = ChainClassifier(random_state=0).fit(X, [[0, 1], [1]])
    model.set_params(transition_features=[0, 1])
    with pytest.raises(ValueError, match="have changed since the model was fitted"):
        model.save(tmp_path / "model.safetensors")
    assert not list(tmp_path.iterdir())
    model.set_params(transition_features=None).save(tmp_path / "model.safetensors")
