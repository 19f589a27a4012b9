"""What training minimises, P, and the bound below it, D."""

from structlearn.problem.objective import Objective

__all__ = ["Objective"]


def __dir__() -> list[str]:
    return sorted(__all__)
