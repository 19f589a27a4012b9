"""Parallel text: reading, tokens, cleaning, and text that does not fit into memory."""

from structlearn.core.imports import names_of

__getattr__, __dir__ = names_of(
    __name__, dict.fromkeys(("Pair", "TextPair", "paired_lines", "read_pairs", "read_tab_pairs"), "pairs")
)
