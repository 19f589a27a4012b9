"""The aligner as a file: statistics, vectors and weights as named arrays, the rest as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

import numpy as np

from structlearn.alignment.gold.confidence import EVIDENCE, USUAL
from structlearn.alignment.gold.features import link_feature_names
from structlearn.alignment.gold.readings import AGAIN
from structlearn.alignment.gold.vectors import Vectors, WordVectors
from structlearn.alignment.gold.words import gold_word_arrays, read_gold_words
from structlearn.alignment.statistics.jumps import WIDEST
from structlearn.alignment.statistics.lexicon import N_MISSING
from structlearn.alignment.statistics.statistics import AlignmentStatistics
from structlearn.alignment.text.form import Forms, form_of_words, read_form
from structlearn.alignment.text.tokenizers import TOKENIZERS, Tokenizer
from structlearn.estimators.files.attributes import number, read_certificate
from structlearn.estimators.files.persistence import history_array, history_of
from structlearn.estimators.files.values import build
from structlearn.storage.model_file import (
    ModelFile,
    damage_error,
    refuse_damaged,
    text_array,
    text_lines,
    write_model,
)
from structlearn.storage.schema import check_form, read_json

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner

_SIDES = ("source", "target")
_RATE = float | None
_FITTED = {
    **{"slope_": number, "aer_": _RATE, "text_aer_?": _RATE, "feature_names_": list[str]},
    "n_voters_?": int,
}
_FITTED_NAMES = tuple(name.removesuffix("?") for name in _FITTED)


def write_aligner(aligner: Aligner, path: str | Path) -> None:
    """Write a fitted aligner."""
    parameters = aligner.get_params(deep=False)
    seed = parameters["random_state"]
    parameters["random_state"] = seed if isinstance(seed, int) else None
    del parameters["checkpoint"]  # of that run alone
    header = {
        "estimator": "Aligner",
        "parameters": parameters,
        "structure": {"name": "Matching", "arguments": {"capacities": aligner.structure_.capacities}},
        "fitted": {
            **{name: getattr(aligner, name) for name in _FITTED_NAMES},
            "confidence_": dict(zip(EVIDENCE, aligner.confidence_.tolist())),
            "forms_": [form._asdict() for form in aligner.forms_],
            "tokenizers_": [one._asdict() for one in aligner.tokenizers_],
        },
        "certificate": aligner.certificate_.as_dict() if aligner.certificate_ else {},
        "notes": {"task": "align"},
    }
    tensors = {f"statistics.{name}": value for name, value in aligner.statistics_.to_arrays().items()}
    for name, side in zip(_SIDES, aligner.vectors_ or ()):
        tensors[f"vectors.{name}.words"] = text_array(side.words)
        tensors[f"vectors.{name}.matrix"] = side.matrix
    if aligner.gold_words_ is not None:
        tensors |= {f"gold.{name}": value for name, value in gold_word_arrays(aligner.gold_words_).items()}
    if aligner.first_weights_ is not None:
        tensors["first.weights"] = aligner.first_weights_
    tensors |= {"weights": aligner.weights_, "history": history_array(aligner.history_)}
    write_model(path, header, tensors)


def read_aligner(kind: type[Aligner], path: str | Path) -> Aligner:
    """Read an aligner; ValueError if the file holds none."""
    file = ModelFile(path)
    header = file.header
    if header["estimator"] != "Aligner":
        raise ValueError(f"{path} holds a {header['estimator'][:40]}, not an Aligner.")
    with refuse_damaged(file.path):
        aligner = _make_aligner(kind, header)
        weights, history = file.load("weights"), file.load("history")
        statistics = file.load_all("statistics.")
        _check_statistics(statistics)
        aligner.statistics_ = AlignmentStatistics.from_arrays(statistics)
        aligner.vectors_ = _read_vectors(file.load_all("vectors."))
        aligner.mapped_ = None
        aligner.set_forms(_forms(aligner, header["fitted"]))
        aligner.tokenizers_ = _tokenizers(header["fitted"])
        aligner.use_rule()
        aligner.structure_ = build(header["structure"])
        for name in _FITTED_NAMES:
            setattr(aligner, name, header["fitted"].get(name))
        aligner.n_voters_ = aligner.n_voters_ or 0
        if not 0 <= aligner.n_voters_ <= weights.size:
            raise ValueError("it has weights of fewer voters than it says")
        aligner.confidence_ = _confidence(header["fitted"])
        told = file.load_all("gold.")
        aligner.gold_words_ = read_gold_words(aligner.statistics_.lexicon, told) if told else None
        aligner.history_ = history_of(history)
        if header["certificate"]:
            aligner.certificate_ = read_certificate(header["certificate"])
    if weights.size != len(aligner.feature_names_):
        raise damage_error(path, f"it has {weights.size} weights of {len(aligner.feature_names_)} features")
    first = file.load_all("first.").get("weights")
    named = dict(zip(aligner.feature_names_, weights))
    named_first = {} if first is None else dict(zip(aligner.feature_names_, first))
    kinds: dict[str, Any] = {"vectors": aligner.vectors_ is not None, "taught": bool(told)}
    kinds["voters"] = aligner.n_voters_
    aligner.feature_names_ = link_feature_names(**kinds, again=first is not None)
    if first is not None and first.shape != (weights.size - len(AGAIN),):
        raise damage_error(path, f"its first reading has {first.size} weights")
    if not named.keys() <= set(aligner.feature_names_):
        raise ValueError(f"{path} has other features than this version of structlearn; train it again.")
    aligner.weights_ = np.array([named.get(name, 0.0) for name in aligner.feature_names_])
    if first is not None:
        aligner.first_weights_ = np.array(
            [named_first.get(name, 0.0) for name in link_feature_names(**kinds)]
        )
    return aligner


def _make_aligner(kind: type[Aligner], header: dict) -> Aligner:
    """Return the aligner with the parameters of a header, whose forms are checked."""
    hints = get_type_hints(kind)
    forms = {f"{name}?": hints[name] for name in kind._get_param_names() if name != "checkpoint"}
    if not {f"{name}?" for name in header["parameters"]} <= forms.keys():
        raise ValueError("its parameters are not those of an Aligner")
    check_form(header["parameters"], forms, "parameters")
    check_form(header["fitted"], _FITTED, "fitted")
    check_form(
        header["structure"], {"name": Literal["Matching"], "arguments": {"capacities": [int]}}, "structure"
    )
    return kind(**header["parameters"])


def _forms(aligner: Aligner, fitted: dict) -> Forms:
    """Return how words are looked up; files of older versions do not say, but their vocabularies do."""
    said = fitted.get("forms_")
    if said is None:
        asked = {"lowercase": aligner.lowercase, "strip_accents": aligner.strip_accents}
        words = aligner.statistics_.source_words, aligner.statistics_.target_words
        return form_of_words(words[0], **asked), form_of_words(words[1], **asked)
    check_form(said, list[dict], "fitted.forms_")
    if len(said) != len(_SIDES):
        raise ValueError("fitted.forms_ must be of two sides")
    return read_form(said[0]), read_form(said[1])


def _tokenizers(fitted: dict) -> tuple[Tokenizer, Tokenizer]:
    """Return how text is split; files of older versions take tokens."""
    said = fitted.get("tokenizers_")
    if said is None:
        return Tokenizer(), Tokenizer()
    check_form(said, [{"name": str, "language": str}], "fitted.tokenizers_")
    if len(said) != len(_SIDES) or any(one["name"] not in TOKENIZERS for one in said):
        raise ValueError("fitted.tokenizers_ must name a tokenizer of this version for either side")
    return Tokenizer(**said[0]), Tokenizer(**said[1])


def _confidence(fitted: dict) -> np.ndarray:
    """Read the coefficients by name; older versions' files have none, others may lack some."""
    said = fitted.get("confidence_")
    if said is None:
        return USUAL
    check_form(said, {f"{name}?": number for name in EVIDENCE}, "fitted.confidence_")
    return np.array([float(said.get(name, 0.0)) for name in EVIDENCE])


def _check_statistics(arrays: dict[str, np.ndarray]) -> None:
    """ValueError if a table is missing or too short: compiled code looks up its entries unchecked."""
    shapes = {name: value.shape for name, value in arrays.items()}
    for name in ("source.counts", "target.counts", "lexicon.target"):
        if len(shapes.get(name, ())) != 1:
            raise ValueError(f"it lacks the table {name}")
    sides = {side: shapes[f"{side}.counts"][0] for side in _SIDES}
    n_entries = shapes["lexicon.target"][0]
    expected = {
        "lexicon.start": sides["source"] + 2,
        "lexicon.together": n_entries,
        "lexicon.source_pairs": sides["source"] + 1,
        "lexicon.target_pairs": sides["target"] + 1,
        "forward.translation": n_entries + N_MISSING,
        "reverse.translation": n_entries + N_MISSING,
        "forward.null": sides["target"] + 1,
        "reverse.null": sides["source"] + 1,
        **{f"{name}.p0": 1 for name in ("forward", "reverse")},
    }
    for name, size in expected.items():
        if shapes.get(name) != (size,):
            raise ValueError(f"the table {name} must have {size} entries")
        kind = "iu" if name.startswith("lexicon.") else "f"
        if arrays[name].dtype.kind not in kind:
            raise ValueError(f"the table {name} holds the wrong kind of numbers")
    for name, side in (("forward", "source"), ("reverse", "target")):
        _check_jumps(arrays, name, sides[side])
    _check_lexicon(arrays["lexicon.start"], arrays["lexicon.target"], sides["target"])
    for side in _SIDES:
        _check_words(arrays, side, sides[side])
    for name, array in arrays.items():
        if array.size and array.min() < 0:
            raise ValueError(f"the table {name} has entries below zero")


def _check_jumps(arrays: dict[str, np.ndarray], direction: str, n_words: int) -> None:
    """Check the weights of distances, by classes of words; in older files one row without classes."""
    weights, visits, classes = (arrays.get(f"{direction}.{name}") for name in ("jumps", "visits", "classes"))
    if weights is None or weights.dtype != np.float64 or weights.shape[-1:] != (2 * WIDEST + 1,):
        raise ValueError(f"a table of jumps must have {2 * WIDEST + 1} entries a row")
    if weights.ndim == 1:
        return
    n_classes = weights.shape[0] if weights.ndim == 2 else 0
    if n_classes < 2 or not _is_table(visits, np.float64, n_classes):
        raise ValueError("its visits do not fit its jumps")
    if classes is None or not _is_table(classes, np.int32, n_words + 1):
        raise ValueError("its classes of words do not fit its words")
    if not 0 <= classes.min() <= classes.max() < n_classes:
        raise ValueError("its classes of words do not fit its jumps")


def _is_table(array: np.ndarray | None, dtype: type, size: int) -> bool:
    return array is not None and array.dtype == dtype and array.shape == (size,)


def _check_lexicon(start: np.ndarray, target: np.ndarray, n_words: int) -> None:
    rising = start[0] == 0 and start[-1] == target.size and (start[1:] >= start[:-1]).all()
    inside = target.dtype.kind in "iu" and (not target.size or 0 <= target.min() <= target.max() < n_words)
    if not rising or not inside:
        raise ValueError("the entries of its lexicon are out of range")


def _check_words(arrays: dict[str, np.ndarray], side: str, n_words: int) -> None:
    text, noun = arrays.get(f"{side}.words"), f"the words of the {side}"
    words = read_json("null" if text is None or text.dtype != np.uint8 else bytes(text), list, noun)
    if set(map(type, words)) - {str}:  # at once: there are many
        raise ValueError(f"{noun} are not text arrays")
    if len(words) != n_words or arrays[f"{side}.counts"].dtype.kind not in "iu":
        raise ValueError(f"there are {len(words)} words of the {side}, but counts of {n_words}")


def _read_vectors(arrays: dict[str, np.ndarray]) -> Vectors | None:
    if not arrays:
        return None
    source, target = (_read_side(arrays, side) for side in _SIDES)
    if source.matrix.shape[1] != target.matrix.shape[1]:
        raise ValueError("the vectors of its two sides differ in dimension")
    return source, target


def _read_side(arrays: dict[str, np.ndarray], side: str) -> WordVectors:
    text, matrix = arrays.get(f"{side}.words"), arrays.get(f"{side}.matrix")
    if text is None or matrix is None or text.dtype != np.uint8 or matrix.dtype != np.float32:
        raise ValueError(f"it lacks the vectors of the {side}")
    words = text_lines(text)
    if matrix.ndim != 2 or len(words) != len(matrix):
        raise ValueError(f"there are {len(words)} words but vectors of shape {matrix.shape} of the {side}")
    return WordVectors(words, matrix)
