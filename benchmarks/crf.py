"""Chain CRF on the OCR letters against python-crfsuite (L-BFGS): same features, same L2, one thread each.

python benchmarks/crf.py
"""

from __future__ import annotations

import os
import tempfile
import time

import numpy as np
from common import letters, machine, note, recorded

from structlearn import ChainClassifier

QUICK = [[]]

REGULARIZATION = 0.001


def crfsuite(X, y, n):
    """Train CRFsuite with all state and transition features; returns seconds and the weights."""
    import pycrfsuite

    names = [f"p{j}" for j in range(X[0].shape[1])]
    trainer = pycrfsuite.Trainer(verbose=False)
    for x, labels in zip(X, y):
        items = pycrfsuite.ItemSequence([{names[j]: 1.0 for j in np.flatnonzero(row)} for row in x])
        trainer.append(items, [chr(97 + k) for k in labels])
    # CRFsuite minimises the *sum* of losses plus c2 ||w||^2: c2 = lambda n / 2
    trainer.set_params(
        {
            "c1": 0.0,
            "c2": REGULARIZATION * n / 2,
            "feature.possible_states": True,
            "feature.possible_transitions": True,
            "max_iterations": 1000,
        }
    )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "crf")
        begin = time.perf_counter()
        trainer.train(path)
        seconds = time.perf_counter() - begin
        tagger = pycrfsuite.Tagger()
        tagger.open(path)
        info = tagger.info()
    W, T = np.zeros((128, 26)), np.zeros((26, 26))
    for (attribute, label), weight in info.state_features.items():
        W[int(attribute[1:]), ord(label) - 97] = weight
    for (a, b), weight in info.transitions.items():
        T[ord(a) - 97, ord(b) - 97] = weight
    return seconds, np.concatenate([W.ravel(), T.ravel()]), len(trainer.logparser.iterations)


def main():
    X, y, folds = letters()
    train = [i for i in range(len(X)) if folds[i] != 0]
    test = [i for i in range(len(X)) if folds[i] == 0]
    X_train, y_train = [X[i] for i in train], [y[i] for i in train]
    print(
        f"# CRF on OCR letters, {len(train)} words, lambda {REGULARIZATION}\n"
        f"# {machine()}, {time.strftime('%Y-%m-%d')}"
    )
    model = ChainClassifier(
        loss="softmax", regularization=REGULARIZATION, fit_intercept=False, tol=1e-4, random_state=0
    )
    model.fit(X_train, y_train)  # compiles
    runs = [model.fit(X_train, y_train) and model.history_ for _ in range(3)]
    history = min(runs, key=lambda one: one.seconds[-1])
    accuracy = model.score([X[i] for i in test], [y[i] for i in test])
    found = model.certificate_
    seconds = history.seconds[-1]
    note(what="structlearn", primal=found.primal, gap=found.gap, passes=found.passes, seconds=seconds)
    print(
        f"structlearn: P {found.primal:.5f}, gap {found.gap:.5f}, {found.passes:.0f} passes, "
        f"{history.seconds[-1]:.2f} s, test accuracy {accuracy:.4f}"
    )
    try:
        seconds, w, iterations = crfsuite(X_train, y_train, len(train))
    except ImportError:
        print("python-crfsuite is not installed: pip install python-crfsuite")
        return
    peer = objective_of(model, X_train, y_train, w)
    reached = history.seconds[np.flatnonzero(history.primal <= peer)]
    ours = f"{reached[0]:.2f} s" if reached.size else "not reached"
    note(what="python-crfsuite, L-BFGS", primal=peer, passes=iterations, seconds=seconds)
    print(f"crfsuite (L-BFGS): P {peer:.5f}, {iterations} iterations, {seconds:.2f} s")
    print(
        f"structlearn reaches crfsuite's objective in {ours}"
        + (f": {seconds / reached[0]:.1f}x faster" if reached.size else "")
    )


def objective_of(model, X, y, w):
    """P(w) of the model's own problem."""
    from structlearn.problem.objective import Objective
    from structlearn.problem.regularizers import Shannon
    from structlearn.scoring import RowScoring

    chain = model.structure_
    scoring = RowScoring(np.concatenate(X), np.array([len(x) for x in X]), 26, n_shared=chain.n_shared)
    gold = chain.encode_many(y, scoring.shapes)
    cost = np.zeros(scoring.start[-1])
    return Objective(chain, scoring, gold, cost, regularization=REGULARIZATION, regularizer=Shannon()).primal(
        w
    )


if __name__ == "__main__":
    recorded(main, peers=("python-crfsuite",))
