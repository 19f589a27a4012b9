"""Estimators with scikit-learn's conventions."""

from structlearn.estimators.binary import BinaryClassifier
from structlearn.estimators.chain import ChainClassifier
from structlearn.estimators.cut import CutSegmenter
from structlearn.estimators.matching import MatchingClassifier
from structlearn.estimators.multiclass import MulticlassClassifier
from structlearn.estimators.multilabel import MultiLabelClassifier
from structlearn.estimators.regressor import LinearRegressor
from structlearn.estimators.structured import StructuredPredictor
from structlearn.estimators.tree_parser import TreeParser

__all__ = [
    "BinaryClassifier",
    "ChainClassifier",
    "CutSegmenter",
    "LinearRegressor",
    "MatchingClassifier",
    "MultiLabelClassifier",
    "MulticlassClassifier",
    "StructuredPredictor",
    "TreeParser",
]
