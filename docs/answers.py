"""The pictures of README.md, of shipped examples: `python docs/answers.py` draws them into docs/images."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import ListedColormap

from structlearn import Aligner, ChainClassifier, DecisionPredictor, GridClassifier, Tagger
from structlearn.alignment.corpus import load_corpus
from structlearn.apps.examples.example import write_example
from structlearn.cli.commands.example import example_of
from structlearn.data import read_decisions, train_test_digit_sequences
from structlearn.data.label_images import read_image_folder, windows

IMAGES = Path(__file__).parent / "images"
#: Blue, orange, green and purple that colour-blind people can tell apart (Okabe and Ito).
COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#CC79A7")


def draw_certificate() -> None:
    """A run of today's default solver, on the digits of the README."""
    X, _, y, _ = train_test_digit_sequences(kind="counters", noise=0.4)
    model = ChainClassifier(random_state=0).fit(X, y)
    history = model.history_
    figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
    passes, primal, dual = history["passes"], history["primal"], history["dual"]
    axes.fill_between(passes, dual, primal, color=COLOURS[0], alpha=0.35, label="the optimum is here")
    axes.plot(passes, primal, color="#D55E00", marker="o", markersize=3, label="primal: this model")
    axes.plot(passes, dual, color="#0072B2", marker="o", markersize=3, label="dual: no model is better")
    axes.set(xlabel="passes over the data", ylabel="objective", ylim=(0, 2.5 * primal[-1]))
    certificate = model.certificate_
    axes.set(title=f"gap {certificate.gap:.2g} after {certificate.passes:.0f} passes")
    axes.legend(frameon=False)
    figure.savefig(IMAGES / "certificate.png", dpi=150)


def draw_answers() -> None:
    """Answers of four models on data that they were not trained on."""
    figure = plt.figure(figsize=(10, 7), layout="constrained")
    panels = figure.subplots(2, 2)
    with tempfile.TemporaryDirectory() as folder:
        for draw, name, axes in zip(
            (_names, _links, _photo, _patients), ("ner", "align", "grid", "decide"), panels.flat
        ):
            write_example(example_of(name), Path(folder) / name)
            draw(Path(folder) / name, axes)
    figure.savefig(IMAGES / "answers.png", dpi=110)


def _columns(path: Path) -> tuple[list[list[str]], list[list[str]]]:
    """Words and labels of the sentences of a file."""
    blocks = [block.splitlines() for block in path.read_text().strip().split("\n\n")]
    words, labels = ([[line.split()[k] for line in block] for block in blocks] for k in (0, 1))
    return words, labels


def _names(folder: Path, axes: Axes) -> None:
    tagger = Tagger(task="ner", random_state=0).fit(*_columns(folder / "train.conll"))
    words, _ = _columns(folder / "test.conll")
    types = dict(zip(("PER", "LOC", "ORG"), COLOURS))
    shown = [k for k, spans in enumerate(tagger.predict_spans(words)) if spans][:6]
    spans = tagger.predict_spans([words[k] for k in shown])
    axes.set(xlim=(0, 52), ylim=(-2.4 * len(shown), 1.6), title="Names, with their probabilities")
    axes.axis("off")
    for row, (k, found) in enumerate(zip(shown, spans)):
        starts = np.concatenate([[0], np.cumsum([len(word) + 1 for word in words[k]])])
        for start, end, label, probability in found:
            left, right = starts[start], starts[end] - 1
            axes.text(
                (left + right) / 2, -2.4 * row + 0.75, f"{label} {probability:.2f}", ha="center", size=7
            )
            axes.barh(-2.4 * row, right - left + 0.6, 1.1, left=left - 0.3, color=types[label], alpha=0.5)
        for word, left in zip(words[k], starts):
            for place, letter in enumerate(word):
                axes.text(left + place + 0.5, -2.4 * row, letter, ha="center", va="center", size=8)


def _links(folder: Path, axes: Axes) -> None:
    corpus = load_corpus()
    train, test = corpus[:150], corpus[150:]
    aligner = Aligner(random_state=0).fit(
        [(one.source, one.target) for one in train], [one.links for one in train]
    )
    one = next(one for one in test if 9 <= len(one.source) <= 11)
    (table,) = aligner.confidences([(one.source, one.target)])
    (links,) = aligner.predict([(one.source, one.target)])
    places = [np.linspace(0.04, 0.96, len(words)) for words in (one.source, one.target)]
    for i, j in sorted(links):
        ends = [places[0][i], places[1][j]]
        axes.plot(ends, [0.82, 0.18], color="#0072B2", alpha=max(float(table[i, j]), 0.1), linewidth=2)
    for words, own, height in zip((one.source, one.target), places, (0.88, 0.12)):
        for word, x in zip(words, own):
            axes.text(x, height, word, ha="center", va="center", size=8)
    axes.set(xlim=(0, 1), ylim=(0, 1), title="Links between words; darker is surer")
    axes.axis("off")


def _photo(folder: Path, axes: Axes) -> None:
    train, test = (read_image_folder(folder / name) for name in ("train", "test"))
    model = GridClassifier(random_state=0, tol=0.01).fit([windows(x, 3) for x in train.X], train.y)
    tiles = iter(model.predict([windows(x, 3) for x in test.X]))
    pixels, seen = iter(test.X), iter(train.X)
    board = [[(k + j) % 2 for j in range(5)] for k in range(4)]
    photo: list[Any] = [[next(pixels) if own else next(seen) for own in row] for row in board]
    empty = np.full(test.X[0].shape[:2], np.nan)
    found = [[next(tiles) if own else empty for own in row] for row in board]
    axes.imshow(_joined(photo))
    axes.imshow(_joined(found), cmap=ListedColormap(COLOURS), vmin=-0.5, vmax=3.5, alpha=0.65)
    axes.set(title="Labels of the tiles that training did not see")
    axes.axis("off")


def _joined(rows: list[list[Any]]) -> Any:
    return np.concatenate([np.concatenate(row, axis=1) for row in rows], axis=0)


def _patients(folder: Path, axes: Axes) -> None:
    train, test = (read_decisions(folder / f"{name}.npz") for name in ("train", "test"))
    model = DecisionPredictor(train.structure, sense="max", random_state=0).fit(train.X, train.costs)
    invited = model.predict(test.X)[0] > 0.5
    costs: Any = test.costs
    order = np.argsort(-costs[0])
    colours = [COLOURS[1] if invited[k] else "#d0d4d8" for k in order]
    axes.bar(range(len(order)), costs[0][order], color=colours)
    axes.set(title="Which 3 of 10 patients to invite (orange)", ylabel="progression a year later")
    axes.set(xticks=range(len(order)), xticklabels=[str(k) for k in order], xlabel="patient")


if __name__ == "__main__":
    draw_certificate()
    draw_answers()
