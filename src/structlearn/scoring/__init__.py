"""Scoring: theta = Phi w and its adjoint. Knows features and weights, never the polytope."""

from structlearn.scoring.arcs.arcs import ArcScoring
from structlearn.scoring.base import Scoring
from structlearn.scoring.joint import JointScoring
from structlearn.scoring.parts.graphs import GraphScoring
from structlearn.scoring.parts.parts import PartScoring
from structlearn.scoring.parts.sums import SumScoring
from structlearn.scoring.rows.rows import RowScoring

__all__ = [
    "ArcScoring",
    "GraphScoring",
    "JointScoring",
    "PartScoring",
    "RowScoring",
    "Scoring",
    "SumScoring",
]
