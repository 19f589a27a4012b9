"""Structures as PyTorch layers: losses and predictions of scores that a network computes.

    values  Omega*(theta) = max_{z in M} <theta, z> - Omega(z)      gradient: the prediction
    answers z(theta)      = argmax_{z in M} <theta, z> - Omega(z)   derivative: J v, J symmetric

`StructuredLayer` returns answers, `StructuredLoss` Fenchel-Young losses; `CRF` owns the transitions of a
chain. `StructuredDistribution` is the distribution over outputs itself; `PerturbedLayer` answers with the
mean of the best outputs under noise, for structures without marginals. `DecisionLoss` trains networks that
predict costs for the decisions that are made by them.
"""

from structlearn.torch.crf import CRF
from structlearn.torch.decisions import DecisionLoss
from structlearn.torch.distributions import StructuredDistribution
from structlearn.torch.layers import StructuredLayer, StructuredLoss
from structlearn.torch.perturbed import PerturbedLayer

__all__ = [
    "CRF",
    "DecisionLoss",
    "PerturbedLayer",
    "StructuredDistribution",
    "StructuredLayer",
    "StructuredLoss",
]


def __dir__() -> list[str]:
    return sorted(__all__)
