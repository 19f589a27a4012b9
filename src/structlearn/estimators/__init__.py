"""Estimators with scikit-learn's conventions."""

from typing import TYPE_CHECKING

from structlearn.core.lazy import names_of
from structlearn.core.moved import keep_old_names

if TYPE_CHECKING:
    from structlearn.estimators.binary import BinaryClassifier
    from structlearn.estimators.chain import ChainClassifier
    from structlearn.estimators.cut import CutSegmenter
    from structlearn.estimators.graph import GraphClassifier
    from structlearn.estimators.grid import GridClassifier
    from structlearn.estimators.matching import MatchingClassifier
    from structlearn.estimators.multiclass import MulticlassClassifier
    from structlearn.estimators.multilabel import MultiLabelClassifier
    from structlearn.estimators.regression.regressor import LinearRegressor
    from structlearn.estimators.segment_tagger import SegmentTagger
    from structlearn.estimators.segments import SegmentClassifier
    from structlearn.estimators.structured import StructuredPredictor
    from structlearn.estimators.tree_parser import TreeParser

__all__ = [
    "BinaryClassifier",
    "ChainClassifier",
    "CutSegmenter",
    "GraphClassifier",
    "GridClassifier",
    "LinearRegressor",
    "MatchingClassifier",
    "MultiLabelClassifier",
    "MulticlassClassifier",
    "SegmentClassifier",
    "SegmentTagger",
    "StructuredPredictor",
    "TreeParser",
]

__getattr__, __dir__ = names_of(
    __name__,
    {
        "BinaryClassifier": "binary",
        "ChainClassifier": "chain",
        "CutSegmenter": "cut",
        "GraphClassifier": "graph",
        "GridClassifier": "grid",
        "LinearRegressor": "regression.regressor",
        "MatchingClassifier": "matching",
        "MultiLabelClassifier": "multilabel",
        "MulticlassClassifier": "multiclass",
        "SegmentClassifier": "segments",
        "SegmentTagger": "segment_tagger",
        "StructuredPredictor": "structured",
        "TreeParser": "tree_parser",
    },
)

keep_old_names(
    {
        f"{__name__}.regressor": f"{__name__}.regression.regressor",
        f"{__name__}.tables": f"{__name__}.inputs.tables",
        f"{__name__}.top_weights": f"{__name__}.weights.top_weights",
    }
)
