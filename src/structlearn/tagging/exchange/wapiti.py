"""Taggers in the files of Wapiti (see `wapiti_file`).

An observation is a feature by its name; that of a pattern b without cells is the transitions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from structlearn.tagging.exchange.tables import INTERCEPT, ChainTables, chain_of, check_names, tables_of
from structlearn.tagging.exchange.wapiti_file import WapitiModel, parse_lines, read_model, write_model
from structlearn.tagging.features.resources import DerivedColumns
from structlearn.tagging.patterns.features import PatternFeatures
from structlearn.tagging.patterns.reading import BOTH, CRFPP, LABELS, PAIRS, Pattern, parse_patterns
from structlearn.tagging.stored import ForeignOrder
from structlearn.tagging.tagger import Tagger

TOOL = "Wapiti"
#: Cells outside of a sentence, as CRF++ writes them.
_OUTSIDE = re.compile(r"_B([-+])([1-8])(?!\d)")
#: How far outside Wapiti tells cells apart.
_FARTHEST = 4


# ---- reading -----------------------------------------------------------------------------------------------


def read_tagger(data: bytes, n_columns: int | None = None) -> Tagger:
    """Return the tagger of a file, whose data has the columns that patterns look at, or so many."""
    model = read_model(data)
    patterns = parse_lines(model.patterns)
    needed = 1 + max((int(cell.column) for one in patterns for cell in one.atoms), default=0)
    if not needed <= (n_columns or needed) <= 1000:
        raise ValueError(f"its patterns look at {needed} columns; data has as many, or more, up to 1000")
    place = _transitions_at(patterns, model.observations)
    tables = _tables(model, place)
    tagger = Tagger(columns=tuple(map(str, range(n_columns or needed))), templates=model.patterns)
    tagger.features_ = PatternFeatures(patterns, keep_names=True).with_names(tables.names)
    tagger.derived_, tagger.n_arrays_ = DerivedColumns(), 0
    tagger.chain_ = chain_of(tables, TOOL)
    tagger.origin_ = ForeignOrder(model.labels, place)
    return tagger


def _transitions_at(patterns: Sequence[Pattern], observations: Sequence[str]) -> int | None:
    """Return the number of the observation that stands for the transitions."""
    names = [one.text for one in patterns if one.is_transition]
    return observations.index(names[0]) if names and names[0] in observations else None


def _tables(model: WapitiModel, place: int | None) -> ChainTables:
    """Return the weights by name; the observation of the transitions is no feature."""
    k, n = len(model.labels), len(model.observations)
    of_labels, of_pairs = model.layout()
    table = np.zeros((n, k))
    there = np.flatnonzero(of_labels >= 0)
    table[there] = model.weights[of_labels[there, None] + np.arange(k)]
    paired = np.flatnonzero(of_pairs >= 0).tolist()
    pairs = {j: model.weights[of_pairs[j] :][: k * k].reshape(k, k) for j in paired}
    transitions = np.zeros((k, k)) if place is None else pairs.pop(place)
    kept = np.delete(np.arange(n), [] if place is None else place)
    number = {j: new for new, j in enumerate(kept.tolist())}
    seen = {number[j]: one for j, one in pairs.items() if one.any()}
    names = [model.observations[j] for j in kept.tolist()]
    return ChainTables(model.labels, names, sparse.csr_matrix(table[kept]), transitions, seen)


# ---- writing -----------------------------------------------------------------------------------------------


def write_tagger(tagger: Tagger) -> bytes:
    """Return a tagger as Wapiti writes it; ValueError if its features are not those of patterns."""
    if not isinstance(tagger.features_, PatternFeatures):
        raise ValueError(
            "Wapiti needs patterns, and the model has features of another kind; train with --templates FILE "
            "in the notation of CRF++ or Wapiti."
        )
    tables, patterns = tables_of(tagger), list(tagger.features_.patterns)
    n = len(tables.names)
    tables = tables.with_named_intercept(f"{LABELS}:{INTERCEPT}")
    patterns += parse_patterns("\n".join(tables.names[n:]))
    origin = getattr(tagger, "origin_", ForeignOrder([], None))
    if sorted(origin.labels) == sorted(tables.labels):
        tables = tables.in_order(origin.labels)
    lines, names = _spelled(patterns, tables)
    transitions = next((line for line, one in zip(lines, patterns) if one.is_transition), None)
    if transitions is None and tables.transitions.any():
        lines, transitions = [*lines, PAIRS], PAIRS
    place = len(names) if origin.place is None else max(0, min(origin.place, len(names)))
    return write_model(_model(replace(tables, names=names), lines, transitions, place))


def _model(tables: ChainTables, lines: list[str], transitions: str | None, place: int) -> WapitiModel:
    """Return what a file holds; the observation of the transitions stands at its place."""
    names, own = tables.names, np.arange(len(tables.names))
    if transitions is not None:
        names = [*names[:place], transitions, *names[place:]]
        own += own >= place
    check_names("names of features, as Wapiti spells them,", names)
    model = WapitiModel(lines, tables.labels, names, np.empty(0))
    k, (of_labels, of_pairs) = len(tables.labels), model.layout()
    weights, entries = np.zeros(model.n_weights), tables.table.tocoo()
    weights[of_labels[own[entries.row]] + entries.col] = entries.data
    tied = {int(own[j]): one for j, one in tables.pairs.items()}
    if transitions is not None:
        tied[place] = tables.transitions
    for j, one in tied.items():
        weights[of_pairs[j] :][: k * k] = one.ravel()
    return replace(model, weights=weights)


def _spelled(patterns: Sequence[Pattern], tables: ChainTables) -> tuple[list[str], list[str]]:
    """Return patterns and names as Wapiti spells them; * for pairs whose features score labels, too."""
    lines, names = [one.text for one in patterns], list(tables.names)
    if any(one.dialect == CRFPP for one in patterns):
        if any(abs(cell.offset) > _FARTHEST for one in patterns for cell in one.atoms):
            raise ValueError(f"Wapiti tells cells outside a sentence apart up to an offset of {_FARTHEST}.")
        names = [_OUTSIDE.sub(r"_x\1\2", name) for name in names]
        lines, names = ([text[0].lower() + text[1:] for text in some] for some in (lines, names))
    weighted = np.flatnonzero(np.diff(tables.table.indptr)).tolist()
    if any(names[j][0] == PAIRS for j in weighted):
        lines = [text if one.is_transition else _for_both(text) for text, one in zip(lines, patterns)]
        names = list(map(_for_both, names))
    return lines, names


def _for_both(text: str) -> str:
    return BOTH + text[1:] if text[0] == PAIRS else text
