"""Answers over the candidate labels of a tag dictionary, in time and memory of the candidates alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.models.linear import LinearModel
from structlearn.estimators.scikit import Rows
from structlearn.scoring import LabelScoring, SelectedScoring
from structlearn.structures.chain.candidates import CandidateChain

if TYPE_CHECKING:
    from structlearn.estimators.inputs.tag_dictionary import TagDictionary
    from structlearn.estimators.models.chains import ChainModel


class CandidateAnswers:
    """What a model with a tag dictionary answers about some sequences, none of which is empty.

    Parameters
    ----------
    model : ChainModel
    dictionary : TagDictionary
    local : LabelScoring
        That of all labels.
    rows : the features of all positions, as the dictionary knows them
    """

    def __init__(self, model: ChainModel, dictionary: TagDictionary, local: LabelScoring, rows: Rows) -> None:
        self.found = dictionary.candidates(rows, np.diff(local.first))
        self.scoring = SelectedScoring(local, self.found.first, self.found.label)
        self.classes = model.classes
        self.model = LinearModel(
            structure=CandidateChain(model.structure, self.found),  # type: ignore[arg-type]
            weights=model.weights,
            loss=model.loss,
            n_jobs=model.n_jobs,
            temperature=model.temperature,
        )

    def best(self) -> list[Array]:
        """Return the best label sequence of each example."""
        answers: list[Array] = []
        lengths = self.found.lengths
        for first, last, parts in self.model.oracle(self.scoring).read(self.model.weights, np.flatnonzero):
            labels = self.classes[self.found.label[self.scoring.start[first] + parts]]
            edges = np.concatenate([[0], np.cumsum(lengths[first:last])])
            answers += [labels[a:b] for a, b in pairwise(edges.tolist())]
        return answers

    def marginals(self) -> Iterator[Array]:
        """Yield probabilities of the labels, of shape (length, K): 0 for those that are no candidates."""
        k, rows, start = len(self.classes), self.found.rows, self.found.start
        position = self.found.owner
        for i, parts in self.model.soft_parts(self.scoring):
            own, table = slice(start[i], start[i + 1]), np.zeros((rows[i + 1] - rows[i], k))
            table[position[own] - rows[i], self.found.label[own]] = parts
            yield table
