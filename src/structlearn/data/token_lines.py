"""Lines of column files that hold no token: marks of documents and comments."""

from __future__ import annotations

import re

#: How the line begins that CoNLL-2003 puts before each document.
DOCUMENT = "-DOCSTART-"
#: Characters that such lines begin with.
SIGNS = f"#{DOCUMENT[0]}"
#: Comments that are known by their words, whatever their number of cells.
_KNOWN = re.compile(r"# *(?:newdoc\b|newpar\b|[\w.:-]+ +=(?: |$))")
#: How comments begin in files with blanks between cells; `#word` is a token.
_BEGINS = re.compile(r"#(?: |begin |end )")


def is_document(line: str) -> bool:
    """Whether a line marks the beginning of a document."""
    return line.startswith(DOCUMENT) and line[len(DOCUMENT) :][:1] in ("", " ", "\t", "\r", "\n")


def is_comment(line: str, separator: str, n_columns: int) -> bool:
    """Whether a line is a comment: it begins with # and has no columns as the tokens of its file have."""
    if _BEGINS.match(line) is None:
        return False
    if separator == "\t":
        return "\t" not in line
    n_cells = sum(map(bool, line.split(" ")))
    return "\t" in line or n_cells != n_columns or _KNOWN.match(line) is not None
