"""Structures: polytopes, theta -> z. They know nothing of weights, features or data."""

from structlearn.structures.base import Structure
from structlearn.structures.chain import Chain
from structlearn.structures.conditioned_chain import ConditionedChain
from structlearn.structures.cube import Cube
from structlearn.structures.cut import Cut
from structlearn.structures.label_graph import LabelGraph
from structlearn.structures.labelled_tree import LabelledTree
from structlearn.structures.matching import Matching
from structlearn.structures.own import OwnStructure, as_structure
from structlearn.structures.simplex import Simplex
from structlearn.structures.trees import NonProjectiveTree, ProjectiveTree

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
    "ProjectiveTree",
    "Simplex",
    "Structure",
    "as_structure",
]
