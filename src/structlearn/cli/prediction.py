"""`structlearn predict` and `structlearn evaluate`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from structlearn.cli.errors import handling_errors, say
from structlearn.cli.outputs import check_output, print_values, write_pieces

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A file that `train` wrote.", show_default=False)
]
Data = Annotated[
    Path,
    typer.Argument(metavar="DATA", help="Examples in the format of the training data.", show_default=False),
]
Jobs = Annotated[int, typer.Option(metavar="N", help="Threads; -1 for all cores.")]


@handling_errors()
def predict(
    model: Model,
    data: Data,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write here (.gz by its name).  [default: stdout]")
    ] = None,
    marginals: Annotated[
        bool,
        typer.Option(
            "--marginals",
            help="Write the probabilities of all labels instead of the best; tag, chunk, ner: that of the "
            "best beside it.",
        ),
    ] = False,
    jobs: Jobs = 1,
) -> None:
    """Write the model's answers, one line an input; for tag, chunk and ner, DATA with labels filled in.

    Labels of a set are joined by commas (an empty line is the empty set). A column file comes back byte for
    byte but for its label column. DATA needs no labels: a table may lack the target columns, a column file
    the label column, which is then added; the label of a libsvm line is ignored. A libsvm file may have fewer
    columns than the model, not more. A model of the task regress answers with a number. One of the task parse
    writes the file again, with heads and relations filled in.

    With --marginals a line holds label:probability for every label, separated by spaces, in the model's
    order; they add up to 1, except for multilabel, where each label has a probability of its own. tag, chunk
    and ner add the probability of the label that was written, in one more column or, in CoNLL-U, as
    Confidence=... in MISC; parse adds that of each arc, as ArcConf=... in MISC. The model must have been
    trained with --loss softmax, sparsemax or entmax15; the last two give exact zeros.
    """
    from structlearn.cli.tasks import open_model

    out_file = check_output(out, others=[model, data])
    bundle, task = open_model(model)
    if marginals:
        task.check_marginals(bundle)
    estimator = _threaded(bundle.estimator, jobs)
    inputs = task.inputs(data, bundle, labels=False)
    write_pieces(task.pages(replace(bundle, estimator=estimator), inputs, marginals=marginals), out_file)


@handling_errors()
def evaluate(
    model: Model,
    data: Data,
    count_unknown: Annotated[
        bool,
        typer.Option(
            "--count-unknown",
            help="tag, chunk, ner: count labels that training never saw as mistakes; do not refuse the file.",
        ),
    ] = False,
    jobs: Jobs = 1,
) -> None:
    """Compare the model's answers with the labels of DATA and print figures as `name: value` lines.

    {figures} Labels that the model does not know count as wrong; tag refuses a file that has one, chunk and
    ner one whose type is unknown, unless --count-unknown is given.
    """
    from structlearn.cli.tasks import open_model

    bundle, task = open_model(model)
    estimator = _threaded(bundle.estimator, jobs)
    inputs = task.inputs(data, bundle, labels=True)
    if inputs.y is None:
        raise ValueError(f"{data} has no labels to compare with.")
    if not count_unknown:
        task.check_labels(bundle, inputs)
    scores = task.evaluate(bundle, inputs.y, estimator.predict(inputs.X))
    if scores.n_unknown:
        say(
            f"Note: {scores.n_unknown} of the labels in {data} are unknown to the model; they count as wrong."
        )
    print_values(scores.values.items())


def _threaded(estimator: Any, jobs: int) -> Any:
    """The estimator with so many threads, where it has use for them."""
    return estimator.set_params(n_jobs=jobs) if hasattr(estimator, "n_jobs") else estimator
