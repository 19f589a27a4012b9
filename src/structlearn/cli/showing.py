"""`structlearn show`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from structlearn.cli.errors import handling_errors, say
from structlearn.cli.outputs import check_output
from structlearn.cli.prediction import Data, Model
from structlearn.core.wording import plain

if TYPE_CHECKING:
    from structlearn.cli.task import Task
    from structlearn.estimators.persistence import Bundle
    from structlearn.reports import Page


@handling_errors()
def show(
    model: Model,
    data: Data,
    out: Annotated[Path, typer.Option(metavar="PAGE.html", help="Page to write.", show_default=False)],
    limit: Annotated[int, typer.Option(metavar="N", help="How many examples are drawn at most.")] = 200,
) -> None:
    """Write a page that draws the model's answers: dependency trees (parse), or tagged text (tag, chunk and
    ner).

    Where DATA has labels, mistakes are marked and the worst examples come first. The page opens without a
    network.
    """
    from structlearn.cli.tasks import open_model

    out_file = check_output(out, others=[model, data])
    if limit < 1:
        raise ValueError(f"--limit must be at least 1; got {limit}.")
    bundle, task = open_model(model)
    name = bundle.notes["task"]
    if name not in DRAWERS:
        raise ValueError(f"Models of the task {name} are not drawn; show draws {', '.join(DRAWERS)}.")
    DRAWERS[name](bundle, task, data, limit).write(str(out_file))
    say(f"Wrote the page to {out}.")


def draw_trees(bundle: Bundle, task: Task, path: Path, limit: int) -> Page:
    """The page of a parser."""
    from structlearn.apps.parsing.page import ParsedSentence, tree_page
    from structlearn.cli.parsing import confidences, labelled
    from structlearn.estimators.choices import LOSSES

    X, y, document = task.reread(path, bundle, labels=True)
    estimator = bundle.estimator
    trees = list(map(labelled, estimator.predict(X)))
    smooth = LOSSES[estimator.loss][0].smooth
    sure = confidences(estimator, X, trees) if smooth else [None] * len(trees)
    sentences = []
    for i, sentence in enumerate(document.sentences):
        words, tags = zip(*sentence.tokens(["form", "upos"]))
        gold = None if y is None else (y[i].heads, y[i].labels)
        sentences.append(ParsedSentence(words, tags, trees[i], gold, sure[i]))
    return tree_page(sentences, title=f"Dependency trees of {plain(path.name)}", limit=limit)


def draw_tags(bundle: Bundle, task: Task, path: Path, limit: int) -> Page:
    """The page of a tagger; the words are the first column that is not the label."""
    from structlearn.data import split_rows
    from structlearn.reports.tagged_text import TaggedText, tagged_page

    X, gold, source = task.reread(path, bundle, labels=True)
    tokens = source.tokens
    first = next(name for name in tokens.columns if name != source.label)
    words = split_rows(tokens.column(first).cells, tokens.lengths)
    predicted = bundle.estimator.predict(X)
    sentences = [
        TaggedText(
            words[i].tolist(),
            list(map(str, predicted[i])),
            None if gold is None else list(map(str, gold[i])),
        )
        for i in range(len(tokens))
    ]
    return tagged_page(sentences, title=f"Tagged text of {plain(path.name)}", limit=limit)


#: What draws the answers of each task that is drawn: (bundle, task, data file, limit) -> Page.
DRAWERS: dict[str, Callable[[Any, Any, Path, int], Any]] = {
    "parse": draw_trees,
    "tag": draw_tags,
    "chunk": draw_tags,
    "ner": draw_tags,
}
