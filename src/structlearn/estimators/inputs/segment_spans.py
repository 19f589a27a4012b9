"""Labelled spans as users give them: checked, and numbered."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any, TypeAlias

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators.inputs.checking import as_list
from structlearn.metrics import Outputs

#: (start, end, label), the end not included.
LabelledSpan: TypeAlias = tuple[int, int, Any]


def coded_spans(y: Outputs) -> tuple[Array, list[Array]]:
    """Return the sorted labels, and each sentence's spans as rows (start, end, number of the label)."""
    checked = [checked_spans(spans, i) for i, spans in enumerate(as_list(y, "y"))]
    labels = [label for spans in checked for _, _, label in spans]
    if not labels:
        raise ValueError("y has no span at all: at least one is needed to learn from.")
    if len({isinstance(label, str) for label in labels}) > 1:
        raise ValueError("y mixes strings and numbers as labels; use one of the two.")
    classes, codes = np.unique(np.asarray(labels), return_inverse=True)
    edges = np.cumsum([0, *map(len, checked)]).tolist()
    tables = []
    for spans, first in zip(checked, edges):
        own = codes[first : first + len(spans)]
        rows = [(a, b, k) for (a, b, _), k in zip(spans, own.tolist())]
        tables.append(np.array(rows, dtype=np.int64).reshape(-1, 3))
    return classes, tables


def checked_spans(spans: Any, i: int) -> Sequence[LabelledSpan]:
    """Return the spans of sentence i; ValueError for anything that is not a triple."""
    if isinstance(spans, str) or not hasattr(spans, "__len__"):
        raise ValueError(f"The spans of sentence {i} must be a list of (start, end, label).")
    for span in spans:
        right = not isinstance(span, str) and hasattr(span, "__len__") and len(span) == 3
        if not right or not all(isinstance(place, Integral) for place in span[:2]):
            raise ValueError(
                f"Sentence {i} has the span {span!r}; a span is (start, end, label), the first two integers."
            )
        if isinstance(span[2], float) and not float(span[2]).is_integer():
            raise ValueError(f"Sentence {i} has the label {span[2]!r}; labels are integers or strings.")
        if span[2] is None:
            raise ValueError(f"Sentence {i} has a span without a label, {span!r}; leave gaps out.")
    return spans
