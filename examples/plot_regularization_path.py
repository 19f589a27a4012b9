"""
A certified model for every lambda
==================================

A path of models shows how strong the penalty should be, for all values at once: between two neighbours on
the path, every lambda has a model whose objective is certified to be within the requested gap. The errors
on held-out sequences show which values are good; the shaded band is one standard error on each side.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import ChainClassifier, regularization_path
from structlearn.data import train_test_digit_sequences

X, X_test, y, y_test = train_test_digit_sequences(60, 150, kind="dates", noise=0.4)
models = regularization_path(ChainClassifier(loss="hinge", random_state=0), X, y, [3.0, 0.001], gap=0.03)
lambdas = np.array([model.regularization for model in models])
wrong = np.array([[np.mean(a != b) for a, b in zip(m.predict(X_test), y_test)] for m in models])
train = np.array([1 - model.score(X, y) for model in models])
error = wrong.std(axis=1) / np.sqrt(wrong.shape[1])

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.fill_between(
    lambdas,
    100 * (wrong.mean(axis=1) - error),
    100 * (wrong.mean(axis=1) + error),
    alpha=0.2,
    color="#D55E00",
)
axes.plot(lambdas, 100 * wrong.mean(axis=1), "o-", color="#D55E00", label="held out")
axes.plot(lambdas, 100 * train, "s--", color="#0072B2", label="training")
axes.set(
    xscale="log",
    xlabel="lambda",
    ylabel="wrong digits (%)",
    title=f"{len(models)} models cover the range within a gap of 0.03",
)
axes.invert_xaxis()
axes.legend(frameon=False)
plt.show()
