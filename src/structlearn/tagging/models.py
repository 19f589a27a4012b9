"""The estimators that taggers train on rows of features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from structlearn.estimators import ChainClassifier, SegmentTagger
from structlearn.estimators.choices import one_of
from structlearn.estimators.inputs.checking import Stacked
from structlearn.estimators.inputs.segment_features import OF_TEXT, SegmentedRows
from structlearn.estimators.loss_choice import take_usual_cost
from structlearn.tagging.parameters import CHAIN, SEGMENTS, TaggerParameters

#: Parameters that chains have and segments do not.
OF_CHAINS = ("constraints", "penalty", "l1_ratio", "features", "candidates", "candidate_min_count")


def check_model(tagger: TaggerParameters) -> None:
    """Raise ValueError for an unknown model, and for parameters that go with the other one."""
    if one_of("model", tagger.model, (CHAIN, SEGMENTS)) == CHAIN:
        return
    usual: dict[str, object] = {"transitions": None, "constraints": None, "warm_start": False}
    usual |= {"penalty": "l2", "features": "auto", "candidates": None}
    for name, value in usual.items():
        if getattr(tagger, name) != value:
            raise ValueError(f"{name} goes with model='chain', not with segments.")


def new_model(
    tagger: TaggerParameters, problem: Mapping[str, Any], rows: Stacked | None = None
) -> ChainClassifier | SegmentTagger:
    """Make the estimator that a tagger's parameters describe, for a problem whose parameters are given."""
    shared = ("loss", "n_jobs", "random_state", "verbose")
    own: dict[str, Any] = {name: getattr(tagger, name) for name in shared}
    others, usual = tagger.chain_options or {}, {**problem}
    cost = usual.pop("cost")
    model: ChainClassifier | SegmentTagger
    if tagger.model == SEGMENTS:
        model = SegmentTagger(**of_segments(usual, rows), **own, **others)
    else:
        own |= {name: getattr(tagger, name) for name in OF_CHAINS}
        model = ChainClassifier(**usual, **own, **others)
    if "cost" not in others:
        take_usual_cost(model, cost)
    return model


def of_segments(problem: Mapping[str, Any], rows: object) -> dict[str, Any]:
    """Return the parameters of a problem that segments have; features of whole ones where there are words."""
    kept = {name: problem[name] for name in ("regularization", "tol", "cost") if name in problem}
    return {**kept, "segment_features": OF_TEXT} if isinstance(rows, SegmentedRows) else kept
