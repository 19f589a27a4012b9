"""
A learned matching
==================

Two sets of nodes are to be matched, each node with at most one node of the other set. Every possible link
has features. The model learns one weight per feature and then finds the matching with the highest total
score. Taking the best column of each row instead would link some columns twice. Each panel is one test
problem: the shades are the learned scores, the circles are the gold links, and the crosses are the
predicted links.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import MatchingClassifier
from structlearn.data import make_matchings


def draw(axes, scores, gold, found, limit):
    image = axes.imshow(scores, cmap="PuOr_r", vmin=-limit, vmax=limit, alpha=0.6)
    for table, look in (
        (gold, {"marker": "o", "s": 260, "facecolor": "none", "edgecolor": "black", "linewidth": 1.5}),
        (found, {"marker": "x", "s": 70, "color": "black", "linewidth": 2}),
    ):
        rows, columns = np.nonzero(table)
        axes.scatter(columns, rows, label="gold" if table is gold else "predicted", **look)
    axes.set(title=f"{int((gold * found).sum())} of {gold.sum()} gold links found", xlabel="column")
    return image


n_train = 100
n_test = 100
X, y = make_matchings(n_train + n_test, 8, 8, n_features=6, random_state=0)
model = MatchingClassifier(random_state=0).fit(X[:n_train], y[:n_train])
X, y = X[n_train:], y[n_train:]
found, scores = model.predict(X), model.decision_function(X)
figure = plt.figure(figsize=(12, 4.6), layout="constrained")
panels = figure.subplots(1, 3)
limit = np.abs(scores[:3]).max()
for i, axes in enumerate(panels):
    image = draw(axes, scores[i], y[i], found[i], limit)
panels[0].set(ylabel="row")
figure.colorbar(image, ax=panels, label="learned score", shrink=0.8)
figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2, frameon=False)
figure.suptitle(f"Learned matchings: F1 of {model.score(X, y):.1%} over {len(X)} test problems")
plt.show()
