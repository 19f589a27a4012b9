"""One chain of two: a linear one over features, and that of networks, whose scores are features of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators import ChainClassifier
from structlearn.estimators.inputs.constraints import forbidden_steps
from structlearn.structures import Chain

if TYPE_CHECKING:
    from structlearn.neural.tagger import NeuralTagger


def join_chains(
    linear: ChainClassifier | None, classes: Array, n_features: int, tagger: NeuralTagger
) -> ChainClassifier:
    """Return the chain over rows [features, scores of networks], with the weights

        [a W; (1 - a) I; a b]   and the transitions   a T_linear + (1 - a) T_networks,    a = linear_share,

    where b are intercepts; the first and the last label have weights of their own.
    """
    share, k = tagger.linear_share, len(classes)
    table, intercept = np.zeros((n_features, k)), np.zeros(k)
    steps = {name: (1 - share) * one for name, one in _mean_steps(tagger).items()}
    if linear is not None:
        table, intercept = share * linear.coef_.T, share * linear.intercept_
        steps["transitions"] = steps["transitions"] + share * linear.transition_coef_
    chain = ChainClassifier(
        loss="softmax", start=True, end=True, constraints=tagger.constraints, n_jobs=tagger.n_jobs
    )
    chain.classes_, chain.n_features_in_, chain.loss_ = classes, n_features + k, "softmax"
    chain.structure_ = Chain(k, start=True, end=True, forbidden=forbidden_steps(tagger.constraints, classes))
    parts = (table, (1 - share) * np.eye(k), intercept)
    chain.weights_ = np.concatenate([*map(np.ravel, parts), chain.structure_.shared_from(steps)])
    return chain


def _mean_steps(tagger: NeuralTagger) -> dict[str, Array]:
    """Return the means of the networks' transitions, starts and ends, by the names of a chain's tables."""
    names = {"transitions": "transitions", "start": "start_transitions", "end": "end_transitions"}
    return {
        name: np.mean([getattr(one.crf, own).detach().numpy() for one in tagger.networks_], axis=0)
        for name, own in names.items()
    }
