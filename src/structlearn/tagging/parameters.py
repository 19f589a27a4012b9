"""The parameters of taggers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from structlearn.estimators.inputs.constraints import Constraints
from structlearn.estimators.loss_choice import AUTO
from structlearn.estimators.scikit import BaseEstimator
from structlearn.tagging.features import Templates
from structlearn.tagging.features.lexicon import LexiconSource
from structlearn.tagging.pipeline import Taggers

TOL = 0.01
#: what `model` may be
CHAIN, SEGMENTS = "chain", "segments"
RandomState = int | np.random.RandomState | None


@dataclass(kw_only=True, eq=False, repr=False)
class TaggerParameters(BaseEstimator):
    """`Tagger` says what they are."""

    columns: Sequence[str] = ("word",)
    templates: Templates | None = None
    transitions: Templates | None = None
    min_count: int = 1
    hash_bits: int | None = None
    task: str = "tag"
    model: str = CHAIN
    lexicons: Mapping[str, LexiconSource] | None = None
    clusters: str | Path | None = None
    vectors: str | Path | None = None
    usual: Templates | None = None
    context: int | None = None
    span_lexicon: bool = False
    keep_names: bool | None = None
    loss: str = AUTO
    regularization: float | None = None
    penalty: str = "l2"
    l1_ratio: float = 0.5
    tol: float = TOL
    constraints: Constraints = None
    n_jobs: int | None = 1
    random_state: RandomState = None
    verbose: int = 0
    chain_options: dict[str, Any] | None = None
    taggers: Taggers | None = None
    warm_start: bool = False
