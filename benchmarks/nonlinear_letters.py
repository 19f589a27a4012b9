"""The OCR letters read by a chain over a non-linear map of the pixels, by `row_transformer`.

The map is principal components (which forget single pixels) and then a Gaussian kernel seen from some of the
training letters (Nystroem). Its parameters and lambda are chosen on fold 1 by models trained on folds 2 to 9;
then one model is trained on folds 1 to 9, and tested once, on fold 0.

python benchmarks/nonlinear_letters.py [--chosen]      --chosen leaves out the search
"""

from __future__ import annotations

import sys
import time

from common import letters, machine, note, recorded
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from structlearn import ChainClassifier

#: None: the pixels themselves.
DIRECTIONS = (None, 24, 32, 48)
GAMMAS = (0.03, 0.06, 0.12)
LAMBDAS = (5e-5, 1e-4, 2e-4, 4e-4)
FEW, MANY = 1000, 2500
#: What the search found.
CHOSEN = {"directions": 48, "gamma": 0.06, "regularization": 4e-4}


def model(directions, gamma, regularization, n_components):
    kernel = Nystroem(gamma=gamma, n_components=n_components, random_state=0)
    return ChainClassifier(
        loss="hinge",
        row_transformer=kernel
        if directions is None
        else make_pipeline(PCA(directions, random_state=0), kernel),
        regularization=regularization,
        solver="stochastic-extragradient",
        tol=0.01,
        random_state=0,
    )


def trial(parameters, n_components, train, test, title):
    """The error of a model in percent, after a line about it."""
    begin = time.process_time()
    found = model(**parameters, n_components=n_components).fit(*train)
    seconds = time.process_time() - begin
    error = 100 * (1 - found.score(*test))
    certificate = found.certificate_
    what = f"{title}, {n_components} landmarks"
    note(what=what, **parameters, error=error, cpu_seconds=seconds, passes=certificate.passes)
    print(
        f"  {title}: {n_components} landmarks, {parameters}: error {error:.2f}%  ({seconds:.0f} CPU s, "
        f"{certificate.passes:.0f} passes, P {certificate.primal:.4f}, gap {certificate.gap:.4f})",
        flush=True,
    )
    return error


def search(train, validation):
    """The map by few landmarks, then lambda by many."""
    errors = {}
    for directions in DIRECTIONS:
        for gamma in GAMMAS:
            parameters = {"directions": directions, "gamma": gamma, "regularization": 1e-4}
            errors[directions, gamma] = trial(parameters, FEW, train, validation, "fold 1")
    directions, gamma = min(errors, key=errors.__getitem__)
    by_lambda = {}
    for regularization in LAMBDAS:
        parameters = {"directions": directions, "gamma": gamma, "regularization": regularization}
        by_lambda[regularization] = trial(parameters, MANY, train, validation, "fold 1")
    best = min(by_lambda, key=by_lambda.__getitem__)
    return {"directions": directions, "gamma": gamma, "regularization": best}


def main(searches):
    X, y, folds = letters()

    def words(wanted):
        chosen = [i for i in range(len(X)) if folds[i] in wanted]
        return [X[i] for i in chosen], [y[i] for i in chosen]

    print(f"# OCR letters, chains over mapped pixels; {machine()}, {time.strftime('%Y-%m-%d')}")
    with threadpool_limits(1):
        chosen = search(words(range(2, 10)), words([1])) if searches else CHOSEN
        begin = time.process_time()
        trial(chosen, MANY, words(range(1, 10)), words([0]), "fold 0, once")
        print(f"  {time.process_time() - begin:.0f} CPU s with the map, training and the test (target: 180)")


if __name__ == "__main__":
    recorded(main, searches="--chosen" not in sys.argv[1:])
