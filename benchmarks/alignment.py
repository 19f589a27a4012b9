"""Word alignment: error rates in nested cross-validation, speed, the oracle against a linear program, sizes.

    python benchmarks/alignment.py [--large] [--parallel] [--eflomal COMMAND]

Needs the Hansards data. Statistics are of the bitext and of the gold text, without its links; `--parallel`
adds 423,157 pairs of other text, which eflomal is not given. Error rates are of 5 outer folds; the parameters
are chosen inside the training folds. `--eflomal` names an `eflomal-align`, which is run on the same text and
scored on the same folds. Then the time of training on all gold pairs to a gap of 1e-2; pairs aligned in a
second of one core's time; a problem trained with the assignment oracle and with a linear program (HiGHS),
whose optima are compared (`structlearn compare alignment` has both with the same iterates); and training on
links of the unsupervised aligner for 100, 1,000 and 10,000 pairs (--large: 100,000).
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Any

import numpy as np
from alignment_statistics import bitext_pairs, eflomal_links, gold_pairs, symmetrized, text_pairs
from common import DATA, machine, note, recorded

from structlearn import MatchingClassifier, StructuredPredictor
from structlearn.alignment.aligner import Aligner
from structlearn.alignment.gold.concatenated import ProgramMatching, UntiedMatching
from structlearn.alignment.links import link_table, read_links
from structlearn.alignment.metrics import alignment_scores
from structlearn.alignment.text.bitext import batches

HANSARDS = DATA / "hansards"
OPTIONS: dict[str, Any] = {"strip_accents": True, "random_state": 0}
N_APPLIED = 5000
N_PROGRAMS = 20


def parallel() -> Any:
    """Other text, without its longest sentences."""
    pairs = text_pairs(DATA / "parallel" / "train.norm.en.gz", DATA / "parallel" / "train.norm.fr.gz")
    return (pair for pair in pairs if max(map(len, pair)) <= 50)


def folds(n: int, seed: int = 0) -> list[np.ndarray]:
    return np.array_split(np.random.default_rng(seed).permutation(n), 5)


def print_rates(name: str, links: list[Any], found: list[Any]) -> None:
    """Over all pairs, and on each fold."""
    whole = alignment_scores(links, found)
    parts = [
        alignment_scores([links[i] for i in fold], [found[i] for i in fold]) for fold in folds(len(links))
    ]
    note(what=name, aer=whole.aer, precision=whole.precision, recall=whole.recall)
    print(
        f"{name}: AER {whole.aer:.2%}, precision {whole.precision:.3f}, recall {whole.recall:.3f}; folds",
        *(f"{part.aer:.1%}" for part in parts),
        flush=True,
    )


def error_rates(aligner: Aligner, pairs: list[Any], links: list[Any]) -> None:
    print_rates("unsupervised", links, aligner.predict(pairs))
    found: list[Any] = [None] * len(pairs)
    for fold in folds(len(pairs)):
        train = np.setdiff1d(np.arange(len(pairs)), fold)
        model = Aligner(**OPTIONS).fit(
            [pairs[i] for i in train], [links[i] for i in train], statistics=aligner.statistics_
        )
        for i, one in zip(fold, model.predict([pairs[i] for i in fold])):
            found[i] = one
    print_rates("supervised, nested", links, found)


def peer(command: str, links: list[Any]) -> None:
    for name, found in symmetrized(*eflomal_links(command, gold_pairs("train"))):
        print_rates(f"eflomal, {name}", links, found)


def training(aligner: Aligner, pairs: list[Any], links: list[Any]) -> Aligner:
    model = Aligner(regularization=5.0, missed=2.0, **OPTIONS)
    model.fit(pairs, links, statistics=aligner.statistics_)
    certificate = model.fit(pairs, links, statistics=aligner.statistics_).certificate_
    assert certificate is not None
    print(f"training, {len(pairs)} pairs: gap {certificate.gap:.2g} in {certificate.seconds:.2f} s")
    return model


def cpu_seconds(function: Callable[[], Any]) -> float:
    begin = time.process_time()
    function()
    return time.process_time() - begin


def speed(model: Aligner) -> None:
    pairs = list(islice(bitext_pairs(), N_APPLIED))
    for scores in (False, True):

        def apply(scores: bool = scores) -> None:
            for _ in model.align(pairs, scores=scores):
                pass

        seconds = min(cpu_seconds(apply) for _ in range(4))
        note(what=f"Aligner.align, scores={scores}", pairs_per_second=len(pairs) / seconds)
        print(f"aligning, scores={scores}: {len(pairs) / seconds:,.0f} pairs/s on one core", flush=True)


def command_line(model: Aligner) -> None:
    """`align apply` from files to a file; its start is left out by taking the difference of two sizes."""
    from structlearn.cli import app

    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        seconds = []
        for n in (500, N_APPLIED, 3 * N_APPLIED):
            for k, side in enumerate("ef"):
                lines = (f"{' '.join(pair[k])}\n" for pair in islice(bitext_pairs(), n))
                (Path(folder) / side).write_text("".join(lines))
            files = [f"{folder}/{name}" for name in ("model", "e", "f", "links")]
            arguments = ["align", "apply", files[0], "--src", files[1], "--tgt", files[2], "--out", files[3]]
            seconds.append(min(cpu_seconds(partial(app, arguments, standalone_mode=False)) for _ in range(3)))
    rate = 2 * N_APPLIED / (seconds[2] - seconds[1])
    note(what="align apply", pairs_per_second=rate)
    print(f"align apply: {rate:,.0f} pairs/s on one core", flush=True)


def links_of_the_rule(n: int, *, regularization: float = 0.01, dtype: Any = np.float64) -> tuple[Any, ...]:
    """A one-to-one matching with the count cost, and n pairs with the links of the unsupervised aligner."""
    pairs = [pair for pair in islice(bitext_pairs(), n) if pair[0] and pair[1]]
    aligner = Aligner(fertility=1).fit(pairs)
    found = map(aligner.features, batches(pairs))
    X = [x.astype(dtype) for batch in found for x in batch.bitext.tables(batch.F)]
    y = [link_table(one, x.shape[:2]) for one, x in zip(aligner.predict(pairs), X)]
    return MatchingClassifier(cost="count", regularization=regularization, random_state=0), X, y


def oracles() -> None:
    model, X, y = links_of_the_rule(N_PROGRAMS, regularization=0.1)
    model.set_params(tol=1e-3)
    parameters = {k: v for k, v in model.get_params().items() if k not in ("unmatched", "capacities")}
    structures = (("assignment", UntiedMatching()), ("linear program", ProgramMatching()))
    for name, structure in structures:
        one = StructuredPredictor(structure, **parameters)
        one.fit(X[:2], y[:2])
        one.fit(X, y)
        print(f"{name}: {one.certificate_.passes:g} passes, {one.certificate_.seconds:.3f} s,", end=" ")
        print(f"objective {one.certificate_.primal:.6f}, gap {one.certificate_.gap:.1g}", flush=True)
    scores = one.decision_function(X)
    values = [[np.vdot(theta, own.maximize(theta)) for theta in scores] for _, own in structures]
    print(f"largest difference of the two maxima: {np.abs(np.subtract(*values)).max():.1g}")


def sizes(large: bool) -> None:
    """Training on links of the unsupervised aligner; the first pass alone, by the processor's time."""
    for n in (100, 1000, 10_000, *((100_000,) if large else ())):
        model, X, y = links_of_the_rule(n, dtype=np.float32)
        model.set_params(tol=1e-2).fit(X[:2], y[:2])
        clock = PassClock()
        model.set_params(callback=clock).fit(X, y)
        found = model.certificate_
        note(what=f"{n} pairs", gap=found.gap, passes=found.passes, seconds=found.seconds)
        print(
            f"n = {n:,}: gap {model.certificate_.gap:.3g}, {model.certificate_.passes:g} passes, "
            f"{model.certificate_.seconds:.2f} s, the first pass {clock.first:.2f} s CPU",
            flush=True,
        )


class PassClock:
    """Processor seconds between the evaluation before the first pass and the one behind it."""

    first = float("nan")

    def __call__(self, row: Any) -> None:
        now = time.process_time()
        if row.iteration == 0:
            self.begin = now
        elif row.iteration == 1:
            self.first = now - self.begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="sizes up to 100,000 pairs")
    parser.add_argument("--parallel", action="store_true", help="statistics of more text")
    parser.add_argument("--eflomal", metavar="COMMAND", help="the eflomal-align to compare with")
    arguments = parser.parse_args()
    print(machine())
    pairs = list(text_pairs(HANSARDS / "train.e", HANSARDS / "train.f"))
    links = read_links(HANSARDS / "train.wa", [(len(e), len(f)) for e, f in pairs])
    begin = time.process_time()
    aligner = Aligner(**OPTIONS).fit(
        pairs, None, chain(bitext_pairs(), parallel() if arguments.parallel else ())
    )
    print(f"statistics: {time.process_time() - begin:.1f} s CPU", flush=True)
    error_rates(aligner, pairs, links)
    if arguments.eflomal:
        peer(arguments.eflomal, links)
    model = training(aligner, pairs, links)
    speed(model)
    command_line(model)
    oracles()
    sizes(arguments.large)


if __name__ == "__main__":
    recorded(main)
