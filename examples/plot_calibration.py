"""
Calibrated probabilities
========================

Of the positions to which a model gives a probability of 0.8, eight in ten should be right. A chain fitted
closely to few sequences is surer than it should be. One number, the temperature, chosen on sequences that
were not used for training, corrects this. Bars above the diagonal show too little confidence, and bars
below it show too much.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import ChainClassifier
from structlearn.data import digit_sequences

X, y = digit_sequences(700, kind="dates", noise=0.6)
model = ChainClassifier(loss="softmax", regularization=1e-4, tol=1e-2, random_state=0).fit(X[:40], y[:40])


def reliability(model, axes, title):
    """The share of right answers among positions of alike confidence."""
    tables = np.concatenate(model.predict_marginals(X[400:]))
    sure, right = tables.max(axis=1), model.classes_[tables.argmax(axis=1)] == np.concatenate(y[400:])
    bins = np.minimum((sure * 10).astype(int), 9)
    found = [(sure[bins == b].mean(), right[bins == b].mean(), np.mean(bins == b)) for b in np.unique(bins)]
    confidence, accuracy, share = np.array(found).T
    error = share @ np.abs(confidence - accuracy)
    axes.plot([0, 1], [0, 1], color="0.6")
    axes.bar(confidence, accuracy, width=0.07, color="#0072B2", alpha=0.8)
    axes.set(
        title=f"{title}: calibration error {error:.3f}", xlabel="confidence", ylabel="share of right answers"
    )


figure, (before, after) = plt.subplots(1, 2, figsize=(10, 4.2), sharey=True, layout="constrained")
reliability(model, before, "as trained")
found = model.calibrate(X[40:400], y[40:400])
reliability(model, after, f"at temperature {model.temperature_:.2f}")
plt.show()
