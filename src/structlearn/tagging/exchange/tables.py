"""What a linear chain is, whatever file it stands in: score(y) = sum_t <w[y_t], x_t> + pairs + transitions.

w[y]          a weight per name of a feature and label
transitions   a weight per pair of neighbouring labels
pairs         of some features, a weight per pair of neighbouring labels, where the later one has the feature
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.wording import list_names
from structlearn.estimators import ChainClassifier
from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.solvers.solution import Certificate, History
from structlearn.structures import Chain, ConditionedChain
from structlearn.tagging.explaining import tagger_feature_names
from structlearn.tagging.features.resources import DerivedColumns
from structlearn.tagging.tagger import Tagger

#: The feature that every token has, where a model has weights for one.
INTERCEPT = "intercept"
#: Weights that an imported model may have at most, of which memory is taken.
MOST_WEIGHTS = 1 << 28


@dataclass(frozen=True, eq=False)
class ChainTables:
    """The weights of a chain by name.

    labels : (K), names : (n)
    table : CSR matrix of shape (n, K), weights of features for labels
    transitions : (K, K), from and to
    pairs : of features by number, tables of shape (K, K)
    intercept : (K), weights of what every token has
    """

    labels: list[str]
    names: list[str]
    table: sparse.csr_matrix
    transitions: Array
    pairs: Mapping[int, Array] = field(default_factory=dict)
    intercept: Array = field(default_factory=lambda: np.zeros(0))

    def with_named_intercept(self, name: str) -> ChainTables:
        """Return the same with the intercept as a feature more, called so or alike, if it has any weights."""
        if not self.intercept.any():
            return self
        known = set(self.names)
        while name in known:
            name += "_"
        table = sparse.vstack([self.table, sparse.csr_matrix(self.intercept[None])]).tocsr()
        return replace(self, names=[*self.names, name], table=table, intercept=np.zeros(0))

    def in_order(self, labels: Sequence[str]) -> ChainTables:
        """Return the same with its labels in another order."""
        place = {label: k for k, label in enumerate(self.labels)}
        order = [place[label] for label in labels]
        both = np.ix_(order, order)
        pairs = {j: table[both] for j, table in self.pairs.items()}
        return replace(
            self,
            labels=list(labels),
            table=self.table[:, order].tocsr(),
            transitions=self.transitions[both],
            pairs=pairs,
            intercept=self.intercept[order] if self.intercept.size else self.intercept,
        )


def check_names(what: str, names: Sequence[str]) -> None:
    """Raise ValueError if a name occurs twice, or if there are no names."""
    if not names:
        raise ValueError(f"it has no {what}")
    if len(set(names)) < len(names):
        raise ValueError(f"one of its {what} is there twice")


# ---- from taggers ------------------------------------------------------------------------------------------


def tables_of(tagger: Tagger) -> ChainTables:
    """Return the weights of a tagger; ValueError that says what of it has no place in them."""
    chain = _exportable(tagger)
    rows = chain.model_.rows
    n = tagger.features_.n_features
    table = sparse.csr_matrix(rows.table[:n])
    names = tagger_feature_names(tagger)(np.arange(n))
    table.eliminate_zeros()
    columns = [] if chain.transition_features is None else np.asarray(chain.transition_features).tolist()
    pairs = dict(zip(columns, chain.conditioned_coef_)) if columns else {}
    scale = chain.model_.temperature
    return ChainTables(
        [str(label) for label in chain.classes_.tolist()],
        names,
        table / scale,
        chain.transition_coef_ / scale,
        {j: one / scale for j, one in pairs.items()},
        rows.intercept / scale,
    )


def _exportable(tagger: Tagger) -> ChainClassifier:
    """Return the chain of a tagger; ValueError that says what other tools have no place for."""
    chain = tagger.chain_
    if not isinstance(chain, ChainClassifier):
        raise ValueError("Other tools have no place for models of segments; train with model='chain'.")
    derived = getattr(tagger, "derived_", DerivedColumns())
    misfits = {
        "constraints on labels": chain.constraints is not None or chain.structure_.forbidden is not None,
        "weights for the first and last label": chain.start or chain.end,
        "candidate labels of a tag dictionary": chain.model_.dictionary is not None,
        "a map of rows": hasattr(chain, "row_transformer_"),
        "arrays beside words": tagger.n_arrays_ or getattr(tagger.features_, "n_arrays_", 0),
        "taggers inside": bool(tagger.taggers),
        "columns of lexicons, clusters, usual labels or context": bool(derived.parts),
    }
    found = [name for name, there in misfits.items() if there]
    if found:
        raise ValueError(
            f"The model has {list_names(found)}, which other tools have no place for; train without them "
            "(--constraints none, --templates FILE ...)."
        )
    if tagger.features_.hash_bits is not None or _is_nameless(tagger):
        raise ValueError(
            "The names of the features were not kept, and other tools know features by name; train without "
            "hash_bits, and with keep_names=True."
        )
    return chain


def _is_nameless(tagger: Tagger) -> bool:
    """Whether a feature has lost its name."""
    if hasattr(tagger.features_, "names_"):
        return tagger.features_.names_ is None
    if not tagger.features_.strings_:
        return True
    names = tagger_feature_names(tagger)(np.arange(tagger.features_.n_features))
    return any("=#" in name and name.partition("=#")[2].isalnum() for name in names)


# ---- to taggers --------------------------------------------------------------------------------------------


def chain_of(tables: ChainTables, tool: str) -> ChainClassifier:
    """Return a fitted chain with these weights, whose labels are sorted; ValueError if they are too many."""
    tables = tables.in_order(sorted(tables.labels))
    columns = sorted(tables.pairs)
    n, k = len(tables.names), len(tables.labels)
    if n * k + (len(columns) + 1) * k * k > MOST_WEIGHTS:
        raise ValueError(f"{n} features and {k} labels are more than {MOST_WEIGHTS} weights")
    chain = ChainClassifier(
        loss="softmax", fit_intercept=False, transition_features=columns or None, warm_start=False
    )
    chain.classes_ = np.array(tables.labels)
    chain.n_features_in_, chain.loss_ = n, "softmax"
    chain.structure_ = ConditionedChain(k) if columns else Chain(k)
    pairs = [tables.pairs[j] for j in columns]
    parts = [tables.table.toarray(), *pairs, tables.transitions]
    chain.weights_ = np.concatenate([np.asarray(part, dtype=np.float64).ravel() for part in parts])
    chain.certificate_ = _unknown(tool)
    chain.history_ = History()
    return chain


def named_tagger(tables: ChainTables, tool: str) -> Tagger:
    """Return a tagger of tokens that are dicts or lists of names."""
    chain, tagger = chain_of(tables, tool), Tagger()
    chain.features_ = TokenFeatures(keep_names=True).with_names(tables.names)
    tagger.chain_, tagger.features_, tagger.n_arrays_ = chain, chain.features_, 0
    return tagger


def _unknown(tool: str) -> Certificate:
    """Return what is known of the objective of an imported model: nothing."""
    return Certificate(
        primal=np.inf,
        dual=-np.inf,
        gap=np.inf,
        passes=0.0,
        oracle_calls=0,
        seconds=0.0,
        status=f"Imported from {tool}: training on data from here on makes a certificate.",
        converged=False,
    )
