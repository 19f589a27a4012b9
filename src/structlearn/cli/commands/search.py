"""The search of `tune`: models along lambda on each fold, judged by what they have not seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import sqrt
from statistics import fmean, stdev
from typing import Any

from structlearn.cli.commands.folds import Fold, FoldedExamples
from structlearn.cli.tasks.options import ProblemOptions
from structlearn.cli.tasks.task import Inputs, Task, Training
from structlearn.core.progress import show_progress
from structlearn.estimators.files.persistence import Bundle
from structlearn.estimators.scikit import clone_unfitted
from structlearn.reports.runs import Trainable

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

    def path(
        self, training: Training, judged: Callable[[Bundle], Inputs]
    ) -> Iterator[tuple[float, Mapping[str, float | int]]]:
        """Yield each lambda and the figures of its model on the held-out examples."""
        from structlearn.estimators.path import models_along

        adapted = self.task.adapt(clone_unfitted(self.estimator), training, self.problem)
        estimator, training = self.task.laid_out(adapted, training)
        held_out: Inputs | None = None
        for model in models_along(estimator, training.X, training.y, self._values(estimator, training)):
            if model.certificate_.interrupted:
                raise KeyboardInterrupt("Interrupted: nothing was written.")
            self.n_early += not model.certificate_.converged
            bundle = self.task.bundle(model, training)
            held_out = held_out or judged(bundle)
            yield model.regularization, self.task.judge(replace(bundle, estimator=model), [held_out]).values

    def _values(self, estimator: Any, training: Training) -> Sequence[float]:
        """Return the values given, or those of the first fold."""
        from structlearn.estimators.path_values import regularization_values

        if self.tried:
            return [one.regularization for one in self.tried]
        return self.values or regularization_values(estimator, training.X, training.y)


def search_settings(
    settings: Sequence[TunedSetting],
    examples: FoldedExamples,
    folds: Sequence[Fold],
    metric: Metric,
    tell: Callable[[str], None],
) -> None:
    """Try all settings on all folds. The first fold decides how weak a lambda is tried, if none is given."""
    from sklearn.exceptions import ConvergenceWarning

    with show_progress("tuning") as step, warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for k, fold in enumerate(folds, 1):
            training, judged = examples.training(fold.training), partial(examples.held_out, fold.held_out)
            for setting in settings:
                place = f"Fold {k} of {len(folds)}{_spelled(setting.options)}"
                step.reach(step.done, place.lower())
                for j, (value, figures) in enumerate(setting.path(training, judged)):
                    score = metric.of(figures)
                    tell(f"{place}, lambda {value:g}: {metric.name} {score:.4f}.")
                    step.advance(says=f"{place.lower()}, lambda {value:.2g}")
                    if k == 1:
                        setting.tried.append(Tried(value))
                    setting.tried[j].scores.append(score)
                    setting.tried[j].figures.append(figures)
                    if k == 1 and setting.values is None and _is_past(setting.tried, metric):
                        break
            step.total = len(folds) * sum(len(one.tried) for one in settings)


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
