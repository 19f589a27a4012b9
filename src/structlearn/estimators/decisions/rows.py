"""Features with what else belongs to examples, as one argument: for callers that know X and y alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from structlearn.core.contract import Array
from structlearn.estimators.decisions.costs import Costs
from structlearn.estimators.decisions.layout import Instances


@dataclass(frozen=True)
class DecisionRows:
    """Features, costs that are known beforehand, and the structure of all examples if it is not the model's.

    `fit` and `predict` take it in the place of X.
    """

    X: Array
    known_costs: Array | None = None
    structure: object = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.X.shape

    def __len__(self) -> int:
        return len(self.X)

    def __getitem__(self, some: Any) -> DecisionRows:
        known = None if self.known_costs is None else self.known_costs[some]
        return DecisionRows(self.X[some], known, self.structure)

    @property
    def instances(self) -> Instances:
        """The structure of each example; None if they have the model's."""
        return None if self.structure is None else [self.structure] * len(self)


def unpack_rows(X: Any, instances: Instances, known_costs: Costs | None) -> tuple[Any, Instances, Any]:
    """Return features, instances and known costs as they were given, or those of `DecisionRows`."""
    return (X.X, X.instances, X.known_costs) if isinstance(X, DecisionRows) else (X, instances, known_costs)
