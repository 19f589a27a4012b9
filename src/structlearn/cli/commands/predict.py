"""`structlearn predict`, `structlearn evaluate` and `structlearn show`."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from structlearn.cli.support.errors import handling_errors, say
from structlearn.cli.support.options import Json, PageOut, argument, option, switch
from structlearn.cli.support.outputs import (
    check_output,
    in_json,
    print_json,
    print_values,
    write_output,
    write_pieces,
)
from structlearn.cli.support.stdin import Format, input_file

if TYPE_CHECKING:
    from structlearn.cli.tasks.task import Inputs, Scores, Task
    from structlearn.estimators.files.persistence import Bundle

Model = Annotated[Path, argument("MODEL", "A file that `train` wrote.")]
Data = Annotated[Path, argument("DATA", "Examples in the format of the training data; - for stdin.")]
Jobs = Annotated[int, option("N", "Threads; -1 for all cores.")]


@handling_errors()
def predict(
    model: Model,
    data: Data,
    out: Annotated[
        Path | None,
        option(
            "FILE",
            "Write here (.gz or .zst by its name; grid: label images in this folder).  [default: stdout]",
        ),
    ] = None,
    marginals: Annotated[
        bool,
        switch(
            "--marginals",
            "Write the probabilities of all labels instead of the best; tag, chunk, ner: that of the "
            "best beside it.",
            "--proba",
        ),
    ] = False,
    kbest: Annotated[
        int | None, option("K", "tag, chunk, ner: write the K (up to 1000) best labellings of each sentence.")
    ] = None,
    spans: Annotated[
        bool, switch("--spans", "tag, chunk, ner: write the spans that were found, with probabilities.")
    ] = False,
    coverage: Annotated[
        float | None,
        option(
            "C",
            "Write what holds the truth so often (0.9): a set of classes or labellings, or an interval "
            "(regress).",
        ),
    ] = None,
    as_json: Annotated[
        bool,
        switch(
            "--json", "Write JSON, one object per line and example; with --marginals, probabilities, too."
        ),
    ] = False,
    format: Format = None,
    jobs: Jobs = 1,
) -> None:
    """Write the model's answers, one line per input; for tag, chunk and ner, DATA with labels filled in.

    Labels of a set are joined by commas (an empty line is the empty set). A column file comes back byte for
    byte but for its label column. DATA needs no labels: a table may lack the target columns, a column file
    the label column, which is then added; the label of a libsvm line is ignored. A libsvm file may have fewer
    columns than the model, not more. A model of the task regress answers with a number. One of the task parse
    writes the file again, with heads and relations filled in. Of graph a line has the labels of a graph's
    nodes; --out FILE.npz writes DATA with the array labels. Of grid a line has the labels of an image's
    pixels, row by row; --out DIR makes a label image for each image. Of decide a line has a number for each
    part; --out FILE.npz writes DATA with the arrays decisions and predicted_costs.

    With --marginals a line holds label:probability for every label, separated by spaces, in the model's
    order; they add up to 1, except for multilabel, where each label has a probability of its own. tag, chunk
    and ner add the probability of the label that was written, in one more column or, in CoNLL-U, as
    Confidence=... in MISC; parse adds that of each arc, as ArcConf=... in MISC. The model must have been
    trained with --loss softmax, sparsemax or entmax15; the last two give exact zeros.

    Models of tag, chunk and ner can say how sure they are of more than single labels. --spans writes a table
    with a head: sentence, start, end (exclusive; all from 0), label, probability and the words, between tabs.
    --kbest writes, for each sentence, the K best labellings as blocks of `word TAB label` lines below a line
    `# sentence 0 rank 1 probability 0.8`. Both take --loss softmax. --coverage 0.9 writes, below such a line,
    all labellings of a set that holds the true one with this probability; the model must have been given to
    conformalize before. So must one of classify or regress, for which --coverage writes a line per row: the
    classes of a set between commas, the most probable first, or the ends of an interval, with a tab between
    them.

    --json writes one object per line and example: label, or labels (of a set, of tokens, nodes or pixels),
    heads and labels of a tree, links of a matching, number of regress, decision of decide; with --marginals
    also probabilities by label, and for classify and regress with --coverage also set or interval.
    """
    from structlearn.cli.commands.confidence import asked_form
    from structlearn.cli.support.objects import objects
    from structlearn.cli.tasks.lookup import open_model

    form = asked_form(marginals=marginals, kbest=kbest, spans=spans, coverage=coverage)
    bundle, task = open_model(model)
    if as_json and form is not None and (task.confident or coverage is None):
        raise ValueError(f"Give --json or {form.flag}, not both.")
    out_file = (
        None
        if out is None or str(out) == "-"
        else task.check_out(out, [model, data], marginals=marginals or as_json)
    )
    if marginals:
        task.check_marginals(bundle)
    if form is not None:
        form.check(bundle, task)
    _set_threads(bundle, jobs)
    data = input_file(data, format)
    pieces = task.pieces(data, bundle, labels=False)
    if as_json:
        found = (objects(task, bundle, one.X, marginals=marginals, coverage=coverage) for one in pieces)
        write_output(map(in_json, chain.from_iterable(found)), out_file)
    elif form is None:
        task.write_all(bundle, pieces, out_file, marginals=marginals)
    else:
        write_pieces(chain.from_iterable(form.pages(task, bundle, one) for one in pieces), out_file)


@handling_errors()
def evaluate_model(
    model: Model,
    data: Data,
    count_unknown: Annotated[
        bool,
        switch(
            "--count-unknown",
            "tag, chunk, ner: count labels that training never saw as mistakes; do not refuse the file.",
        ),
    ] = False,
    as_json: Json = False,
    format: Format = None,
    jobs: Jobs = 1,
) -> None:
    """Compare the model's answers with the labels of DATA and print figures as `name: value` lines.

    Below them, for classify, multilabel, tag, chunk and ner, comes a table with a line for each class, label
    or type of spans: precision, recall, F1, and how many there are in DATA, how many were found, and how many
    of those are right. For classify, a table of confusions follows: how often each class was found for each
    gold class (of more than ten classes, the most frequent mistakes).

    {figures} Labels that the model does not know count as wrong; tag refuses a file that has one, chunk and
    ner one whose type is unknown, unless --count-unknown is given. Tokens with the label _ are not
    known: they are left out, and their sentences count for the accuracy alone.
    """
    from structlearn.cli.tasks.lookup import open_model

    bundle, task = open_model(model)
    _set_threads(bundle, jobs)
    data = input_file(data, format)
    pieces = _labelled(task, data, bundle, count_unknown=count_unknown)
    scores = task.judge(bundle, pieces)
    if scores.n_unknown:
        say(
            f"Note: {scores.n_unknown} of the labels in {data} are unknown to the model; they count as wrong."
        )
    if hasattr(bundle.estimator, "temperature_"):
        say(f"Note: the probabilities are calibrated (temperature {bundle.estimator.temperature_:.4g}).")
    _print_scores(scores, as_json=as_json)


def _labelled(task: Task, data: Path, bundle: Bundle, *, count_unknown: bool) -> Iterator[Inputs]:
    """Yield the examples of a file, which must have labels, and known ones unless others are counted."""
    for inputs in task.pieces(data, bundle, labels=True):
        if inputs.y is None:
            raise ValueError(f"{data} has no labels to compare with.")
        if not count_unknown:
            task.check_labels(bundle, inputs)
        yield inputs


def _print_scores(scores: Scores, *, as_json: bool) -> None:
    """Print the figures as `name: value` lines, then the tables of labels; or all of them as JSON."""
    tables = [one for one in (scores.table, scores.confusions) if one is not None]
    if as_json:
        print_json({**scores.values} | {k: v for one in tables for k, v in one.figures().items()})
        return
    print_values(scores.values.items())
    for line in (line for one in tables for line in one.lines()):
        print(line)


def _set_threads(bundle: Bundle, jobs: int) -> None:
    """Set the number of threads of the estimator, if it uses threads."""
    if jobs == 0:
        raise ValueError("--jobs must be a positive number of threads, or -1 for all; got 0.")
    if hasattr(bundle.estimator, "n_jobs"):
        bundle.estimator.set_params(n_jobs=jobs)


@handling_errors()
def show(
    model: Model,
    data: Data,
    out: PageOut,
    limit: Annotated[int, option("N", "How many examples are drawn at most.")] = 200,
    format: Format = None,
) -> None:
    """Write a page that draws the model's answers: dependency trees (parse), tagged text (tag, chunk and
    ner), labelled graphs (graph) or images (grid); of decide, how much decisions lose, and the worst ones; of
    classify, multilabel and regress, figures, confusions, reliability, weights, and the worst rows.

    Where DATA has labels, mistakes are marked and the worst examples come first, below the scores. On tagged
    text, pointing at a word shows what speaks for its label. The page opens without a network.
    """
    from structlearn.cli.tasks.lookup import open_model
    from structlearn.cli.tasks.registry import TASKS

    out_file = check_output(out, others=[model, data])
    if limit < 1:
        raise ValueError(f"--limit must be at least 1; got {limit}.")
    bundle, task = open_model(model)
    if not task.drawn:
        drawn = ", ".join(entry.name for entry in TASKS.values() if entry.task.drawn)
        raise ValueError(f"Models of the task {bundle.notes['task']} are not drawn; show draws {drawn}.")
    task.page(bundle, input_file(data, format), limit).write(out_file)
    say(f"Wrote the page to {out}.")
