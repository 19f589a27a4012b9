"""Estimators with scikit-learn's conventions.

A new estimator is its own file, and an entry here (for type checkers an import as well): then it is a name of
the package, and model files may hold it.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

from structlearn.core.imports import keep_old_names
from structlearn.core.registry import Registry, resolve_name

if TYPE_CHECKING:
    from structlearn.estimators.binary import BinaryClassifier as BinaryClassifier
    from structlearn.estimators.chain import ChainClassifier as ChainClassifier
    from structlearn.estimators.cut import CutSegmenter as CutSegmenter
    from structlearn.estimators.decisions.predictor import DecisionPredictor as DecisionPredictor
    from structlearn.estimators.factor_graph import FactorGraphClassifier as FactorGraphClassifier
    from structlearn.estimators.graph import GraphClassifier as GraphClassifier
    from structlearn.estimators.grid import GridClassifier as GridClassifier
    from structlearn.estimators.matching import MatchingClassifier as MatchingClassifier
    from structlearn.estimators.multiclass import MulticlassClassifier as MulticlassClassifier
    from structlearn.estimators.multilabel import MultiLabelClassifier as MultiLabelClassifier
    from structlearn.estimators.regression.regressor import LinearRegressor as LinearRegressor
    from structlearn.estimators.segment_tagger import SegmentTagger as SegmentTagger
    from structlearn.estimators.segments import SegmentClassifier as SegmentClassifier
    from structlearn.estimators.structured import StructuredPredictor as StructuredPredictor
    from structlearn.estimators.tree_parser import TreeParser as TreeParser


class EstimatorEntry(NamedTuple):
    """An estimator by the name that model files give: its class, or where that is."""

    name: str
    made: str | type
    #: whether it is a name of `structlearn` itself
    at_root: bool = True


ESTIMATORS: Registry[EstimatorEntry] = Registry(
    "kind of estimator",
    [
        EstimatorEntry("BinaryClassifier", "structlearn.estimators.binary:BinaryClassifier"),
        EstimatorEntry("ChainClassifier", "structlearn.estimators.chain:ChainClassifier"),
        EstimatorEntry("CutSegmenter", "structlearn.estimators.cut:CutSegmenter"),
        EstimatorEntry("DecisionPredictor", "structlearn.estimators.decisions.predictor:DecisionPredictor"),
        EstimatorEntry("FactorGraphClassifier", "structlearn.estimators.factor_graph:FactorGraphClassifier"),
        EstimatorEntry("GraphClassifier", "structlearn.estimators.graph:GraphClassifier"),
        EstimatorEntry("GridClassifier", "structlearn.estimators.grid:GridClassifier"),
        EstimatorEntry("LinearRegressor", "structlearn.estimators.regression.regressor:LinearRegressor"),
        EstimatorEntry("MatchingClassifier", "structlearn.estimators.matching:MatchingClassifier"),
        EstimatorEntry("MultiLabelClassifier", "structlearn.estimators.multilabel:MultiLabelClassifier"),
        EstimatorEntry("MulticlassClassifier", "structlearn.estimators.multiclass:MulticlassClassifier"),
        EstimatorEntry("SegmentClassifier", "structlearn.estimators.segments:SegmentClassifier"),
        EstimatorEntry("SegmentTagger", "structlearn.estimators.segment_tagger:SegmentTagger", at_root=False),
        EstimatorEntry("StructuredPredictor", "structlearn.estimators.structured:StructuredPredictor"),
        EstimatorEntry("TreeParser", "structlearn.estimators.tree_parser:TreeParser"),
    ],
)


def __getattr__(name: str) -> Any:
    if name == "__all__":
        return list(ESTIMATORS)
    if name not in ESTIMATORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return resolve_name(ESTIMATORS[name].made)


def __dir__() -> list[str]:
    return sorted(ESTIMATORS)


keep_old_names(
    {
        f"{__name__}.regressor": f"{__name__}.regression.regressor",
        f"{__name__}.tables": f"{__name__}.inputs.tables",
        f"{__name__}.top_weights": f"{__name__}.weights.top_weights",
    }
)
