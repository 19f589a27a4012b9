"""The problems of the scaling study: real data, an estimator, and how to take some of the examples.

Costs are shares (of letters, labels, heads; of gold links, of which there may be fewer than wrong ones) and
there is no intercept, so that P(0) is 1, for alignment 4.5, and gaps mean about the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from structlearn.alignment.gold.concatenated import UntiedMatching, WordMatcher, WordPairs
from structlearn.alignment.gold.nearest import N_TEST, nearest_problem
from structlearn.core.registry import one_of
from structlearn.data import DataError, located, read_letters, read_libsvm
from structlearn.data.digits import digit_images
from structlearn.data.registry import by_hand, data_set, file_of
from structlearn.estimators import ChainClassifier, MulticlassClassifier, MultiLabelClassifier, TreeParser
from structlearn.estimators.base import StructuredEstimator
from structlearn.parsing.conllu import read_conllu
from structlearn.reports.scaling.study import StudyProblem

#: Weights of the parser. Cutting planes keep a hundred vectors of this size.
PARSER_BITS = 18
#: Sentence pairs of the alignment study unless more are asked for; the corpus has 359,595.
MOST_PAIRS = 10_000


class StudyExamples(NamedTuple):
    """All examples of a problem."""

    X: Any
    y: Any

    def __len__(self) -> int:
        return len(self.y)

    def some(self, which: Sequence[int]) -> StudyExamples:
        """Return the examples of these numbers."""
        return StudyExamples(_some(self.X, which), _some(self.y, which))


def _some(values: Any, which: Sequence[int]) -> Any:
    if isinstance(values, WordPairs):
        return values.some(which)
    return values[which] if isinstance(values, np.ndarray) else [values[i] for i in which]


@dataclass(frozen=True)
class ProblemEntry:
    """A problem of the study.

    what : examples and outputs, in words
    data : name of its data set; "" for what comes with scikit-learn
    estimator : makes it
    load : from the data set's folder and how many examples are wanted to the examples
    stand_in : whether there is other, smaller data where the data set is not here
    """

    what: str
    data: str
    estimator: Callable[[], StructuredEstimator]
    load: Callable[[Path | None, int | None], StudyExamples]
    stand_in: bool = False

    def is_here(self, folder: Path | None) -> bool:
        """Return whether its data set is on this machine."""
        return not self.data or located(self.data, folder) is not None


def _letters(folder: Path | None, most: int | None) -> StudyExamples:
    X, y, _ = read_letters(file_of(_require_folder(folder), "letter.data"))
    return StudyExamples(X, y)


def _scene(folder: Path | None, most: int | None) -> StudyExamples:
    """Load both halves: nothing is tested."""
    parts = [
        read_libsvm(file_of(_require_folder(folder), name), multilabel=True, n_features=294)
        for name in ("scene_train", "scene_test")
    ]
    X = np.concatenate([rows.toarray() for rows, _ in parts])
    return StudyExamples(X, [labels for _, sets in parts for labels in sets])


def _digits(folder: Path | None, most: int | None) -> StudyExamples:
    return StudyExamples(*digit_images())


def _alignment(folder: Path | None, most: int | None) -> StudyExamples:
    n = most or (MOST_PAIRS if folder else N_TEST)
    train, _, told = nearest_problem(folder, n)
    for sentence in told:
        print(sentence, file=sys.stderr)
    return StudyExamples(train.X, train.y)


def _parsing(folder: Path | None, most: int | None) -> StudyExamples:
    document = read_conllu(file_of(_require_folder(folder), "en_ewt-ud-train.conllu"))
    return StudyExamples(document.tokens(), [heads for heads, _ in document.trees(single_root=True)])


def _require_folder(folder: Path | None) -> Path:
    """Return the folder, which `study_problem` has found where it is needed."""
    assert folder is not None  # noqa: S101
    return folder


PROBLEMS: dict[str, ProblemEntry] = {
    "digits": ProblemEntry(
        "images of digits, one of ten classes",
        "",
        lambda: MulticlassClassifier(loss="hinge", fit_intercept=False),
        _digits,
    ),
    "letters": ProblemEntry(
        "handwritten words as chains of 26 letters",
        "letters",
        lambda: ChainClassifier(loss="hinge", fit_intercept=False),
        _letters,
    ),
    "scene": ProblemEntry(
        "images with sets of six labels, all pairs of labels with weights",
        "scene",
        lambda: MultiLabelClassifier(loss="hinge", edges="all", fit_intercept=False),
        _scene,
    ),
    "alignment": ProblemEntry(
        "English and French words, matched one to one by their vectors",
        "hansards",
        lambda: WordMatcher(structure=UntiedMatching()),
        _alignment,
        stand_in=True,
    ),
    "parsing": ProblemEntry(
        f"English sentences and their projective trees, 2^{PARSER_BITS} weights",
        "ud_english_ewt",
        lambda: TreeParser(bits=PARSER_BITS, cost="hamming"),
        _parsing,
    ),
}


def chosen_problems(
    names: Sequence[str] | None, folder: Path | None, tell: Callable[[str], object]
) -> list[str]:
    """Return the problems of these names.

    Or digits and all whose data is here, and a sentence on the others.
    """
    if names is not None:
        if not names:
            raise ValueError(f"There is no problem; name at least one of {', '.join(PROBLEMS)}.")
        chosen = list(dict.fromkeys(one_of("problem", name, PROBLEMS) for name in names))
        for name in chosen:
            entry = PROBLEMS[name]
            if not entry.is_here(folder) and not entry.stand_in:
                raise DataError(f"The data of {name} is not here: {_how(entry, folder)}.")
        return chosen
    chosen = [name for name, entry in PROBLEMS.items() if entry.is_here(folder)]
    for name in PROBLEMS:
        if name not in chosen:
            tell(f"Without {name}, whose data is not here: {_how(PROBLEMS[name], folder)}.")
    return chosen


def _how(entry: ProblemEntry, folder: Path | None) -> str:
    if all(source.sha256 for source in data_set(entry.data).sources) and data_set(entry.data).sources:
        return f"run `structlearn data fetch {entry.data}`, or name its folder with --data DIR"
    return f"{by_hand(entry.data, folder)}, or name its folder with --data DIR"


def study_problem(name: str, folder: Path | None, *, largest: int | None, seed: int) -> StudyProblem:
    """Return the problem, its examples in an order drawn by the seed: n examples are the first n."""
    entry = PROBLEMS[name]
    found = located(entry.data, folder) if entry.data else None
    examples = entry.load(found, largest)
    order = np.random.default_rng(seed).permutation(len(examples))
    estimator = entry.estimator().set_params(random_state=seed)

    def first(n: int) -> tuple[object, object]:
        return examples.some(order[:n].tolist())

    return StudyProblem(name, entry.what, estimator, len(examples), first)
