"""The search of `tune`: models along lambda on each fold, judged by what they have not seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import sqrt
from statistics import fmean, stdev
from typing import TYPE_CHECKING, NamedTuple

from structlearn.cli.commands.folds import Fold, FoldedExamples
from structlearn.cli.tasks.options import ProblemOptions
from structlearn.cli.tasks.task import Inputs, Task, Training
from structlearn.core.progress import show_progress
from structlearn.estimators.files.persistence import Bundle
from structlearn.estimators.scikit import clone_unfitted
from structlearn.reports.runs import Trainable

if TYPE_CHECKING:
    from structlearn.cli.commands.fold_workers import FoldWorkers

#: Figures of which less is better.
_ERRORS = ("hamming_loss", "rmse", "mae", "regret", "log_loss")
#: At least `_LEAST` ever weaker lambdas are tried, until `_PATIENCE` in a row were no improvement.
_LEAST, _PATIENCE = 7, 2
#: What counts as better, as a share.
_BETTER = 1e-3


@dataclass(frozen=True)
class Metric:
    """A figure of `evaluate` to go by."""

    name: str

    @property
    def sign(self) -> int:
        return -1 if self.name in _ERRORS else 1

    def of(self, figures: Mapping[str, float | int]) -> float:
        """Return it, of all figures of a model; ValueError if it has none, or one that is not defined."""
        if self.name not in figures:
            raise ValueError(
                f"The model has no {self.name}: log_loss needs a loss with probabilities, such as softmax, "
                "and auc needs two classes; choose another --metric."
            )
        value = float(figures[self.name])
        if value != value:
            raise ValueError(
                f"{self.name} is not defined on a fold with so few examples; take fewer --folds, or "
                "another --metric."
            )
        return value


@dataclass(frozen=True)
class Tried:
    """One lambda of a setting: what it scored on each fold."""

    regularization: float
    scores: list[float] = field(default_factory=list)
    #: all figures of `evaluate` on each fold
    figures: list[Mapping[str, float | int]] = field(default_factory=list)

    @property
    def mean(self) -> float:
        return fmean(self.scores)

    @property
    def error(self) -> float:
        """The standard error of the mean."""
        return stdev(self.scores) / sqrt(len(self.scores))


class PathPoint(NamedTuple):
    """One model along lambda: what it scored on the examples that were held out."""

    regularization: float
    figures: Mapping[str, float | int]
    converged: bool


@dataclass
class TunedSetting:
    """What is trained along lambda: the options that were chosen for it, and what came of it."""

    #: options of which several values are tried, with this setting's
    options: Mapping[str, object]
    task: Task
    estimator: Trainable
    problem: ProblemOptions
    #: from strong to weak; None until they are chosen by the data
    values: Sequence[float] | None
    tried: list[Tried] = field(default_factory=list)
    n_early: int = 0

    def path(self, training: Training, judged: Callable[[Bundle], Inputs]) -> Iterator[PathPoint]:
        """Yield the models along lambda, judged by the held-out examples."""
        from structlearn.estimators.path import models_along
        from structlearn.estimators.path_values import regularization_values

        adapted = self.task.adapt(clone_unfitted(self.estimator), training, self.problem)
        estimator, training = self.task.laid_out(adapted, training)
        values = self.values or regularization_values(estimator, training.X, training.y)
        held_out: Inputs | None = None
        for model in models_along(estimator, training.X, training.y, values):
            if model.certificate_.interrupted:
                raise KeyboardInterrupt("Interrupted: nothing was written.")
            bundle = self.task.bundle(model, training)
            held_out = held_out or judged(bundle)
            figures = self.task.judge(replace(bundle, estimator=model), [held_out]).values
            yield PathPoint(model.regularization, figures, model.certificate_.converged)

    def for_other_folds(self, n_jobs: int | None) -> TunedSetting:
        """Return it with the values that were tried, nothing tried yet, and so many threads if given."""
        estimator = clone_unfitted(self.estimator)
        if n_jobs is not None and "n_jobs" in estimator.get_params(deep=False):
            estimator.set_params(n_jobs=n_jobs)
        values = [one.regularization for one in self.tried] or self.values
        return replace(self, estimator=estimator, values=values, tried=[])


def paths(
    settings: Sequence[TunedSetting], examples: FoldedExamples, fold: Fold
) -> Iterator[Iterable[PathPoint]]:
    """Yield the models of each setting on one fold, which is read once."""
    training, judged = examples.training(fold.training), partial(examples.held_out, fold.held_out)
    for setting in settings:
        yield setting.path(training, judged)


class Search:
    """All settings on all folds.

    tell : is told of every model
    workers : who tries folds side by side; without, they are tried here, one after the other
    """

    def __init__(
        self,
        settings: Sequence[TunedSetting],
        metric: Metric,
        tell: Callable[[str], None],
        workers: FoldWorkers | None,
    ) -> None:
        self.settings, self.metric, self.tell, self.workers = settings, metric, tell, workers

    def run(self, examples: FoldedExamples, folds: Sequence[Fold]) -> None:
        """Try all settings on all folds. If no lambda is given, the first fold decides how weak it gets."""
        from sklearn.exceptions import ConvergenceWarning

        with show_progress("tuning") as step, warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self._step, self._n_folds = step, len(folds)
            first = 0 if self._is_known and self.workers and self.workers.number >= len(folds) else 1
            for fold in folds[:first]:
                self._run_first(examples, fold)
            step.total = len(folds) * sum(len(one.values or one.tried) for one in self.settings)
            for k, found in enumerate(self._others(examples, folds[first:]), first + 1):
                for setting, points in zip(self.settings, found):
                    self._announce(k, setting)
                    for j, point in enumerate(points):
                        self._note(k, setting, j, point)

    @property
    def _is_known(self) -> bool:
        return all(one.values is not None for one in self.settings)

    def _run_first(self, examples: FoldedExamples, fold: Fold) -> None:
        for setting, points in zip(self.settings, paths(self.settings, examples, fold)):
            self._announce(1, setting)
            for j, point in enumerate(points):
                self._note(1, setting, j, point)
                if setting.values is None and _is_past(setting.tried, self.metric):
                    break

    def _others(
        self, examples: FoldedExamples, folds: Sequence[Fold]
    ) -> Iterator[Iterable[Iterable[PathPoint]]]:
        if self.workers is not None:
            yield from self.workers.run([one.for_other_folds(1) for one in self.settings], examples, folds)
            return
        settings = [one.for_other_folds(None) for one in self.settings]
        for fold in folds:
            yield paths(settings, examples, fold)

    def _place(self, k: int, setting: TunedSetting) -> str:
        return f"Fold {k} of {self._n_folds}{_spelled(setting.options)}"

    def _announce(self, k: int, setting: TunedSetting) -> None:
        self._step.reach(self._step.done, self._place(k, setting).lower())

    def _note(self, k: int, setting: TunedSetting, j: int, point: PathPoint) -> None:
        value, place = point.regularization, self._place(k, setting)
        score = self.metric.of(point.figures)
        self.tell(f"{place}, lambda {value:g}: {self.metric.name} {score:.4f}.")
        self._step.advance(says=f"{place.lower()}, lambda {value:.2g}")
        if j == len(setting.tried):
            setting.tried.append(Tried(value))
        setting.tried[j].scores.append(score)
        setting.tried[j].figures.append(point.figures)
        setting.n_early += not point.converged


def _spelled(options: Mapping[str, object]) -> str:
    """Return the options of a setting as they are said behind other words."""
    return "".join(f", {name} {value}" for name, value in options.items())


def _is_past(tried: Sequence[Tried], metric: Metric) -> bool:
    """Whether the best is behind: the last lambdas are no better."""
    scores = [metric.sign * one.scores[0] for one in tried]
    if len(scores) < _LEAST:
        return False
    best = max(scores[:-_PATIENCE])
    return max(scores[-_PATIENCE:]) <= best + _BETTER * abs(best)


def best_of(
    settings: Sequence[TunedSetting], metric: Metric, *, one_error: bool
) -> tuple[TunedSetting, Tried]:
    """Return the best on average, the stronger lambda of equals.

    Or the strongest within one standard error.
    """
    setting, best = max(
        ((setting, one) for setting in settings for one in setting.tried),
        key=lambda pair: metric.sign * pair[1].mean,
    )
    if one_error:
        least = metric.sign * best.mean - best.error
        best = next(one for one in setting.tried if metric.sign * one.mean >= least)
    return setting, best
