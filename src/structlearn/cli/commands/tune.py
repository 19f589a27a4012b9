"""`structlearn tune`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from structlearn.cli.commands.train import TrainCommand, adapt, bundle_of, described, loss_of, save_trained
from structlearn.cli.commands.train_options import DataOptions, OutputOptions, ProblemOptions, ReadingOptions
from structlearn.cli.support import options
from structlearn.cli.support.errors import fitting, handling_errors, say
from structlearn.cli.support.groups import Several, combinations, grouped
from structlearn.cli.support.options import argument, option, switch
from structlearn.cli.support.outputs import certified, check_output, print_json, print_values
from structlearn.cli.support.stdin import input_file

if TYPE_CHECKING:
    from structlearn.cli.commands.folds import TrainingFile
    from structlearn.cli.commands.search import Metric, Tried, TunedSetting
    from structlearn.solvers.solution import Certificate

#: Options that take several values between commas, and what is said of them if not what train says.
SEVERAL = {
    **dict.fromkeys(
        [
            *("loss", "penalty", "l1_ratio", "cost", "window", "min_count", "context", "model", "pairs"),
            *("latent_states", "connectivity", "edges"),
        ],
        "",
    ),
    "regularization": "Values of lambda, the weight of the penalty.  [default: as the data suggests]",
}


@dataclass(frozen=True)
class SearchOptions:
    """How models are compared."""

    folds: Annotated[int, option("K", "Parts of the data, each held out once.", min=2)] = 5
    metric: Annotated[
        str | None, option("M", "The figure of evaluate to go by: {metrics}.  [default: the first]")
    ] = None
    one_error: Annotated[
        bool,
        switch("--one-se", "Take the strongest lambda within one standard error of the best."),
    ] = False


class TuneCommand(TrainCommand):
    """Of `tune`: those of `train` below its own."""

    groups: ClassVar[dict[str, tuple[str, ...]]] = {
        "Search": tuple(one.name for one in fields(SearchOptions)),
        **TrainCommand.groups,
    }


@handling_errors()
@partial(grouped, several=SEVERAL, without=("continue_",))
def tune(
    *,
    task: options.TaskName,
    data: Annotated[Path, argument("DATA", "Training data, as train reads it; - for stdin.")],
    out: options.ModelOut,
    search: SearchOptions,
    problem: ProblemOptions,
    known: DataOptions,
    reading: ReadingOptions,
    outputs: OutputOptions,
    as_json: options.Json = False,
) -> None:
    """Choose lambda by cross-validation, train on all data with it, and write the model to MODEL.

    On each of K folds, models are trained along lambda from strong to weak, each started from the one before,
    and judged by the examples that were held out. The strongest lambda follows from the data; weaker ones
    are tried until the first fold is no longer better for it. --regularization X,X,... gives the values
    instead, and other options take several values as well, such as --loss hinge,softmax: all combinations
    are tried. Folds have equal shares of each class; sentences of a document stay together, if there are
    as many documents as folds, and whatever is learned from text is learned without the sentences that are
    held out.

    Prints a table: the mean over the folds, its standard error, and a star at the values that are chosen;
    then the certificate of the model, which is the one that train gives with these values.
    """
    from structlearn.cli.commands.folds import TrainingFile
    from structlearn.cli.commands.search import best_of

    metric = _metric(task, search.metric)
    settings = list(_settings(task, reading, outputs, problem))
    out_file = check_output(out, others=[data])
    source = TrainingFile(input_file(data, known.format), known.target)
    _search(settings, source, search, metric, problem.seed)
    setting, best = best_of(settings, metric, one_error=search.one_error)
    _advise(settings, setting, best)
    certificate = _train(setting, best.regularization, source, out_file)
    say(f"Wrote the model to {out}.")
    rows, chosen = list(_rows(settings, best)), {**setting.options, "regularization": best.regularization}
    if as_json:
        print_json(
            {"task": task, "metric": metric.name, "folds": search.folds, "results": rows}
            | {"chosen": chosen, "certificate": certified(certificate)}
        )
        return
    print(_table(rows, metric.name), end="\n\n")
    print_values([*chosen.items(), *certified(certificate).items()])


def _metric(task: str, name: str | None) -> Metric:
    from structlearn.cli.commands.search import Metric
    from structlearn.cli.tasks.registry import TASKS
    from structlearn.core.registry import one_of

    known = TASKS.named(task).metrics
    return Metric(known[0] if name is None else one_of("metric", name, known))


def _settings(
    task: str, reading: ReadingOptions, outputs: OutputOptions, problem: ProblemOptions
) -> Iterator[TunedSetting]:
    """A setting for each combination of what is tried beside lambda, checked before data is read."""
    from structlearn.cli.commands.search import TunedSetting

    values = problem.regularization
    listed = [values] if isinstance(values, float) else sorted(values or (), reverse=True)
    if not all(value > 0 for value in listed):
        raise ValueError("--regularization must be above 0: tune compares values of lambda.")
    open_ = replace(problem, regularization=None)
    tried = [
        f.name
        for group in (reading, outputs, open_)
        for f in fields(group)
        if isinstance(getattr(group, f.name), Several)
    ]
    for chosen in combinations(reading, outputs, open_):
        known, estimator = described(task, chosen[2], chosen[0], chosen[1])
        if loss_of(estimator).name == "perceptron":
            raise ValueError("--loss perceptron has no lambda to tune; use train.")
        all_ = {name: value for group in chosen for name, value in asdict(group).items()}
        own = {name: all_[name] for name in tried}
        yield TunedSetting(own, task, known, estimator, chosen[2], listed or None)


def _search(
    settings: list[TunedSetting], source: TrainingFile, wanted: SearchOptions, metric: Metric, seed: int
) -> None:
    """Try all settings; those that read the file in the same way share what was read."""
    from sklearn.base import is_classifier

    from structlearn.cli.commands.folds import folds
    from structlearn.cli.commands.search import search
    from structlearn.estimators.scikit import cloned

    with TemporaryDirectory() as folder:
        for known, alike in groupby(settings, key=lambda one: one.task):
            group = list(alike)
            examples = known.examples(source, Path(folder))
            say(f"Read {examples.whole.summary} from {source.path}.")
            for one in group:
                known.check_training(cloned(one.estimator), examples.whole)
            of_classes = getattr(examples.whole.y, "ndim", 0) == 1 and is_classifier(group[0].estimator)
            parts = folds(examples, wanted.folds, seed, of_classes=of_classes)
            search(group, examples, parts, metric, say)


def _advise(settings: list[TunedSetting], setting: TunedSetting, best: Tried) -> None:
    """What is to be known of the choice: fits that ended early, and a best at the weak end."""
    early = sum(one.n_early for one in settings)
    total = sum(len(one.tried) * len(one.tried[0].scores) for one in settings)
    if early:
        say(f"Note: {early} of {total} fits ended before --tol was reached; raise --max-passes or --tol.")
    if best is setting.tried[-1] and len(setting.tried) > 1:
        weaker = ",".join(f"{best.regularization / 10 ** (k / 2):.2g}" for k in range(4))
        say(f"Note: the weakest lambda tried is the best; try weaker ones: --regularization {weaker}.")


def _train(setting: TunedSetting, regularization: float, source: TrainingFile, out: Path) -> Certificate:
    """The model of all data."""
    task = setting.task
    training = task.training(*source)
    estimator = adapt(setting.estimator, task, training, setting.problem)
    estimator.set_params(regularization=regularization)
    with fitting():
        estimator.fit(training.X, training.y)
    save_trained(bundle_of(estimator, setting.name, task.trimmed(estimator, training)), out)
    return estimator.certificate_


def _rows(settings: list[TunedSetting], chosen: Tried) -> Iterator[dict[str, object]]:
    for setting in settings:
        for one in setting.tried:
            own = {"regularization": one.regularization, "mean": one.mean, "standard_error": one.error}
            yield {**setting.options, **own, "scores": one.scores, "chosen": one is chosen}


def _table(rows: list[dict[str, Any]], metric: str) -> str:
    from structlearn.core.text_width import aligned

    figures = ("mean", "standard_error")
    names = [name for name in rows[0] if name not in (*figures, "scores", "chosen")]
    head = ["", *(name.replace("_", "-") for name in names), metric, "standard error"]
    lines = [["*" if row["chosen"] else "", *_cells(row, [*names, *figures])] for row in rows]
    return aligned([head, *lines])


def _cells(row: Mapping[str, object], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        value = row[name]
        shown = ".4f" if name in ("mean", "standard_error") else "g"
        yield format(value, shown) if isinstance(value, float) else str(value)
