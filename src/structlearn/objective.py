"""P and D of a training problem: the public names of `structlearn.problem.objective`."""

from structlearn.problem.objective import Objective

__all__ = ["Objective"]


def __dir__() -> list[str]:
    return sorted(__all__)
