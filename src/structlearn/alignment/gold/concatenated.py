"""Matchings whose edges have the two words' vectors, concatenated, as features; and oracles to compare.

Such features cannot suffice alone: theta_ij = <w, (u_i, v_j)> = <w_1, u_i> + <w_2, v_j> is a term of the
source word plus one of the target word, so all complete matchings of a pair have the same score. What can be
learned is which words have links at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, kron, vstack

from structlearn.alignment.gold.vectors import Vectors, Words, WordVectors
from structlearn.core.callbacks import Callback
from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.estimators import StructuredPredictor
from structlearn.metrics import link_scores
from structlearn.scoring.parts.sums import Items, SumScoring
from structlearn.structures import Matching, Structure
from structlearn.structures.own_records import Called
from structlearn.structures.python_oracle import PythonOracle

#: By how much the costs of edges differ from 1, so that no two matchings are equally good.
_DIFFERENCE = 1e-3
#: The linear program is solved so exactly that these differences tell.
_EXACT = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


@dataclass(frozen=True, eq=False)
class WordPairs:
    """Sentence pairs as rows of two tables of word vectors."""

    rows: Items
    columns: Items

    def __len__(self) -> int:
        return len(self.rows.start) - 1

    def some(self, which: Sequence[int]) -> WordPairs:
        """Return the pairs of these numbers."""
        return WordPairs(_some(self.rows, which), _some(self.columns, which))

    @classmethod
    def of(cls, pairs: Sequence[Words], vectors: Vectors) -> WordPairs:
        """Return the pairs' words in the tables of `vectors`; words without a vector have the zero vector."""
        rows, columns = (_items([pair[k] for pair in pairs], side) for k, side in enumerate(vectors))
        return cls(rows, columns)


def _some(items: Items, which: Sequence[int]) -> Items:
    start = np.concatenate([[0], np.cumsum(items.lengths[which])])
    index = [items.index[items.start[i] : items.start[i + 1]] for i in which]
    return Items(items.vectors, np.concatenate(index), start.astype(np.int64))


def _items(sentences: Sequence[Sequence[str]], side: WordVectors) -> Items:
    index = side.rows(word for sentence in sentences for word in sentence)
    start = np.concatenate([[0], np.cumsum([len(sentence) for sentence in sentences])])
    zero = np.zeros((1, side.matrix.shape[1]), dtype=np.float32)
    index[index < 0] = len(side.words)
    return Items(np.concatenate([side.matrix, zero]), index, start.astype(np.int64))


@dataclass(kw_only=True, eq=False, repr=False)
class WordMatcher(StructuredPredictor):
    """Matchings of the words of `WordPairs`: theta_ij = <w_1, u_i> + <w_2, v_j>.

    The parameters are those of `StructuredPredictor`.
    """

    def _training_part_scoring(self, X: Any, structure: Structure, memory: Memory) -> Any:
        scoring = SumScoring(X.rows, X.columns)
        self.n_features_in_ = scoring.n_features
        return scoring

    def _part_scoring(self, X: Any) -> Any:
        return SumScoring(X.rows, X.columns)

    def score(  # type: ignore[override]
        self, X: Any, y: Any, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return F1 of the links, over all pairs."""
        return link_scores(y, self.predict(X), sample_weight).f1


class UntiedMatching(Matching):
    """One-to-one matchings with costs that differ a little, so that every oracle has one answer.

    With equal costs, concatenated features leave many matchings equally good. Two exact oracles would then
    answer differently, and what they cost could not be told from where they lead.
    """

    def cost(self, mu: Array, **options: Any) -> Array:
        """Return that of `Matching`, each entry larger by a share between 0 and `_DIFFERENCE`."""
        return super().cost(mu, **options) * (1.0 + _DIFFERENCE * _random(mu.shape))


@lru_cache(maxsize=1 << 12)
def _random(shape: tuple[int, int]) -> Array:
    return np.random.default_rng(shape).random(shape)


class ProgramMatching(UntiedMatching):
    """The same polytope, maximised by a general solver of linear programs (HiGHS)."""

    def __init__(self) -> None:
        super().__init__()
        self.python = self._program = Callback(PythonOracle(matching_by_program, self.part_ndim))

    @property
    def record(self) -> Any:
        return Called(self._program.address)

    @property
    def content(self) -> tuple[object, ...]:
        return super().record


def matching_by_program(theta: Array) -> Array:
    """argmax <theta, z> over z >= 0 with sums of rows and columns at most 1."""
    sums = _row_and_column_sums(theta.shape)
    found = linprog(-theta.ravel(), A_ub=sums, b_ub=np.ones(sum(theta.shape)), method="highs", options=_EXACT)
    return found.x.round().reshape(theta.shape)


@lru_cache(maxsize=1 << 12)
def _row_and_column_sums(shape: tuple[int, int]) -> csr_array:
    m, n = shape
    rows = kron(eye_array(m), csr_array(np.ones((1, n))))
    columns = kron(csr_array(np.ones((1, m))), eye_array(n))
    return vstack([rows, columns], format="csr")
