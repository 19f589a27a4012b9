"""The problem of matching words by their vectors: labels are the links of words nearest to each other."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.linalg import svds

from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.gold.concatenated import WordPairs
from structlearn.alignment.gold.vectors import (
    Vectors,
    Words,
    WordVectors,
    map_vectors,
    nearest_links,
    precision_at_1,
    read_dictionary,
    read_vectors,
    unit_rows,
)
from structlearn.alignment.statistics.statistics import AlignmentStatistics
from structlearn.alignment.text.bitext import Bitext
from structlearn.alignment.text.clean import without_accents
from structlearn.alignment.text.pairs import read_pairs
from structlearn.core.contract import Array
from structlearn.data import DataError, located
from structlearn.data.registry import file_of

#: Pairs to test on.
N_TEST = 100


class Labelled(NamedTuple):
    """Pairs, and the 0/1 tables of their links."""

    X: WordPairs
    y: list[Array]


class Space(NamedTuple):
    """Vectors as features, the same vectors in one space, and a sentence on them."""

    features: Vectors
    aligned: Vectors
    told: str


def nearest_problem(folder: Path | None, n: int) -> tuple[Labelled, Labelled, list[str]]:
    """Return n pairs to train on, others to test, and what to say of the data.

    The folder is that of the Hansards; its neighbours `vectors` and `dictionary` are used where they are.
    Without it, pairs are those of the embedded corpus.
    """
    told = [] if folder else ["The Hansards are not here: using the pairs that come with structlearn."]
    pairs = _pairs(folder, n + N_TEST)
    if len(pairs) < n + N_TEST:
        raise DataError(f"There are {len(pairs)} pairs, {N_TEST} of them to test: train on {n} is too many.")
    space = _given_space(folder.parent, pairs) if folder and _has_vectors(folder.parent) else _own(pairs)
    train, test = (_label_by_vectors(part, space) for part in (pairs[:n], pairs[n:]))
    return train, test, [*told, space.told]


def _pairs(folder: Path | None, n: int) -> Sequence[Words]:
    if folder is None:
        return [(one.source, one.target) for one in load_corpus()][:n]
    text = read_pairs(file_of(folder, "bitext.e"), file_of(folder, "bitext.f"), allow_empty=True)
    return list(islice(((one.source, one.target) for one in text if one.source and one.target), n))


def _label_by_vectors(pairs: Sequence[Words], space: Space) -> Labelled:
    return Labelled(
        WordPairs.of(pairs, space.features), [nearest_links(pair, space.aligned) for pair in pairs]
    )


def _has_vectors(folder: Path) -> bool:
    return all(located(name, folder) is not None for name in ("vectors", "dictionary"))


def _own(pairs: Sequence[Words]) -> Space:
    """Return vectors made from the pairs themselves."""
    vectors = latent_vectors(AlignmentStatistics.train(Bitext.from_pairs(pairs)))
    return Space(vectors, vectors, "Word vectors are not here: using those of the pairs' own co-occurrences.")


def latent_vectors(statistics: AlignmentStatistics, dimension: int = 100) -> Vectors:
    """Return vectors of the statistics' words, of this dimension or of as many as the words allow.

        D ~ U S V',    u_e = row e of U sqrt(S),    v_f = row f of V sqrt(S)

    with D the Dice coefficients of source word e and target word f: words that translate each other are near.
    """
    lexicon = statistics.lexicon
    words = statistics.source_words.words, statistics.target_words.words
    shape = len(words[0]), len(words[1])
    entries = lexicon.dice().astype(np.float64)
    D = csr_array((entries, lexicon.target, lexicon.start[: shape[0] + 1]), shape=shape)
    U, S, Vt = svds(D, k=min(dimension, min(shape) - 1), v0=np.ones(min(shape)))
    rows = U * np.sqrt(S), Vt.T * np.sqrt(S)
    source, target = (WordVectors(known, unit_rows(u.astype(np.float32))) for known, u in zip(words, rows))
    return source, target


def _given_space(folder: Path, pairs: Sequence[Words]) -> Space:
    """Read vectors from files; the text has no accents, so the words of the vectors lose theirs."""
    train, test = (read_dictionary(folder / "dictionary" / f"{part}.en-fr.tsv") for part in ("train", "test"))
    given = tuple(read_vectors(file_of(folder / "vectors", f"{side}.vec")) for side in ("en", "fr"))
    mapped = map_vectors((given[0], given[1]), train)
    precision, asked = precision_at_1(*mapped.vectors, test)
    words = [{word for pair in pairs for word in pair[k]} for k in (0, 1)]
    features, aligned = (
        tuple(side.rewritten(without_accents).among(known) for side, known in zip(sides, words))
        for sides in (given, mapped.vectors)
    )
    told = (
        f"Mapped the vectors by {mapped.known} word pairs; of {asked} others {precision:.0%} are found again."
    )
    return Space((features[0], features[1]), (aligned[0], aligned[1]), told)
