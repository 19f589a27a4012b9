"""Labels for the words of sentences: parts of speech, chunks, names."""

from typing import TYPE_CHECKING

from structlearn.core.imports import names_of

if TYPE_CHECKING:
    from structlearn.estimators.inputs.spans import spans
    from structlearn.tagging.features import default_templates
    from structlearn.tagging.scores import SpanScores, span_scores
    from structlearn.tagging.tagger import Tagger

__all__ = ["SpanScores", "Tagger", "default_templates", "span_scores", "spans"]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "SpanScores": "scores",
        "Tagger": "tagger",
        "default_templates": "features",
        "span_scores": "scores",
        "spans": "structlearn.estimators.inputs.spans",
    },
)
