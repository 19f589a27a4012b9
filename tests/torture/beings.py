"""What lives: an estimator with the problems that it is trained on (see `lives`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from . import chain_problems as chains
from . import fits, regressions
from . import part_problems as parts
from . import problems as some
from . import segment_problems as segments
from .data import Rng
from .kinds import KINDS, Kind, draw_problem, draw_settings

#: Of those who train other problems, what is left as it was must not be taken for theirs.
USUAL = {"solver": "auto", "solver_options": None, "penalty": "l2", "l1_ratio": 0.5, "class_weight": None}


@dataclass(frozen=True)
class Being:
    """Problems of one class, with every loss and solver that they take, or those named."""

    problems: type[some.Problem]
    solvers: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.problems.__name__

    @property
    def partial(self) -> bool:
        return self.problems is chains.Chains

    @property
    def checkpoints(self) -> bool:
        return True

    @property
    def kinds(self) -> list[Kind]:
        every = [one for one in KINDS if one.problem is self.problems and one.loss != "perceptron"]
        return [one for one in every if not self.solvers or f"{one.loss} / {one.solver}" in self.solvers]

    def draw(self, rng: Rng, kind: Kind | None = None) -> tuple[some.Problem, Kind]:
        kind = kind or self.kinds[rng.integers(len(self.kinds))]
        return draw_problem(rng, kind), kind

    def varied(self, rng: Rng, problem: some.Problem) -> some.Problem:
        return problem.varied(rng)

    def other_kind(self, rng: Rng, kind: Kind) -> Kind:
        """Another loss or solver, for features of the same layout."""
        alike = [one for one in self.kinds if one.layout == kind.layout]
        return alike[rng.integers(len(alike))]

    def model(self, rng: Rng, problem: some.Problem, kind: Kind) -> Any:
        return problem.model(**draw_settings(rng, kind))

    def settings(self, rng: Rng, problem: some.Problem, kind: Kind) -> dict[str, Any]:
        known = problem.model().get_params()
        return {name: value for name, value in USUAL.items() if name in known} | draw_settings(rng, kind)

    def parameters(self, problem: some.Problem) -> dict[str, Any]:
        """What tells the problem; the usual value of what it does not name."""
        usual = problem.model().get_params()
        names = {"fit_intercept", "cost", "class_weight", "constraints", *problem.parameters} & usual.keys()
        return {name: usual[name] for name in names}

    def fit(self, model: Any, problem: some.Problem) -> None:
        model.fit(problem.X, problem.y, problem.sample_weight)

    def complaints(self, model: Any, problem: some.Problem, kind: Kind) -> list[str]:
        return fits.complaints(model, problem, kind)

    def loading(self, problem: some.Problem) -> dict[str, Any]:
        """What `structlearn.load` needs beside the file."""
        own = problem.estimator == "StructuredPredictor" and isinstance(problem, parts.LocalCopy)
        return {"structure": problem.parameters["structure"]} if own else {}

    def partly(self, rng: Rng, problem: some.Problem) -> list[list[Any]]:
        """Labels, of which some are not known: at least the first."""
        any_label = set(range(problem.n_labels))
        known = [[any_label if rng.random() < 0.2 else label for label in one] for one in problem.gold]
        known[0][0] = any_label
        return known


class Penalised(NamedTuple):
    """The kind of a regression."""

    penalty: str
    loss: str = "squares"


@dataclass(frozen=True)
class Regressor:
    """Least squares with any penalty."""

    partial = checkpoints = False

    def __str__(self) -> str:
        return "LinearRegressor"

    def draw(self, rng: Rng, kind: Penalised | None = None) -> tuple[Any, Penalised]:
        kind = kind or self.other_kind(rng, None)
        return regressions.random_regression(int(rng.integers(2**32)), penalty=kind.penalty), kind

    def varied(self, rng: Rng, problem: Any) -> Any:
        """Other targets and weights, with a lambda for them."""
        other = regressions.random_regression(int(rng.integers(2**32)), penalty=problem.model.penalty)
        y = rng.permutation(problem.y) * 10.0 ** rng.integers(-2, 3)
        weight = None if rng.integers(2) else rng.choice([0.1, 1.0, 3.0], size=len(y))
        groups = problem.model.groups
        return problem._replace(y=y, weight=weight, model=other.model.set_params(groups=groups))

    def other_kind(self, rng: Rng, kind: Penalised | None) -> Penalised:
        return Penalised(str(rng.choice(regressions.PENALTIES)))

    def model(self, rng: Rng, problem: Any, kind: Penalised) -> Any:
        return type(problem.model)(**problem.model.get_params())

    def settings(self, rng: Rng, problem: Any, kind: Penalised) -> dict[str, Any]:
        groups = np.arange(problem.X.shape[1]) // 2 if kind.penalty == "group" else None
        strength = problem.model.regularization or 0.1
        solver = str(rng.choice(["auto", "proximal"]))
        parameters = {"penalty": kind.penalty, "groups": groups, "regularization": strength, "solver": solver}
        problem.model.set_params(**parameters)
        return parameters | {"tol": float(10.0 ** rng.uniform(-8, -2))}

    def parameters(self, problem: Any) -> dict[str, Any]:
        names = ("penalty", "groups", "regularization", "solver", "fit_intercept")
        return {name: problem.model.get_params()[name] for name in names}

    def fit(self, model: Any, problem: Any) -> None:
        model.fit(problem.X, problem.y, problem.weight)

    def complaints(self, model: Any, problem: Any, kind: Penalised) -> list[str]:
        try:
            regressions.check_fitted(problem._replace(model=model))
        except AssertionError as error:
            return [str(error)]
        return []

    def loading(self, problem: Any) -> dict[str, Any]:
        return {}


BEINGS: tuple[Any, ...] = (
    Being(chains.Chains),
    Being(some.Multiclass),
    Being(parts.LocalCopy),
    Being(parts.Matchings),
    Being(some.Binary),
    Being(parts.Trees),
    Being(parts.Parsers),
    Being(some.LabelTrees),
    Being(some.LabelSets),
    Being(parts.Cuts),
    Being(chains.ConditionedChains),
    Being(segments.Segmentations),
    Being(segments.Graphs),
    Being(parts.WholeChains),
    Regressor(),
)
