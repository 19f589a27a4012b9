"""Linear models as ONNX graphs, which run wherever an ONNX runtime does.

    from structlearn.onnx import export_onnx
    export_onnx(model, "model.onnx")

The graph takes `X`, float32 of shape (rows, features), and computes in float64. Its outputs are

    scores   (rows, labels), <w_k, x> + b_k; the prediction itself for regression
    labels   the class of each row; a 0/1 matrix for label sets; the best label sequence for chains, of
             which X is one sequence

The best sequence is found by two loops (Scan): prefixes ahead, and the way back along what they came from.
"""

from __future__ import annotations

import os
from typing import Any, cast

import numpy as np

from structlearn.core.contract import Array
from structlearn.estimators import (
    BinaryClassifier,
    ChainClassifier,
    LinearRegressor,
    MulticlassClassifier,
    MultiLabelClassifier,
)
from structlearn.estimators.loss_choice import trained_loss
from structlearn.estimators.row_maps.columns import Columns
from structlearn.estimators.row_maps.scaling import Standardised
from structlearn.estimators.row_maps.stored import StoredTransformer, stored_transformer
from structlearn.estimators.row_maps.table import Imputed, Unchanged
from structlearn.estimators.row_maps.table_columns import TableColumns
from structlearn.estimators.scikit import check_is_fitted
from structlearn.storage.atomic import atomic_write
from structlearn.structures import Chain, Cube
from structlearn.tables.maps import NumberMap

__all__ = ["export_onnx", "onnx_model"]

#: The version of ONNX's operators: `ReduceMax` takes its axes as an input since 18.
OPSET = 18
#: The version of the file format that goes with them, which runtimes of 2023 on read.
IR_VERSION = 9
NOT_WRITTEN = (
    "The rows are mapped by a transformer that is not written as ONNX; standardised columns of numbers are, "
    "also with missing values, but columns of text, dates and kernels are not."
)
_EXTRA = "ONNX files need the package onnx: pip install 'structlearn[onnx]'."


def __dir__() -> list[str]:
    return sorted(__all__)


def export_onnx(model: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted model as an ONNX file; ValueError that says what of it does not fit."""
    data = onnx_model(model).SerializeToString()
    with atomic_write(os.fspath(path)) as aside:
        aside.write_bytes(data)


def onnx_model(model: Any) -> Any:
    """Return a fitted model as an `onnx.ModelProto`; ValueError that says what of it does not fit."""
    try:
        import onnx
    except ImportError:
        raise ValueError(_EXTRA) from None
    check_is_fitted(model, "weights_")
    _refuse(model)
    graph = _Graph(onnx)
    rows = _mapped(graph, model)
    if isinstance(model, LinearRegressor):
        outputs = _regression(graph, rows, model)
    elif isinstance(model, BinaryClassifier):
        outputs = _binary(graph, rows, model)
    elif isinstance(model, MultiLabelClassifier) and model._form != "vector":
        outputs = _label_sets(graph, rows, model)
    elif isinstance(model, ChainClassifier):
        outputs = _chain(graph, rows, model)
    else:
        outputs = _classes(graph, rows, model)
    made = graph.model(outputs, model.n_features_in_)
    onnx.checker.check_model(made)
    return made


def _refuse(model: Any) -> None:
    """Raise ValueError for a model that has no place in a graph of numbers."""
    kinds = (
        LinearRegressor,
        BinaryClassifier,
        MulticlassClassifier,
        MultiLabelClassifier,
        ChainClassifier,
    )
    if not isinstance(model, kinds):
        raise ValueError(
            f"A {type(model).__name__} cannot be written as ONNX; linear models of rows and chains over "
            "arrays can."
        )
    if getattr(model, "features_", None) is not None:
        raise ValueError(
            "The model has a vocabulary of features, and an ONNX graph takes numbers; export it to crfsuite, "
            "or use structlearn.runtime."
        )
    if getattr(model, "candidate_starts_", None) is not None:
        raise ValueError("A tag dictionary is not written as ONNX; train without candidates.")
    if isinstance(model, ChainClassifier) and not isinstance(model.structure_, Chain):
        raise ValueError(
            "Transitions that depend on features are not written as ONNX; train without transition_features."
        )
    if isinstance(model, MultiLabelClassifier) and not isinstance(model.structure_, Cube):
        raise ValueError("Label sets with weights of pairs are not written as ONNX; train with edges='none'.")


class _Graph:
    """Nodes and constants of a graph, which are named as they come."""

    def __init__(self, onnx: Any) -> None:
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def constant(self, value: Any) -> str:
        """Add an array of numbers or strings; return its name."""
        array = np.asarray(value)
        name = f"constant_{len(self.constants)}"
        array = array.astype(object) if array.dtype.kind in "US" else array
        self.constants.append(self.onnx.numpy_helper.from_array(array, name))
        return name

    def add(self, kind: str, *inputs: str, outputs: tuple[str, ...] = (), **attributes: Any) -> str:
        """Add a node; return the name of its first output."""
        names = outputs or (f"{kind}_{len(self.nodes)}",)
        self.nodes.append(self.onnx.helper.make_node(kind, list(inputs), list(names), **attributes))
        return names[0]

    def body(self, name: str, inputs: list[Any], outputs: list[Any]) -> Any:
        """Return these nodes as the body of a loop."""
        return self.onnx.helper.make_graph(self.nodes, name, inputs, outputs, self.constants)

    def value(self, name: str, dtype: Any, shape: list[Any] | None) -> Any:
        """Describe an input or output; `shape` is None for any."""
        kind = self.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
        return self.onnx.helper.make_tensor_value_info(name, kind, shape)

    def model(self, outputs: list[Any], n_features: int) -> Any:
        """Return the whole model."""
        inputs = [self.value("X", np.float32, ["rows", n_features])]
        graph = self.body("structlearn", inputs, outputs)
        opset = self.onnx.helper.make_opsetid("", OPSET)
        return self.onnx.helper.make_model(
            graph, opset_imports=[opset], ir_version=IR_VERSION, producer_name="structlearn"
        )


def _mapped(graph: _Graph, model: Any) -> str:
    """Map rows as the model does, to float32 numbers; return them in float64."""
    rows = graph.add("Cast", "X", to=_type(graph, np.float64))
    if not hasattr(model, "row_transformer_"):
        return rows
    found = _map_rows(graph, rows, stored_transformer(model.row_transformer_))
    kept = graph.add("Cast", found, to=_type(graph, np.float32))
    return graph.add("Cast", kept, to=_type(graph, np.float64))


def _map_rows(graph: _Graph, rows: str, transformer: StoredTransformer) -> str:
    """Map rows by one map after the other; ValueError for one that is not of numbers, feature by feature."""
    for step in transformer.maps:
        if isinstance(step, Columns):
            parts = [
                _map_rows(graph, graph.add("Gather", rows, graph.constant(own), axis=1), one)
                for own, one in zip(step.columns, step.maps)
            ]
            rows = graph.add("Concat", *parts, axis=1)
        elif isinstance(step, Standardised):
            rows = rows if step.mean is None else graph.add("Sub", rows, graph.constant(step.mean))
            rows = rows if step.scale is None else graph.add("Div", rows, graph.constant(step.scale))
        elif isinstance(step, Imputed) and all(isinstance(one, int | float) for one in step.fill):
            rows = _fill(graph, rows, step)
        elif isinstance(step, TableColumns):
            rows = _read_table(graph, rows, step)
        elif not isinstance(step, Unchanged):
            raise ValueError(NOT_WRITTEN)
    return rows


def _read_table(graph: _Graph, rows: str, step: TableColumns) -> str:
    """Standardise columns of numbers, NaN where one is missing; ValueError for other columns."""
    parts = []
    for j, one in enumerate(step.table.maps):
        if one is None:
            continue
        if not (isinstance(one, NumberMap) and one.reading.kind == "number"):
            raise ValueError(NOT_WRITTEN)
        column = graph.add("Gather", rows, graph.constant([j]), axis=1)
        missing = graph.add("IsNaN", column)
        centred = graph.add("Sub", column, _number(graph, one.mean))
        scaled = graph.add("Div", centred, _number(graph, one.scale))
        parts.append(graph.add("Where", missing, _number(graph, one.fill), scaled))
        if one.indicator:
            parts.append(graph.add("Cast", missing, to=_type(graph, np.float64)))
    return graph.add("Concat", *parts, axis=1)


def _number(graph: _Graph, value: float) -> str:
    return graph.constant(np.full(1, value))


def _fill(graph: _Graph, rows: str, step: Imputed) -> str:
    """Fill missing numbers; columns that say where they were follow."""
    missing = graph.add("IsNaN", rows)
    filled = graph.add("Where", missing, graph.constant(np.array(step.fill, dtype=np.float64)), rows)
    if not step.indicators:
        return filled
    chosen = graph.add("Gather", missing, graph.constant(np.array(step.indicators)), axis=1)
    return graph.add("Concat", filled, graph.add("Cast", chosen, to=_type(graph, np.float64)), axis=1)


def _type(graph: _Graph, dtype: Any) -> int:
    return int(graph.onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


def _scores(graph: _Graph, rows: str, model: Any) -> str:
    """X W + b, of shape (rows, labels)."""
    coef = np.atleast_2d(model.coef_.toarray() if hasattr(model.coef_, "toarray") else model.coef_)
    product = graph.add("MatMul", rows, graph.constant(np.ascontiguousarray(coef.T, dtype=np.float64)))
    bias = np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64))
    return graph.add("Add", product, graph.constant(bias), outputs=("scores",))


def _score_info(graph: _Graph, n_labels: int) -> Any:
    return graph.value("scores", np.float64, ["rows", n_labels])


def _named(graph: _Graph, codes: str, classes: Array) -> Any:
    """Write labels <- classes[codes]; classes are strings or whole numbers."""
    named = classes.astype(np.int64) if classes.dtype.kind in "biu" else np.array(list(map(str, classes)))
    graph.add("Gather", graph.constant(named), codes, outputs=("labels",))
    kind = np.int64 if named.dtype.kind == "i" else object
    return graph.value("labels", kind, ["rows"])


def _regression(graph: _Graph, rows: str, model: LinearRegressor) -> list[Any]:
    _scores(graph, rows, model)
    return [_score_info(graph, 1)]


def _binary(graph: _Graph, rows: str, model: BinaryClassifier) -> list[Any]:
    """Write the second class where its score is positive; at 0 the one that is more frequent."""
    scores = _scores(graph, rows, model)
    second = float(getattr(model, "_frequencies", np.zeros(1))[0]) > 0.5
    zero = graph.constant(np.zeros(1))
    above = graph.add("GreaterOrEqual" if second else "Greater", scores, zero)
    codes = graph.add("Cast", graph.add("Squeeze", above, graph.constant([1])), to=_type(graph, np.int64))
    return [_named(graph, codes, model.classes_), _score_info(graph, 1)]


def _classes(graph: _Graph, rows: str, model: Any) -> list[Any]:
    codes = graph.add("ArgMax", _scores(graph, rows, model), axis=1, keepdims=0)
    return [_named(graph, codes, model.classes_), _score_info(graph, len(model.classes_))]


def _label_sets(graph: _Graph, rows: str, model: MultiLabelClassifier) -> list[Any]:
    scores = _scores(graph, rows, model)
    threshold = model.structure_.threshold if trained_loss(model) == "sparsemax" else 0.0
    on = graph.add("Greater", scores, graph.constant(np.full(1, threshold)))
    graph.add("Cast", on, to=_type(graph, np.int64), outputs=("labels",))
    n = len(model.classes_)
    return [graph.value("labels", np.int64, ["rows", n]), _score_info(graph, n)]


# ---- chains -----------------------------------------------------------------------------------------------


def _chain(graph: _Graph, rows: str, model: ChainClassifier) -> list[Any]:
    """Write Viterbi's algorithm; one label more stands for what is before the first position."""
    steps, last = _step_scores(model)
    k = len(model.classes_)
    scores = _scores(graph, rows, model)
    nothing = graph.constant(np.full(1, -np.inf))
    padded = graph.add("Pad", scores, graph.constant([0, 0, 0, 1]), graph.add("Squeeze", nothing))
    start = graph.constant(np.append(np.full(k, -np.inf), 0.0))
    graph.add(
        "Scan", start, padded, outputs=("best", "came_from"), body=_ahead(graph, steps), num_scan_inputs=1
    )
    final = graph.add("Add", "best", graph.constant(np.append(last, -np.inf)))
    code = graph.add("ArgMax", final, axis=0, keepdims=0)
    graph.add(
        "Scan",
        *(code, "came_from"),
        outputs=("before", "codes"),
        body=_back(graph, k + 1),
        num_scan_inputs=1,
        scan_input_directions=[1],
        scan_output_directions=[1],
    )
    return [_named(graph, "codes", model.classes_), _score_info(graph, k)]


def _step_scores(model: ChainClassifier) -> tuple[Array, Array]:
    """Return scores of steps (K + 1, K + 1), from the start last, and of the last label (K,)."""
    structure, k = cast(Chain, model.structure_), len(model.classes_)
    tables = structure.shared_tables(model.model_.rows.shared_weights)
    steps, first = np.full((k + 1, k + 1), -np.inf), np.zeros(k)
    steps[:k, :k], last = tables["transitions"], np.zeros(k)
    first, last = first + tables.get("start", 0.0), last + tables.get("end", 0.0)
    if structure.forbidden is not None:
        step, at_first, at_last = structure.masks
        steps[:k, :k] += step
        first, last = first + at_first, last + at_last
    steps[k, :k] = first
    return steps, last


def _ahead(outer: _Graph, steps: Array) -> Any:
    """best_t[k] <- score_t[k] + max_j best_(t-1)[j] + step[j, k], and which j that is."""
    graph, n = _Graph(outer.onnx), len(steps)
    column = graph.add("Unsqueeze", "best_before", graph.constant([1]))
    table = graph.add("Add", column, graph.constant(steps))
    most = graph.add("ReduceMax", table, graph.constant([0]), keepdims=0)
    graph.add("Add", most, "score", outputs=("best_here",))
    graph.add("ArgMax", table, axis=0, keepdims=0, outputs=("from",))
    inputs = [graph.value(name, np.float64, [n]) for name in ("best_before", "score")]
    return graph.body(
        "ahead", inputs, [graph.value("best_here", np.float64, [n]), graph.value("from", np.int64, [n])]
    )


def _back(outer: _Graph, n: int) -> Any:
    """Emit the label at t, and go on with where it came from."""
    graph = _Graph(outer.onnx)
    graph.add("Identity", "label", outputs=("label_here",))
    graph.add("Gather", "came", "label", outputs=("label_before",))
    inputs = [graph.value("label", np.int64, []), graph.value("came", np.int64, [n])]
    return graph.body(
        "back", inputs, [graph.value(name, np.int64, []) for name in ("label_before", "label_here")]
    )
