"""Candidate labels by a tag dictionary: frequent words have the labels that they were seen with.

A key, such as the word, is a column of the feature matrix that is set where the key occurs. Keys that occur
at least `min_count` times in the training data have the labels that occur with them. All other positions,
those of rare and of unknown words, share the open class: the labels that occur with rare words. So the gold
label of a training position is always a candidate.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.sentences import ParameterError
from structlearn.estimators.choices import check_number
from structlearn.estimators.inputs.checking import Stacked, Tables
from structlearn.estimators.scikit import Rows
from structlearn.structures.chain.candidates import Candidates

if TYPE_CHECKING:
    from structlearn.estimators.chain import ChainClassifier

#: The set of positions without a key that is in the dictionary.
OPEN = 0


class TagDictionary(NamedTuple):
    """The labels that each key may have.

    columns : (m,) the columns of the keys, in increasing order
    first : (m + 2,) where each set of labels begins: that of the open class, then those of the keys
    labels : the sets, end to end, each in increasing order
    """

    columns: Array
    first: Array
    labels: Array

    @classmethod
    def learn(cls, rows: Rows, keys: Array, codes: Array, n_labels: int, min_count: int) -> Self:
        """Learn the dictionary of rows and their labels; `keys` are the columns that may be keys."""
        found = _key_of_rows(rows, keys)
        counts = np.bincount(found, minlength=keys.size + 1)
        frequent = np.flatnonzero(counts[1:] >= min_count)
        place = np.zeros(keys.size + 1, dtype=np.int64)
        place[frequent + 1] = np.arange(1, frequent.size + 1)
        pairs = np.unique(place[found] * n_labels + codes)
        sets, labels = np.divmod(pairs, n_labels)
        if not (sets == OPEN).any():
            sets = np.concatenate([np.full(n_labels, OPEN), sets])
            labels = np.concatenate([np.arange(n_labels), labels])
        first = np.searchsorted(sets, np.arange(frequent.size + 2))
        return cls(keys[frequent], first, labels)

    @property
    def sizes(self) -> Array:
        """The number of labels of each set."""
        return np.diff(self.first)

    def candidates(self, rows: Rows, lengths: Array) -> Candidates:
        """Return the candidates of sequences that are not empty, whose rows are these, end to end."""
        sets = _key_of_rows(rows, self.columns)
        sizes = self.sizes[sets]
        first = np.concatenate([[0], np.cumsum(sizes)])
        within = np.arange(first[-1]) - np.repeat(first[:-1], sizes)
        return Candidates(lengths, first, self.labels[np.repeat(self.first[sets], sizes) + within])

    def table(self, rows: Rows, n_labels: int) -> Array:
        """Return the labels that each row may have, as a boolean array of shape (n_rows, n_labels)."""
        known = np.zeros((self.sizes.size, n_labels), dtype=bool)
        known[np.repeat(np.arange(self.sizes.size), self.sizes), self.labels] = True
        return known[_key_of_rows(rows, self.columns)]

    def check(self, n_features: int, n_labels: int) -> None:
        """Raise ValueError unless this can be a dictionary of so many features and labels."""
        columns, first, labels = (np.asarray(one, dtype=np.int64) for one in self)
        fits = first.size == columns.size + 2 and first[0] == 0 and first[-1] == labels.size
        if not fits or (np.diff(first) < 1).any() or (labels < 0).any() or (labels >= n_labels).any():
            raise ValueError("the sets of its tag dictionary are out of range")
        if (np.diff(columns, prepend=-1) < 1).any() or (columns >= n_features).any():
            raise ValueError("the keys of its tag dictionary are no columns")
        owner = np.repeat(np.arange(first.size - 1), np.diff(first))
        if (np.diff(owner * n_labels + labels) < 1).any():
            raise ValueError("the labels of its tag dictionary are not in order")

    def describe(self, key: str, min_count: int, n_labels: int) -> str:
        """Return a sentence for the status of a certificate."""
        return (
            f"The problem is that over candidate labels of a tag dictionary: {self.columns.size:,} values of "
            f"{key} that occur at least {min_count} times have {self.sizes[1:].sum():,} labels together, and "
            f"all others the {self.sizes[OPEN]:,} of the open class, of {n_labels:,} (candidates='{key}')."
        )


def _key_of_rows(rows: Rows, columns: Array) -> Array:
    """Return which of the columns each row has, counted from 1; 0 for none."""
    X = sparse.csr_matrix(rows)
    place = np.zeros(X.shape[1], dtype=np.int64)
    place[columns] = np.arange(1, columns.size + 1)
    entries = place[X.indices] * (X.data != 0)
    found = np.zeros(X.shape[0], dtype=np.int64)
    np.maximum.at(found, np.repeat(np.arange(X.shape[0]), np.diff(X.indptr)), entries)
    return found


# ---- of an estimator ---------------------------------------------------------------------------------------


def learn_dictionary(estimator: ChainClassifier, X: Tables, codes: Array) -> TagDictionary:
    """Learn the dictionary of a training set, and keep it as fitted attributes."""
    keys = key_columns_of(X, str(estimator.candidates))
    if keys is None or not isinstance(X, Stacked):
        raise ParameterError(
            "{candidates=} needs features by name, such as 'word=dog' for {candidates=word}; arrays have no "
            "words to look up.",
            candidates=estimator.candidates,
        )
    if not keys.size:
        raise ParameterError(
            "{candidates=} needs features of that name, but there are none; name one that every token has, "
            "such as word in 'word=dog'.",
            candidates=estimator.candidates,
        )
    found = TagDictionary.learn(
        X.rows, keys, codes, len(estimator.classes_), int(estimator.candidate_min_count)
    )
    estimator.candidate_columns_, estimator.candidate_starts_, estimator.candidate_labels_ = found
    return found


def dictionary_of(estimator: ChainClassifier) -> TagDictionary | None:
    """Return the tag dictionary of a fitted model; None where it has none."""
    if "candidate_starts_" not in vars(estimator):
        return None
    given = estimator.candidate_columns_, estimator.candidate_starts_, estimator.candidate_labels_
    return TagDictionary(*(np.asarray(one, dtype=np.int64) for one in given))


def keys_of_dictionary(estimator: ChainClassifier, n_features: int) -> Array:
    """Return which features are keys of a fitted model's tag dictionary."""
    found = np.zeros(n_features, dtype=np.bool_)
    found[getattr(estimator, "candidate_columns_", [])] = True
    return found


def renumber_keys(estimator: ChainClassifier, used: Array) -> None:
    """Follow a fitted model's features, of which a mask keeps some, and all keys of the tag dictionary."""
    if hasattr(estimator, "candidate_columns_"):
        estimator.candidate_columns_ = (np.cumsum(used) - 1)[estimator.candidate_columns_]


def key_columns_of(X: Tables, key: str) -> Array | None:
    """Return the columns of features of this name, "key=..." or "key:..."; None where they have no names."""
    known = getattr(X, "key_columns", None)
    if known is not None:
        return np.unique(np.asarray(known, dtype=np.int64))
    names = getattr(getattr(X, "features", None), "names_", None)
    if names is None:
        return None
    begins = (f"{key}=", f"{key}:")
    return np.array([j for j, name in enumerate(names) if name.startswith(begins)], dtype=np.int64)


def check_candidates(estimator: ChainClassifier) -> None:
    """Raise ValueError for values that `candidates` cannot have, and for what it does not go with."""
    key = estimator.candidates
    if key is None:
        return
    if not isinstance(key, str) or not key:
        raise ParameterError(
            "{candidates} must be the name of a feature, such as 'word', or None; got {key}.", key=repr(key)
        )
    check_number("candidate_min_count", estimator.candidate_min_count, minimum=1)
    others = {
        "constraints": estimator.constraints is not None,
        "transition_features": estimator.transition_features is not None,
        "start": estimator.start,
        "end": estimator.end,
    }
    for name, is_set in others.items():
        if is_set:
            raise ParameterError(f"{{candidates}} does not go with {{{name}}}; leave one of them out.")


def refuse_candidates(estimator: ChainClassifier, what: str) -> None:
    """Raise ValueError where candidates are asked for, but labels are not all at hand."""
    if estimator.candidates is not None:
        raise ParameterError("{candidates} does not go with {what}; leave it out.", what=what)
