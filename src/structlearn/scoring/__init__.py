"""Scoring: theta = Phi w and its adjoint. Knows features and weights, never the polytope."""

from structlearn.scoring.base import Scoring
from structlearn.scoring.graphs import GraphScoring
from structlearn.scoring.parts import PartScoring
from structlearn.scoring.rows import RowScoring
from structlearn.scoring.sums import SumScoring

__all__ = ["GraphScoring", "PartScoring", "RowScoring", "Scoring", "SumScoring"]
