"""The demonstration of word alignment: the embedded corpus, with and without its gold links."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple, TextIO

from structlearn.alignment.aligner import Aligner
from structlearn.alignment.corpus import load_corpus
from structlearn.alignment.metrics import alignment_scores
from structlearn.alignment.uses.page import AlignedPair, alignment_page
from structlearn.solvers import Certificate

#: This many first pairs are for training, the others for testing.
N_TRAIN = 150


class AlignmentResult(NamedTuple):
    """Alignment error rates on `n_test` pairs, without and with the gold links of `n_train` others."""

    n_train: int
    n_test: int
    unsupervised: float
    supervised: float
    certificate: Certificate


def demonstrate(out: str | Path, *, stream: TextIO | None = None) -> AlignmentResult:
    """Align the embedded English-French corpus, write a page and the model, print error rates.

    The statistics are of all the text. The supervised aligner also sees the gold links of `N_TRAIN` pairs.

    out : a folder, for alignment.html and aligner.safetensors
    stream : where the figures go, instead of stdout; talk goes to stderr
    """
    corpus = load_corpus()
    train, test = corpus[:N_TRAIN], corpus[N_TRAIN:]
    print(f"Aligning words: training on {len(train)} pairs, testing on {len(test)} ...", file=sys.stderr)
    rule = Aligner().fit([(one.source, one.target) for one in corpus])
    taught = Aligner(random_state=0).fit(
        [(one.source, one.target) for one in train],
        [one.links for one in train],
        statistics=rule.statistics_,
    )
    pairs, gold = [(one.source, one.target) for one in test], [one.links for one in test]
    found = taught.predict(pairs)
    before, after = (alignment_scores(gold, links).aer for links in (rule.predict(pairs), found))
    print("\nWord alignment, English and French", file=stream)
    print(f"unsupervised_aer: {before:.4f}\nsupervised_aer: {after:.4f}", file=stream)
    print(taught.certificate_, file=stream)
    taught.save(Path(out) / "aligner.safetensors")
    shown = zip(test, found, taught.confidences(pairs))
    drawn = [AlignedPair(one.source, one.target, links, one.links, table) for one, links, table in shown]
    alignment_page(drawn, title="Word alignment, English and French").write(Path(out) / "alignment.html")
    assert taught.certificate_ is not None  # noqa: S101  (it was trained on links)
    return AlignmentResult(len(train), len(test), before, after, taught.certificate_)
