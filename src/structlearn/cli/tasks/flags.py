"""Options that not every task has: their flags, and the parameters of the estimator that each sets.

Light, so that the help of a task need not import the task.
"""

from __future__ import annotations

from collections.abc import Mapping

Flags = Mapping[str, tuple[str, ...]]

#: of all tasks whose estimators have a loss over structures
STRUCTURED: Flags = {name: (name,) for name in ("loss", "cost", "checkpoint", "memory")}
#: of tasks that have the elastic net
ELASTIC: Flags = {"penalty": ("penalty",), "l1-ratio": ("l1_ratio",)}
#: of tasks that read tables; they say how, and set no parameters
TABLES: Flags = dict.fromkeys(("text", "ignore", "no-scale", "min-count"), ())
#: of tasks that read columns; they say how, and set no parameters
_READING = (
    *("label", "columns", "templates", "transitions", "min-count", "hash-bits", "keep-names", "continue"),
    *("with", "constraints", "lexicon", "clusters", "vectors", "usual", "context", "span-lexicon"),
)
COLUMNS: Flags = {**STRUCTURED, **ELASTIC, **dict.fromkeys(_READING, ()), "boundaries": ("start", "end")}
#: of tasks whose labels mark spans
SPANS: Flags = {**COLUMNS, "model": ()}
#: of tasks that label nodes
NODES: Flags = {**STRUCTURED, "pairs": ("pairs",), "latent-states": ("latent_states",)}
