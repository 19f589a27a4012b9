"""Structures: sets of outputs, and the best, the expected and the nearest one for given scores.

Each is a polytope that maps theta to z. They know nothing of weights, features or data.
"""

from structlearn.structures.base import Structure
from structlearn.structures.chain.chain import Chain
from structlearn.structures.chain.conditioned import ConditionedChain
from structlearn.structures.checking import StructureReport, check_structure
from structlearn.structures.cut.cut import Cut
from structlearn.structures.flat.cube import Cube
from structlearn.structures.flat.simplex import Simplex
from structlearn.structures.graph.pairwise import PairwiseGraph
from structlearn.structures.labels.label_graph import LabelGraph
from structlearn.structures.matching.matching import Matching
from structlearn.structures.own import OwnStructure, as_structure
from structlearn.structures.segments.segments import Segments
from structlearn.structures.tree.labelled import LabelledTree
from structlearn.structures.tree.trees import NonProjectiveTree, ProjectiveTree

__all__ = [
    "Chain",
    "ConditionedChain",
    "Cube",
    "Cut",
    "LabelGraph",
    "LabelledTree",
    "Matching",
    "NonProjectiveTree",
    "OwnStructure",
    "PairwiseGraph",
    "ProjectiveTree",
    "Segments",
    "Simplex",
    "Structure",
    "StructureReport",
    "as_structure",
    "check_structure",
]


def __dir__() -> list[str]:
    return sorted(__all__)
