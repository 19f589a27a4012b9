"""`structlearn calibrate` and `structlearn conformalize`: models that know how sure they may be."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from structlearn.cli.support.errors import handling_errors, say
from structlearn.cli.support.options import Json, ModelOut, argument
from structlearn.cli.support.outputs import check_output, print_figures
from structlearn.cli.support.stdin import input_file

if TYPE_CHECKING:
    from structlearn.estimators.confidence.calibration import Calibration
    from structlearn.estimators.files.persistence import Bundle

Model = Annotated[Path, argument("MODEL", "A file that `train tag`, `train chunk` or `train ner` wrote.")]
HeldOut = Annotated[
    Path, argument("DATA", "Labelled examples that the model was not trained on; - for stdin.")
]


@handling_errors()
def calibrate(model: Model, data: HeldOut, out: ModelOut, as_json: Json = False) -> None:
    """Choose the temperature by which probabilities of a model fit DATA best, and write the model with it.

    Labels stay as they are, probabilities (--marginals, --spans, --kbest) change. Figures are printed before
    and after, as `name: value` lines: the mean logarithm of the probability of a sentence's labels, and how
    far probabilities of labels and of spans are from the shares of right ones (expected calibration error).
    The spans follow by tenths of their probability: how many, their mean probability, the share of right
    ones. The model must have been trained with --loss softmax. It may be written over itself.
    """
    out_file = check_output(out, others=[data])
    bundle, X, y = _open_model_and_data(model, data, probable=True)
    found = bundle.estimator.calibrate(X, y)
    _write(bundle, out_file)
    if found.after.left_out:
        say(f"Note: {found.after.left_out} sentences have labels that the model does not know or allow.")
    print_figures(_figures(found), as_json=as_json)


@handling_errors()
def conformalize(model: Model, data: HeldOut, out: ModelOut, as_json: Json = False) -> None:
    """Write the model with what it takes to answer with sets of labellings: predict --coverage 0.9.

    Such a set holds the true labelling of a sentence with at least this probability, if DATA was used for
    nothing else (neither training nor calibrate) and its sentences are like those to come. It takes 9
    sentences for a coverage of 0.9, 99 for 0.99; a thousand make sets that do not depend much on which these
    are. The model may be written over itself.
    """
    from structlearn.tagging.confidence import NO_SETS
    from structlearn.tagging.features.context import COLUMNS
    from structlearn.tagging.features.resources import derived_names

    out_file = check_output(out, others=[data])
    bundle, X, y = _open_model_and_data(model, data, probable=False)
    if {*COLUMNS} & {*derived_names(bundle.notes)[0]}:
        raise ValueError(NO_SETS)
    bundle.estimator.conformalize(X, y)
    _write(bundle, out_file)
    n = bundle.estimator.n_conformal_
    n_finite = len(bundle.estimator.conformal_scores_)
    print_figures([("sentences", n), ("highest_coverage", n_finite / (n + 1))], as_json=as_json)


def _open_model_and_data(model: Path, data: Path, *, probable: bool) -> tuple[Bundle, Any, Any]:
    """Return a model of labellings, and data with labels, which are spelled as the model's are."""
    from structlearn.cli.commands.confidence import check_confident
    from structlearn.cli.tasks.constraints import UNKNOWN
    from structlearn.cli.tasks.labels import spelling
    from structlearn.cli.tasks.lookup import open_model
    from structlearn.cli.tasks.tag_scores import known_labels

    bundle, task = open_model(model)
    check_confident(bundle, task, "calibrate" if probable else "conformalize", probable=probable)
    data = input_file(data)
    inputs = task.inputs(data, bundle, labels=True)
    if inputs.y is None:
        raise ValueError(f"{data} has no labels to compare with.")
    if not all(one.all() for one in known_labels(inputs.y, bundle.estimator.classes_)):
        raise ValueError(
            f"{data} has labels that are not known ({UNKNOWN}), but it takes whole labellings; leave these "
            "sentences out."
        )
    spelled = spelling(bundle.estimator.classes_)
    return bundle, inputs.X, [[spelled(label) for label in one.tolist()] for one in inputs.y]


def _write(bundle: Bundle, out: Path) -> None:
    from structlearn.estimators.files.persistence import save_bundle

    save_bundle(bundle, out)
    say(f"Wrote the model to {out}.")


def _figures(found: Calibration) -> list[tuple[str, object]]:
    both = {"before": found.before, "after": found.after}
    figures: list[tuple[str, object]] = [("temperature", found.temperature)]
    figures += [(f"log_likelihood_{when}", one.log_likelihood) for when, one in both.items()]
    figures += [(f"label_error_{when}", one.labels.error) for when, one in both.items()]
    figures += [(f"span_error_{when}", one.spans.error) for when, one in both.items()]
    for when, one in both.items():
        for tenth, (n, sure, right) in enumerate(zip(*one.spans)):
            if n:
                name = f"spans_{when} {tenth / 10:.1f}-{(tenth + 1) / 10:.1f}"
                figures.append((name, f"{n} {sure:.4f} {right:.4f}"))
    return figures
