"""
Latent states: a class with two appearances
===========================================

Each image is grey, with a patch of chequered cloth on it, under much noise. A pixel is to be labelled as
background or as cloth. Cloth is dark or light, and the background lies in between, so no threshold on the
values separates them, and a model with one state per class learns next to nothing. With ``latent_states={1:
2}`` cloth has two states. The data do not say which pixel of the cloth has which state: training begins
with k-means on the values and then solves convex problems, each with a certificate, while the whole
objective falls. The model learns a dark and a light state, and tables in which each state prefers the other
as its neighbour. The columns show a test image, its gold labels, the labels without and with latent states,
and the states themselves, which alternate in the cloth.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import GridClassifier


def cloth(rng, n, side, noise):
    """A chequered patch (values -1 and 1) on grey (0); pixels see their value, with noise."""
    X, y = [], []
    chequered = (-1.0) ** np.add.outer(np.arange(side), np.arange(side))
    for _ in range(n):
        top, left = rng.integers(1, side // 2, 2)
        high, wide = rng.integers(side // 3, side // 2 + 1, 2)
        labels = np.zeros((side, side), dtype=int)
        labels[top : top + high, left : left + wide] = 1
        values = labels * chequered * rng.choice([-1, 1])
        X.append((values + noise * rng.normal(size=(side, side)))[..., None])
        y.append(labels)
    return X, y


n_train = 20
n_test = 10
side = 16
X, y = cloth(np.random.default_rng(0), n_train + n_test, side, 0.6)
settings = {"regularization": 1.0, "tol": 0.02, "max_passes": 100, "random_state": 0}
plain = GridClassifier(**settings).fit(X[:n_train], y[:n_train])
latent = GridClassifier(latent_states={1: 2}, **settings).fit(X[:n_train], y[:n_train])
X, y = X[n_train:], y[n_train:]

figure = plt.figure(figsize=(12, 7.6), layout="constrained")
panels = figure.subplots(3, 5)
found = zip(panels, X, y, plain.predict(X), latent.predict(X), latent.predict_states(X))
for row, image, gold, without, labels, states in found:
    row[0].imshow(image[..., 0], cmap="gray")
    for axes, shown in zip(row[1:4], (gold, without, labels)):
        axes.imshow(shown, cmap="viridis", vmin=0, vmax=1)
    row[4].imshow(states, cmap="cividis", vmin=0, vmax=2)
    row[2].set_xlabel(f"{np.mean(without == gold):.1%} right")
    row[3].set_xlabel(f"{np.mean(labels == gold):.1%} right")
titles = ("image", "gold", "one state a class", "two states of cloth", "the states")
for axes, title in zip(panels[0], titles):
    axes.set_title(title)
for axes in panels.ravel():
    axes.set(xticks=[], yticks=[])
falls = " > ".join(f"{value:.3f}" for value in latent.outer_history_)
figure.suptitle(
    f"{len(X)} test images: {plain.score(X, y):.1%} of pixels right with one state a class, "
    f"{latent.score(X, y):.1%} with latent states\nThe whole objective after each convex problem: {falls}"
)
plt.show()
