"""The tasks `chunk` and `ner`: labels that mark spans, by a chain or by a model of segments."""

from __future__ import annotations

from typing import ClassVar

from structlearn.cli.tasks.tag import Tag
from structlearn.tagging.features.templates import NAMES


class TagSpans(Tag):
    """Labels that mark spans of a type, such as B-NP and I-NP."""

    task: ClassVar[str] = "chunk"
    spans: ClassVar[bool] = True
    kinds: ClassVar[tuple[str, ...]] = ("ChainClassifier", "SegmentTagger")
    error_name: ClassVar[str] = "1 - F1 of spans"


class TagNames(TagSpans):
    """Spans that are names; its templates and usual labels are made for them."""

    task: ClassVar[str] = NAMES
