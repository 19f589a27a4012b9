"""A truncation chosen from a list: of the models that are trained with each, the one of the least objective.

P is then minimised over the weights and the truncation together: features, costs and lambda are the same for
all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from structlearn.core.wording import quote
from structlearn.estimators.training.fresh_fit import fresh_fit
from structlearn.structures.graph.tables import POWERS, check_truncation

if TYPE_CHECKING:
    from structlearn.estimators.graph import GraphClassifier


def truncation_of(estimator: GraphClassifier) -> float | None:
    """Return the truncation that an estimator trains with; None where there are several to choose from.

    1 of tables that have none.
    """
    given = estimator.truncation
    if estimator.pairs not in POWERS:
        return 1.0
    if estimator.latent_states is not None:
        raise ValueError(f"pairs={estimator.pairs!r} goes by the order of labels: leave out latent_states.")
    if not isinstance(given, Iterable):
        return check_truncation(given)
    if not (several := [check_truncation(one) for one in given]):
        raise ValueError(f"truncation is a number or a list of numbers; got {quote(given)}.")
    if estimator.checkpoint is not None or estimator.warm_start:
        raise ValueError("truncation is a single number with checkpoint or warm_start.")
    return several[0] if len(several) == 1 else None


def fit_best_truncation(
    estimator: GraphClassifier, data: tuple[Any, ...], options: Mapping[str, Any]
) -> None:
    """Fit the estimator with the truncation of the least P."""
    with fresh_fit(estimator):
        parameters, tried = estimator.get_params(deep=False), []
        for one in estimator.truncation:  # type: ignore[union-attr]
            model = type(estimator)(**{**parameters, "truncation": float(one)})
            tried.append(model.fit(*data, **options))
        best = min(tried, key=lambda model: model.certificate_.primal)
        for name, value in vars(best).items():
            if name not in parameters:
                setattr(estimator, name, value)
