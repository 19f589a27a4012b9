"""Word alignment: error rates in nested cross-validation, speed, the oracle against a linear program, sizes.

    python benchmarks/alignment.py [--large]

Needs the Hansards data. Statistics are of the bitext and of the gold text, without its links. Error rates are
of 5 outer folds; the parameters are chosen inside the training folds. Then the time of training on all
gold pairs to a gap of 1e-2; pairs aligned in a second of one core's time; a problem trained with
the assignment oracle and with a linear program (HiGHS) as a structure of one's own, whose optima are compared
(at ties the two answer differently, so that iterates differ); and training on links of the
unsupervised aligner for 100, 1,000 and 10,000 pairs (--large: 100,000).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
from common import DATA, machine
from scipy.optimize import linprog
from scipy.sparse import csr_array, eye_array, kron, vstack

from structlearn import StructuredPredictor
from structlearn.apps.alignment.aligner import Aligner
from structlearn.apps.alignment.bitext import read_pairs
from structlearn.apps.alignment.experiment import alignment_experiment
from structlearn.apps.alignment.links import read_links
from structlearn.apps.alignment.metrics import alignment_scores
from structlearn.structures import Matching

HANSARDS = DATA / "hansards"
OPTIONS: dict[str, Any] = {"strip_accents": True, "random_state": 0}
N_APPLIED = 5000
N_PROGRAMS = 20


class ProgramMatching:
    """One-to-one matchings by a linear program."""

    part_ndim = 2

    def maximize(self, theta: np.ndarray) -> np.ndarray:
        m, n = theta.shape
        rows = kron(eye_array(m), csr_array(np.ones((1, n))))
        columns = kron(csr_array(np.ones((1, m))), eye_array(n))
        answer = linprog(-theta.ravel(), A_ub=vstack([rows, columns]), b_ub=np.ones(m + n), bounds=(0, 1))
        return answer.x.round().reshape(m, n)


def bitext() -> Any:
    return read_pairs(HANSARDS / "bitext.e.gz", HANSARDS / "bitext.f.gz")


def error_rates(aligner: Aligner, pairs: list[Any], links: list[Any], seed: int = 0) -> None:
    rule = alignment_scores(links, aligner.predict(pairs))
    print(f"unsupervised: AER {rule.aer:.2%}, precision {rule.precision:.3f}, recall {rule.recall:.3f}")
    order = np.random.default_rng(seed).permutation(len(pairs))
    true, found = [], []
    for fold in np.array_split(order, 5):
        train = np.setdiff1d(order, fold)
        model = Aligner(**OPTIONS).fit(
            [pairs[i] for i in train], [links[i] for i in train], statistics=aligner.statistics_
        )
        true += [links[i] for i in fold]
        found += model.predict([pairs[i] for i in fold])
    taught = alignment_scores(true, found)
    print(
        f"supervised, nested: AER {taught.aer:.2%}, precision {taught.precision:.3f}, "
        f"recall {taught.recall:.3f}",
        flush=True,
    )


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
    pairs = list(islice(bitext(), N_APPLIED))
    for scores in (False, True):

        def apply(scores: bool = scores) -> None:
            for _ in model.align(pairs, scores=scores):
                pass

        seconds = min(cpu_seconds(apply) for _ in range(4))
        print(f"aligning, scores={scores}: {len(pairs) / seconds:,.0f} pairs/s on one core", flush=True)


def oracles() -> None:
    model, X, y = alignment_experiment(list(islice(bitext(), N_PROGRAMS)), regularization=0.1)
    model.set_params(tol=1e-3)
    parameters = {k: v for k, v in model.get_params().items() if k not in ("unmatched", "capacities")}
    structures = (("assignment", Matching()), ("linear program", ProgramMatching()))
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
        model, X, y = alignment_experiment(list(islice(bitext(), n)), dtype=np.float32)
        model.set_params(tol=1e-2).fit(X[:2], y[:2])
        clock = PassClock()
        model.set_params(callback=clock).fit(X, y)
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
    print(machine())
    pairs = list(read_pairs(HANSARDS / "train.e", HANSARDS / "train.f"))
    links = read_links(HANSARDS / "train.wa", [(len(e), len(f)) for e, f in pairs])
    begin = time.perf_counter()
    aligner = Aligner(**OPTIONS).fit(pairs, None, bitext())
    print(f"statistics: {time.perf_counter() - begin:.0f} s", flush=True)
    error_rates(aligner, pairs, links)
    speed(training(aligner, pairs, links))
    oracles()
    sizes("--large" in sys.argv)


if __name__ == "__main__":
    main()
