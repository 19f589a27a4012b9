"""
Small models: how few weights are enough?
=========================================

The elastic net sets weights to exactly zero. As the penalty grows stronger, more and more weights of a
chain of digits disappear. At first the errors hardly change; later they grow. The pictures show which
pixels each digit still uses: white pixels have no weight.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import ChainClassifier
from structlearn.data import train_test_digit_sequences

X, X_test, y, y_test = train_test_digit_sequences(150, 150, kind="dates", noise=0.4)
strengths = np.geomspace(0.1, 0.001, 9)
models = [
    ChainClassifier(loss="softmax", penalty="elasticnet", l1_ratio=0.9, regularization=value, tol=1e-3).fit(
        X, y
    )
    for value in strengths
]
share = [100 * np.mean(model.weights_ != 0) for model in models]
wrong = [100 * (1 - model.score(X_test, y_test)) for model in models]

figure = plt.figure(figsize=(10, 6.4), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=(1.5, 1))
axes = top.subplots()
axes.plot(share, wrong, "o-", color="#0072B2")
axes.set(xlabel="weights that are not zero (%)", ylabel="wrong digits (%)", xscale="log")
for row, model in zip(bottom.subplots(2, 10), (models[3], models[7])):
    limit = np.abs(model.coef_).max()
    for digit, panel in enumerate(row):
        panel.imshow(model.coef_[digit].reshape(8, 8), cmap="PuOr_r", vmin=-limit, vmax=limit)
        panel.set(xticks=[], yticks=[], title=digit if row is not None else "")
    row[0].set_ylabel(f"{100 * np.mean(model.weights_ != 0):.0f}%")
plt.show()
