"""
A chain with a kernel
=====================

Handwritten digits that count upwards are read by a chain whose scores are linear in the pixels, and by
chains whose scores are linear in a map of the pixels: a Gaussian kernel, approximated with a number of
training digits as landmarks (Nystroem). More landmarks bring the model nearer to the exact kernel machine.
The example needs no download: the images come with scikit-learn.
"""

import matplotlib.pyplot as plt
from sklearn.kernel_approximation import Nystroem

from structlearn import ChainClassifier
from structlearn.data import train_test_digit_sequences

NOISE = 0.3
GAMMA = 0.03


n_train = 150
n_test = 200
landmarks = (25, 50, 100, 200, 400)
X, X_test, y, y_test = train_test_digit_sequences(n_train, n_test, kind="dates", noise=NOISE)


def error(row_transformer, regularization):
    model = ChainClassifier(
        row_transformer=row_transformer, regularization=regularization, tol=5e-3, random_state=0
    )
    return 100 * (1 - model.fit(X, y).score(X_test, y_test))


linear = error(None, 0.03)
mapped = [error(Nystroem(gamma=GAMMA, n_components=n, random_state=0), 1e-3) for n in landmarks]
figure = plt.figure(figsize=(6, 4), layout="constrained")
axes = figure.subplots()
axes.axhline(linear, color="#0072B2", linestyle="--", label="pixels")
axes.plot(landmarks, mapped, "o-", color="#D55E00", label="Gaussian kernel (Nystroem)")
axes.set(title="A chain over a map of its features", xscale="log")
axes.set(xlabel="landmarks", ylabel="wrong digits (%)")
axes.set_xticks(landmarks, map(str, landmarks))
axes.minorticks_off()
axes.grid(alpha=0.3)
axes.legend(frameon=False)
plt.show()
