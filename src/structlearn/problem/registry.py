"""The losses by name: help texts, refusals and the docs are made from their entries.

A new loss is its regulariser and an entry here.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from structlearn.core.registry import Registry, resolve_name

if TYPE_CHECKING:
    from structlearn.problem.regularizers import Regularizer

#: Kinds of outputs: one of two classes, one of several, decisions by predicted costs, and everything else.
BINARY, CLASSES, DECISIONS, STRUCTURES = "binary", "classes", "decisions", "structures"


@dataclass(frozen=True, kw_only=True)
class LossEntry:
    """A loss by name.

    Attributes
    ----------
    name : what users call it
    omega : its regulariser, or a function of nothing that makes it, or where that is
    family : "hinge", "smooth" or "perceptron", which decides who can train it
    what : what it is, in words
    outputs : the kinds of outputs that have it
    cost_augmented : whether wrong parts get their cost added
    """

    name: str
    omega: Regularizer | str
    family: str
    what: str
    outputs: tuple[str, ...] = (CLASSES, STRUCTURES)
    cost_augmented: bool = False

    @cached_property
    def regularizer(self) -> Regularizer:
        """Omega."""
        found: Regularizer = resolve_name(self.omega)() if isinstance(self.omega, str) else self.omega
        return found

    @property
    def smooth(self) -> bool:
        """Whether its predictions depend smoothly on the scores, so that there are probabilities."""
        return self.family == "smooth"


_ROOM = "structlearn.problem.regularizers"
_EVERYWHERE = (BINARY, CLASSES, STRUCTURES)

LOSSES: Registry[LossEntry] = Registry(
    "loss",
    [
        LossEntry(
            name="hinge",
            omega=f"{_ROOM}:Zero",
            family="hinge",
            what="the structural SVM: comes with a certificate and takes your `cost` into account",
            outputs=_EVERYWHERE,
            cost_augmented=True,
        ),
        LossEntry(
            name="perceptron",
            omega=f"{_ROOM}:Zero",
            family="perceptron",
            what="the averaged structured perceptron: quick, without regularisation or certificate",
            outputs=_EVERYWHERE,
        ),
        LossEntry(
            name="softmax",
            omega=f"{_ROOM}:Shannon",
            family="smooth",
            what="probabilities: a CRF on structures, softmax or logistic regression on classes",
            outputs=_EVERYWHERE,
        ),
        LossEntry(
            name="logistic",
            omega=f"{_ROOM}:Shannon",
            family="smooth",
            what="another name of softmax, for two classes",
            outputs=(BINARY,),
        ),
        LossEntry(
            name="sparsemax",
            omega=f"{_ROOM}:SquaredNorm",
            family="smooth",
            what="sparse probabilities: SparseMAP on structures",
            outputs=(*_EVERYWHERE, DECISIONS),
        ),
        LossEntry(
            name="entmax15",
            omega=f"{_ROOM}:Tsallis",
            family="smooth",
            what="between softmax and sparsemax (Tsallis entropy, alpha = 1.5)",
            outputs=(CLASSES,),
        ),
        LossEntry(
            name="spo+",
            omega=f"{_ROOM}:Zero",
            family="hinge",
            what="a convex bound of the regret of a decision: the hinge with true costs as costs of parts",
            outputs=(DECISIONS,),
            cost_augmented=True,
        ),
        LossEntry(
            name="imitation",
            omega=f"{_ROOM}:Zero",
            family="hinge",
            what="the hinge on the best decisions, whatever they cost",
            outputs=(DECISIONS,),
            cost_augmented=True,
        ),
        LossEntry(
            name="perturbed",
            omega=f"{_ROOM}:Zero",
            family="hinge",
            what="the Fenchel-Young loss of decisions with noisy scores, estimated by draws of the noise",
            outputs=(DECISIONS,),
        ),
        LossEntry(
            name="two-stage",
            omega=f"{_ROOM}:Zero",
            family="hinge",
            what="least squares on the costs, whatever is decided by them: the baseline",
            outputs=(DECISIONS,),
        ),
    ],
)


def losses_of(outputs: str) -> tuple[str, ...]:
    """Return the names of the losses that a kind of outputs has."""
    return tuple(entry.name for entry in LOSSES.values() if outputs in entry.outputs)
