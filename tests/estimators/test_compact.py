"""Mostly-zero arrays in model files: bit for bit as they were, small, and refused where they are damaged."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from model_files import rewrite
from structlearn import MulticlassClassifier, load
from structlearn.storage.compact import LEAST, compact_arrays, expand_array, from_gaps, to_gaps

MODELS = Path(__file__).parent / "models"
VALUES = {
    "f": st.sampled_from([0.0, -0.0, 1.5, -(2.0**-100), np.inf, np.nan]),
    "i": st.integers(-3, 3),
    "u": st.integers(0, 3),
}


def wide(n=40, d=700, seed=0):
    """Examples with one feature each of many: most weights stay zero."""
    rng = np.random.default_rng(seed)
    used = rng.integers(60, size=n)
    return sparse.csr_matrix((np.ones(n), (np.arange(n), 10 * used)), shape=(n, d)), used % 3


def trained():
    return MulticlassClassifier(regularization=0.01, tol=0.05, fit_intercept=False, random_state=0).fit(
        *wide()
    )


@pytest.fixture
def path(tmp_path):
    trained().save(tmp_path / "model.st")
    return tmp_path / "model.st"


@settings(max_examples=60)
@given(data=st.data())
def test_what_is_read_is_what_was_written(data):
    dtype = np.dtype(data.draw(st.sampled_from(["f8", "f4", "i8", "i4", "u8", "u4"])))
    shape = data.draw(st.sampled_from([(2 * LEAST,), (LEAST, 3), (7, 11, 29), (LEAST - 1,), (0,)]))
    array = data.draw(arrays(dtype, shape, elements=VALUES[dtype.kind], fill=st.just(dtype.type(0))))
    packed, shapes = compact_arrays({"a": array, "b": np.arange(3)})
    assert ("a" in packed) != ("a" in shapes)
    where = packed.get("a:gaps" if dtype == np.float32 else "a:index")
    found = packed["a"] if where is None else expand_array("a", shape, where, packed["a:value"])
    assert (found.dtype, found.shape) == (dtype, shape)
    assert found.tobytes() == array.tobytes()
    # A third is the most that is worth it; two thirds where positions take a byte.
    n_present = np.count_nonzero(array.view(f"u{dtype.itemsize}"))
    most = 2 * array.size if dtype == np.float32 else array.size
    assert ("a" in shapes) == (array.size >= LEAST and 3 * n_present < most)


@pytest.mark.parametrize("seed", range(20))
def test_gaps_are_positions(seed):
    rng = np.random.default_rng(seed)
    index = np.cumsum(rng.choice([1, 2, 254, 255, 256, 509, 510, 511, 100_000], size=rng.integers(0, 50)))
    index = index - rng.integers(0, 2)
    assert from_gaps(to_gaps(index)).tolist() == index.tolist()
    assert to_gaps(index).dtype == np.uint8


def test_gaps_that_do_not_fit_are_refused():
    value = np.ones(2, dtype=np.float32)
    for gaps in ([1], [1, 1, 1], [0, 3], [3, 0], [255, 255]):
        with pytest.raises(ValueError, match="'a'"):
            expand_array("a", (9,), np.array(gaps, dtype=np.uint8), value)
    with pytest.raises(ValueError, match="outside"):
        expand_array("a", (9,), np.array([1, 9], dtype=np.uint8), value)


def test_models_are_as_large_as_what_they_know(path):
    model = trained()
    assert 0 < np.count_nonzero(model.weights_) < model.weights_.size / 10
    assert path.stat().st_size < 8 * model.weights_.size
    again = load(path)
    assert again.weights_.tobytes() == model.weights_.tobytes()
    assert again.weights_.flags.writeable
    assert (again.predict(wide(seed=1)[0]) == model.predict(wide(seed=1)[0])).all()


def test_models_of_format_2_keep_loading():
    model = load(MODELS / "v2-sparse.safetensors")
    expected = json.loads((MODELS / "v2-sparse.json").read_text())
    assert model.predict(wide()[0]).tolist() == expected["y"]
    assert model.certificate_.primal == expected["primal"]
    found = np.flatnonzero(model.weights_)
    assert found.tolist() == expected["index"]
    assert model.weights_[found].tolist() == expected["value"]


def without_order(header, tensors):
    tensors["weights:index"] = tensors["weights:index"][::-1].copy()


def with_a_double(header, tensors):
    tensors["weights:index"][1] = tensors["weights:index"][0]


def out_of_range(header, tensors):
    tensors["weights:index"][-1] = np.prod(header["sparse"]["weights"])


def too_short(header, tensors):
    tensors["weights:index"] = tensors["weights:index"][:-1]


def signed(header, tensors):
    tensors["weights:index"] = tensors["weights:index"].astype(np.int64) - 5


def thin(header, tensors):
    """All but empty, and larger than anything says it is."""
    header["sparse"]["fitted:support_"] = [1 << 31]
    tensors["fitted:support_:index"] = np.array([5], dtype=np.uint32)
    tensors["fitted:support_:value"] = np.array([5])


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (without_order, "the positions of the array 'weights' do not increase"),
        (with_a_double, "the positions of the array 'weights' do not increase"),
        (out_of_range, r"the array 'weights' has a value at 2100, outside of its shape \(2100,\)"),
        (too_short, r"the array 'weights' has \d+ positions \(uint32\) but \d+ values"),
        (signed, r"the array 'weights' has \d+ positions \(int64\)"),
        (thin, "the array 'fitted:support_' has 2147483648 entries but 1 values"),
        (lambda header, tensors: tensors.pop("weights:index"), "it lacks 'weights:index'"),
        (lambda header, tensors: tensors.pop("weights:value"), "it lacks 'weights:value'"),
        (lambda header, tensors: header["sparse"].pop("weights"), "it lacks weights"),
        (lambda header, tensors: header["sparse"].update(weights=[-1]), r"has no shape \[-1\]"),
        (lambda header, tensors: header["sparse"].update(weights=[1 << 40]), "has no shape"),
        (
            lambda header, tensors: header["sparse"].update(weights=[1 << 31]),
            "it has 2147483648 weights, not",
        ),
        (lambda header, tensors: header["sparse"].update(weights="much"), "mostly-zero arrays.* not 'much'"),
        (lambda header, tensors: header.update(sparse=[1]), "its list of mostly-zero arrays must be"),
    ],
)
@pytest.mark.parametrize("version", [2, 3])
def test_damaged_positions_are_refused(path, change, sentence, version):
    rewrite(path, change, version)
    with pytest.raises(ValueError, match=rf"model\.st is damaged: .*{sentence}"):
        load(path)
