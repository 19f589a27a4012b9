"""Losses for people who bring their own scores, such as the last layer of a network."""

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
