"""The demonstration: handwritten numbers read digit by digit, and read as sequences."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.text_width import aligned
from structlearn.data.digits import train_test_digit_sequences
from structlearn.estimators import ChainClassifier, MulticlassClassifier
from structlearn.estimators.base import StructuredEstimator
from structlearn.metrics import exact_match, sequence_accuracy
from structlearn.reports import Page, plot_history, plot_sequences, plot_transitions, save_figure
from structlearn.storage.atomic import make_folder

#: Both models have the same parameters. The classifier's error hardly depends on this regularization.
SHARED: dict[str, Any] = {"regularization": 0.03, "tol": 1e-3, "max_passes": 5000, "random_state": 0}
HEADER = ("model", "digit error", "sequence error", "primal", "dual", "gap", "passes", "seconds")


class Reading(NamedTuple):
    """A trained model and how it read the test sequences."""

    name: str
    model: StructuredEstimator
    answers: list[Array]
    digit_error: float
    sequence_error: float


def run(
    out: str | Path,
    *,
    stream: TextIO | None = None,
    n_train: int = 300,
    n_test: int = 300,
    noise: float = 0.3,
) -> None:
    """Train a classifier of single digits and a chain on noisy counting sequences, and show the difference.

    out : folder for history.csv, the figures, model.safetensors and index.html; made if it is not there
    stream : where the table and the certificate go, instead of stdout; talk goes to stderr
    n_train, n_test : numbers of sequences
    noise : standard deviation of the noise on the pixels, which are between 0 and 1
    """
    out = make_folder(out)
    X, X_test, y, y_test = train_test_digit_sequences(
        n_train, n_test, kind="counters", noise=noise, random_state=0
    )
    _say(f"Training on {n_train} sequences of noisy handwritten digits, testing on {n_test} ...")
    single = MulticlassClassifier(**SHARED).fit(np.concatenate(X), np.concatenate(y))
    _say("The classifier of single digits is done; now the chain ...")
    chain = ChainClassifier(start=True, end=True, **SHARED).fit(X, y)
    readings = [
        _reading("single digits", single, [single.predict(images) for images in X_test], y_test),
        _reading("chain", chain, chain.predict(X_test), y_test),
    ]
    print(aligned([HEADER, *map(_cells, readings)]), file=stream)
    print(f"\n{chain.certificate_}\n", file=stream)
    _say("Drawing ...")
    _write_files(out, readings, chain, X_test, y_test)
    _page(out, readings, n_train, n_test, noise).write(out / "index.html")
    print(_next_steps(out), file=stream)


def _reading(name: str, model: StructuredEstimator, answers: list[Array], y: list[Array]) -> Reading:
    return Reading(name, model, answers, 1 - sequence_accuracy(y, answers), 1 - exact_match(y, answers))


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


# ---- the words on the terminal ---------------------------------------------------------------------


def _cells(reading: Reading) -> tuple[str, ...]:
    """One row of the table, as text."""
    made = reading.model.certificate_
    errors = (f"{error:.2%}" for error in (reading.digit_error, reading.sequence_error))
    values = (f"{value:.5f}" for value in (made.primal, made.dual, made.gap))
    return reading.name, *errors, *values, f"{made.passes:g}", f"{made.seconds:.2f}"


def _commands(model: str) -> str:
    info = f"structlearn info {shlex.quote(model)}"
    return f"{info}\nstructlearn train tag YOUR_DATA.txt --out tagger.safetensors"


def _next_steps(out: Path) -> str:
    commands = _commands(str(out / "model.safetensors")).replace("\n", "\n  ")
    title = "Next, see what the model file holds, and train a chain on sequences of your own"
    return f"{title}\n  {commands}\n\npage: {out / 'index.html'}"


# ---- the files -------------------------------------------------------------------------------------


def _write_files(
    out: Path, readings: Sequence[Reading], chain: ChainClassifier, X: list[Array], y: list[Array]
) -> None:
    chain.history_.to_csv(out / "history.csv")
    chain.save(out / "model.safetensors")
    shown = _telling(readings, y)
    figures = {
        "gap": plot_history({one.name: one.model.history_ for one in readings}),
        "transitions": plot_transitions(chain.transition_coef_, chain.classes_),
        "sequences": plot_sequences(
            [X[i] for i in shown],
            [y[i] for i in shown],
            {one.name: [one.answers[i] for i in shown] for one in readings},
        ),
    }
    for name, figure in figures.items():
        for kind in ("png", "svg"):
            save_figure(figure, out / f"{name}.{kind}")


def _telling(readings: Sequence[Reading], y: list[Array]) -> list[int]:
    """Test sequences with mistakes: some that only the first model makes, some of the last's; else any."""
    first, last = (
        [not np.array_equal(a, b) for a, b in zip(one.answers, y)] for one in (readings[0], readings[-1])
    )
    helped = [i for i in range(len(y)) if first[i] and not last[i]]
    failed = [i for i in range(len(y)) if last[i]]
    return (helped[:3] + failed[:2]) or list(range(min(4, len(y))))


# ---- the page --------------------------------------------------------------------------------------

_DATA = (
    "Each example is a run of 5 to 9 handwritten digits that counts upwards, such as 7 8 9 0 1, made of "
    "the 8 x 8 images that come with scikit-learn. Training used {n_train} such sequences and testing "
    "{n_test}, of other images. Noise of standard deviation {noise:g} was added to the pixels (white 0, "
    "black 1), so that a single digit is often hard to make out."
)
_MODELS = (
    "Two linear models saw the same pixels. The first, a multiclass SVM, looks at one digit at a time. "
    "The second, a chain, scores each digit in the same way and adds a learned weight for every step from "
    "one digit to the next; it then finds the best sequence as a whole. Nobody told it how counting "
    "works."
)
_TABLE = (
    "Digit error: the share of test digits read wrongly. Sequence error: the share of test sequences with "
    "at least one wrong digit. Passes: how often training looked at each example. Seconds: training "
    "only."
)
_CERTIFICATE = (
    "Training minimises a function of the weights, the primal value. The dual value is a proven lower "
    "bound: no weights whatever have a smaller primal value. So the gap between the two says how far from "
    "the optimum these weights can be at most, without anyone knowing the optimum. This is the chain's "
    "certificate."
)
_GAP = (
    "Training, from left to right. Left: the gap on a logarithmic scale, where a straight line down means "
    "that every pass shrinks it by the same factor; training stopped once it was at most {tol:g}. Right: "
    "the two values the gap lies between; the optimum is somewhere between a solid line and the dashed "
    "one of the same colour. The two models minimise different functions, so compare each with itself."
)
_SEQUENCES = (
    "Some test sequences, chosen because they hold mistakes (the table has the averages). Under each "
    "image stand the true digit and what each model read; a wrong digit is white in a coloured box. Where "
    "one image is unreadable, the chain can infer the digit from its neighbours."
)
_TRANSITIONS = (
    "What the chain learned about order: the weight of going from the digit of a row to the digit of a "
    "column. Orange is encouraged, purple discouraged. The orange stripe beside the diagonal says that "
    "each digit is followed by the next one, and the cell at the lower left that 9 is followed by 0."
)
_FILES = {
    "model.safetensors": "the trained chain, with its certificate; structlearn.load reads it",
    "history.csv": "the curves of the chain as numbers",
    "gap, sequences, transitions": "the figures, as .png and .svg",
}


def _page(out: Path, readings: Sequence[Reading], n_train: int, n_test: int, noise: float) -> Page:
    single, chain = readings
    lead = (
        f"Reading noisy digits one at a time gets {single.digit_error:.1%} of them wrong; "
        f"reading them as sequences, {chain.digit_error:.1%}."
    )
    page = Page("Handwritten numbers, read as sequences", lead)
    page.section("What was trained")
    page.text(_DATA.format(n_train=n_train, n_test=n_test, noise=noise)).text(_MODELS)
    page.table(HEADER, map(_cells, readings), _TABLE)
    page.section("How far from optimal is the model?").text(_CERTIFICATE)
    page.definitions(dict(line.split(": ", 1) for line in str(chain.model.certificate_).splitlines()))
    page.figure(
        out / "gap.png",
        _GAP.format(tol=SHARED["tol"]),
        alt="Curves of the gap, primal and dual values during training",
    )
    page.section("What the models read")
    page.figure(
        out / "sequences.png", _SEQUENCES, alt="Images of digits with the labels that each model gave them"
    )
    page.section("What the chain learned")
    page.figure(
        out / "transitions.png", _TRANSITIONS, alt="Heat map of the weights from each digit to the next"
    )
    page.section("How to go on").text(
        "In the folder of this page: look into the model file. Then train a chain on sequences of your own, "
        "written one item a line, columns separated by blanks, the label last, with an empty line between "
        "sequences."
    )
    return page.code(_commands("model.safetensors")).text("Beside this page:").definitions(_FILES)
