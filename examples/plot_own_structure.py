"""
A structure of your own: intervals
==================================

The output is one interval of a signal, which says where something happened. The library has no such
structure. One method is enough: it returns the best interval for given scores (the maximum subarray, found
in one sweep). All losses, solvers and certificates then work. Trained on signals with a bump, the model
finds the bump in other signals.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import StructuredPredictor


class Interval:
    """0/1 vectors whose ones are neighbours, or none."""

    def maximize(self, theta):
        total, start, best, found = 0.0, 0, 0.0, (0, 0)
        for k, score in enumerate(theta):
            if total <= 0:
                total, start = 0.0, k
            total += score
            if total > best:
                best, found = total, (start, k + 1)
        vertex = np.zeros(len(theta))
        vertex[slice(*found)] = 1
        return vertex


def signal(rng, length=60):
    start, size = rng.integers(5, 40), rng.integers(6, 16)
    inside = np.zeros(length)
    inside[start : start + size] = 1
    values = 1.3 * inside + rng.normal(size=length)
    near = np.convolve(values, np.ones(5) / 5, mode="same")
    return np.stack([values, near, np.ones(length)], axis=1), inside


rng = np.random.default_rng(0)
X, y = zip(*(signal(rng) for _ in range(140)))
model = StructuredPredictor(Interval(), regularization=0.01, tol=0.02, random_state=0).fit(X[:100], y[:100])
found = model.predict(X[100:])
overlap = np.mean([(a * b).sum() / max(1, np.maximum(a, b).sum()) for a, b in zip(found, y[100:])])

figure, panels = plt.subplots(3, 1, figsize=(8, 5), sharex=True, layout="constrained")
for axes, x, gold, guess in zip(panels, X[100:], y[100:], found):
    axes.plot(x[:, 0], color="0.4", linewidth=1)
    axes.fill_between(
        range(60), -3, 4, where=gold > 0, color="#D55E00", alpha=0.25, step="mid", label="truth"
    )
    axes.plot(np.where(guess > 0, -2.8, np.nan), color="#0072B2", linewidth=4, label="found")
panels[0].legend(frameon=False, ncols=2, loc="upper right", fontsize=8)
panels[0].set(title=f"average overlap on 40 test signals: {overlap:.0%}")
plt.show()
