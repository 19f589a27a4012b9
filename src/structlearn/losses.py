"""Losses for people who bring their own scores: the public names of `structlearn.problem.losses`."""

from structlearn.problem.losses import (
    FenchelYoungLoss,
    Regularizer,
    Shannon,
    SquaredNorm,
    Tsallis,
    Zero,
)

__all__ = ["FenchelYoungLoss", "Regularizer", "Shannon", "SquaredNorm", "Tsallis", "Zero"]


def __dir__() -> list[str]:
    return sorted(__all__)
