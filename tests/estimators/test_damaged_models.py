"""Model files that are not as they must be: one sentence each, before anything is made of them."""

import tracemalloc

import numpy as np
import pytest
from safetensors.numpy import save_file

from model_files import rewrite
from structlearn import TreeParser, load
from structlearn.storage import tensors


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


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


LONG = {"array": ["a", "b", "c"], "dtype": "<U99999999", "shape": [3]}
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
        (set_in("estimator", value="ChainClassifier"), "structure.name must be Chain"),
        (
            set_in("estimator", value="MatchingClassifier"),
            "l1_ratio is none of MatchingClassifier",
        ),
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
        (tensor("weights", np.zeros((3, 4))), "its weights must be a vector of numbers"),
        (tensor("weights", np.zeros(12, dtype=np.int64)), "its weights must be a vector of numbers"),
        (tensor("history", np.zeros(7)), "history is of shape"),
        (tensor("history", np.zeros((2, 70))), "history is of shape"),
        (tensor("history", np.full((2, 7), np.nan)), "history counts"),
        (tensor("text:words", np.array([255, 254], dtype=np.uint8)), "damaged"),
        (tensor("text:words", np.zeros(3)), "its text arrays are not UTF-8 bytes"),
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


def test_headers_are_bounded_before_they_are_parsed(saved, tmp_path, monkeypatch):
    monkeypatch.setattr(tensors, "_LONGEST_HEADER", 1000)
    monkeypatch.setattr(tensors, "read_json", lambda *_: pytest.fail("the header is parsed"))
    saved.write_bytes((1001).to_bytes(8, "little") + b" " * 1001)
    with pytest.raises(ValueError, match="its header is not as long as it says"):
        load(saved)
    with pytest.raises(ValueError, match="was not written: what it says beside its arrays takes"):
        tensors.write_tensors(tmp_path / "long", {}, {"classes": "a" * 1000})
    assert not (tmp_path / "long").exists()


def test_a_file_is_refused_before_it_takes_memory(saved):
    """Sizes that a header of a few hundred bytes can claim, against what is allocated."""

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
