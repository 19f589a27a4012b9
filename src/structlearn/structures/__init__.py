"""Structures: sets of outputs, and the best, the expected and the nearest one for given scores.

Each is a polytope that maps theta to z. They know nothing of weights, features or data.
"""

from structlearn.structures.base import Structure
from structlearn.structures.chain.chain import Chain
from structlearn.structures.chain.conditioned import ConditionedChain
from structlearn.structures.chain.sparse import SparseChain
from structlearn.structures.checking import StructureReport, check_structure
from structlearn.structures.cut.cut import Cut
from structlearn.structures.decisions.assignment import Assignment
from structlearn.structures.decisions.knapsack import Knapsack
from structlearn.structures.decisions.paths import ShortestPath
from structlearn.structures.decisions.program import Program
from structlearn.structures.decisions.spanning_trees import SpanningTree
from structlearn.structures.decisions.subsets import Subset, TopK
from structlearn.structures.decisions.tours import Tour
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
    "Assignment",
    "Chain",
    "ConditionedChain",
    "Cube",
    "Cut",
    "Knapsack",
    "LabelGraph",
    "LabelledTree",
    "Matching",
    "NonProjectiveTree",
    "OwnStructure",
    "PairwiseGraph",
    "Program",
    "ProjectiveTree",
    "Segments",
    "ShortestPath",
    "Simplex",
    "SpanningTree",
    "SparseChain",
    "Structure",
    "StructureReport",
    "Subset",
    "TopK",
    "Tour",
    "as_structure",
    "check_structure",
]


def __dir__() -> list[str]:
    return sorted(__all__)
