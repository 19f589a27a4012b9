"""Names of templates' features: found from keys, and read off a text, they are the same."""

import numpy as np
import pytest

from structlearn.data import Tokens
from structlearn.tagging.features import TextFeatures, default_templates, parse_templates
from structlearn.tagging.features.names import names_in, names_of_keys, template_names

SENTENCES = [
    [("The", "D"), ("dog", "N"), ("runs", "V")],
    [("A", "D"), ("cat", "N"), ("in", "P"), ("Rome", "N"), ("sees", "V"), ("=&=\n\x1b", "S")],
    [("dog", "N")],
]
TEMPLATES = default_templates(["word", "pos"]) + " word[-3]&pos[2]&word.shape"


@pytest.fixture
def tokens():
    return Tokens.from_sentences(SENTENCES, ["word", "pos"])


def plainly(tokens_of, template):
    """All names that a template makes of a sentence, from its words as they are."""
    views = {"same": str, "lower": str.lower, "suffix2": lambda text: text[-2:] if len(text) >= 2 else None}
    for t in range(len(tokens_of)):
        parts = []
        for atom in template.atoms:
            at = t + atom.offset
            if at < 0:
                value = "<start>" if at == -1 else f"<start-{-at - 1}>"
            elif at >= len(tokens_of):
                value = "<end>" if at == len(tokens_of) else f"<end+{at - len(tokens_of)}>"
            else:
                value = views[atom.view](tokens_of[at][atom.column == "pos"])
            parts.append(None if value is None else f"{atom}={value}")
        if None not in parts:
            yield "&".join(parts)


def test_names_are_what_templates_see(tokens):
    templates = parse_templates("word[-2..2] word.lower[-1]&pos&pos[1] word.suffix2")
    features = TextFeatures(templates).fit(tokens)
    expected = {name for one in SENTENCES for template in templates for name in plainly(one, template)}
    assert set(names_in(features, tokens).values()) == expected
    assert set(template_names(features)(np.arange(features.n_features))) == expected


def test_names_of_keys_are_those_of_the_text(tokens):
    features = TextFeatures(TEMPLATES).fit(tokens)
    read = names_in(features, tokens)
    assert len(read) == features.n_features
    assert template_names(features)(np.arange(features.n_features)) == [read[j] for j in sorted(read)]


def test_what_cannot_be_named_shows_its_hash(tokens, monkeypatch):
    features = TextFeatures("word pos[-1]&pos").fit(tokens)
    strange = np.array([1, 2], dtype=np.uint64)
    assert list(names_of_keys(features.templates[0], strange, features.strings_)) == [None, None]
    monkeypatch.setattr("structlearn.tagging.features.names._MOST_COMBINATIONS", 2)
    names = template_names(features)(np.arange(features.n_features))
    assert names[0] == "word=dog"
    assert names[-1] == f"pos[-1]&pos=#{features.keys_[-1]:016x}"
    features.strings_ = {}
    assert template_names(features)(np.arange(1)) == [f"#{features.keys_[0]:016x}"]
    hashed = TextFeatures("word pos", hash_bits=2).fit(tokens)
    assert template_names(hashed)(np.array([3])) == ["hash 3"]
    assert any(" or " in name for name in names_in(hashed, tokens).values())  # they collide
