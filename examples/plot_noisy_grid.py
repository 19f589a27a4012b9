"""
Noisy grids: labels of neighbours help, and directions help more
================================================================

Flags of three stripes, with their colours in a fixed order, are covered by noise. Each pixel alone is often
wrong. A `GridClassifier` learns tables of weights for the labels of neighbours: one to the right, where
colours continue, and one downwards, where one colour follows another. The columns show a test image, its
gold labels, each pixel alone by the learned scores, and the best labelling found for the whole grid.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import GridClassifier


def flags(rng, n, side, noise):
    """Three stripes of random heights; pixels see their label's indicator, with noise."""
    y = []
    for _ in range(n):
        first, second = np.sort(rng.choice(np.arange(2, side - 1), 2, replace=False))
        rows = np.repeat([0, 1, 2], [first, second - first, side - second])
        y.append(np.repeat(rows, side).reshape(side, side))
    return [np.eye(3)[one] + noise * rng.normal(size=(side, side, 3)) for one in y], y


n_train = 20
n_test = 10
side = 12
X, y = flags(np.random.default_rng(0), n_train + n_test, side, 1.0)
model = GridClassifier(regularization=1.0, tol=0.02, max_passes=30, random_state=0)
model.fit(X[:n_train], y[:n_train])
X, y = X[n_train:], y[n_train:]
alone = [scores.argmax(axis=2) for scores in model.decision_function(X)]
figure = plt.figure(figsize=(10, 7.8), layout="constrained")
panels = figure.subplots(3, 4)
for row, image, gold, pixelwise, whole in zip(panels, X, y, alone, model.predict(X)):
    row[0].imshow(np.clip((image + 1) / 3, 0, 1))
    for axes, labels in zip(row[1:], (gold, pixelwise, whole)):
        axes.imshow(labels, cmap="viridis", vmin=0, vmax=2)
    row[2].set_xlabel(f"{np.mean(pixelwise == gold):.1%} right")
    row[3].set_xlabel(f"{np.mean(whole == gold):.1%} right")
for axes, title in zip(panels[0], ("image", "gold", "each pixel alone", "the whole grid")):
    axes.set_title(title)
for axes in panels.ravel():
    axes.set(xticks=[], yticks=[])
right = np.mean([np.mean(a == b) for a, b in zip(alone, y)])
figure.suptitle(f"{len(X)} test images: {right:.1%} of pixels right alone, {model.score(X, y):.1%} by grids")
plt.show()
