"""`structlearn tune`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from structlearn.cli.commands.train import TrainCommand, loss_of, say_outcome
from structlearn.cli.support.allocator import keep_freed_memory
from structlearn.cli.support.errors import fitting, handling_errors, say
from structlearn.cli.support.groups import Several, combinations
from structlearn.cli.support.options import Json, ModelOut, argument, option, switch
from structlearn.cli.support.outputs import check_output, print_json, print_values, printed_certificate
from structlearn.cli.support.stdin import input_file
from structlearn.cli.support.task_commands import TaskGroup
from structlearn.cli.tasks.neural import refuse_networks
from structlearn.cli.tasks.options import DataOptions, ProblemOptions, TaskOptions
from structlearn.cli.tasks.registry import TaskEntry

if TYPE_CHECKING:
    from structlearn.cli.commands.folds import TrainingFile
    from structlearn.cli.commands.search import Metric, Tried, TunedSetting
    from structlearn.solvers.solution import Certificate

#: Options that take several values between commas, and what is said of them if not what train says.
SEVERAL = {
    **dict.fromkeys(
        [
            *("loss", "penalty", "l1_ratio", "cost", "window", "min_count", "context", "model", "pairs"),
            *("latent_states", "connectivity", "edges", "alpha", "nonlinear"),
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
        str | None,
        option(
            "M",
            "The figure of evaluate to go by: {metrics}.  [default: the first]",
            values=lambda entry: entry.metrics,
        ),
    ] = None
    one_error: Annotated[
        bool,
        switch("--one-se", "Take the strongest lambda within one standard error of the best."),
    ] = False
    address: Annotated[
        str | None,
        option(
            "ADDRESS",
            "Try folds on a Dask cluster: its scheduler (tcp://host:8786, tls://host:8786), or local:K for K "
            "processes here.  [default: here]",
            "--cluster",
        ),
    ] = None
    verbose: Annotated[bool, switch("--verbose", "Write a line to stderr for each fold and lambda.")] = False


@handling_errors()
def tune(
    *,
    entry: TaskEntry,
    data: Annotated[Path, argument("DATA", "Training data, as train reads it; - for stdin.")],
    out: ModelOut,
    own: TaskOptions,
    search: SearchOptions,
    problem: ProblemOptions,
    known: DataOptions,
    as_json: Json = False,
) -> None:
    """Choose lambda by cross-validation, train on all data with it, and write the model to MODEL.

    On each of K folds, models are trained along lambda from strong to weak, each started from the one before,
    and judged by the examples that were held out. The strongest lambda follows from the data; weaker ones
    are tried until the first fold is no longer better for it. --regularization X,X,... gives the values
    instead, and other options take several values as well, such as --loss hinge,softmax: all combinations
    are tried. Folds have equal shares of each class; sentences of a document stay together, if there are
    as many documents as folds, and whatever is learned from text is learned without the sentences that are
    held out. With --jobs K, the first fold is tried with K threads and the others in K processes, each with
    its own copy of the data; with --cluster they are tried by the workers of a cluster.

    Prints a table: the mean over the folds, its standard error, and a star at the values that are chosen.
    If several values of another option were tried, a table follows that says what each of them brought. Then
    comes the certificate of the model, which is the one that train gives with these values. For multilabel,
    --edges none, tree and all are tried unless it is given.
    """
    from structlearn.cli.answers.gains import gain_tables, gains
    from structlearn.cli.commands.folds import TrainingFile
    from structlearn.cli.commands.search import best_of

    metric = _metric(entry, search.metric)
    settings = list(_settings(entry, own, problem))
    out_file = check_output(out, others=[data])
    source = TrainingFile(input_file(data, known.format), known.target)
    _search(settings, source, search, metric, problem)
    setting, best = best_of(settings, metric, one_error=search.one_error)
    _advise(settings, setting, best)
    certificate = _train(setting, best.regularization, source, out_file)
    say(f"Wrote the model to {out}.")
    rows, chosen = list(_rows(settings, best)), {**setting.options, "regularization": best.regularization}
    brought = gains(settings, metric, entry.metrics)
    if as_json:
        print_json(
            {"task": entry.name, "metric": metric.name, "folds": search.folds, "results": rows}
            | {"gains": brought, "chosen": chosen, "certificate": printed_certificate(certificate)}
        )
        return
    for table in (_table(rows, metric.name), *gain_tables(brought, metric.name)):
        print(table, end="\n\n")
    print_values([*chosen.items(), *printed_certificate(certificate).items()])
    say_outcome(None, certificate, out)


def _metric(entry: TaskEntry, name: str | None) -> Metric:
    from structlearn.cli.commands.search import Metric
    from structlearn.core.registry import one_of

    return Metric(entry.metrics[0] if name is None else one_of("metric", name, entry.metrics))


def _settings(entry: TaskEntry, own: TaskOptions, problem: ProblemOptions) -> Iterator[TunedSetting]:
    """Make a setting per combination of what is tried beside lambda, checked before data is read."""
    from structlearn.cli.commands.search import TunedSetting

    values = problem.regularization
    listed = [values] if isinstance(values, float) else sorted(values or (), reverse=True)
    if not all(value > 0 for value in listed):
        raise ValueError("--regularization must be above 0: tune compares values of lambda.")
    own = own.for_search()
    open_ = replace(problem, regularization=None)
    tried = [
        f.name for group in (own, open_) for f in fields(group) if isinstance(getattr(group, f.name), Several)
    ]
    for options, chosen in combinations(own, open_):
        refuse_networks(options, "tune")
        task = entry.with_options(options)
        model = task.model(chosen)
        if loss_of(task.estimator_to_train(model)).name == "perceptron":
            raise ValueError("--loss perceptron has no lambda to tune; use train.")
        all_ = asdict(options) | asdict(chosen)
        yield TunedSetting({name: all_[name] for name in tried}, task, model, chosen, listed or None)


def _search(
    settings: list[TunedSetting],
    source: TrainingFile,
    wanted: SearchOptions,
    metric: Metric,
    problem: ProblemOptions,
) -> None:
    """Try all settings; those that read the file in the same way share what was read."""
    from sklearn.base import is_classifier

    from structlearn.cli.commands.fold_workers import fold_workers
    from structlearn.cli.commands.folds import folds
    from structlearn.cli.commands.search import Search
    from structlearn.estimators.choices import threads
    from structlearn.estimators.scikit import clone_unfitted

    tell = say if wanted.verbose else _say_nothing
    with TemporaryDirectory() as folder, fold_workers(threads(problem.jobs), wanted.address) as workers:
        for _, alike in groupby(settings, key=lambda one: one.task.options.reading()):
            group = list(alike)
            examples = group[0].task.examples(source, Path(folder))
            if group[0] is settings[0]:
                say(f"Read {examples.whole.summary} from {source.path}.")
            for one in group:
                one.task.adapt(clone_unfitted(one.estimator), examples.whole, one.problem)
            of_classes = getattr(examples.whole.y, "ndim", 0) == 1 and is_classifier(group[0].estimator)
            parts = folds(examples, wanted.folds, problem.seed, of_classes=of_classes)
            Search(group, metric, tell, workers).run(examples, parts)


def _say_nothing(sentence: str) -> None:
    """Say nothing."""


def _advise(settings: list[TunedSetting], setting: TunedSetting, best: Tried) -> None:
    """Say what is to be known of the choice: fits that ended early, and a best at the weak end."""
    early = sum(one.n_early for one in settings)
    total = sum(len(one.tried) * len(one.tried[0].scores) for one in settings)
    if early:
        say(f"Note: {early} of {total} fits ended before --tol was reached; raise --max-passes or --tol.")
    if best is setting.tried[-1] and len(setting.tried) > 1:
        weaker = ",".join(f"{best.regularization / 10 ** (k / 2):.2g}" for k in range(4))
        say(f"Note: the weakest lambda tried is the best; try weaker ones: --regularization {weaker}.")


def _train(setting: TunedSetting, regularization: float, source: TrainingFile, out: Path) -> Certificate:
    """Train the model of all data, and write it."""
    from structlearn.estimators.files.persistence import save_bundle

    task = setting.task
    training = task.training(*source)
    model = task.adapt(setting.estimator, training, setting.problem)
    model.set_params(regularization=regularization)
    keep_freed_memory()
    with fitting():
        model.fit(training.X, training.y)
    save_bundle(task.bundle(model, task.trim(model, training)), out)
    return model.certificate_


def _rows(settings: list[TunedSetting], chosen: Tried) -> Iterator[dict[str, object]]:
    for setting in settings:
        for one in setting.tried:
            own = {"regularization": one.regularization, "mean": one.mean, "standard_error": one.error}
            yield {**setting.options, **own, "scores": one.scores, "chosen": one is chosen}


def _table(rows: list[dict[str, Any]], metric: str) -> str:
    from structlearn.core.wording import align_columns

    figures = ("mean", "standard_error")
    names = [name for name in rows[0] if name not in (*figures, "scores", "chosen")]
    head = ["", *(name.replace("_", "-") for name in names), metric, "standard error"]
    lines = [["*" if row["chosen"] else "", *_cells(row, [*names, *figures])] for row in rows]
    return align_columns([head, *lines])


def _cells(row: Mapping[str, object], names: Sequence[str]) -> Iterator[str]:
    for name in names:
        value = row[name]
        shown = ".4f" if name in ("mean", "standard_error") else "g"
        yield format(value, shown) if isinstance(value, float) else str(value)


class TuneCommand(TrainCommand):
    """Of `tune`: how models are compared first."""

    sections: ClassVar = {
        "Search": tuple(one.name for one in fields(SearchOptions)),
        **TrainCommand.sections,
    }


class TuneGroup(TaskGroup):
    """`structlearn tune TASK`."""

    run = staticmethod(tune)
    command = TuneCommand
    several = SEVERAL
    without = ("continue_", "checkpoint", "checkpoint_seconds", "resume", "memory", "cluster")
