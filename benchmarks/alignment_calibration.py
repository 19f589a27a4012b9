"""Confidences of the aligner: the coefficients without gold links, and how well all of them are calibrated.

    python benchmarks/alignment_calibration.py [--fit] [--only xlwa|train|hansards]

Needs XL-WA and the Hansards. `--fit` prints the coefficients for `confidence.USUAL`, fitted to the train
parts (and the 37 trial pairs of the Hansards) with 300 to 20,000 lines of text: pairs that are part of the
text, pairs that are not, and such with a quarter, half or all of their words replaced by unknown ones. Of
those without any known word, some are no translations: their target is another pair's. Two thirds of all
texts lack 20% or 30% of their words.

Without `--fit`, the expected calibration error of the confidences (ten bins; a link is right if it is sure or
possible) on pairs that no coefficient has seen: XL-WA's dev parts with 500 and 1,100 lines of text, and the
200 pairs of the Hansards (with gold: in five folds) with 20,000. "in": the pairs are part of the text,
"new": they are not. "text": without gold links. Then what is said of pairs whose words are all unknown.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
from alignment_statistics import bitext_pairs, text_pairs
from common import DATA, machine, note, recorded

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.files.pair_files import read_pair_file
from structlearn.alignment.gold.confidence import EVIDENCE, fit_coefficients, link_probabilities
from structlearn.alignment.gold.scores import best_cells
from structlearn.alignment.links import Links, read_links

LANGUAGES = ("it", "nl", "hu")
Gold = tuple[list[Any], list[Links]]


def xlwa(language: str, part: str) -> Gold:
    read = list(read_pair_file(DATA / "xlwa" / f"en-{language}.{part}.tsv.gz"))
    return [(one.source, one.target) for one in read], [one.links for one in read]


def hansards(name: str) -> Gold:
    folder = DATA / "hansards"
    pairs = list(text_pairs(folder / f"{name}.e", folder / f"{name}.f"))
    return pairs, read_links(folder / f"{name}.wa", [(len(e), len(f)) for e, f in pairs])


def masked(pairs: list[Any], share: float) -> list[Any]:
    """The pairs with a share of their words replaced by words that no text has, unlike on both sides."""
    rng = np.random.default_rng(0)
    letters = np.array(list("bcdfghjk")), np.array(list("mnpqrstv"))
    return [
        tuple(
            [
                "".join(rng.choice(own, size=rng.integers(5, 10))) if rng.random() < share else word
                for word in side
            ]
            for own, side in zip(letters, pair)
        )
        for pair in pairs
    ]


def loose(gold: Gold, share: float) -> Gold:
    """The pairs without a share of their words, and the links that are left: translations that are free."""
    rng = np.random.default_rng(1)
    pairs, links = [], []
    for pair, known in zip(*gold):
        places = []
        for side in pair:
            kept = np.flatnonzero(rng.random(len(side)) >= share)
            places.append({int(k): at for at, k in enumerate(kept if kept.size else [0])})
        pairs.append(tuple([side[k] for k in place] for side, place in zip(pair, places)))
        left = [(i, j) for i, j in known.possible if i in places[0] and j in places[1]]
        links.append(Links.of([(places[0][i], places[1][j]) for i, j in left]))
    return pairs, links


def rows(aligner: Aligner, pairs: list[Any], links: list[Links]) -> tuple[np.ndarray, np.ndarray]:
    """The evidence of the predicted links, and whether they are right."""
    edges = aligner.score_edges(pairs)
    linked = best_cells(aligner.structure_, edges)
    found = aligner._evidence(edges, linked)
    right = [
        (i, j) in links[k].possible for k, i, j in zip(linked.pair, linked.i.tolist(), linked.j.tolist())
    ]
    return found, np.array(right, dtype=float)


#: How much the kinds of pairs weigh.
WEIGHTS = {"in": 3000, "new": 3000, 0.25: 500, 0.5: 500, 1.0: 500, "other": 500}
#: Shares of words that the texts lack: few translations are as literal as those of XL-WA's train part.
LOOSE = (0.0, 0.2, 0.3)
Rows = tuple[Any, np.ndarray, np.ndarray]


def training_rows() -> Iterator[Rows]:
    for share in LOOSE:
        for language in LANGUAGES:
            pairs, links = loose(xlwa(language, "train"), share)
            for n in (300, 500, 900):
                new = slice(700, 800) if n < 700 else slice(900, None)
                yield from of_text(pairs[:n], (pairs[:200], links[:200]), (pairs[new], links[new]))
        gold = loose(hansards("trial"), share)
        text = [pair for pair in islice(bitext_pairs(), 20_000) if pair[0] and pair[1]]
        text, _ = loose((text, [Links.of(())] * len(text)), share)
        for n in (500, 3000, 20_000):
            yield from of_text(text[:n] + gold[0], gold, None)
            yield from of_text(text[:n], None, gold)


def of_text(text: list[Any], inside: Gold | None, new: Gold | None) -> Iterator[Rows]:
    aligner = Aligner().fit(text)
    if inside:
        yield "in", *rows(aligner, *inside)
    if new:
        yield "new", *rows(aligner, *new)
        for share in (0.25, 0.5, 1.0):
            yield share, *rows(aligner, masked(new[0], share), new[1])
        others = [(pair[0], new[0][k - 7][1]) for k, pair in enumerate(new[0])]
        yield "other", *rows(aligner, masked(others, 1.0), [Links.of(())] * len(others))


def fit() -> None:
    parts = list(training_rows())
    rng = np.random.default_rng(0)
    chosen = [rng.permutation(len(right))[np.arange(WEIGHTS[kind]) % len(right)] for kind, _, right in parts]
    found = np.concatenate([one[own] for (_, one, _), own in zip(parts, chosen)])
    right = np.concatenate([one[own] for (_, _, one), own in zip(parts, chosen)])
    found[:, EVIDENCE.index("score")] = 0.0
    fitted = fit_coefficients(found, right, np.zeros(len(EVIDENCE)))
    print(", ".join(f"{value:.2f}" for value in fitted))
    for kind, one, own in parts:
        one[:, EVIDENCE.index("score")] = 0.0
        sure = link_probabilities(one, fitted)
        print(f"{kind}: {len(own)} links, right {own.mean():.3f}, said {sure.mean():.3f}, ", end="")
        print(f"error {error(sure, own):.3f}")


def error(sure: np.ndarray, right: np.ndarray, bins: int = 10) -> float:
    """sum over bins of |right - said|, over all links."""
    where = np.minimum((sure * bins).astype(int), bins - 1)
    return sum(abs((sure - right)[where == k].sum()) for k in range(bins)) / max(len(sure), 1)


def judged(name: str, aligner: Aligner, pairs: list[Any], links: list[Links]) -> None:
    scored = aligner.predict_scores(pairs)
    sure = np.array([value for one in scored for value in one.values()])
    right = np.array(
        [link in known.possible for one, known in zip(scored, links) for link in one], dtype=float
    )
    note(what=name, links=len(sure), right=right.mean(), said=sure.mean(), error=error(sure, right))
    print(
        f"{name}: {len(sure)} links, right {right.mean():.3f}, said {sure.mean():.3f}, "
        f"error {error(sure, right):.3f}",
        flush=True,
    )


def languages() -> None:
    for language in LANGUAGES:
        (train, gold), (dev, links) = xlwa(language, "train"), xlwa(language, "dev")
        for n in (500, len(train) + len(dev)):
            some = train[: n - len(dev)]
            for kind, text in (("in", some + dev), ("new", some)):
                for what, known in (("text", None), ("gold", gold[: len(some)])):
                    aligner = Aligner(random_state=0)
                    aligner.fit(
                        some if known else [], known, dev if kind == "in" and known else [] if known else text
                    )
                    judged(f"{language}, {n} lines, {kind}, {what}", aligner, dev, links)
            judged(f"{language}, {n} lines, unknown, gold", aligner, masked(dev, 1.0), links)


def same_part() -> None:
    """Gold links and 400 lines of XL-WA's train parts, judged on 100 other pairs of these."""
    for language in LANGUAGES:
        pairs, links = xlwa(language, "train")
        order = np.random.default_rng(5).permutation(len(pairs))
        pairs, links = [pairs[k] for k in order], [links[k] for k in order]
        for kind, more in (("in", pairs[400:500]), ("new", [])):
            aligner = Aligner(random_state=0).fit(pairs[:400], links[:400], more)
            judged(
                f"{language}, 500 lines, train part, {kind}, gold", aligner, pairs[400:500], links[400:500]
            )


def french() -> None:
    pairs, links = hansards("train")
    text = [pair for pair in islice(bitext_pairs(), 20_000) if pair[0] and pair[1]]
    for kind, more in (("in", pairs), ("new", [])):
        aligner = Aligner(random_state=0).fit([], None, text + more)
        judged(f"fr, 20000 lines, {kind}, text", aligner, pairs, links)
        judged("fr, 20000 lines, unknown, text", aligner, masked(pairs, 1.0), links)
        scored: list[Any] = []
        order = np.random.default_rng(0).permutation(len(pairs))
        for fold in np.array_split(order, 5):
            rest = np.setdiff1d(order, fold)
            one = Aligner(random_state=0).fit(
                [pairs[k] for k in rest], [links[k] for k in rest], statistics=aligner.statistics_
            )
            scored += zip(fold, one.predict_scores([pairs[k] for k in fold]))
        sure = np.array([value for _, one in scored for value in one.values()])
        right = np.array([link in links[k].possible for k, one in scored for link in one], dtype=float)
        what = f"fr, 20000 lines, {kind}, gold"
        note(what=what, links=len(sure), right=right.mean(), said=sure.mean(), error=error(sure, right))
        print(f"fr, 20000 lines, {kind}, gold: {len(sure)} links, right {right.mean():.3f}, "
              f"said {sure.mean():.3f}, error {error(sure, right):.3f}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--fit", action="store_true", help="fit the coefficients")
    parser.add_argument("--only", choices=["xlwa", "train", "hansards"], help="one of them")
    arguments = parser.parse_args()
    print(machine())
    if arguments.fit:
        fit()
        return
    parts: dict[str, Callable[[], None]] = {"xlwa": languages, "train": same_part, "hansards": french}
    for name, part in parts.items():
        if arguments.only in (None, name):
            part()


if __name__ == "__main__":
    recorded(main)
