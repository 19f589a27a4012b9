"""What `show` writes for a table: figures, confusions, reliability, weights, and the worst rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.wording import count_of, shorten
from structlearn.estimators.confidence.calibration import Reliability
from structlearn.estimators.inputs.feature_names import listed_names, numbered_names
from structlearn.reports import Page
from structlearn.reports.page import HistogramBar
from structlearn.reports.summaries import summary_row

if TYPE_CHECKING:
    from pathlib import Path

    from structlearn.cli.answers.confusions import Confusions
    from structlearn.cli.tasks.flat import FlatTask
    from structlearn.cli.tasks.task import Scores
    from structlearn.estimators.files.persistence import Bundle
    from structlearn.estimators.weights.top_weights import WeightGroup

#: Most characters of a cell that are shown.
LONGEST_CELL = 60
#: Most columns of DATA that a row shows, most classes of a table of confusions, most groups of weights.
MOST_COLUMNS, MOST_CLASSES, MOST_GROUPS = 12, 20, 20


def table_page(task: FlatTask, bundle: Bundle, path: Path, limit: int) -> Page:
    """Return the page of a model and a file with labels: at most `limit` of its rows, the worst first."""
    from structlearn.estimators.weights.top_weights import top_weights

    inputs = task.inputs(path, bundle, labels=True)
    if inputs.y is None:
        raise ValueError(f"{path} has no labels to compare with.")
    model, y, names = bundle.estimator, inputs.y, task.feature_names(bundle)
    predicted, soft = model.predict(inputs.X), task.soft_answers(bundle, inputs.X)
    wrong = task.how_wrong(bundle, y, predicted, soft)
    lead = f"{count_of(len(wrong), 'example')} of {path.name}."
    page = Page(f"Answers of a model: {bundle.notes['task']}", lead)
    add_scores(page, task.judge(bundle, [inputs]))
    if soft is not None and soft.ndim == 2:
        add_reliability(page, *task.judged_probabilities(bundle, y, predicted, soft))
        if hasattr(model, "temperature_"):
            page.text(f"The model was calibrated: its scores are divided by {model.temperature_:.4g}.")
    if hasattr(model, "n_conformal_"):
        n = count_of(model.n_conformal_, "row")
        page.text(f"The model was conformalized with {n}: predict --coverage writes {task.cover_name}s.")
    add_weights(page, _unmirrored(top_weights(model, 6, names, task.label_names(bundle))))
    worst = np.argsort(-wrong, kind="stable")[:limit]
    gold, found = (
        [
            _cell(value)
            for value in (one.tolist() if task.target_kind == "numbers" else task.lines(bundle, one))
        ]
        for one in (y, predicted)
    )
    page.section("The rows it is most wrong about").text(task.wrongness)
    answers = {"how wrong": lambda i: f"{wrong[i]:.4g}", "gold": gold.__getitem__, "found": found.__getitem__}
    inner = bundle.notes.get("features")
    add_rows(
        page,
        worst.tolist(),
        answers,
        inputs.X,
        numbered_names("index ", 1) if inner is None else listed_names(inner),
    )
    return page


def add_scores(page: Page, scores: Scores) -> None:
    """Add figures as cards, then the table of labels and that of confusions."""
    page.cards({name.replace("_", " "): _figure(value) for name, value in scores.values.items()})
    if scores.table is not None:
        header = [scores.table.noun, "precision", "recall", "F1", "gold", "found", "right"]
        rows = [summary_row(name, one) for name, one in scores.table.scores.items()]
        page.section(f"By {scores.table.noun}").table(header, rows)
    if scores.confusions is not None:
        _add_confusions(page.section("Confusions"), scores.confusions)


def _figure(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _add_confusions(page: Page, found: Confusions) -> None:
    if len(found.labels) > MOST_CLASSES:
        page.table(["gold", "taken for", "examples"], found.mistakes(), "The most frequent mistakes first.")
        return
    rows = [[gold, *(found.counts[gold, one] or "·" for one in found.labels)] for gold in found.labels]
    caption = "A row per class of the file, a column per answer."
    page.table(["gold", *found.labels], rows, caption, groups=[("", 1), ("found", len(found.labels))])


def add_reliability(page: Page, sure: Array, right: Array, what: str) -> None:
    """Add how often answers are right (labels are on), by tenths of their probability."""
    found = Reliability.of(np.column_stack([sure, right]))
    most, yes = found.counts.max(), "on" if what == "labels" else "right"
    bars = [
        HistogramBar(
            f"{k / 10:.1f} to {(k + 1) / 10:.1f}",
            n * share / most,
            n * (1 - share) / most,
            [int(n), f"{mean:.3f}", f"{share:.3f}"],
        )
        for k, (n, mean, share) in enumerate(zip(*found))
        if n
    ]
    page.section("Reliability").histogram(
        ["probability", f"{what}: {yes}, and not", what, "mean probability", f"share that is {yes}"],
        bars,
        "If probabilities mean what they say, the last two columns agree. The mean difference is "
        f"{found.error:.3f}.",
    )


def add_weights(page: Page, groups: Sequence[WeightGroup]) -> None:
    """Add the largest weights of each group, and which way they point."""
    page.section("The largest weights")
    for group in groups[:MOST_GROUPS]:
        page.part(group.kind if group.of is None else f"{group.kind} {group.of}")
        up, down = ("▲ more", "▼ less") if group.kind == "features" else ("▲ for it", "▼ against it")
        most = max((abs(weight) for _, weight in group.weights), default=1.0)
        bars = [
            HistogramBar(
                shorten(name, LONGEST_CELL),
                max(weight, 0) / most,
                max(-weight, 0) / most,
                [up if weight > 0 else down, f"{weight:+.4g}"],
            )
            for name, weight in group.weights
        ]
        page.histogram(["feature", "size", "direction", "weight"], bars, "")
    if len(groups) > MOST_GROUPS:
        page.text(f"The first {MOST_GROUPS} of {len(groups)} groups of weights are shown.")


def _unmirrored(groups: Sequence[WeightGroup]) -> Sequence[WeightGroup]:
    """Leave out the first of two classes, if its weights are those of the second with the other sign."""
    labels = [one for one in groups if one.kind == "label"]
    if len(labels) != 2:
        return groups
    first, second = (dict(one.weights) for one in labels)
    mirrored = first.keys() == second.keys() and all(
        np.isclose(weight, -second[name], rtol=1e-3) for name, weight in first.items()
    )
    return [one for one in groups if one is not labels[0]] if mirrored else groups


def add_rows(
    page: Page,
    order: Iterable[int],
    answers: Mapping[str, Callable[[int], object]],
    X: Any,
    names: Callable[[Array], list[str]],
) -> None:
    """Add the rows in this order: number, answers, and the first columns, by their names."""
    shown = min(X.shape[1], MOST_COLUMNS)
    rows = [[i + 1, *(_cell(of(i)) for of in answers.values()), *_cells(X, i, shown)] for i in order]
    left_out = f" The first {shown} of {X.shape[1]} columns are shown." if X.shape[1] > shown else ""
    page.table(["row", *answers, *names(np.arange(shown))], rows, f"Rows are numbered from 1.{left_out}")


def _cells(X: Any, i: int, n: int) -> list[str]:
    row = X[[i]]
    row = row.array() if hasattr(row, "array") else row.toarray() if hasattr(row, "toarray") else row
    return [_cell(cell) for cell in row[0, :n].tolist()]


def _cell(value: object) -> str:
    """Return a value as text: six digits of a number, nothing for what is missing, the start of long text."""
    if value is None or value != value:  # NaN
        return ""
    return f"{value:g}" if isinstance(value, float) else shorten(str(value), LONGEST_CELL)
