"""The demonstration: handwritten numbers read as sequences, and words aligned; one page leads to it all."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TextIO

import numpy as np

from structlearn.alignment import demonstration
from structlearn.core.contract import Array
from structlearn.core.wording import align_columns
from structlearn.data.digits import train_test_digit_sequences
from structlearn.estimators import ChainClassifier
from structlearn.metrics import exact_match, sequence_accuracy
from structlearn.reports import plot_history, plot_sequences, plot_transitions
from structlearn.reports.plots import save_both
from structlearn.storage.atomic import make_folder

#: Both models have the same parameters. The error of single digits hardly depends on this regularization.
SHARED: dict[str, Any] = {
    "loss": "hinge",
    "regularization": 0.03,
    "tol": 1e-3,
    "max_passes": 5000,
    "random_state": 0,
}
HEADER = ("model", "digit error", "sequence error", "primal", "dual", "gap", "passes", "seconds")


class Reading(NamedTuple):
    """A trained model and how it read the test sequences."""

    name: str
    model: ChainClassifier
    answers: list[Array]
    digit_error: float
    sequence_error: float

    def cells(self) -> tuple[str, ...]:
        """Return the model's row of the table, as text."""
        made = self.model.certificate_
        errors = (f"{error:.2%}" for error in (self.digit_error, self.sequence_error))
        values = (f"{value:.5f}" for value in (made.primal, made.dual, made.gap))
        return self.name, *errors, *values, f"{made.passes:g}", f"{made.seconds:.2f}"


class DigitData(NamedTuple):
    """Sequences of noisy images of digits: for training, and of other images for testing."""

    X: list[Array]
    X_test: list[Array]
    y: list[Array]
    y_test: list[Array]
    noise: float


def run_demo(
    out: str | Path,
    *,
    stream: TextIO | None = None,
    n_train: int = 300,
    n_test: int = 300,
    noise: float = 0.3,
) -> None:
    """Train two readers of noisy counting sequences and a word aligner; show what they do, and how surely.

    out : folder for the pages, figures, models and tables; made if it is not there
    stream : where tables and certificates go, instead of stdout; talk goes to stderr
    n_train, n_test : numbers of sequences
    noise : standard deviation of the noise on the pixels, which are between 0 and 1
    """
    from structlearn.apps.demo_page import demo_page

    out = make_folder(out)
    split = train_test_digit_sequences(n_train, n_test, kind="counters", noise=noise, random_state=0)
    data = DigitData(*split, noise)
    readings = _read_digits(data)
    print(align_columns([HEADER, *(one.cells() for one in readings)]), file=stream)
    print(f"\n{readings[-1].model.certificate_}", file=stream)
    words = demonstration.demonstrate(out, stream=stream)
    _say("Drawing ...")
    _write_files(out, readings, data)
    demo_page(out, data, readings, words).write(out / "index.html")
    print(_next_steps(out), file=stream)


def _say(sentence: str) -> None:
    print(sentence, file=sys.stderr, flush=True)


# ---- handwritten numbers ---------------------------------------------------------------------------


def _read_digits(data: DigitData) -> list[Reading]:
    """Train the same model twice: on single digits, which are sequences of one, and on whole sequences."""
    _say(f"Reading digits: training on {len(data.X)} noisy sequences, testing on {len(data.X_test)} ...")
    single = ChainClassifier(**SHARED).fit(_apart(data.X), _apart(data.y))
    chain = ChainClassifier(start=True, end=True, **SHARED).fit(data.X, data.y)
    ends = np.cumsum([len(one) for one in data.y_test])[:-1]
    alone = np.split(np.concatenate(single.predict(_apart(data.X_test))), ends)
    return [
        _reading("single digits", single, alone, data.y_test),
        _reading("whole sequences", chain, chain.predict(data.X_test), data.y_test),
    ]


def _apart(sequences: list[Array]) -> list[Array]:
    """Return each item as a sequence of its own."""
    flat = np.concatenate(sequences)
    return [flat[k : k + 1] for k in range(len(flat))]


def _reading(name: str, model: ChainClassifier, answers: list[Array], y: list[Array]) -> Reading:
    return Reading(name, model, answers, 1 - sequence_accuracy(y, answers), 1 - exact_match(y, answers))


def _write_files(out: Path, readings: Sequence[Reading], data: DigitData) -> None:
    chain = readings[-1].model
    chain.history_.to_csv(out / "history.csv")
    chain.save(out / "model.safetensors")
    shown = _telling(readings, data.y_test)
    figures = {
        "gap": plot_history({one.name: one.model.history_ for one in readings}),
        "transitions": plot_transitions(chain.transition_coef_, chain.classes_),
        "sequences": plot_sequences(
            [data.X_test[i] for i in shown],
            [data.y_test[i] for i in shown],
            {one.name: [one.answers[i] for i in shown] for one in readings},
        ),
    }
    for name, figure in figures.items():
        save_both(figure, out / name)


def _telling(readings: Sequence[Reading], y: list[Array]) -> list[int]:
    """Test sequences with mistakes: some that only the first model makes, some of the last's; else any."""
    first, last = (
        [not np.array_equal(a, b) for a, b in zip(one.answers, y)] for one in (readings[0], readings[-1])
    )
    helped = [i for i in range(len(y)) if first[i] and not last[i]]
    failed = [i for i in range(len(y)) if last[i]]
    return (helped[:3] + failed[:2]) or list(range(min(4, len(y))))


# ---- how to go on ----------------------------------------------------------------------------------


def next_commands(folder: Path) -> list[str]:
    """Return what to type next: look into the models, and train models of one's own."""
    model, aligner = (
        shlex.quote(str(folder / name)) for name in ("model.safetensors", "aligner.safetensors")
    )
    return [
        f"structlearn info {model}",
        "structlearn example ner",
        f"structlearn align apply {aligner} --src YOUR_TEXT.en --tgt YOUR_TEXT.fr --out links.txt",
        "structlearn train classify YOUR_TABLE.csv --target COLUMN --out classifier.safetensors",
        "structlearn compare triplets --out race",
    ]


def _next_steps(out: Path) -> str:
    commands = "".join(f"  {command}\n" for command in next_commands(out))
    title = "Next, look into a model, use one, train your own, and watch solvers race"
    return f"\n{title}\n{commands}\npage: {out / 'index.html'}"
