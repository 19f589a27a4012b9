"""The tasks `chunk` and `ner`: labels that mark spans, by a chain or by a model of segments."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

from structlearn.cli.tasks.segments import check_segments, for_segments
from structlearn.cli.tasks.tag import Tag
from structlearn.cli.tasks.task import Training
from structlearn.estimators.choices import one_of
from structlearn.estimators.files.persistence import Bundle
from structlearn.tagging.features.templates import NAMES
from structlearn.tagging.parameters import CHAIN, SEGMENTS


class TagSpans(Tag):
    """Labels that mark spans of a type, such as B-NP and I-NP."""

    spans: ClassVar[bool] = True
    error_name: ClassVar[str] = "1 - F1 of spans"

    def with_options(self, **options: Any) -> Tag:
        """As `tag`; with --model segments another task, whose model is one of segments."""
        kind = one_of("model", options.get("model") or CHAIN, (CHAIN, SEGMENTS))
        own = NameSegments() if self.task == NAMES else TagSegments()
        return super(TagSpans, own if kind == SEGMENTS else self).with_options(**options)

    def check_bundle(self, bundle: Bundle) -> None:
        """Of either model."""
        segments = type(bundle.estimator).__name__ == TagSegments.estimator
        super(TagSpans, TagSegments() if segments else self).check_bundle(bundle)


class TagSegments(TagSpans):
    """Spans by a model of segments, which reads and writes tags as a chain does."""

    estimator = "SegmentTagger"

    def training(self, path: Path, target: str | None) -> Training:
        """As for a chain; what is about its steps is refused, or left out where it follows from the data."""
        check_segments(self, path)
        return for_segments(super().training(path, target))


class TagNames(TagSpans):
    """Spans that are names; its templates and usual labels are made for them."""

    task: ClassVar[str] = NAMES


class NameSegments(TagSegments):
    """Names by a model of segments."""

    task: ClassVar[str] = NAMES
