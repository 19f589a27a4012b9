"""Labels for the words of sentences: parts of speech, chunks, names."""

from structlearn.apps.tagging.spans import SpanScores, span_scores
from structlearn.apps.tagging.tagger import Tagger
from structlearn.apps.text import default_templates
from structlearn.estimators.spans import spans

__all__ = ["SpanScores", "Tagger", "default_templates", "span_scores", "spans"]


def __dir__() -> list[str]:
    return sorted(__all__)
