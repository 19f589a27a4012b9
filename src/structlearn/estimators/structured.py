"""Any structure, the user's own too."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from structlearn.estimators.inputs import as_list
from structlearn.estimators.parts import PartEstimator
from structlearn.metrics import exact_match
from structlearn.structures import Structure, as_structure


@dataclass(kw_only=True, eq=False, repr=False)
class StructuredPredictor(PartEstimator):
    """Linear prediction over any structure: theta = F w, with features for each part.

    The parameters are those of `StructuredEstimator`, and two more.

    Parameters
    ----------
    structure : object
        One of `structlearn.structures`; or any object with `maximize(theta) -> vertex`; or one with a Numba
        function `oracle(theta, out) -> value`, or that function itself, which is compiled into the solver.
        It may have `encode(y)`, `decode(vertex)` and `cost(mu)`; without them an output is its 0/1 part
        vector and the cost is Hamming over parts.
    scoring : callable, optional
        Turns one example x into its features, of shape (n_parts, d). Without it, x is those features.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
    intercept_ : float
    n_features_in_, weights_, certificate_, history_
    """

    structure: Any = field(default=None, kw_only=False)
    scoring: Callable[[Any], Any] | None = field(default=None, kw_only=False)
    fit_intercept: bool = False

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> StructuredPredictor:
        """Train on a list of examples and a list of outputs."""
        self._train(self._lay_out(X, y, sample_weight))
        return self

    def _make_structure(self) -> Structure:
        if self.structure is None:
            raise ValueError("StructuredPredictor needs a structure: StructuredPredictor(structure).")
        return as_structure(self.structure)

    def _read(self, X: Any, structure: Structure) -> Any:
        features = X if self.scoring is None else [self.scoring(x) for x in as_list(X, "X")]
        return super()._read(features, structure)

    def predict(self, X: Any) -> list[Any]:
        """The best output of each example."""
        return [self.structure_.decode(vertex) for vertex in self._predict_parts(X)]

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of outputs that are right as a whole."""
        return exact_match(y, self.predict(X), sample_weight)
