"""The task `parse`: a head and a relation for each word, from CoNLL-U files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from structlearn.apps.parsing.conllu import Document, read_conllu
from structlearn.apps.parsing.metrics import parsing_scores
from structlearn.cli.flags import OPPOSITES
from structlearn.cli.task import STRUCTURED, Inputs, Scores, Task, Training
from structlearn.core.wording import plain
from structlearn.estimators.persistence import Bundle
from structlearn.problem.registry import LOSSES

if TYPE_CHECKING:
    from structlearn.reports import Page

#: The columns of CoNLL-U that the parser reads.
COLUMNS = ("form", "upos", "xpos")


class Tokens(list[Any]):
    """Sentences as `TreeParser` takes them, with the document that they come from."""

    document: Document

    @classmethod
    def of(cls, document: Document, columns: Any) -> Tokens:
        found = cls(document.tokens(columns))
        found.document = document
        return found


class Gold(NamedTuple):
    """What `evaluate` compares with."""

    heads: Any
    labels: Any
    upos: list[str]


class Parse(Task):
    """Ten columns a word; heads and relations are filled in, all else is kept byte for byte."""

    estimator = "TreeParser"
    flags: ClassVar[dict[str, tuple[str, ...]]] = {
        **STRUCTURED,
        "non-projective": ("non_projective",),
        "many-roots": ("many_roots",),
    }
    error_name = "share of wrong heads"
    drawn = True

    def check_parameters(self, parameters: dict[str, Any]) -> None:
        """The flags say what is not the default."""
        for name, flag in OPPOSITES.items():
            if parameters.pop(flag, False):
                parameters[name] = False

    def read(self, path: Path, target: str | None) -> Training:
        """Read a CoNLL-U file whose heads are trees."""
        if target is not None:
            raise ValueError("--target does not go with parse: CoNLL-U has fixed columns.")
        document = read_conllu(path)
        trees: list[Any] = document.trees()
        if all((labels == "_").all() for _, labels in trees):
            trees = [heads for heads, _ in trees]
        n_words = sum(map(len, document.sentences))
        summary = f"{len(document)} sentences, {n_words} words"
        return Training(Tokens.of(document, COLUMNS), trees, {"format": "conllu"}, {}, summary)

    def check_training(self, estimator: Any, training: Training) -> None:
        """Two roots where there must be one, by their line."""
        for sentence in training.X.document.sentences:
            sentence.heads(single_root=estimator.single_root)

    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read a CoNLL-U file with or without heads."""
        document = read_conllu(path)
        tokens = Tokens.of(document, COLUMNS)
        if not labels or not any(one.has_heads for one in document.sentences):
            return Inputs(tokens, None, document)
        gold = [
            Gold(one.heads(), one.labels, [tag for (tag,) in one.tokens(["upos"])])
            for one in document.sentences
        ]
        return Inputs(tokens, gold, document)

    def lines(self, bundle: Bundle, predicted: Any) -> Iterator[str]:
        """Heads and relations alone, a word a line, a blank line after each sentence."""
        for heads, labels in map(labelled, predicted):
            yield from (f"{head}\t{name}\n" for head, name in zip(heads, labels))
            yield "\n"

    def pages(self, bundle: Bundle, inputs: Inputs, *, marginals: bool) -> Iterator[str]:
        """The file with heads and relations filled in; with marginals, ArcConf in the last column."""
        X, document = inputs.X, inputs.source
        trees = [_pair(one) for one in bundle.estimator.predict(X)]
        if not marginals:
            return document.filled(trees)
        shares = confidences(bundle.estimator, X, trees)
        return document.filled(trees, [[f"ArcConf={share:.4f}" for share in one] for one in shares])

    def page(self, bundle: Bundle, path: Path, limit: int) -> Page:
        """Dependency trees."""
        from structlearn.apps.parsing.page import ParsedSentence, tree_page

        X, y, document = self.reread(path, bundle, labels=True)
        estimator = bundle.estimator
        trees = list(map(labelled, estimator.predict(X)))
        smooth = LOSSES[estimator.loss].smooth
        sure = confidences(estimator, X, trees) if smooth else [None] * len(trees)
        sentences = []
        for i, sentence in enumerate(document.sentences):
            words, tags = zip(*sentence.tokens(["form", "upos"]))
            gold = None if y is None else (y[i].heads, y[i].labels)
            sentences.append(ParsedSentence(words, tags, trees[i], gold, sure[i]))
        return tree_page(sentences, title=f"Dependency trees of {plain(path.name)}", limit=limit)

    def evaluate(self, bundle: Bundle, y: Any, predicted: Any) -> Scores:
        """Attachment scores; punctuation counts as the CoNLL 2018 scorer does it."""
        estimator = bundle.estimator
        known = set() if estimator is None or estimator.labels_ is None else set(estimator.labels_.tolist())
        guess = list(map(labelled, predicted))
        scores = parsing_scores([(one.heads, one.labels) for one in y], guess, [one.upos for one in y])
        unknown = sum(label not in known for one in y for label in one.labels) if known else 0
        return Scores(scores._asdict(), unknown)

    def error(self, values: Mapping[str, float | int]) -> float:
        return 1.0 - values["uas"]


def confidences(estimator: Any, X: Any, trees: Any) -> list[Any]:
    """The marginal of each predicted arc."""
    tables = estimator.predict_marginals(X)
    return [table[heads, np.arange(len(heads))] for table, (heads, _) in zip(tables, trees)]


def labelled(tree: Any) -> tuple[Any, Any]:
    """Heads and labels, empty ones where the parser knows none."""
    heads, labels = _pair(tree)
    return heads, labels if labels is not None else [""] * len(heads)


def _pair(tree: Any) -> tuple[Any, Any]:
    """Heads and labels of what a parser predicts; None for labels it does not know."""
    return (tree.heads, tree.labels) if hasattr(tree, "labels") else (tree, None)
