"""Linear regression: least squares as a Gaussian likelihood, with l2 and sparse penalties."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from structlearn.core.contract import Array
from structlearn.core.memory import Memory
from structlearn.core.sentences import ParameterError
from structlearn.core.threads import blas_threads
from structlearn.estimators.advice.columns import add_scaling_advice
from structlearn.estimators.choices import check_number, check_run, one_of
from structlearn.estimators.confidence.rows import COVERED, Intervals
from structlearn.estimators.files.attributes import StoredForm, check_shape, count, number, numbers
from structlearn.estimators.inputs.checking import check_sample_weight
from structlearn.estimators.mapped import MappedRows
from structlearn.estimators.regression.design import CentredData, quadratic_forms, times
from structlearn.estimators.regression.penalty_terms import penalty_terms
from structlearn.estimators.scikit import (
    BaseEstimator,
    RegressorMixin,
    Rows,
    Table,
    check_is_fitted,
    drawn_seed,
    warn_of_convergence,
)
from structlearn.estimators.training.fresh_fit import former_of, fresh_fit
from structlearn.problem.least_squares import LeastSquares
from structlearn.solvers.loop import Stopping, solve
from structlearn.solvers.progress import Watchable, report_progress
from structlearn.solvers.registry import SQUARES, solvers_for
from structlearn.solvers.solution import History, Row, Solution

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from structlearn.estimators.regression.bayes import GaussianPrediction
    from structlearn.estimators.regression.ridge import Ridge

PENALTIES = ("l2", "l1", "elasticnet", "group")
POSTERIORS = ("gaussian",)


@dataclass(kw_only=True, eq=False, repr=False)
class LinearRegressor(Intervals, MappedRows, Watchable, RegressorMixin, BaseEstimator):
    """Predict a number for each row.

    Minimises P(w) = R(w) + sum_i p_i 1/2 (y_i - <w, x_i> - b)^2.

    The p_i are 1/n, or sample weights over their sum. R(w) is, with lambda = `regularization`,

        "l2"          lambda/2 ||w||^2
        "l1"          lambda ||w||_1
        "elasticnet"  lambda (l1_ratio ||w||_1 + (1 - l1_ratio)/2 ||w||^2)
        "group"       lambda sum_g ||w_g||, without a factor for the size of a group

    so that scikit-learn's Lasso and ElasticNet with alpha = lambda, and Ridge with alpha = n lambda, minimise
    the same P. The intercept b is not penalised. Every fit ends with a duality gap in `certificate_`.

    The squared loss is the likelihood of y ~ N(<w, x> + b, sigma^2). `noise_variance_` estimates sigma^2 as
    sum_i (residual_i)^2 / (n - k), k the number of non-zero weights (for "l2" the trace of the hat matrix),
    plus one for the intercept, and n - k at least 1. A sample weight of 2 counts like two equal examples.

    Parameters
    ----------
    penalty : {"l2", "l1", "elasticnet", "group"}
    regularization : float
        lambda. 0 is ordinary least squares (the solution of least norm), which has a dual bound only where
        the columns of X are independent beyond rounding. Not used by `posterior`.
    l1_ratio : float
        For "elasticnet": 1 is "l1", 0 is "l2".
    groups : array of shape (n_features,), or list of lists of feature indices
        For "group": the group of each feature, or the features of each group, which must partition them.
    solver : {"auto", "direct", "coordinate-descent", "proximal"}
        "auto" solves "l2" directly, and others by coordinate descent on working sets, which is quickest when
        many weights are zero. "proximal" is accelerated proximal gradient (FISTA).
    tol : float
        Training ends when the duality gap is at most tol P(0).
    max_passes, max_seconds : float
        Training ends after this many sweeps, with a warning, or after this many seconds, without one.
    fit_intercept : bool
        By centring; sparse X stays sparse.
    posterior : None or "gaussian"
        "gaussian" (with "l2" only) is Bayesian linear regression: w ~ N(0, I/alpha), noise N(0, 1/beta), with
        alpha and beta by maximising the evidence, not by `regularization`; a flat prior for the intercept.
    row_transformer : transformer of scikit-learn, optional
        Maps the rows of X, see `structlearn.estimators.mapped.MappedRows`.
    random_state : int, RandomState or None
        Used for the hat matrix of a large sparse problem only, whose trace is estimated.
    verbose : int
        1 writes a line to stderr at each evaluation.
    warm_start : bool
        Whether another `fit` by an iterative solver starts at the weights of the last one.
    callback : callable, optional
        Called with each row of the history; training ends when it returns a true value.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    noise_variance_ : float
    weights_, n_features_in_, certificate_, history_
    conformal_scores_, n_conformal_ : after `conformalize`
    posterior_mean_, posterior_covariance_ : of the weights, for posterior="gaussian", as are the following
    prior_precision_, noise_precision_ : alpha and beta; `certificate_` is for lambda = alpha/(beta n)
    log_evidence_, evidence_path_ : log p(y | alpha, beta), at its maximum and the best so far of all maxima

    Examples
    --------
    >>> from structlearn import LinearRegressor
    >>> model = LinearRegressor(regularization=0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.predict([[3.0]]).round(6).tolist()
    [7.0]
    """

    penalty: str = "l2"
    regularization: float = 0.01
    l1_ratio: float = 0.5
    groups: Sequence[object] | Array | None = None
    solver: str = "auto"
    tol: float = 1e-3
    max_passes: float = 1000
    max_seconds: float | None = None
    fit_intercept: bool = True
    posterior: str | None = None
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
    warm_start: bool = False
    callback: Callable[[Row], object] | None = None

    _feature_means: Array = field(init=False)
    _n_examples: float = field(init=False)

    of_layout: ClassVar[tuple[str, ...]] = ()
    _stored: ClassVar[StoredForm] = StoredForm(
        {
            "n_features_in_": count,
            "intercept_": number,
            "noise_variance_": number,
            "posterior_covariance_?": numbers,
            "_feature_means?": numbers,
            "_n_examples?": number,
            **COVERED,
        },
        (None,),
    )

    # ---- training ----------------------------------------------------------------------------------

    def fit(self, X: Table, y: ArrayLike, sample_weight: ArrayLike | None = None) -> LinearRegressor:
        """Train on X of shape (n, d), dense or sparse, and n numbers."""
        with fresh_fit(self):
            self.check_parameters()
            solver = self._solver()
            layout = (
                {"accept_sparse": "csr"} if solver == "direct" else {"accept_sparse": "csc", "order": "F"}
            )
            rows, targets = self._checked_inputs(X, y, y_numeric=True, **layout)
            if sparse.issparse(rows) and not rows.has_canonical_format:
                rows = rows.copy()
                rows.sum_duplicates()
            rows = self.fit_rows(rows, Memory())
            weight = check_sample_weight(sample_weight, rows.shape[0])
            data = CentredData.of(rows, targets.astype(np.float64), weight, centred=self.fit_intercept)
            if self.posterior is not None:
                self._fit_posterior(data)
            elif solver == "direct":
                self._fit_direct(data)
            else:
                self._fit_iterative(data, solver)
            self._set_weights(data, self.weights_)
            self.structure_ = None
        return self

    def _set_weights(self, data: CentredData, w: Array) -> None:
        """Set the weights, and the intercept that goes with them."""
        self.weights_ = w
        self.intercept_ = data.intercept - float(data.A.means @ w)

    def _fit_posterior(self, data: CentredData) -> None:
        from structlearn.estimators.regression.bayes import maximise_evidence

        data.check_squares()
        begin = time.perf_counter()
        found = maximise_evidence(data.A, data.y, data.n)
        alpha, beta = found.prior_precision, found.noise_precision
        self.posterior_covariance_ = found.covariance
        self.prior_precision_, self.noise_precision_ = alpha, beta
        self.log_evidence_, self.evidence_path_ = float(found.path[-1]), found.path
        self.noise_variance_ = 1 / beta
        self._n_examples = data.n
        self._feature_means = data.A.means
        strength = alpha / (beta * data.n)
        self._certify_direct(data, self._ridge(data, strength), strength, begin)

    def _fit_direct(self, data: CentredData) -> None:
        data.check_squares()
        begin = time.perf_counter()
        found = self._ridge(data, self.regularization)
        self._certify_direct(data, found, self.regularization, begin)
        residual = data.A.residual(data.y, found.w)
        self._estimate_noise(data, found.trace, float(residual @ residual))

    def _ridge(self, data: CentredData, regularization: float) -> Ridge:
        from structlearn.estimators.regression.ridge import ridge

        seed = drawn_seed(self.random_state)
        most = int(min(self.max_passes, np.iinfo(np.int32).max))
        return ridge(data.A, data.y, regularization, max_iterations=most, seed=seed)

    def _certify_direct(self, data: CentredData, found: Ridge, regularization: float, begin: float) -> None:
        from structlearn.estimators.regression.ridge import ridge_certificate

        seconds, stopping = time.perf_counter() - begin, self._stopping()
        passes, bounds = max(found.iterations, 1), found.bounds
        row = Row(0, float(passes), passes, seconds, bounds.primal, bounds.dual, bounds.gap)
        certificate = ridge_certificate(found, row, stopping.tolerance(data.at_zero), self.max_passes)
        if not certificate.converged:
            certificate = add_scaling_advice(certificate, data.A.X, self, constant=False)
        self.weights_, self.history_, self.certificate_ = found.w, History([row]), certificate
        with report_progress(stopping, verbose=self.verbose, callback=self.callback) as callback:
            callback(row)
        if not certificate.converged and (bounds.bounded or passes >= self.max_passes):
            warn_of_convergence(certificate.status, stacklevel=4)

    def _fit_iterative(self, data: CentredData, solver: str) -> None:
        from structlearn.solvers.first_order.coordinate_descent import CoordinateDescent
        from structlearn.solvers.first_order.gradient import Proximal

        objective = self._objective(data)
        stopping = self._stopping()
        chosen: Any = Proximal()
        if solver == "coordinate-descent":
            chosen = CoordinateDescent(stopping.tolerance(data.at_zero).gap, self.max_passes)
        warm = None
        former = former_of(self)
        if self.warm_start and np.size(former.get("weights_", ())) == objective.n_weights:
            warm = Solution(former["weights_"], former["certificate_"])
        with report_progress(stopping, verbose=self.verbose, callback=self.callback) as callback:
            watch = self._weights_watcher(lambda w: self._set_weights(data, w))
            solution = solve(objective, chosen, stopping, callback=callback, warm=warm, watch=watch)
        self.weights_, self.history_ = solution.w, solution.history
        certificate = self.certificate_ = solution.certificate
        if not certificate.converged:
            certificate = self.certificate_ = add_scaling_advice(certificate, data.A.X, self, constant=False)
        if self.penalty == "l2":
            with blas_threads(1):
                used = self._ridge(data, self.regularization).trace
        else:
            used = float(np.count_nonzero(solution.w))
        residual = objective.residual(solution.w)
        self._estimate_noise(data, used, float(residual @ residual) / objective.n)
        if not certificate.converged and certificate.passes >= self.max_passes:
            warn_of_convergence(certificate.status, stacklevel=3)

    def _stopping(self) -> Stopping:
        return Stopping(self.tol, self.max_passes, self.max_seconds, relative=True)

    def _objective(self, data: CentredData) -> LeastSquares:
        """Return the objective on rows times sqrt(n p_i), centred in the rows or in the products."""
        X, means = data.A.columns(data.weighted)
        terms = penalty_terms(self, X.shape[1])
        axis = data.A.root if self.fit_intercept else None
        y = np.sqrt(X.shape[0]) * data.y
        return LeastSquares(
            X, y, terms.penalty, terms.l1, terms.l2, means=means, axis=axis, groups=terms.groups
        )

    def _estimate_noise(self, data: CentredData, used: float, mean_square: float) -> None:
        """Estimate the variance from the mean of the squared residuals and the degrees of freedom left."""
        self.noise_variance_ = data.n * mean_square / max(data.n - used - self.fit_intercept, 1.0)

    # ---- parameters --------------------------------------------------------------------------------

    def check_parameters(self) -> None:
        """Refuse parameters that `fit` would refuse, without data: ValueError or TypeError."""
        one_of("penalty", self.penalty, PENALTIES)
        one_of("solver", self.solver, ["auto", *solvers_for(SQUARES)])
        check_number("regularization", self.regularization)
        if check_number("l1_ratio", self.l1_ratio) > 1:
            raise ParameterError("{l1_ratio} must be at most 1; got {given}.", given=repr(self.l1_ratio))
        check_run(self.tol, self.max_passes, self.max_seconds, self.callback)
        if self.penalty == "group" and self.groups is None:
            raise ParameterError(
                "{penalty=group} needs groups: the group of each feature, or lists of feature indices."
            )
        if self.posterior is not None:
            one_of("posterior", self.posterior, POSTERIORS)
            if self.penalty != "l2":
                raise ParameterError(
                    "{penalty=} has no Gaussian posterior: use {penalty=l2} with posterior='gaussian', or "
                    "posterior=None.",
                    penalty=self.penalty,
                )
        self.check_row_transformer()
        self._solver()

    def _solver(self) -> str:
        """Return the name of the solver, "auto" resolved; ValueError if the named one cannot do it."""
        smooth = self.penalty == "l2" or self.regularization == 0
        smooth = smooth or (self.penalty == "elasticnet" and self.l1_ratio == 0)
        if self.posterior is not None or self.solver == "auto":
            return "direct" if smooth else "coordinate-descent"
        if self.solver == "direct" and not smooth:
            raise ParameterError(
                "Solver 'direct' needs {penalty=l2}; with {given} use {solver=coordinate-descent}.",
                given=repr(self.penalty),
            )
        if self.solver != "direct" and self.regularization == 0:
            raise ParameterError(
                "Solver {given} needs {regularization} > 0 for its gap; use {solver=direct} for 0.",
                given=repr(self.solver),
            )
        return self.solver

    # ---- the fitted model --------------------------------------------------------------------------

    @property
    def coef_(self) -> Array:
        """The weights, of shape (n_features,)."""
        return self.weights_

    @property
    def posterior_mean_(self) -> Array:
        """The mean of the weights' posterior, which is `coef_`."""
        self._check_posterior("posterior_mean_")
        return self.weights_

    def predict(self, X: Table, return_std: bool = False) -> Array | tuple[Array, Array]:
        """Return <w, x> + b; with `return_std` also the standard deviations of `predictive_distribution`."""
        if return_std:
            return self._mean_and_std(X)
        return times(self._rows_to_predict(X), self.weights_) + self.intercept_

    def predictive_distribution(self, X: Table) -> GaussianPrediction:
        """Return the normal distribution of y given x, with `mean`, `std`, `interval(level)`, `logpdf(y)`.

        Its variance is `noise_variance_`; with posterior="gaussian" what is not known of w and b adds to it,
        (x - mean)^T covariance (x - mean) + 1/(beta n).
        """
        from structlearn.estimators.regression.bayes import GaussianPrediction

        return GaussianPrediction(*self._mean_and_std(X))

    def credible_interval(self, level: float = 0.95) -> Array:
        """Return central intervals of the weights' posterior, of shape (n_features, 2)."""
        from structlearn.estimators.regression.bayes import central_interval

        check_is_fitted(self, "weights_")
        self._check_posterior("credible_interval")
        return central_interval(self.weights_, np.sqrt(self.posterior_covariance_.diagonal()), level)

    def _weight_counts(self) -> set[int]:
        return {self.row_map.n_scored}

    def _check_shapes(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        if hasattr(self, "posterior_covariance_"):
            (size,) = shapes["weights"]
            check_shape(shapes, "posterior_covariance_", (size, size))
            check_shape(shapes, "_feature_means", (size,))

    def save(self, path: str | Path) -> None:
        """Write the fitted model as one safetensors file (see `structlearn.load`)."""
        from structlearn.estimators.files.persistence import save

        save(self, path)

    def _rows_to_predict(self, X: Table) -> Rows:
        check_is_fitted(self, "weights_")
        return self.row_map.apply(self._checked_rows(X, order=None))

    def _check_posterior(self, name: str) -> None:
        if not hasattr(self, "posterior_covariance_"):
            raise AttributeError(f"{name} needs a posterior: fit with posterior='gaussian'.")

    def _mean_and_std(self, X: Table) -> tuple[Array, Array]:
        rows = self._rows_to_predict(X)
        mean = times(rows, self.weights_) + self.intercept_
        if not hasattr(self, "posterior_covariance_"):
            return mean, np.full(rows.shape[0], np.sqrt(self.noise_variance_))
        noise = self.noise_variance_ * (1.0 + (1.0 / self._n_examples if self.fit_intercept else 0.0))
        spread = quadratic_forms(rows, self._feature_means, self.posterior_covariance_)
        return mean, np.sqrt(noise + spread)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
