"""Against features written out as strings, one dictionary lookup each."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structlearn.data import Tokens
from structlearn.tagging.features import TextFeatures, parse_templates
from structlearn.tagging.features.views import view_named

TEMPLATES = "word[-1..1] pos word.suffix2 word.lower[-1]&pos pos[-2]&pos[2]&word.shape"
WORD = st.sampled_from(["a", "A", "bc", "Bc", "abc", "U.S."])
SENTENCES = st.lists(st.lists(st.tuples(WORD, st.sampled_from("XYZ")), max_size=4), min_size=1, max_size=5)


def written(sentences):
    """For each token, the template and values of each of its features."""
    for sentence in sentences:
        for t in range(len(sentence)):
            found = []
            for template in parse_templates(TEMPLATES):
                values = [value(sentence, t + atom.offset, atom) for atom in template.atoms]
                if None not in values:
                    found.append((str(template), *values))
            yield found


def value(sentence, at, atom):
    if not 0 <= at < len(sentence):
        return f"before {at}" if at < 0 else f"after {at - len(sentence)}"
    return view_named(atom.view)(sentence[at][["word", "pos"].index(atom.column)])


def tokens(sentences):
    return Tokens.from_sentences(sentences, ["word", "pos"])


@given(SENTENCES, SENTENCES, st.integers(1, 3))
def test_against_strings(train, test, min_count):
    counts = Counter(feature for one in written(train) for feature in one)
    kept = {feature for feature, count in counts.items() if count >= min_count}
    features = TextFeatures(TEMPLATES, min_count)
    if not kept:
        with pytest.raises(ValueError, match="lower min_count"):
            features.fit(tokens(train))
        return
    features.fit(tokens(train))
    assert features.n_features == len(kept)
    assert features.keys_.dtype == np.uint64
    place = {}
    for sentences in (train, test):
        X = features.transform(tokens(sentences))
        assert X.has_canonical_format
        assert (X.data == 1).all()
        rows = np.split(X.indices, X.indptr[1:-1])
        for one, row in zip(written(sentences), rows, strict=True) if X.shape[0] else ():
            names = [feature for feature in one if feature in kept]
            assert len(names) == row.size
            for feature, column in zip(names, row.tolist()):  # both go template by template
                assert place.setdefault(feature, column) == column
    assert len(set(place.values())) == len(place) == len(kept)


def test_frequent_features_come_first():
    features = TextFeatures("word").fit(tokens([[("a", "X"), ("b", "X"), ("b", "X")]]))
    X = features.transform(tokens([[("b", "X"), ("a", "X"), ("c", "X")]])).toarray()
    assert X.tolist() == [[1, 0], [0, 1], [0, 0]]


def test_hashing_needs_no_training_text():
    one = TextFeatures("word pos", hash_bits=10).fit(tokens([[("a", "X")]]))
    other = TextFeatures("word pos", hash_bits=10).fit(tokens([[("q", "Z")]]))
    text = tokens([[("a", "X"), ("b", "Y"), ("a", "Y")]])
    X = one.transform(text)
    assert X.shape == (3, 1024)
    assert (other.transform(text) != X).nnz == 0
    a, b, c = X.toarray()
    assert a @ c == 1  # the word
    assert b @ c == 1  # the tag
    assert a @ b == 0
    assert one.keys_.size == 0


def test_bad_options():
    for options, message in [({"min_count": 0}, "min_count"), ({"hash_bits": 40}, "hash_bits")]:
        with pytest.raises(ValueError, match=message):
            TextFeatures("word", **options)
