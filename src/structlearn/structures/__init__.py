"""Structures: sets of outputs, and the best, the expected and the nearest one for given scores.

Each is a polytope that maps theta to z. They know nothing of weights, features or data.
Structures that decide, and factor graphs, are imported when they are first used.
"""

from typing import TYPE_CHECKING

from structlearn.core.imports import names_of
from structlearn.structures.base import Structure
from structlearn.structures.chain.chain import Chain
from structlearn.structures.chain.conditioned import ConditionedChain
from structlearn.structures.chain.sparse import SparseChain
from structlearn.structures.checking import StructureReport, check_structure
from structlearn.structures.cut.cut import Cut
from structlearn.structures.flat.cube import Cube
from structlearn.structures.flat.simplex import Simplex
from structlearn.structures.graph.pairwise import PairwiseGraph
from structlearn.structures.labels.label_graph import LabelGraph
from structlearn.structures.matching.matching import Matching
from structlearn.structures.matching.monotone import MonotoneAlignment
from structlearn.structures.own import OwnStructure, as_structure
from structlearn.structures.registry import ON_FIRST_USE
from structlearn.structures.segments.segments import Segments
from structlearn.structures.tree.constituency import ConstituencyTree
from structlearn.structures.tree.labelled import LabelledTree
from structlearn.structures.tree.trees import NonProjectiveTree, ProjectiveTree

if TYPE_CHECKING:
    from structlearn.structures.decisions.assignment import Assignment as Assignment
    from structlearn.structures.decisions.knapsack import Knapsack as Knapsack
    from structlearn.structures.decisions.paths import ShortestPath as ShortestPath
    from structlearn.structures.decisions.program import Program as Program
    from structlearn.structures.decisions.spanning_trees import SpanningTree as SpanningTree
    from structlearn.structures.decisions.subsets import Subset as Subset
    from structlearn.structures.decisions.subsets import TopK as TopK
    from structlearn.structures.decisions.tours import Tour as Tour
    from structlearn.structures.factors.factor_graph import FactorGraph as FactorGraph

__all__ = [
    "Assignment",
    "Chain",
    "ConditionedChain",
    "ConstituencyTree",
    "Cube",
    "Cut",
    "FactorGraph",
    "Knapsack",
    "LabelGraph",
    "LabelledTree",
    "Matching",
    "MonotoneAlignment",
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

__getattr__, _ = names_of(__name__, ON_FIRST_USE)


def __dir__() -> list[str]:
    return sorted(__all__)
