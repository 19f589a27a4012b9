"""Taggers in model files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.forms import count
from structlearn.estimators import SegmentTagger
from structlearn.estimators.files.persistence import Bundle, load_bundle, save_bundle
from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.storage.model_file import damage_error
from structlearn.storage.schema import check_form
from structlearn.tagging.answers import TaggerAnswers
from structlearn.tagging.explaining import stored_strings, take_strings
from structlearn.tagging.featured import FeaturedWords
from structlearn.tagging.features import TextFeatures, parse_templates, spell_templates
from structlearn.tagging.features.resources import DerivedColumns, derived_names
from structlearn.tagging.models import OF_CHAINS
from structlearn.tagging.parameters import CHAIN, SEGMENTS
from structlearn.tagging.patterns.features import PatternFeatures, features_of
from structlearn.tagging.pipeline import taggers_of
from structlearn.tagging.plan import Plan
from structlearn.tagging.small import shrink_model

#: what its model files say that they hold
TAGGER = "Tagger"
#: the name of the vocabulary in a model file
FEATURES = "features"
#: what `structlearn predict` reads for features that have names
CRFSUITE = "CRFsuite"
_NOTES = {
    "templates": str,
    "min_count": int,
    "hash_bits": int | None,
    "transitions?": str | None,
    "arrays?": count,
    "array_names?": list[str],
    "origin?": {"labels": list[str], "place": int | None},
}


class ForeignOrder(NamedTuple):
    """What another tool's file had: the order of labels, and the transitions' place among the features."""

    labels: list[str]
    place: int | None


#: parameters that neither the chain nor the features tell, as they were given
_OWN: dict[str, object] = {
    "columns?": list[str],
    "templates?": str | list[str] | None,
    "usual?": str | list[str] | None,
    "context?": int | None,
    "regularization?": float | None,
    "n_jobs?": int | None,
    "random_state?": int | None,
    "verbose?": int,
    "warm_start?": bool,
    "chain_options?": dict[str, Any] | None,
}
#: parameters that are those of the chain
_SHARED = ("loss", "regularization", "tol", *OF_CHAINS)


class StoredTagger(FeaturedWords, TaggerAnswers):
    """How a tagger is written and read."""

    #: whether `fit` has seen that all features are 0 or 1
    _indicators: bool = False
    #: what columns of arrays are called, if they have names
    array_names_: list[str]
    #: what another tool's file had that a tagger has no place for
    origin_: ForeignOrder

    def save(self, path: str | Path) -> None:
        """Write the tagger as one safetensors file, which `structlearn predict` reads, too."""
        save_bundle(self.bundle(), path)

    def bundle(self, plan: Plan | None = None) -> Bundle:
        chain, features = self._to_write()
        if isinstance(features, TokenFeatures):
            return Bundle(
                chain, {"task": self._task_of_file(self.task), **named_notes(), **self._stored_parameters()}
            )
        extra = self.transitions
        transitions = None if extra is None else spell_templates(parse_templates(extra))
        notes = self.notes(plan or self._own_plan(), transitions)
        parameters = self._stored_parameters()
        if plan is None and isinstance(self.features_, PatternFeatures):
            parameters["parameters"]["columns"] = list(self.columns)
        notes = {"task": self._task_of_file(self.task), **notes, **parameters}
        kept = {name: one.bundle() for name, one in (self.taggers or {}).items()}
        return Bundle(chain, notes, self.derived_.texts(), self.arrays(features), bundled=kept)

    def _to_write(self) -> tuple[Any, TextFeatures | TokenFeatures]:
        """Return the chain and its features as a file is to hold them; what a file held stays as it is."""
        chain = self._fitted_estimator()
        if self.keep_weights or not self._indicators:
            return chain, self.features_
        return shrink_model(chain, self.features_, self.n_arrays_)

    def _own_plan(self) -> Plan:
        """Return the plan of files that have the tagger's columns in their order, and the label last."""
        *names, label = map(str, range(len(self._given_columns) + 1))
        templates = spell_templates(self.features_.templates)
        derived = derived_names(self.derived_.notes())
        aliases = dict(zip(self._given_columns, names))
        return Plan((*names, label), label, aliases, templates, tuple(self.taggers or {}), *derived)

    def _stored_parameters(self) -> dict[str, dict[str, object]]:
        """Return the parameters as they were given, if a file can hold them."""
        given = {name.removesuffix("?"): getattr(self, name.removesuffix("?")) for name in _OWN}
        del given["columns"]  # which the plan has
        return {"parameters": {name: value for name, value in given.items() if _is_plain(value)}}

    def _task_of_file(self, task: str) -> str:
        """Return the task of the shell that reads the file: `tag` has chains alone."""
        return "chunk" if task == "tag" and self.model == SEGMENTS else task

    def notes(self, plan: Plan, transitions: str | None) -> dict[str, object]:
        """Return what a model file says of the words and their features; and that a `Tagger` can read it."""
        numbered = {"min_count": self.features_.min_count, "hash_bits": self.features_.hash_bits}
        told = {"templates": spell_templates(self.features_.templates), **self.derived_.notes()}
        if self.n_arrays_:
            told["arrays"] = self.n_arrays_
        if hasattr(self, "array_names_"):
            told["array_names"] = self.array_names_
        if hasattr(self, "origin_"):
            told["origin"] = self.origin_._asdict()
        return {**plan.as_notes(), "application": TAGGER, **numbered, "transitions": transitions, **told}

    def arrays(self, features: TextFeatures | None = None) -> dict[str, Array]:
        """Return the vocabulary, the derived columns, and the strings that make names of features."""
        features = features or self.features_
        return {
            FEATURES: features.keys_,
            **stored_strings(features),
            **self.derived_.arrays(),
        }

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a tagger that `save` or `structlearn train tag | chunk | ner` wrote."""
        bundle = load_bundle(path)
        has_words = FEATURES in bundle.arrays and bundle.notes.get("application", TAGGER) == TAGGER
        if not has_words and not is_of_names(bundle):
            raise ValueError(f"{path} holds no tagger of words; use structlearn.load.")
        try:
            return cls.of(bundle)
        except ValueError as error:
            raise damage_error(path, error) from None

    @classmethod
    def of(cls, bundle: Bundle) -> Self:
        """Return the tagger of a model file; ValueError if its notes are of none. A chain may be missing."""
        chain = bundle.estimator
        words: dict[str, Any] = {}
        derived = DerivedColumns()
        features: TextFeatures | TokenFeatures
        if is_of_names(bundle):
            features, words["keep_names"] = chain.features_, chain.features_.keep_names
        else:
            plan, features = Plan.from_notes(bundle.notes), _features_of(bundle)
            words |= {"columns": plan.columns, "templates": bundle.notes["templates"]}
            words |= {"transitions": bundle.notes.get("transitions"), "task": bundle.notes.get("task", "tag")}
            words["taggers"] = taggers_of(bundle, cls, plan.bundled) or None
            derived = DerivedColumns.from_stored(bundle)
            words |= derived.parameters()
        words["model"] = SEGMENTS if isinstance(chain, SegmentTagger) else CHAIN
        shared = _SHARED if chain is not None else ()
        words |= {name: getattr(chain, name) for name in shared if hasattr(chain, name)}
        given = bundle.notes.get("parameters", {})
        check_form(given, _OWN, "notes.parameters")
        words |= {name: given[name] for name in given if f"{name}?" in _OWN}
        self = cls(**words, min_count=features.min_count, hash_bits=features.hash_bits)
        self.features_, self.derived_ = features, derived
        self.n_arrays_ = 0 if isinstance(features, TokenFeatures) else bundle.notes.get("arrays", 0)
        if len(bundle.notes.get("array_names", ())) == self.n_arrays_ > 0:
            self.array_names_ = bundle.notes["array_names"]
        if "origin" in bundle.notes and isinstance(features, TextFeatures):
            self.origin_ = ForeignOrder(**bundle.notes["origin"])
        if chain is not None:
            self.chain_ = chain
        return self


def _is_plain(value: object) -> bool:
    """Whether JSON gives a value back as it was."""
    try:
        return bool(json.loads(json.dumps(value)) == value)
    except (TypeError, ValueError):
        return False


def named_notes() -> dict[str, object]:
    """Return what a model file says of features that have names, which the chain itself keeps."""
    return {"format": CRFSUITE, "application": TAGGER}


def is_of_names(bundle: Bundle) -> bool:
    """Whether a model file is that of a tagger whose features have names."""
    return bundle.notes.get("format") == CRFSUITE and hasattr(bundle.estimator, "features_")


def _features_of(bundle: Bundle) -> TextFeatures:
    """Return the features of a model file; ValueError if they are not those of its weights."""
    notes, keys = bundle.notes, bundle.arrays[FEATURES]
    check_form(notes, _NOTES, "notes")
    if keys.ndim != 1 or keys.dtype != np.uint64:
        raise ValueError("its features must be a vector of keys")
    features = features_of(notes["templates"], notes["min_count"], notes["hash_bits"]).with_keys(keys)
    found = features.n_features + notes.get("arrays", 0)
    if bundle.estimator is not None and found != bundle.estimator.n_features_in_:
        raise ValueError(f"it has {found} features, not {bundle.estimator.n_features_in_}")
    take_strings(features, bundle.arrays)
    return features
