"""Context: what a first pass says of the same word nearby; phrases that are spans of the training text."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from structlearn.data import Tokens
from structlearn.tagging.features.context import COLUMNS, Context, check_context, first_features
from structlearn.tagging.features.derived import Stored
from structlearn.tagging.features.nearby import Nearby, longest_nearby, usual_nearby
from structlearn.tagging.features.span_lexicon import SpanLexicon
from structlearn.tagging.features.templates import parse_templates
from structlearn.tagging.features.usual import BLOCK, UsualLabels


def others(t, words, sentence, reach):
    """All other tokens of the same word that are near, by looking at each."""
    near = (u for u in range(len(words)) if abs(int(sentence[u]) - int(sentence[t])) <= reach)
    return [u for u in near if u != t and words[u] == words[t]]


@pytest.mark.parametrize("reach", [0, 1, 3, 100])
def test_nearby_counts_what_looking_everywhere_finds(reach):
    rng = np.random.default_rng(reach)
    words, sentence = rng.integers(-1, 4, 60), np.sort(rng.integers(0, 12, 60))
    codes = rng.integers(0, 3, 60)
    nearby = Nearby.of(words, sentence, reach)
    assert sorted(nearby.order.tolist()) == np.flatnonzero(words >= 0).tolist()
    best, most = nearby.most(codes, range(3))
    for at, t in enumerate(nearby.order.tolist()):
        found = Counter(codes[u] for u in others(t, words, sentence, reach))
        assert nearby.total[at] == found.total()
        assert [nearby.counts(codes == k)[at] for k in range(3)] == [found[k] for k in range(3)]
        first = min(range(3), key=lambda k: (-found[k], k))
        assert (best[at], most[at]) == ((first, found[first]) if found else (-1, 0))


def test_cells_of_the_same_word_nearby():
    sentences = [["B-PER", "I-PER", "O"], ["B-PER"], ["B-LOC"], ["O"], ["B-PER"]]
    labels = ["B-LOC", "B-PER", "I-PER", "O"]
    words = np.array([0, 1, -1, 1, 1, 1, 0])
    sentence = np.array([0, 0, 0, 1, 2, 3, 4])
    codes = np.array([labels.index(label) for one in sentences for label in one])
    nearby = Nearby.of(words, sentence, 2)
    # B-LOC and B-PER once each: the first label, a share below 0.6 (0), two or three others (1)
    cells = usual_nearby(nearby, codes, labels).cells.tolist()
    assert cells == ["-", "B-LOC 1", "", "B-LOC 1", "B-PER 1", "B-LOC 1", "-"]
    # "I-PER" of a span of two words is in the longest span, and its second word
    spans = longest_nearby(nearby, sentences, labels).cells.tolist()
    assert spans == ["-", "LOC 1/1", "", "PER 2/2", "PER 2/2", "LOC 1/1", "-"]
    alone = Nearby.of(np.array([0, 0]), np.array([0, 1]), 1)
    assert longest_nearby(alone, [["O"], ["O"]], ["B-X", "O"]).cells.tolist() == ["O", "O"]


def test_plain_labels_are_spans_of_their_own():
    nearby = Nearby.of(np.array([0, 0, 0]), np.array([0, 0, 1]), 1)
    assert longest_nearby(nearby, [["N", "N"], ["V"]], ["N", "V"]).cells.tolist()[2] == "N 1/2"


# ---- the first pass --------------------------------------------------------------------------------


def documents(n, seed=0):
    """Two sentences each: which kind of name it is can be told in the first one alone."""
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(n):
        name = "".join(rng.choice(list("abdeiklmnorstu"), 7)).capitalize()
        kind, before = ("PER", "señor") if rng.random() < 0.5 else ("LOC", "en")
        X += [["hoy", before, name, "."], ["Y", name, "gana"]]
        y += [["O", "O", f"B-{kind}", "O"], ["O", f"B-{kind}", "O"]]
    return X, y


TEMPLATES = parse_templates("word[-1..1] usual1")


def learnt(y, reach=3, X=None):
    X = documents(len(y) // 2)[0] if X is None else X
    usual = UsualLabels.of("word")
    tokens = usual.learn(Tokens.from_sentences(X), y)
    context = Context(first_features(TEMPLATES, 1, None), "word", reach)
    return context, context.learn(tokens, y, [usual]), usual


def cells(tokens):
    return [tokens.column(name).cells.tolist() for name in COLUMNS]


def test_training_text_does_not_see_the_labels_of_its_half():
    X, y = documents(60)
    _, before, _ = learnt(y, X=X)
    other = [["B-PER" if label == "B-LOC" else label for label in one] for one in y[:60]]
    _, after, _ = learnt([*other, *y[60:]], X=X)
    far = 57 * 3 + 57 // 2  # tokens of the first half that nothing of the second half is near to
    for a, b in zip(cells(before), cells(after)):
        assert a[:far] == b[:far]
        assert any("B-" in cell or "1/1" in cell for cell in a[:far])
    assert cells(before) != cells(after)  # the second half is labelled by the first


def test_context_in_files():
    X, y = documents(40)
    context, _, usual = learnt(y, X=X)
    new = usual.add(Tokens.from_sentences(documents(10, seed=1)[0]))
    again = Context.from_stored(context.to_stored())
    assert cells(again.add(new)) == cells(context.add(new))
    assert (again.columns, again.needs, again.reach) == (context.columns, context.needs, 3)
    assert context.add(usual.add(Tokens.from_sentences([]))).n_tokens == 0


@pytest.mark.parametrize(
    ("part", "name", "value"),
    [
        ("notes", "reach", "-1"),
        ("notes", "reach", "9" * 40),
        ("notes", "hash_bits", "x"),
        ("notes", "hash_bits", "99"),
        ("texts", "labels", ['["O", "B-PER"]']),
        ("texts", "labels", ['["O"]']),
        ("texts", "labels", ["O"]),
        ("texts", "labels", []),
        ("arrays", "weights", np.zeros(3, dtype=np.float32)),
        ("arrays", "weights", np.zeros(3)),
        ("arrays", "keys", np.zeros(3)),
    ],
)
def test_damaged_context(part, name, value):
    stored = learnt(documents(40)[1])[0].to_stored()
    broken = {**getattr(stored, part), name: value}
    with pytest.raises(ValueError, match=r"."):
        Context.from_stored(stored._replace(**{part: broken}))


def test_weights_that_are_not_finite_are_refused():
    stored = learnt(documents(40)[1])[0].to_stored()
    stored.arrays["weights"][3] = np.nan
    with pytest.raises(ValueError, match="are no weights"):
        Context.from_stored(stored)


def test_a_half_of_one_label():
    X = [["a", "Ana"]] * 40 + [["en", "Roma"]] * 40
    y = [["O", "O"]] * 40 + [["O", "B-LOC"]] * 40
    _, tokens, _ = learnt(y, X=X)
    assert set(tokens.column("nearby").cells[81::2]) == {"O 7", "O 8"}


@pytest.mark.parametrize("reach", [-1, 1.5, True, "3", 10**9])
def test_numbers_of_sentences(reach):
    with pytest.raises(ValueError, match="context is a number of sentences"):
        check_context(reach)


# ---- phrases of the training text --------------------------------------------------------------------


def test_span_lexicon_does_not_see_its_own_block():
    here = [["San", "Juan", "de", "Alba"], ["San", "Juan"], ["Ana", "Ana"]]
    marked = [["B-LOC", "I-LOC", "I-LOC", "I-LOC"], ["B-PER", "I-PER"], ["B-PER", "O"]]
    gap = BLOCK - len(here)
    X = here + [["y"]] * gap + [["San", "Juan", "de", "Alba"], ["San", "Juan"], ["Ana", "."]]
    y = marked + [["O"]] * gap + [["B-LOC", "I-LOC", "O", "O"], ["O", "O"], ["B-PER", "O"]]
    lexicon = SpanLexicon("word")
    found = lexicon.learn(Tokens.from_sentences(X), y).column("spans").cells.tolist()
    # the first block knows "San Juan" (LOC) and "Ana" of the second
    assert found[:8] == ["B-LOC", "L-LOC", "O", "O", "B-LOC", "L-LOC", "U-PER", "U-PER"]
    # the second knows all phrases of the first
    assert found[-8:] == ["B-LOC", "I-LOC", "I-LOC", "L-LOC", "B-PER", "L-PER", "U-PER", "O"]
    # and other text those of both
    new = Tokens.from_sentences([["San", "Juan", "y", "Ana"], []])
    assert lexicon.add(new).column("spans").cells.tolist() == ["B-LOC/PER", "L-LOC/PER", "O", "U-PER"]
    again = SpanLexicon.from_stored(lexicon.to_stored())
    assert again.add(new).column("spans").cells.tolist() == lexicon.add(new).column("spans").cells.tolist()


def test_span_lexicon_in_files():
    lexicon = SpanLexicon("word")
    lexicon.learn(Tokens.from_sentences([["a\nb", "\ud800"]]), [["B-X", "I-X"]])
    stored = lexicon.to_stored()
    assert list(SpanLexicon.from_stored(stored).phrases) == [("a\nb", "\ud800")]
    empty = SpanLexicon("word")
    assert empty.learn(Tokens.from_sentences([["a"]]), [["O"]]).column("spans").cells.tolist() == ["O"]
    assert SpanLexicon.from_stored(empty.to_stored()).phrases == {}
    for texts, arrays in (
        ({"phrases": ["[]"]}, {}),
        ({"phrases": ["{"]}, {}),
        ({"types": ["[1]"]}, {}),
        ({}, {"marked": np.zeros((2, 1), dtype=np.uint8)}),
        ({}, {"marked": np.zeros((1, 1))}),
    ):
        broken = Stored(stored.notes, {**stored.texts, **texts}, {**stored.arrays, **arrays})
        with pytest.raises(ValueError, match=r"."):
            SpanLexicon.from_stored(broken)


def test_some_sentences():
    tokens = Tokens.from_sentences([["a", "b"], [], ["c"], ["d", "a"]])
    some = tokens.some(np.array([1, 3]))
    assert some.lengths.tolist() == [0, 2]
    assert some.column("word").cells.tolist() == ["d", "a"]
