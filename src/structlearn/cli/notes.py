"""What a model file says of how to read data files, checked before a file is read."""

from __future__ import annotations

from typing import Any, Literal

from structlearn.apps.tagging.plan import Plan
from structlearn.apps.tagging.tagger import FEATURES, features_of
from structlearn.cli.task import PACKED
from structlearn.data import FeatureVocabulary
from structlearn.estimators.persistence import Bundle
from structlearn.storage.schema import check_form

_LIBSVM = {"n_features": int}
_TABLE = {"features": list[str], "targets": list[str]}
_FLAT = {"format": Literal["libsvm", "csv", "packed"]}


def check_notes(bundle: Bundle, estimator: str) -> None:
    """ValueError if the notes are not those of a task whose estimator has this name, or do not fit it."""
    model, notes = bundle.estimator, bundle.notes
    if type(model).__name__ != estimator:
        raise ValueError(f"the task {notes['task']} has a {estimator}, not a {type(model).__name__}")
    if notes.get("format") == PACKED:
        return
    if estimator == "ChainClassifier":
        _check_columns(bundle)
    elif estimator not in ("TreeParser", "MatchingClassifier"):
        _check_flat(notes, model)


def _check_flat(notes: dict[str, Any], model: Any) -> None:
    check_form(notes, _FLAT, "notes")
    check_form(notes, _LIBSVM if notes["format"] == "libsvm" else _TABLE, "notes")
    n = notes["n_features"] if notes["format"] == "libsvm" else len(notes["features"])
    if n != model.n_features_in_:
        raise ValueError(f"notes tell of {n} features, not of {model.n_features_in_}")
    n_targets = len(model.classes_) if type(model).__name__ == "MultiLabelClassifier" else 1
    if notes["format"] == "csv" and len(notes["targets"]) != n_targets:
        raise ValueError(f"notes.targets must be {n_targets} names")


def _check_columns(bundle: Bundle) -> None:
    if FEATURES in bundle.arrays:
        Plan.from_notes(bundle.notes)
        features_of(bundle)
        return
    check_form(bundle.notes, {"label_column": int}, "notes")
    check_form(bundle.texts, {"vocabulary": list[str]}, "texts")
    n = len(FeatureVocabulary.from_lines(bundle.texts["vocabulary"]).names_)
    if n != bundle.estimator.n_features_in_:
        raise ValueError(f"its vocabulary has {n} features, not {bundle.estimator.n_features_in_}")
