"""A component of spaCy that finds spans with a tagger.

    nlp.add_pipe("structlearn_ner", config={"model": "ner.safetensors"})

It sets `doc.ents`, and on each of them `span._.score`, the probability of the span, if the model has
probabilities. Sentences are those of the document, if a component before has found some; else it is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from spacy.language import Language
from spacy.tokens import Span
from spacy.util import filter_spans

from structlearn.estimators.inputs.spans import spans
from structlearn.tagging.raw import check_words_only
from structlearn.tagging.tagger import Tagger

__all__ = ["EntityTagger"]

#: The name of the component, and of the attribute of its spans.
NAME, SCORE = "structlearn_ner", "score"
#: Losses whose models have probabilities of spans.
_PROBABLE = "softmax"


def __dir__() -> list[str]:
    return sorted(__all__)


class EntityTagger:
    """Finds the entities of documents.

    Parameters
    ----------
    model : str
        A file that `structlearn train ner` or `chunk` wrote, or a saved `Tagger`, of words alone.
    """

    def __init__(self, model: str) -> None:
        self.tagger = Tagger.load(model)
        check_words_only(self.tagger)
        if not Span.has_extension(SCORE):
            Span.set_extension(SCORE, default=None)

    def __call__(self, doc: Any) -> Any:
        """Set the entities of a document."""
        words = [[token for token in one if not token.is_space] for one in _sentences(doc)]
        words = [one for one in words if one]
        answers = self._spans([[token.text for token in one] for one in words])
        found = [
            (_span(sentence, start, end, str(label)), score)
            for sentence, answer in zip(words, answers)
            for start, end, label, score in answer
        ]
        doc.set_ents(filter_spans([span for span, _ in found]))
        for span, score in found:
            span._.set(SCORE, score)
        return doc

    def pipe(self, docs: Iterable[Any], *, batch_size: int = 128) -> Iterator[Any]:
        """Set the entities of documents, one after the other, so that none depends on another."""
        return map(self, docs)

    def _spans(self, words: list[list[str]]) -> list[list[tuple[int, int, object, float | None]]]:
        """Return (start, end, label, probability) of the spans of sentences."""
        if self.tagger.chain_.loss_ == _PROBABLE:
            return [[tuple(one) for one in some] for some in self.tagger.predict_spans(words)]
        labels = self.tagger.predict(words)
        return [[(a, b, kind, None) for kind, a, b in spans(one)] for one in labels]


def _sentences(doc: Any) -> Iterable[Any]:
    return doc.sents if doc.has_annotation("SENT_START") else [doc]


def _span(sentence: list[Any], start: int, end: int, label: str) -> Any:
    first, last = sentence[start], sentence[end - 1]
    return Span(first.doc, first.i, last.i + 1, label=label)


def make_component(nlp: Any, name: str, model: str) -> EntityTagger:
    """Make the component of a pipeline."""
    return EntityTagger(model)


Language.factory(NAME, assigns=["doc.ents", "token.ent_iob", "token.ent_type"], func=make_component)
