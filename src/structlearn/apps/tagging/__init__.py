"""Labels for the words of sentences: parts of speech, chunks, names."""

from structlearn.apps.tagging.spans import SpanScores, span_scores, spans
from structlearn.apps.tagging.tagger import Tagger
from structlearn.apps.text import default_templates

__all__ = ["SpanScores", "Tagger", "default_templates", "span_scores", "spans"]
