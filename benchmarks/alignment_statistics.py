"""Statistics from bitext: time by part, peak memory, and AER on the Hansards gold pairs.

python benchmarks/alignment_statistics.py [--jobs N] [--eflomal COMMAND] [--synthetic PAIRS]

The gold text is appended to the 359,595 pairs of bitext, as for every unsupervised aligner. `--eflomal`
names an `eflomal-align` to run on the same text. `--synthetic` trains on that many pairs of made-up words,
200,000 types a side, of the lengths of the Hansards, and reports the peak of memory, which does not depend
on the number of iterations.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import tempfile
import time
import unicodedata
from itertools import chain, pairwise
from pathlib import Path

import numpy as np
from common import DATA, machine, note, recorded

from structlearn.alignment.statistics.cooccurrence import build_lexicon
from structlearn.alignment.statistics.statistics import AlignmentStatistics, by_pair
from structlearn.alignment.statistics.training import EMSettings
from structlearn.alignment.text.bitext import Bitext, Corpus, Vocabulary
from structlearn.alignment.text.pairs import paired_lines

HANSARDS = DATA / "hansards"
THRESHOLDS = (0.4, 0.5, 0.6)


def plain(line):
    """Lower case without accents, as the bitext is."""
    letters = unicodedata.normalize("NFD", line.lower())
    return "".join(letter for letter in letters if not unicodedata.combining(letter)).split()


def gold_pairs(name):
    with open(HANSARDS / f"{name}.e") as source, open(HANSARDS / f"{name}.f") as target:
        return [(plain(e), plain(f)) for e, f in zip(source, target)]


def gold_links(name):
    """Sure and possible links of each pair, from 0."""
    links = [(set(), set()) for _ in gold_pairs(name)]
    for line in (HANSARDS / f"{name}.wa").read_text().splitlines():
        number, i, j, kind = line.split()
        sure, possible = links[int(number) - 1]
        possible.add((int(i) - 1, int(j) - 1))
        if kind == "S":
            sure.add((int(i) - 1, int(j) - 1))
    return links


def text_pairs(source, target):
    return ((left.split(), right.split()) for _, left, right in paired_lines(source, target))


def bitext_pairs():
    return text_pairs(HANSARDS / "bitext.e.gz", HANSARDS / "bitext.f.gz")


def aer(predicted, gold):
    """Alignment error rate, precision and recall, in percent."""
    right_sure = sum(len(links & sure) for links, (sure, _) in zip(predicted, gold))
    right = sum(len(links & possible) for links, (_, possible) in zip(predicted, gold))
    n_links, n_sure = sum(map(len, predicted)), sum(len(sure) for sure, _ in gold)
    return tuple(
        100 * x for x in (1 - (right_sure + right) / (n_links + n_sure), right / n_links, right_sure / n_sure)
    )


def grow_diag_final_and(forward, reverse):
    """The usual heuristic: grow from the intersection to neighbours in the union, then the rest."""
    links, union = forward & reverse, forward | reverse
    steps = [(-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1)]

    def covered(i, j):
        return any(a == i for a, _ in links), any(b == j for _, b in links)

    grown = True
    while grown:
        near = {(i + a, j + b) for i, j in links for a, b in steps} & union - links
        grown = False
        for link in sorted(near):
            if not all(covered(*link)):
                links.add(link)
                grown = True
    for link in chain(sorted(forward), sorted(reverse)):
        if not any(covered(*link)):
            links.add(link)
    return links


def symmetrized(forward, reverse):
    """Each way of joining two directions, as (name, links of every pair)."""
    yield "forward", forward
    yield "reverse", reverse
    yield "intersection", [f & r for f, r in zip(forward, reverse)]
    yield "union", [f | r for f, r in zip(forward, reverse)]
    yield "grow-diag-final-and", [grow_diag_final_and(f, r) for f, r in zip(forward, reverse)]


def links_where(table):
    return {(int(i), int(j)) for i, j in np.argwhere(table)}


def best_links(posterior, null):
    """For each word of the second axis, its likeliest partner if likelier than NULL."""
    best = posterior.argmax(axis=0)
    return {(int(i), j) for j, i in enumerate(best) if posterior[i, j] > null[j]}


def methods(tables):
    forward = [best_links(t.forward, t.forward_null) for t in tables]
    reverse = [{(i, j) for j, i in best_links(t.reverse.T, t.reverse_null)} for t in tables]
    yield from symmetrized(forward, reverse)
    for threshold in THRESHOLDS:
        yield f"mean > {threshold}", [links_where((t.forward + t.reverse) / 2 > threshold) for t in tables]
    for threshold in THRESHOLDS:
        yield f"geometric mean > {threshold}", [links_where(t.agreement() > threshold) for t in tables]


def print_errors(methods):
    """AER on the 37 trial and the 200 train pairs; `methods` give the links of both, in this order."""
    trial, train = gold_links("trial"), gold_links("train")
    print(f"  {'':24s}{'trial':>7s}{'train':>7s}{'precision':>11s}{'recall':>8s}")
    for name, links in methods:
        error, precision, recall = aer(links[len(trial) :], train)
        on_trial = aer(links[: len(trial)], trial)[0]
        note(what=name, aer_trial=on_trial, aer=error, precision=precision, recall=recall)
        print(f"  {name:24s}{on_trial:7.2f}{error:7.2f}{precision:11.1f}{recall:8.1f}")


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


class Clock:
    """Processor and wall seconds between calls."""

    def __init__(self):
        self.start()

    def start(self):
        self.cpu, self.wall = time.process_time(), time.perf_counter()

    def __call__(self, part):
        cpu, wall = time.process_time() - self.cpu, time.perf_counter() - self.wall
        note(what=part, cpu_seconds=cpu, seconds=wall)
        print(f"  {part:42s}{cpu:8.1f} s CPU{wall:8.1f} s wall   peak {peak():.2f} GB", flush=True)
        self.start()


def compile_all(n_jobs):
    pairs = gold_pairs("trial")
    bitext = Bitext.from_pairs(pairs)
    for agreement in (False, True):
        statistics = AlignmentStatistics.train(bitext, EMSettings(1, 1, agreement), n_jobs=n_jobs)
    statistics.of_cells(bitext)


def hansards(n_jobs):
    gold = gold_pairs("trial") + gold_pairs("train")
    print(f"# Hansards, {machine()}, {time.strftime('%Y-%m-%d')}, {n_jobs} threads")
    compile_all(n_jobs)
    clock = Clock()
    bitext = Bitext.from_pairs(chain(bitext_pairs(), gold))
    clock(f"reading {len(bitext):,} pairs, {bitext.cell_start[-1]:,} cells")
    lexicon = build_lexicon(bitext)
    clock(f"table of {lexicon.target.size:,} word pairs (alone)")
    statistics = AlignmentStatistics.train(bitext, n_jobs=n_jobs)
    clock("statistics of both directions, table and all")
    for model in ("model1", "hmm"):
        seconds = [b.seconds - a.seconds for a, b in pairwise(statistics.history) if b.model == model]
        print(f"  one iteration of {model:10s}{np.median(seconds):8.1f} s wall")
    asked = statistics.encode(gold)
    tables = list(by_pair(asked, statistics.posteriors(asked)))
    print_errors(methods(tables))
    clock.start()
    statistics.posteriors(bitext, n_jobs=n_jobs)
    clock(f"posteriors of all {len(bitext):,} pairs")
    small = statistics.prune()
    size = sum(array.nbytes for array in small.to_arrays().values()) / 2**20
    print(f"pruned to {small.lexicon.target.size:,} word pairs, {size:.1f} MB:")
    print_errors(methods(list(by_pair(asked, small.posteriors(asked)))))


def out_of_corpus(n_jobs):
    print("statistics without the gold text:")
    statistics = AlignmentStatistics.train(Bitext.from_pairs(bitext_pairs()), n_jobs=n_jobs)
    asked = statistics.encode(gold_pairs("trial") + gold_pairs("train"))
    print_errors(methods(list(by_pair(asked, statistics.posteriors(asked)))))


def read_links(path):
    return [{tuple(map(int, link.split("-"))) for link in line.split()} for line in open(path)]


def eflomal_links(command, gold):
    """Links of the gold pairs in both directions, by eflomal on the bitext and their text."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("e", "f", "forward", "reverse")]
        with open(paths[0], "w") as source, open(paths[1], "w") as target:
            for e, f in chain(bitext_pairs(), gold):
                print(*e, file=source)
                print(*f, file=target)
        options = ["-s", paths[0], "-t", paths[1], "-f", paths[2], "-r", paths[3], "--overwrite"]
        subprocess.run([command, *options], check=True, stderr=subprocess.DEVNULL)
        directions = [read_links(path)[-len(gold) :] for path in paths[2:]]
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(f"eflomal: {used.ru_utime + used.ru_stime:.1f} s CPU", flush=True)
    return directions


def eflomal(command):
    print_errors(symmetrized(*eflomal_links(command, gold_pairs("trial") + gold_pairs("train"))))


def synthetic(n_pairs, n_jobs, n_types=200_000, seed=0):
    """Zipf's law on both sides; target words are those of the source, some replaced, some exchanged."""
    rng = np.random.default_rng(seed)
    lengths = rng.choice(np.array([len(e) for e, _ in bitext_pairs()]), size=n_pairs)
    weight = np.cumsum(1 / (np.arange(n_types) + 2.7))
    draw = np.searchsorted(weight, rng.random((2, lengths.sum())) * weight[-1]).astype(np.int32)
    replaced = rng.random(draw.shape[1]) < 0.3
    start = np.concatenate([[0], np.cumsum(lengths)])
    corpora = [Corpus(draw[0], start), Corpus(np.where(replaced, draw[1], draw[0]).astype(np.int32), start)]
    names = [f"w{k}" for k in range(n_types)]
    vocabularies = [Vocabulary(names, np.bincount(corpus.tokens, minlength=n_types)) for corpus in corpora]
    bitext = Bitext(*corpora, *vocabularies)
    print(f"{n_pairs:,} synthetic pairs, {n_types:,} types a side, {bitext.cell_start[-1]:,} cells:")
    clock = Clock()
    statistics = AlignmentStatistics.train(bitext, EMSettings(model1=1, hmm=1), n_jobs=n_jobs)
    clock(f"1 + 1 iterations, {statistics.lexicon.target.size:,} word pairs")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--eflomal", help="the eflomal-align to compare with")
    parser.add_argument("--synthetic", type=int, help="only the memory run, on so many pairs")
    arguments = parser.parse_args()
    if arguments.synthetic:
        synthetic(arguments.synthetic, arguments.jobs)
        return
    hansards(arguments.jobs)
    out_of_corpus(arguments.jobs)
    if arguments.eflomal:
        eflomal(arguments.eflomal)


if __name__ == "__main__":
    recorded(main)
