"""Small taggers whose models other tools can hold."""

import random

from structlearn import Tagger

WORDS = ("the", "a", "dog", "cat", "runs", "sleeps", "Éa", "1987", "_B-1")
TAGS = ("D", "D", "N", "N", "V", "V", "N", "C", "X")
PATTERNS = ["u:w=%x[-1,0]/%x[0,0]", 'u:pre=%m[0,0,"^.."]', "u:t=%x[1,1]", "b"]


def sentences(n=40, seed=0):
    """Sentences of (word, tag) pairs, and labels that mostly follow from them."""
    rng = random.Random(seed)
    X = [[rng.choice(list(zip(WORDS, TAGS))) for _ in range(rng.randint(1, 7))] for _ in range(n)]
    y = [[("B" if tag == "D" else rng.choice("IO") if tag == "N" else "O") for _, tag in one] for one in X]
    return X, y


def pattern_tagger(templates=PATTERNS, **parameters):
    tagger = Tagger(columns=("word", "pos"), templates=templates, random_state=0, **parameters)
    return tagger.fit(*sentences())


def named(X):
    """Tokens as lists of attributes."""
    return [
        [[f"w={one[t][0]}", f"p={one[t - 1][0] if t else ''}", f"t={one[t][1]}"] for t in range(len(one))]
        for one in X
    ]


def named_tagger(**parameters):
    X, y = sentences()
    return Tagger(random_state=0, **parameters).fit(named(X), y)
