"""Taggers in the files of CRFsuite (see `crfsuite_file`): attributes are features by name."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from structlearn.tagging.exchange.crfsuite_file import (
    STATE,
    TRANSITION,
    CrfsuiteModel,
    features_array,
    read_model,
    write_model,
)
from structlearn.tagging.exchange.tables import (
    INTERCEPT,
    MOST_WEIGHTS,
    ChainTables,
    check_names,
    named_tagger,
    tables_of,
)
from structlearn.tagging.tagger import Tagger

TOOL = "CRFsuite"


def read_tagger(data: bytes) -> Tagger:
    """Return the tagger of a file, whose tokens are dicts or lists of attributes."""
    model = read_model(data)
    k, n, found = len(model.labels), len(model.attributes), model.features
    if n * k + k * k > MOST_WEIGHTS:
        raise ValueError(f"{n} attributes and {k} labels are more than {MOST_WEIGHTS} weights")
    state, step = found[found["kind"] == STATE], found[found["kind"] == TRANSITION]
    places = state["source"].astype(np.int64), state["target"].astype(np.int64)
    table = sparse.csr_matrix((state["weight"], places), shape=(n, k))
    transitions = np.zeros((k, k))
    np.add.at(transitions, (step["source"], step["target"]), step["weight"])
    return named_tagger(ChainTables(model.labels, model.attributes, table, transitions), TOOL)


def write_tagger(tagger: Tagger) -> bytes:
    """Return a tagger as CRFsuite writes it; the intercept is an attribute that every token must have."""
    tables = tables_of(tagger).with_named_intercept(INTERCEPT)
    if tables.pairs:
        raise ValueError("CRFsuite has no place for transitions that depend on features; train without them.")
    check_names("names of features", tables.names)
    entries, steps = tables.table.tocoo(), tables.transitions
    before, after = np.nonzero(steps)
    features = np.concatenate(
        [
            features_array(STATE, entries.row, entries.col, entries.data),
            features_array(TRANSITION, before, after, steps[before, after]),
        ]
    )
    return write_model(CrfsuiteModel(tables.labels, tables.names, features))
