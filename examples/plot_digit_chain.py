"""
How a chain reads noisy digits
==============================

Handwritten digits that count upwards (7 8 9 0 1 ...) are blurred by more and more noise. A classifier of
single digits sees one image at a time and soon makes mistakes. A chain has the same features and one more
table of weights, from each digit to the next, so that readable neighbours help to read an unreadable digit.
The example needs no download: the images come with scikit-learn.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import ChainClassifier, MulticlassClassifier
from structlearn.data import train_test_digit_sequences
from structlearn.metrics import sequence_accuracy


def digit_errors(noise, n_train, n_test):
    """Share of wrong digits without and with transitions."""
    X, X_test, y, y_test = train_test_digit_sequences(n_train, n_test, kind="counters", noise=noise)
    shared = {"loss": "hinge", "regularization": 0.03, "tol": 5e-3, "random_state": 0}
    single = MulticlassClassifier(**shared).fit(np.concatenate(X), np.concatenate(y))
    chain = ChainClassifier(**shared).fit(X, y)
    alone = [single.predict(images) for images in X_test]
    return 1 - sequence_accuracy(y_test, alone), 1 - chain.score(X_test, y_test)


n_train = 150
n_test = 200
levels = [0.0, 0.15, 0.3, 0.45, 0.6]
errors = 100 * np.array([digit_errors(noise, n_train, n_test) for noise in levels])
figure = plt.figure(figsize=(6, 4), layout="constrained")
axes = figure.subplots()
axes.plot(levels, errors[:, 0], "s-", color="#0072B2", label="single digits")
axes.plot(levels, errors[:, 1], "o-", color="#D55E00", label="chain")
axes.set(title="Neighbours help to read noisy digits")
axes.set(xlabel="noise (standard deviation; pixels are 0 to 1)", ylabel="wrong digits (%)")
axes.grid(alpha=0.3)
axes.legend(frameon=False)
plt.show()
