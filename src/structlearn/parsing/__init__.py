"""Dependency parsing: CoNLL-U files, trees, figures, pages."""

from structlearn.parsing.conllu import Document, Sentence, read_conllu
from structlearn.parsing.metrics import ParsingScores, parsing_scores

__all__ = ["Document", "ParsingScores", "Sentence", "parsing_scores", "read_conllu"]


def __dir__() -> list[str]:
    return sorted(__all__)
