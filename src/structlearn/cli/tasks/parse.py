"""The task `parse`: a head and a relation for each word, from CoNLL-U files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from structlearn.cli.commands.folds import FoldedExamples, SentenceFile, TrainingFile
from structlearn.cli.tasks.neural import is_neural, neural_parser
from structlearn.cli.tasks.task import Inputs, Scores, Task, Training
from structlearn.core.contract import Array
from structlearn.core.wording import count_of, plain
from structlearn.estimators.files.persistence import Bundle
from structlearn.estimators.tree_parser import Parse, TreeParser
from structlearn.parsing.conllu import read_conllu
from structlearn.parsing.metrics import parsing_scores
from structlearn.problem.registry import LOSSES

if TYPE_CHECKING:
    from structlearn.reports import Page

#: The columns of CoNLL-U that the parser reads.
COLUMNS = ("form", "upos", "xpos")


class GoldTree(NamedTuple):
    """What `evaluate` compares with."""

    heads: Array
    labels: Array
    upos: list[str]


class ParseTask(Task):
    """Ten columns a word; heads and relations are filled in, all else is kept byte for byte."""

    estimator = "TreeParser"
    kinds = ("TreeParser", "NeuralParser")
    error_name = "share of wrong heads"
    drawn = True

    def new_model(self, parameters: Mapping[str, Any]) -> Any:
        """Return a parser with these parameters, checked."""
        if is_neural(self.options):
            return neural_parser(self.options, parameters)
        if "vectors" in parameters:
            raise ValueError("--vectors goes with --model neural.")
        return super().new_model(parameters)

    def read(self, path: Path, target: str | None) -> Training:
        """Read a CoNLL-U file whose heads are trees."""
        if target is not None:
            raise ValueError("--target does not go with parse: CoNLL-U has fixed columns.")
        document = read_conllu(path)
        trees = document.trees()
        unlabelled = all((labels == "_").all() for _, labels in trees)
        y = [heads for heads, _ in trees] if unlabelled else trees
        n_words = sum(map(len, document.sentences))
        summary = f"{count_of(len(document), 'sentence')}, {count_of(n_words, 'word')}"
        tokens = document.tokens(COLUMNS)
        return Training(tokens, y, {"format": "conllu"}, {}, summary, source=document)

    def examples(self, source: TrainingFile, folder: Path) -> FoldedExamples:
        """Return the sentences of the file."""
        return SentenceFile(self, self.training(*source), source, 0, folder)

    def check_training(self, estimator: TreeParser, training: Training) -> None:
        """Raise DataError for two roots where there must be one, with the line."""
        for sentence in training.source.sentences:
            sentence.heads(single_root=estimator.single_root)

    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read a CoNLL-U file with or without heads."""
        document = read_conllu(path)
        tokens = document.tokens(COLUMNS)
        if not labels or not any(one.has_heads for one in document.sentences):
            return Inputs(tokens, None, document)
        gold = [
            GoldTree(one.heads(), one.labels, [tag for (tag,) in one.tokens(["upos"])])
            for one in document.sentences
        ]
        return Inputs(tokens, gold, document)

    def pages(self, bundle: Bundle, inputs: Inputs, *, marginals: bool) -> Iterator[str]:
        """Return the file with heads and relations filled in; with marginals, ArcConf in the last column."""
        predicted = bundle.estimator.predict(inputs.X)
        trees = [one if isinstance(one, Parse) else (one, None) for one in predicted]
        notes = None
        if marginals:
            shares = _confidences(bundle.estimator, inputs.X, predicted)
            notes = [[f"ArcConf={share:.4f}" for share in one] for one in shares]
        return inputs.source.filled(trees, notes)

    def answer(self, bundle: Bundle, predicted: Array | Parse) -> dict[str, object]:
        if isinstance(predicted, Parse):
            return {"heads": predicted.heads, "labels": predicted.labels}
        return {"heads": predicted}

    def page(self, bundle: Bundle, path: Path, limit: int) -> Page:
        """Draw the dependency trees on a page."""
        from structlearn.parsing.page import ParsedSentence, tree_page

        X, y, document = self.reread(path, bundle, labels=True)
        estimator = bundle.estimator
        trees = list(map(_with_labels, estimator.predict(X)))
        sure = _confidences(estimator, X, trees) if LOSSES[estimator.loss_].smooth else repeat(None)
        sentences = []
        known = repeat(None) if y is None else y
        for sentence, tree, right, shares in zip(document.sentences, trees, known, sure):
            words, tags = zip(*sentence.tokens(["form", "upos"]))
            gold = None if right is None else (right.heads, right.labels)
            sentences.append(ParsedSentence(words, tags, tree, gold, shares))
        return tree_page(sentences, title=f"Dependency trees of {plain(path.name)}", limit=limit)

    def evaluate(self, bundle: Bundle, y: list[GoldTree], predicted: list[Array | Parse]) -> Scores:
        """Return attachment scores; punctuation counts as in the CoNLL 2018 scorer."""
        estimator = bundle.estimator
        known = set() if estimator is None or estimator.labels_ is None else set(estimator.labels_.tolist())
        guess = list(map(_with_labels, predicted))
        scores = parsing_scores([(one.heads, one.labels) for one in y], guess, [one.upos for one in y])
        unknown = sum(label not in known for one in y for label in one.labels) if known else 0
        return Scores(scores._asdict(), unknown)

    def outcome(self, values: Mapping[str, float | int], truths: Sequence[Any]) -> str:
        heads = [tree.heads for one in truths for tree in one]
        next_word = sum(int((own == np.arange(2, len(own) + 2)).sum()) for own in heads)
        usual = 1.0 - next_word / max(sum(map(len, heads)), 1)
        return (
            f"{self.error(values):.1%} of the words have a wrong head ({usual:.1%} if all had the next word "
            "as their head)"
        )

    def error(self, values: Mapping[str, float | int]) -> float:
        return 1.0 - values["uas"]


def _confidences(estimator: TreeParser, X: Any, predicted: Iterable[Array | Parse]) -> list[list[float]]:
    """Return the marginal of each predicted arc."""
    heads = [tree.heads if isinstance(tree, Parse) else tree for tree in predicted]
    tables = estimator.predict_marginals(X)
    return [table[one, np.arange(len(one))].tolist() for table, one in zip(tables, heads)]


def _with_labels(tree: Array | Parse) -> Parse:
    """Return what a parser predicts, with empty labels where it knows none."""
    return tree if isinstance(tree, Parse) else Parse(tree, np.full(len(tree), ""))
