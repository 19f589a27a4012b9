"""What all estimators share: parameters in, `solve` out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.help_texts import with_inherited
from structlearn.estimators.choices import ON_STRUCTURES, Auto, Weights, threads
from structlearn.estimators.files.attributes import StoredForm, count
from structlearn.estimators.loss_choice import AUTO, WITHOUT_MARGINALS, LossChoice, choose_loss
from structlearn.estimators.mapped import MappedRows
from structlearn.estimators.scikit import BaseEstimator
from structlearn.estimators.training.running import EstimatorTraining, training_of
from structlearn.problem.registry import STRUCTURES
from structlearn.solvers.checkpoint import Checkpoint
from structlearn.solvers.progress import Watchable
from structlearn.solvers.solution import Certificate, History, Row, Solution
from structlearn.solvers.solver import Solver
from structlearn.structures import Structure

S = TypeVar("S", bound=Structure)


@dataclass(kw_only=True, eq=False, repr=False)
class StructuredEstimator(Watchable, BaseEstimator, Generic[S]):
    """Shared parameters of all estimators.

    Those with rows of features have `row_transformer` as well, which maps these rows (`mapped.MappedRows`).

    Parameters
    ----------
    loss : {"auto", "hinge", "perceptron", "softmax", "sparsemax"}
        "hinge" is the structural SVM, "softmax" the conditional random field, "sparsemax" SparseMAP;
        "perceptron" runs the averaged structured perceptron. "auto" is "softmax" where marginals are exact
        and cheap (classes, chains, segments, label sets without cycles) and "hinge" elsewhere; with a solver
        or a penalty for another loss alone, or a `cost`, it is that one. `loss_` tells which it was.
    solver : str or solver object
        "auto" picks "stochastic-extragradient" (or, where solver_options are theirs alone, "bcfw" for the
        hinge and "sdca" for smooth losses). docs/solvers.md has all names, and when to use which.
    regularization : float
        lambda in P(w) = lambda/2 ||w||^2 + mean loss. Not used by the perceptron.
    tol : float
        Training ends when the duality gap is at most this, in proportion to P(0) where that is below 0.1 or
        above 10 (see docs/certificate.md).
    max_passes, max_seconds : float
        Training ends after this many passes, with a warning, or after this many seconds, without one.
    fit_intercept : bool
        Adds a constant feature, regularised like any other.
    cost : "hamming", "count", array or mapping
        The task loss: mistakes over the length (labels, gold links), their number, or weighted.
    class_weight : mapping, "balanced" or None
    n_jobs : int or None
        Threads for training, evaluation and prediction. -1 means all cores. The way to the optimum depends
        on their number, but not on anything else.
    memory : int or str, optional
        Most memory that training shall take, such as "2GB"; what does not fit goes to mapped files in the
        folder for temporary files. For data larger than that see `structlearn.data.open_packed`.
    checkpoint : path or `structlearn.solvers.Checkpoint`, optional
        Folder to which training is written every minute, to go on from after an interruption.
    random_state : int, RandomState or None
    verbose : int
        1 writes a line to stderr at each evaluation.
    warm_start : bool
        Whether another `fit` on the same data goes on where the last one stopped.
    callback : callable, optional
        Called with each row of the history; training ends when it returns a true value.
    solver_options : dict, optional
        Options of the named solver: order, averaging, steps, cached_passes, step, eta, line_search ...
    """

    loss: str = AUTO
    solver: str | Solver[Any, Any] = "auto"
    regularization: float = 0.01
    tol: float = 1e-3
    max_passes: float = 1000
    max_seconds: float | None = None
    fit_intercept: bool = True
    cost: Weights = "hamming"
    class_weight: Weights | None = None
    n_jobs: int | None = 1
    memory: int | str | None = None
    checkpoint: str | PathLike[str] | Checkpoint | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
    warm_start: bool = False
    callback: Callable[[Row], object] | None = None
    solver_options: Mapping[str, object] | None = None

    # ---- what every fitted estimator has -----------------------------------------------------------------

    structure_: S = field(init=False)
    weights_: Array = field(init=False)
    certificate_: Certificate = field(init=False)
    history_: History = field(init=False)
    n_features_in_: int = field(init=False)
    #: the loss that was trained, which loss="auto" stood for
    loss_: str = field(init=False)
    #: where warm_start is set
    _solution: Solution = field(init=False)
    #: the share of rows with each label, where outputs are labels of rows
    _frequencies: Array = field(init=False)

    # ---- what a kind of estimators says of itself ---------------------------------------------------------

    #: How it is trained.
    trained_by: ClassVar[type[EstimatorTraining[Any]]] = EstimatorTraining
    #: Parameters that decide what the weights are of: predictions do by those of `fit`.
    of_layout: ClassVar[tuple[str, ...]] = ()
    #: How a model file holds it.
    _stored: ClassVar[StoredForm] = StoredForm({"n_features_in_": count})
    #: The kind of outputs, which decides what losses there are.
    output_kind: ClassVar[str] = STRUCTURES
    #: The kind of packed data that holds such examples, where a cluster can train on them.
    packed_as: ClassVar[str] = ""
    #: What solver="auto" stands for.
    usual_solvers: ClassVar[Auto] = ON_STRUCTURES
    #: Parameters that say what mistakes cost, which the hinge alone knows.
    of_cost: ClassVar[tuple[str, ...]] = ("cost", "class_weight")

    def __init_subclass__(cls, **options: object) -> None:
        """Help texts of estimators name all parameters."""
        super().__init_subclass__(**options)
        cls.__doc__ = with_inherited(cls)

    @property
    def usual_losses(self) -> tuple[str, ...]:
        """The losses that "auto" may stand for, the usual one first."""
        return WITHOUT_MARGINALS

    def chosen_loss(self) -> LossChoice:
        """Return the loss that `fit` would train with these parameters: its `name`, and the reason `why`."""
        return choose_loss(self)

    def check_parameters(self) -> None:
        """Refuse parameters that `fit` would refuse, without data: ValueError or TypeError."""
        training_of(self).solver_and_stopping()
        threads(self.n_jobs)
        if isinstance(self, MappedRows):
            self.check_row_transformer()

    def _weight_counts(self) -> set[int]:
        """Return the numbers of weights that a model file may hold: with and without an intercept."""
        return {self.n_features_in_, self.n_features_in_ + 1}

    def _check_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Raise ValueError if the arrays of a model file do not fit together."""

    def save(self, path: str | Path) -> None:
        """Write the fitted model as one safetensors file (see `structlearn.load`)."""
        from structlearn.estimators.files.persistence import save

        save(self, path)
