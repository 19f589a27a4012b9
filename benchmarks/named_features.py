"""Chunking of CoNLL-2000 from CRFsuite-style dicts against templates: the same features, one thread each.

python benchmarks/named_features.py templates | dicts | scikit-learn

Each form in a process of its own, for its peak memory. The dicts are made beforehand and kept by the caller;
seconds are of the processor, of features and training. The last one only makes the matrix, by scikit-learn's
DictVectorizer and FeatureHasher, beside our own.
"""

from __future__ import annotations

import argparse
import resource
import time
from itertools import chain

from chunking import f1, read
from common import machine, note, recorded

from structlearn.estimators.inputs.token_features import TokenFeatures
from structlearn.tagging import Tagger

BENCH = [["templates"], ["dicts"], ["scikit-learn"]]

#: the templates, and what the dicts say in as many words
TEMPLATES = "word[-2..2] word.lower word.prefix2..3 word.suffix2..3 pos[-2..2] pos[-1]&pos pos&pos[1]"


def token(words, tags, t):
    """The features of a token, as tutorials of sklearn-crfsuite write them."""
    word = words[t]
    found = {"word": word, "lower": word.lower(), "pos": tags[t]}
    found |= {f"prefix{n}": word[:n] for n in (2, 3) if len(word) >= n}
    found |= {f"suffix{n}": word[-n:] for n in (2, 3) if len(word) >= n}
    for step in (-2, -1, 1, 2):
        at = t + step
        outside = f"<{at}>" if at < 0 else f"<+{at - len(words)}>"
        found[f"word[{step}]"] = words[at] if 0 <= at < len(words) else outside
        found[f"pos[{step}]"] = tags[at] if 0 <= at < len(words) else outside
    found["before"] = found["pos[-1]"] + "|" + tags[t]
    found["after"] = tags[t] + "|" + found["pos[1]"]
    return found


def dicts(X):
    words, tags = (X.column(name).cells.tolist() for name in ("word", "pos"))
    ends = X.lengths.cumsum().tolist()
    for end, n in zip(ends, X.lengths.tolist()):
        own = words[end - n : end], tags[end - n : end]
        yield [token(*own, t) for t in range(n)]


def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def fit(form):
    (X, y), (X_test, y_test) = read("train"), read("test")
    options = {"random_state": 0}
    if form == "templates":
        options |= {"columns": ("word", "pos"), "templates": TEMPLATES}
    else:
        X, X_test = list(dicts(X)), list(dicts(X_test))
    Tagger(**options, chain_options={"max_passes": 1}, tol=1e9).fit(X, y)  # compiles
    begin = time.process_time()
    tagger = Tagger(**options).fit(X, y)
    seconds = time.process_time() - begin
    note(what=form, cpu_seconds=seconds, peak_gb=peak(), passes=tagger.certificate_.passes)
    print(
        f"{form}: {tagger.features_.n_features} features, {seconds:.1f} s of the processor, F1 "
        f"{100 * f1(y_test, tagger.predict(X_test)):.2f}, gap {tagger.certificate_.gap:.4f}, "
        f"{tagger.certificate_.passes:.0f} passes; peak memory {peak():.2f} GB"
    )
    begin = time.process_time()
    rows = tagger.fit_features(X)
    print(f"{form}: features alone {time.process_time() - begin:.1f} s, {rows.rows.nnz} entries")


def scikit():
    from sklearn.feature_extraction import DictVectorizer, FeatureHasher

    sentences = list(dicts(read("train")[0]))
    ways = {
        "TokenFeatures": lambda: TokenFeatures().fit_transform(sentences).rows,
        "DictVectorizer": lambda: DictVectorizer(separator=":", sort=False).fit_transform(
            list(chain.from_iterable(sentences))
        ),
        "FeatureHasher (20 bits)": lambda: FeatureHasher(1 << 20, alternate_sign=False).transform(
            chain.from_iterable(sentences)
        ),
    }
    for name, way in ways.items():
        begin = time.process_time()
        rows = way()
        print(f"{name}: {time.process_time() - begin:.1f} s, {rows.shape[1]} columns, {rows.nnz} entries")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("form", choices=["templates", "dicts", "scikit-learn"])
    form = parser.parse_args().form
    print(f"# {machine()}, {time.strftime('%Y-%m-%d')}", flush=True)
    scikit() if form == "scikit-learn" else fit(form)


if __name__ == "__main__":
    recorded(main)
