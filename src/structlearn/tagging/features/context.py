"""Context: what a first pass over the text says of the same word in the sentences around.

A chain with the same templates labels all of the text first; what labels it gives to a word nearby are two
columns for the model itself. While training, each half of the text is labelled by a chain of the other half:
so the model learns how far such labels are to be trusted in text that it has not seen.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from structlearn.core.contract import Array
from structlearn.data import Tokens
from structlearn.estimators.chain import ChainClassifier
from structlearn.estimators.inputs.checking import Stacked
from structlearn.estimators.weights.chain_of_weights import chain_of
from structlearn.storage.schema import check_form
from structlearn.tagging.features.derived import LearntColumns, Stored, read_strings, with_columns
from structlearn.tagging.features.features import TextFeatures
from structlearn.tagging.features.nearby import Nearby, longest_nearby, usual_nearby
from structlearn.tagging.features.runs import is_capitalised
from structlearn.tagging.features.small_weights import as_floats, without_small
from structlearn.tagging.features.templates import Template
from structlearn.tagging.features.usual import BLOCK, known_texts

#: Fewer sentences, of which all labels are known, teach no context.
FEWEST = 2 * BLOCK
#: Sentences to either side at most.
MOST = 100_000
#: Columns: the usual label nearby, and the longest span that the word is in.
COLUMNS = ("nearby", "within")
#: The first pass leaves out rarer features, and ends at this gap.
MIN_COUNT, TOL = 2, 0.05
#: Its weights are left out up to this absolute value: its answers are only features.
NEAR_ZERO = 5e-3
#: Of a limit on seconds, the shares by which the chains of both halves and of the whole must have ended.
SHARES = (0.3, 0.4, 0.5)
_KIND = "context"
_NUMBER = re.compile(r"[0-9]{1,9}")
_NOTES = {"kind": str, "templates": str, "word": str, "reach": str, "hash_bits": str}


@dataclass(eq=False)
class Context:
    """Two columns: the label that the same word mostly has nearby, and the longest span that it is in there.

    Of words that are capitalised; case does not tell words apart.

    features : of the first pass
    word : the column to look at
    reach : sentences to either side that are near
    labels : of the first pass
    chain : the first pass
    near_zero : weights up to this absolute value are forgotten once it is learnt
    """

    features: TextFeatures
    word: str
    reach: int
    labels: list[str] = field(default_factory=list)
    chain: ChainClassifier = field(default_factory=ChainClassifier)
    near_zero: float = NEAR_ZERO

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are added."""
        return list(COLUMNS)

    @property
    def needs(self) -> list[str]:
        """Columns that are looked at."""
        return list(dict.fromkeys([self.word, *self.features.columns]))

    @property
    def default_templates(self) -> str:
        """Each column, its neighbours, and with the place in a run of capitalised words."""
        return " ".join(f"{one}[-1..1] {one}&{self.word}.place" for one in COLUMNS)

    def learn(
        self,
        tokens: Tokens,
        y: Sequence[Any],
        learnt: Sequence[LearntColumns] = (),
        max_seconds: float | None = None,
    ) -> Tokens:
        """Learn the first pass from a training text, and add to it columns that do not see its labels.

        learnt : what the text has as columns from its labels; each half gets that of the other half
        max_seconds : the limit on the training that the first pass is for, of which it takes a half at most
        """
        limits = [None if max_seconds is None else share * max_seconds for share in SHARES]
        known: list[list[Any]] = [*known_texts(y)]
        self.labels = sorted({label for one in known for label in one if label is not None})
        self.features.fit(tokens)
        whole = np.array([None not in one for one in known])
        first = np.cumsum(whole) <= whole.sum() // 2
        found: list[Array] = []
        for half, limit in zip((first, ~first), limits):
            others = np.flatnonzero(~half & whole)
            train = partial(_train_first_pass, max_seconds=limit)
            found += self._label_by_chain(
                tokens.some(others),
                [known[i] for i in others],
                tokens.some(np.flatnonzero(half)),
                learnt,
                train,
            )
        those = np.flatnonzero(whole)
        self.chain = _train_first_pass(self._rows(tokens.some(those)), [known[i] for i in those], limits[-1])
        self._forget_small()
        return self._add_columns(tokens, found)

    def _forget_small(self) -> None:
        """Forget weights near zero, and the features that have no others."""
        size, n = self.chain.coef_.size, self.chain.n_features_in_
        table = without_small(self.chain.weights_[:size].reshape(n, -1), self.near_zero)
        used: Array = np.asarray(table.any(axis=1))
        used[0] |= not used.any()
        if self.features.hash_bits is None:
            self.features.keep(used)
            table, self.chain.n_features_in_ = table[used], int(used.sum())
        self.chain.weights_ = np.concatenate([table.ravel(), as_floats(self.chain.weights_[size:])])

    def _label_by_chain(
        self,
        tokens: Tokens,
        labels: Sequence[Any],
        others: Tokens,
        learnt: Sequence[LearntColumns],
        train: Callable[[Stacked, Sequence[Any]], ChainClassifier],
    ) -> list[Array]:
        """Label other sentences by a chain of these; where these have one label alone, by that one."""
        distinct = sorted({label for one in labels for label in one})
        if len(distinct) < 2:
            return [np.array(distinct[:1] * n) for n in others.lengths.tolist()]
        for own in (part.fresh() for part in learnt):
            tokens, others = own.learn(tokens, labels), own.add(others)
        return train(self._rows(tokens), labels).predict(self._rows(others))

    def add(self, tokens: Tokens) -> Tokens:
        """Return a text with the columns."""
        return self._add_columns(tokens, self.chain.predict(self._rows(tokens)) if len(tokens) else [])

    def _rows(self, tokens: Tokens) -> Stacked:
        return Stacked(self.features.transform(tokens), tokens.lengths)

    def _add_columns(self, tokens: Tokens, found: Sequence[Array]) -> Tokens:
        sentences = [one.tolist() for one in found]
        place = {label: k for k, label in enumerate(self.labels)}
        codes = np.array([place[label] for one in sentences for label in one], dtype=np.int64)
        sentence = np.repeat(np.arange(len(tokens)), tokens.lengths)
        nearby = Nearby.of(self._words(tokens), sentence, self.reach)
        cells = usual_nearby(nearby, codes, self.labels), longest_nearby(nearby, sentences, self.labels)
        return with_columns(tokens, dict(zip(COLUMNS, cells)))

    def _words(self, tokens: Tokens) -> Array:
        """Return the number of each token's word in lower case; -1 of one that is not capitalised."""
        codes, strings = tokens.column(self.word)
        numbers: dict[str, int] = {}
        of = [numbers.setdefault(w.lower(), len(numbers)) if is_capitalised(w) else -1 for w in strings]
        return np.array(of, dtype=np.int64)[codes] if codes.size else np.empty(0, dtype=np.int64)

    def to_stored(self) -> Stored:
        """Return what a model file holds of it."""
        notes = {
            "kind": _KIND,
            "templates": " ".join(map(str, self.features.templates)),
            "word": self.word,
            "reach": str(self.reach),
            "hash_bits": str(self.features.hash_bits or 0),
        }
        arrays = {"keys": self.features.keys_, "weights": self.chain.weights_.astype(np.float32)}
        return Stored(notes, {"labels": [json.dumps(self.labels)]}, arrays)

    @classmethod
    def from_stored(cls, stored: Stored) -> Context:
        """Invert `to_stored`; ValueError for what it cannot have given."""
        notes, keys, weights = stored.notes, stored.arrays["keys"], stored.arrays["weights"]
        check_form(notes, _NOTES, "derived")
        if not all(_NUMBER.fullmatch(notes[name]) for name in ("reach", "hash_bits")):
            raise ValueError("the numbers of its context are not numbers")
        if keys.dtype != np.uint64 or keys.ndim != 1 or weights.dtype != np.float32 or weights.ndim != 1:
            raise ValueError("its context is not a first pass")
        features = TextFeatures(notes["templates"], hash_bits=int(notes["hash_bits"]) or None).with_keys(keys)
        labels = read_strings(stored.texts["labels"])
        chain = chain_of(labels, features.n_features, weights)
        return cls(features, notes["word"], int(notes["reach"]), labels, chain)


def check_context(reach: object) -> int:
    """Return a number of sentences; ValueError if it is not one."""
    if isinstance(reach, bool) or not isinstance(reach, int | np.integer) or not 0 <= reach <= MOST:
        raise ValueError(f"context is a number of sentences from 0 to {MOST}; got {reach!r}.")
    return int(reach)


def n_known(y: Sequence[Any]) -> int:
    """Count the sentences whose labels are all known."""
    return sum(None not in one for one in known_texts(y))


def first_features(templates: Sequence[Template], min_count: int, hash_bits: int | None) -> TextFeatures:
    """Return the features of the first pass: of all templates that do not look at its answers."""
    own = [one for one in templates if not any(atom.column in COLUMNS for atom in one.atoms)]
    return TextFeatures(own, max(min_count, MIN_COUNT), hash_bits)


def _train_first_pass(
    rows: Stacked, labels: Sequence[Sequence[str]], max_seconds: float | None = None
) -> ChainClassifier:
    """Train a first pass, whose limit counts from where `counting_seconds` began."""
    chain = ChainClassifier(
        loss="softmax",
        regularization=1 / len(rows),
        tol=TOL,
        features="all",
        max_seconds=max_seconds,
        random_state=0,
    )
    return chain.fit(rows, labels)
