"""`structlearn calibrate` and `structlearn conformalize`: models that know how sure they may be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from structlearn.cli.support.errors import handling_errors, say
from structlearn.cli.support.options import Json, ModelOut, argument
from structlearn.cli.support.outputs import check_output, print_figures
from structlearn.cli.support.stdin import input_file
from structlearn.core.wording import count_of

if TYPE_CHECKING:
    from structlearn.cli.tasks.task import Task
    from structlearn.estimators.confidence.calibration import Calibration
    from structlearn.estimators.files.persistence import Bundle

Model = Annotated[
    Path,
    argument(
        "MODEL",
        "A file that `train classify`, `multilabel` (calibrate), `regress` (conformalize), `tag`, `chunk` or "
        "`ner` wrote.",
    ),
]
HeldOut = Annotated[
    Path, argument("DATA", "Labelled examples that the model was not trained on; - for stdin.")
]


@handling_errors()
def calibrate(model: Model, data: HeldOut, out: ModelOut, as_json: Json = False) -> None:
    """Choose the temperature by which probabilities of a model fit DATA best, and write the model with it.

    Labels stay as they are, probabilities (--proba, --spans, --kbest) change. Figures are printed before
    and after, as `name: value` lines: the mean logarithm of the probability of a row's class, of a label, or
    of a sentence's labels, and how far probabilities of labels (and of spans) are from the shares of right
    ones (expected calibration error). Answers follow by tenths of their probability: how many, their mean
    probability, the share of right ones. For tag, chunk and ner these are spans; for classify, the classes
    that are predicted; for multilabel, all labels, which are right if they are on. The model must have been
    trained with --loss softmax. It may be written over itself.
    """
    out_file = check_output(out, others=[data])
    bundle, task, X, y = _open_model_and_data(model, data, probable=True)
    found = bundle.estimator.calibrate(X, y)
    _write(bundle, out_file)
    if found.after.left_out:
        _say_unknown(found.after.left_out, task)
    print_figures(_figures(found), as_json=as_json)


@handling_errors()
def conformalize(model: Model, data: HeldOut, out: ModelOut, as_json: Json = False) -> None:
    """Write the model with what it takes for answers with a guarantee: predict --coverage 0.9.

    These are sets of classes (classify), of labellings (tag, chunk and ner), or intervals (regress), that
    hold the truth with at least this probability, if DATA was used for nothing else (neither training nor
    calibrate) and its examples are like those to come. It takes 9 examples for a coverage of 0.9, 99 for
    0.99; a thousand make sets that do not depend much on which these are. The model may be written over
    itself.
    """
    out_file = check_output(out, others=[data])
    bundle, task, X, y = _open_model_and_data(model, data, probable=False)
    if task.confident:
        _check_exchangeable(bundle)
    bundle.estimator.conformalize(X, y)
    _write(bundle, out_file)
    n = bundle.estimator.n_conformal_
    n_finite = len(bundle.estimator.conformal_scores_)
    if n_finite < n:
        _say_unknown(n - n_finite, task)
    print_figures([(f"{task.noun}s", n), ("highest_coverage", n_finite / (n + 1))], as_json=as_json)


def _say_unknown(n: int, task: Task) -> None:
    say(f"Note: the labels of {count_of(n, task.noun)} are not known to the model, or not allowed by it.")


def _check_exchangeable(bundle: Bundle) -> None:
    """Raise ValueError for a tagger that looks at the sentences around one."""
    from structlearn.tagging.confidence import NO_SETS
    from structlearn.tagging.features.context import COLUMNS
    from structlearn.tagging.features.resources import derived_names

    if {*COLUMNS} & {*derived_names(bundle.notes)[0]}:
        raise ValueError(NO_SETS)


def _open_model_and_data(model: Path, data: Path, *, probable: bool) -> tuple[Bundle, Task, Any, Any]:
    """Return a model, and data with labels, which are spelled as the model's are."""
    from structlearn.cli.commands.confidence import check_calibrated, check_covered
    from structlearn.cli.tasks.lookup import open_model

    bundle, task = open_model(model)
    if probable:
        check_calibrated(bundle, task)
    else:
        check_covered(bundle, task, "conformalize")
    data = input_file(data)
    inputs = task.inputs(data, bundle, labels=True)
    if inputs.y is None:
        raise ValueError(f"{data} has no labels to compare with.")
    return bundle, task, inputs.X, task.held_out(bundle, inputs, data)


def _write(bundle: Bundle, out: Path) -> None:
    from structlearn.estimators.files.persistence import save_bundle

    save_bundle(bundle, out)
    say(f"Wrote the model to {out}.")


def _figures(found: Calibration[Any]) -> list[tuple[str, object]]:
    both = {"before": found.before, "after": found.after}
    figures: list[tuple[str, object]] = [("temperature", found.temperature)]
    figures += [(f"log_likelihood_{when}", one.log_likelihood) for when, one in both.items()]
    figures += [(f"label_error_{when}", one.labels.error) for when, one in both.items()]
    of_spans = hasattr(found.after, "spans")
    if of_spans:
        figures += [(f"span_error_{when}", one.spans.error) for when, one in both.items()]
    for when, one in both.items():
        for tenth, (n, sure, right) in enumerate(zip(*(one.spans if of_spans else one.labels))):
            if n:
                name = f"{'spans' if of_spans else 'labels'}_{when} {tenth / 10:.1f}-{(tenth + 1) / 10:.1f}"
                figures.append((name, f"{n} {sure:.4f} {right:.4f}"))
    return figures
