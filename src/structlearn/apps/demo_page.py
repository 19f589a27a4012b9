"""The page of the demonstration: what was trained and how surely, and where all of it is."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from structlearn.alignment.demonstration import AlignmentResult
from structlearn.apps.demo import HEADER, SHARED, DigitData, Reading, next_commands
from structlearn.reports import Page, plot_history

_LEAD = (
    "Two things that are predicted as wholes: rows of digits, and links between the words of two sentences. "
    "Each model comes with a certificate that says how far from the best one it can be."
)
_DIGITS = (
    "Each example is a run of 5 to 9 handwritten digits that counts upwards, such as 7 8 9 0 1, made of "
    "the 8 x 8 images that come with scikit-learn. Training used {n_train} such sequences and testing "
    "{n_test}, of other images. Noise of standard deviation {noise:g} was added to the pixels (white 0, "
    "black 1), so that a single digit is often hard to make out."
)
_MODELS = (
    "A linear model was trained twice, on the same pixels. First one digit at a time. Then on whole "
    "sequences, as a chain: it scores each digit in the same way, adds a learned weight for every step from "
    "one digit to the next, and finds the best sequence as a whole. Nobody told it how counting works."
)
_TABLE = (
    "Digit error: the share of test digits read wrongly. Sequence error: the share of test sequences with "
    "at least one wrong digit. Passes: how often training looked at each example. Seconds: training "
    "only, without compiling and loading code."
)
_CERTIFICATE = (
    "Training minimises a function of the weights, the primal value. The dual value is a proven lower "
    "bound: no weights whatever have a smaller primal value. So the gap between the two says how far from "
    "the optimum these weights can be at most, without anyone knowing the optimum. This is the chain's "
    "certificate."
)
_GAP = (
    "Training, from left to right. The gap on a logarithmic scale, where a straight line down means "
    "that every pass shrinks it by the same factor; training stopped once it was at most {tol:g}. And "
    "the two values the gap lies between; the optimum is somewhere between a solid line and the dashed "
    "one of the same colour. The two models minimise different functions, so compare each with itself."
)
_SEQUENCES = (
    "Some test sequences, chosen because they hold mistakes (the table has the averages). Under each "
    "image stand the true digit and what each model read; a wrong digit is in a coloured box. Where "
    "one image is unreadable, the chain can infer the digit from its neighbours."
)
_TRANSITIONS = (
    "What the chain learned about order: the weight of going from the digit of a row to the digit of a "
    "column. Orange is encouraged, purple discouraged. The orange stripe beside the diagonal says that "
    "each digit is followed by the next one, and the cell at the lower left that 9 is followed by 0."
)
_ALIGNMENT = (
    "Which English word stands for which French one? Counts over the whole text, without any links given, "
    "make an alignment error rate (AER) of {unsupervised:.1%} on {n_test} sentence pairs. A model that also "
    "saw the links of {n_train} other pairs, and that chooses all links of a pair together, has "
    "{supervised:.1%}. Its certificate:"
)
_FILES = {
    "alignment.html": "the test pairs with their links, right and wrong, and how sure the aligner is",
    "model.safetensors": "the trained chain, with its certificate; structlearn.load reads it",
    "aligner.safetensors": "the trained word aligner, with its certificate",
    "history.csv": "the curves of the chain as numbers",
    "gap.png": "the way to the optimum, as a picture",
    "gap.svg": "the same, to be scaled",
    "sequences.png": "what the models read, as a picture",
    "sequences.svg": "the same, to be scaled",
    "transitions.png": "what the chain learned about order, as a picture",
    "transitions.svg": "the same, to be scaled",
}
_NEXT = (
    "Type these in the folder of this page: look into a model file; align text of your own with the "
    "aligner; train a classifier on a table with a header; train a tagger on a file with one word per "
    "line, columns separated by blanks, the label last, an empty line between sentences; watch solvers race."
)


def demo_page(out: Path, data: DigitData, readings: Sequence[Reading], words: AlignmentResult) -> Page:
    """Return the page of what is in the folder `out`."""
    single, chain = readings
    page = Page("structlearn, demonstrated", _LEAD)
    page.cards(
        {
            "digits wrong, read one at a time": f"{single.digit_error:.1%}",
            "digits wrong, read as sequences": f"{chain.digit_error:.1%}",
            "link error (AER) without links to learn from": f"{words.unsupervised:.1%}",
            "link error (AER) with them": f"{words.supervised:.1%}",
        }
    )
    _add_digits(page, out, data, readings)
    page.section("Words, aligned").text(
        _ALIGNMENT.format(**{name: value for name, value in words._asdict().items() if name != "certificate"})
    )
    page.certificate(words.certificate)
    page.links({"alignment.html": _FILES["alignment.html"]})
    page.section("How to go on").text(_NEXT).code("\n".join(next_commands(Path())))
    return page.section("All files of this folder").links(_FILES)


def _add_digits(page: Page, out: Path, data: DigitData, readings: Sequence[Reading]) -> None:
    page.section("Handwritten numbers, read as sequences")
    page.text(_DIGITS.format(n_train=len(data.X), n_test=len(data.X_test), noise=data.noise)).text(_MODELS)
    page.table(HEADER, (one.cells() for one in readings), _TABLE)
    page.figure(
        out / "sequences.svg", _SEQUENCES, alt="Images of digits with the labels that each model gave them"
    )
    page.part("How far from optimal is the model?").text(_CERTIFICATE)
    page.certificate(readings[-1].model.certificate_)
    page.figure(
        out / "gap.svg",
        _GAP.format(tol=SHARED["tol"]),
        alt="Curves of the gap, primal and dual values during training",
        narrow=plot_history({one.name: one.model.history_ for one in readings}, stacked=True),
    )
    page.part("What did it learn?")
    page.figure(
        out / "transitions.svg", _TRANSITIONS, alt="Heat map of the weights from each digit to the next"
    )
