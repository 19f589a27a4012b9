"""Sentence pairs with links between their words: the examples of match, and of `align`.

They are the corpus of `structlearn.alignment.load_corpus`, which was written for this library.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from structlearn.alignment.corpus import LinkedPair, load_corpus
from structlearn.apps.examples.example import OWN_LICENCE, TaskExample, try_commands
from structlearn.core.contract import Array

N_TRAIN = 150
_LICENCE = f"written for structlearn; {OWN_LICENCE}"


def _write_features(folder: Path) -> None:
    corpus = load_corpus()
    together = Counter(pair for one in corpus for pair in {(a, b) for a in one.source for b in one.target})
    counts = [Counter(word for words in side for word in set(words)) for side in _sides(corpus)]
    for name, pairs in (("train", corpus[:N_TRAIN]), ("test", corpus[N_TRAIN:])):
        rows = [_features(one, together, counts) for one in pairs]
        links = [(k, *link) for k, one in enumerate(pairs) for link in _alone(one)]
        shapes = [(len(one.source), len(one.target)) for one in pairs]
        with (folder / f"{name}.npz").open("wb") as stream:
            np.savez_compressed(
                stream, features=np.concatenate(rows), shapes=np.array(shapes), links=np.array(links)
            )


def _sides(corpus: Sequence[LinkedPair]) -> tuple[list[list[str]], list[list[str]]]:
    return [one.source for one in corpus], [one.target for one in corpus]


def _alone(pair: LinkedPair) -> list[tuple[int, int]]:
    """Return the links of words that have no other link: a matching."""
    rows, columns = (Counter(side) for side in zip(*pair.links.sure))
    return sorted(link for link in pair.links.sure if rows[link[0]] == 1 == columns[link[1]])


def _features(pair: LinkedPair, together: Counter[tuple[str, str]], counts: Sequence[Counter[str]]) -> Array:
    """Return a row per pair of words: how often they occur together, and how alike they are."""
    m, n = len(pair.source), len(pair.target)
    return np.array(
        [
            [
                1.0,
                2 * together[a, b] / (counts[0][a] + counts[1][b]),
                abs((i + 0.5) / m - (j + 0.5) / n),
                a == b,
                len(a) > 3 and a[:3] == b[:3],
            ]
            for i, a in enumerate(pair.source)
            for j, b in enumerate(pair.target)
        ]
    )


def _write_text(folder: Path) -> None:
    corpus = load_corpus()
    for name, pairs in (("train", corpus[:N_TRAIN]), ("test", corpus[N_TRAIN:])):
        for side, words in zip(("en", "fr"), _sides(pairs)):
            (folder / f"{name}.{side}").write_text("".join(f"{' '.join(one)}\n" for one in words), "utf-8")
        links = (
            " ".join(
                f"{i}{'-' if (i, j) in one.links.sure else '?'}{j}" for i, j in sorted(one.links.possible)
            )
            for one in pairs
        )
        (folder / f"{name}.pharaoh").write_text("".join(f"{line}\n" for line in links), "utf-8")


MATCH = TaskExample(
    "212 English sentences and their French translations; each pair of words has 5 numbers, and a "
    "word is linked to the one that translates it",
    _LICENCE,
    _write_features,
    try_commands("match", ".npz", show=False),
)
_TEST = "--src test.en --tgt test.fr"
ALIGN = TaskExample(
    "212 English sentences, their French translations, and the links between their words",
    _LICENCE,
    _write_text,
    (
        "structlearn align train --src train.en --tgt train.fr --gold train.pharaoh --gold-src train.en "
        "--gold-tgt train.fr --out model.safetensors",
        f"structlearn align apply model.safetensors {_TEST} --out links.pharaoh",
        "structlearn align evaluate --hyp links.pharaoh --gold test.pharaoh",
        f"structlearn align show model.safetensors {_TEST} --gold test.pharaoh --out page.html",
    ),
)
