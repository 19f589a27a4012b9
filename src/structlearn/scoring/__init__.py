"""Scoring: how features and weights make a score for each part of an output.

It is theta = Phi w and its adjoint. It never knows the polytope.
"""

from structlearn.scoring.arcs.arcs import ArcScoring
from structlearn.scoring.base import Scoring
from structlearn.scoring.joint import JointScoring
from structlearn.scoring.parts.parts import PartScoring
from structlearn.scoring.parts.sums import SumScoring
from structlearn.scoring.rows.rows import LabelScoring, RowScoring
from structlearn.scoring.rows.seen import SeenPairs, SeenRowScoring
from structlearn.scoring.selected import SelectedScoring

__all__ = [
    "ArcScoring",
    "JointScoring",
    "LabelScoring",
    "PartScoring",
    "RowScoring",
    "Scoring",
    "SeenPairs",
    "SeenRowScoring",
    "SelectedScoring",
    "SumScoring",
]


def __dir__() -> list[str]:
    return sorted(__all__)
