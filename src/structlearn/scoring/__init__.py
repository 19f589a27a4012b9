"""Scoring: theta = Phi w and its adjoint. Knows features and weights, never the polytope."""

from structlearn.scoring.arcs import ArcScoring
from structlearn.scoring.base import Scoring
from structlearn.scoring.graphs import GraphScoring
from structlearn.scoring.joint import JointScoring
from structlearn.scoring.parts import PartScoring
from structlearn.scoring.rows import RowScoring
from structlearn.scoring.sums import SumScoring

__all__ = [
    "ArcScoring",
    "GraphScoring",
    "JointScoring",
    "PartScoring",
    "RowScoring",
    "Scoring",
    "SumScoring",
]
