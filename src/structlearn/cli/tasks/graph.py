"""The task `graph`: a label for each node of graphs in .npz files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from structlearn.cli.tasks.label_table import table_of_labels
from structlearn.cli.tasks.task import Inputs, Scores, Task, Training, probability_lines
from structlearn.core.contract import Array
from structlearn.core.wording import count_of, plain
from structlearn.data import DataError, read_graphs, write_graphs
from structlearn.data.graphs import GraphFile, write_arrays
from structlearn.estimators.files.persistence import Bundle

if TYPE_CHECKING:
    from structlearn.reports import Page
    from structlearn.reports.summaries import Summary


def known_or_none(y: Sequence[Array] | None) -> Sequence[Array] | None:
    """Return the labels, if any of them is known."""
    return y if y is not None and any((one >= 0).any() for one in y) else None


class LabelledNodes(Task):
    """What the tasks `graph` and `grid` share: a label for each node, or pixel."""

    drawn = True
    error_name: ClassVar[str] = "share of wrong nodes"

    def check_target(self, target: str | None) -> None:
        if target is not None:
            raise ValueError(f"--target goes with tables; the labels of {self.labelled} have their place.")

    def check_classes(self, path: Path, y: Sequence[Array]) -> None:
        """DataError for a file with fewer than two labels to learn."""
        found = np.unique(np.concatenate([np.unique(one) for one in y]))
        known = found[found >= 0]
        if len(known) < 2:
            what = f"the label {known[0]} alone" if len(known) else "no label that is known"
            raise DataError(f"{path} has {what}; a classifier needs at least two classes.")

    def check_notes(self, bundle: Bundle) -> None:
        """Raise ValueError unless the labels are whole numbers, as in files."""
        classes = bundle.estimator.classes_
        if classes.dtype.kind not in "iu" or classes.min() < 0:
            raise ValueError("classes_ must be whole numbers of at least 0")

    def lines(self, bundle: Bundle, predicted: Iterable[Array]) -> Iterator[str]:
        """Return the labels of each example on a line."""
        return (" ".join(map(str, one.ravel().tolist())) for one in predicted)

    def outcome(self, values: Mapping[str, float | int], truths: Sequence[Any]) -> str:
        return super().outcome(values, [[labels[labels >= 0] for one in truths for labels in one]])

    def evaluate(self, bundle: Bundle, y: Sequence[Array], predicted: Sequence[Array]) -> Scores:
        """Return the shares of nodes and of examples with the right labels; scores per label, and means.

        Nodes whose labels are not known (-1) are left out.
        """
        gold, found = (
            np.concatenate([one.ravel() for one in y]),
            np.concatenate([one.ravel() for one in predicted]),
        )
        known = gold >= 0
        table = table_of_labels("label", self.labelled, gold[known].tolist(), found[known].tolist())
        overlap = [one.right / (one.gold + one.found - one.right) for one in table.scores.values()]
        whole = [np.array_equal(a[a >= 0], b[a >= 0]) for a, b in zip(y, predicted)]
        values = {
            "accuracy": float(np.mean(gold[known] == found[known])),
            "exact_match": float(np.mean(whole)),
            "mean_iou": sum(overlap) / len(overlap),
            **table.means(),
            self.labelled: int(known.sum()),
        }
        return Scores(values, int((~np.isin(gold[known], bundle.estimator.classes_)).sum()), table)

    def summary(
        self, bundle: Bundle, y: Sequence[Array] | None, predicted: Sequence[Array]
    ) -> Summary | None:
        """Return what a page says on top, where labels are known."""
        from structlearn.reports.summaries import Summary, summary_row

        if y is None:
            return None
        values, _, table, _ = self.evaluate(bundle, y, predicted)
        rows = [summary_row(label, one) for label, one in (table.scores.items() if table else ())]
        accuracy = f"{values['accuracy']:.4f}"
        return Summary("labels", self.labelled, accuracy, int(values[self.labelled]), rows)


class GraphTask(LabelledNodes):
    """Graphs in an .npz file: see `structlearn.data.graphs` for its arrays."""

    estimator = "GraphClassifier"
    packed = "graph"
    labelled = "nodes"

    def read(self, path: Path, target: str | None) -> Training:
        """Read graphs and their labels."""
        self.check_target(target)
        found = read_graphs(path)
        if found.y is None:
            raise DataError(f"{path} has no array labels to learn from.")
        self.check_classes(path, found.y)
        n_nodes, n_edges = len(found.arrays["nodes"]), len(found.arrays["edges"])
        n_features = found.arrays["nodes"].shape[1]
        nodes = f"{count_of(n_nodes, 'node')} with {count_of(n_features, 'feature')}"
        summary = f"{count_of(len(found.X), 'graph')}, {nodes}, {count_of(n_edges, 'edge')}"
        return Training(found.X, found.y, {"format": "npz"}, {}, summary)

    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read graphs, whose labels need not be there."""
        found = read_graphs(path)
        self._check_features(path, found, bundle.estimator)
        return Inputs(found.X, known_or_none(found.y), found)

    def _check_features(self, path: Path, graphs: GraphFile, model: Any) -> None:
        """Raise DataError for features, or types of nodes, that differ from those of training."""
        arrays = graphs.arrays
        edges = arrays["edge_features"].shape[1] if "edge_features" in arrays else 1
        given, known = (arrays["nodes"].shape[1], edges), (model.n_features_in_, len(model.edge_names()))
        for what, one, other in zip(("features per node", "edge features"), given, known):
            if one != other:
                raise DataError(f"{path} has {one} {what}, but the model was trained with {other}.")
        if hasattr(model, "types_"):
            if "node_types" not in arrays:
                raise DataError(f"{path} has no array node_types, but the model was trained with types.")
            new = np.setdiff1d(arrays["node_types"], model.types_)
            if new.size:
                raise DataError(f"{path} has nodes of type {new[0]}, which training had not.")

    def marginals(self, bundle: Bundle, X: object) -> Iterator[str]:
        """Yield the probabilities of the labels, one line per node, an empty line between graphs."""
        for i, table in enumerate(bundle.estimator.predict_marginals(X)):
            yield from [""] * (i > 0)
            yield from probability_lines(bundle.estimator.classes_.tolist(), table)

    def write(self, bundle: Bundle, inputs: Inputs, out: Path | None, *, marginals: bool) -> None:
        """Write the graphs with their labels filled in to a file named .npz; else lines."""
        if out is None or out.suffix.lower() != ".npz" or marginals:
            super().write(bundle, inputs, out, marginals=marginals)
            return
        answers = bundle.estimator.predict(inputs.X)
        if inputs.source is None:  # packed
            write_graphs(out, inputs.X, answers)
        else:
            write_arrays(out, {**inputs.source.arrays, "labels": np.concatenate(answers)})

    def page(self, bundle: Bundle, path: Path, limit: int) -> Page:
        """Draw the graphs on a page."""
        from structlearn.reports.graph_page import DrawnGraph, graph_page

        X, y, source = self.inputs(path, bundle, labels=True)
        graphs: Any = X
        answers = bundle.estimator.predict(X)
        positions = None if source is None else source.positions
        drawn = [
            DrawnGraph(
                len(one[0]),
                one[1],
                labels,
                None if y is None else y[i],
                None if positions is None else positions[i],
            )
            for i, (one, labels) in enumerate(zip(graphs, answers))
        ]
        title = f"Labelled graphs of {plain(path.name)}"
        return graph_page(drawn, title=title, limit=limit, summary=self.summary(bundle, y, answers))
