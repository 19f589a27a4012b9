"""Features of whole segments against what a plain loop over segments says."""

from itertools import groupby

import numpy as np
import pytest

from structlearn.core.bits import MULTIPLIERS, SHIFTS
from structlearn.estimators import SegmentTagger
from structlearn.estimators.inputs.spans import spans
from structlearn.tagging import Tagger
from structlearn.tagging.features.usual import BLOCK
from structlearn.tagging.features.views import text_hash
from structlearn.tagging.features.whole_segments import word_shape

MOST, BITS = 3, 16
WORDS = ["Bank", "of", "New", "York", "new", "the", "Anna", "said", "X1"]
LEXICON = ["New York", "Anna"]


def text(n, seed=0):
    """Sentences of random words with random spans."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        size = int(rng.integers(1, 6))
        X.append([WORDS[k] for k in rng.integers(len(WORDS), size=size)])
        y.append(
            [["O", "B-LOC", "I-LOC", "B-PER"][k] for k in rng.choice(4, size=size, p=[0.6, 0.1, 0.2, 0.1])]
        )
    return X, y


def mixed(x):
    for shift, multiplier in zip(SHIFTS, MULTIPLIERS):
        x = ((x ^ (x >> shift)) * multiplier) % 2**64
    return x ^ (x >> SHIFTS[-1])


def key(parts):
    found = 0
    for part in parts:
        found = mixed((found + text_hash(part)) % 2**64)
    return found


def named(name, parts):
    return mixed((key(parts) + text_hash(name)) % 2**64)


def naive(X, marked):
    """The columns of each segment; `marked(i, phrase)` gives the types of the phrase for sentence i."""
    rows = []
    for i, words in enumerate(X):
        for start in range(len(words)):
            for m in range(1, MOST + 1):
                own = words[start : start + m]
                phrase = tuple(word.lower() for word in own)
                if len(own) < m:
                    rows.append({})
                    continue
                keys = [text_hash(f"marked {kind}") for kind in marked(i, phrase)]
                if " ".join(own) in LEXICON:
                    keys.append(text_hash("lexicon CITY"))
                if m > 1:
                    shapes = [one for one, _ in groupby(map(word_shape, own))]
                    keys += [named("phrase", phrase), named("shape", shapes)]
                columns = [one >> (64 - BITS) for one in keys]
                rows.append({column: columns.count(column) for column in columns})
    return rows


def as_dicts(rows):
    return [dict(zip(one.indices.tolist(), one.data.tolist())) for one in rows]


def test_features_are_those_of_a_plain_loop():
    X, y = text(3 * BLOCK)
    where = {}
    for i, (words, tags) in enumerate(zip(X, y)):
        for kind, a, b in spans(tags):
            where.setdefault(tuple(word.lower() for word in words[a:b]), set()).add((kind, i // BLOCK))
    tagger = Tagger(model="segments", task="ner", lexicons={"CITY": LEXICON})
    trained = tagger.fit_features(X, y).segments(MOST, BITS)

    def elsewhere(i, phrase):
        return {kind for kind, block in where.get(phrase, ()) if block != i // BLOCK}

    assert as_dicts(trained) == naive(X, elsewhere)
    new, _ = text(20, seed=1)
    found = tagger.rows(new).segments(MOST, BITS)
    assert as_dicts(found) == naive(new, lambda i, phrase: {kind for kind, _ in where.get(phrase, ())})


def test_labels_and_words_are_needed():
    X, y = text(4)
    with pytest.raises(ValueError, match="give y"):
        Tagger(model="segments", usual="").fit_features(X)
    rows = [np.ones((len(one), 2)) for one in X]
    with pytest.raises(ValueError, match="made of words"):
        SegmentTagger(segment_features="text").fit(rows, y)
    with pytest.raises(ValueError, match="segment_features"):
        SegmentTagger(segment_features="texts").fit(rows, y)
