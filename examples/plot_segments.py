"""
Segments of a signal
====================

A machine is idle, working or overloaded, for a while each, and a noisy sensor measures its state. A chain
labels one reading after the other and knows only its neighbours. A segment model scores whole segments,
including their length, so it avoids segments of two readings. The panels show the signal, the truth, the
classifier of single readings, and the best segmentation.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import MulticlassClassifier, SegmentClassifier

STATES = ("idle", "works", "overload")
LEVEL, LENGTH = (0.0, 1.0, 1.8), (8, 14, 6)
rng = np.random.default_rng(0)


def signal():
    """Readings with some of their neighbours, and the segments."""
    spans, start, state = [], 0, rng.integers(3)
    while start < 60:
        length = min(max(3, rng.poisson(LENGTH[state])), 60 - start)
        spans.append((start, start + length, STATES[state]))
        start, state = start + length, (state + rng.integers(1, 3)) % 3
    level = np.concatenate([np.full(b - a, LEVEL[STATES.index(name)]) for a, b, name in spans])
    readings = level + 0.5 * rng.normal(size=60)
    return np.stack([readings, readings**2], axis=1), spans


def labels(spans):
    return np.concatenate([np.full(b - a, STATES.index(name)) for a, b, name in spans])


X, y = zip(*(signal() for _ in range(80)))
model = SegmentClassifier(max_length=30, regularization=0.01, tol=0.02, random_state=0).fit(X[:60], y[:60])
single = MulticlassClassifier(regularization=0.01, random_state=0)
single.fit(np.concatenate(X[:60]), np.concatenate([labels(spans) for spans in y[:60]]))
found = model.predict(X[60:])
right = np.mean([labels(a) == labels(b) for a, b in zip(found, y[60:])])
alone = np.mean([single.predict(x) == labels(b) for x, b in zip(X[60:], y[60:])])

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(9, 4.4), sharex=True, height_ratios=(2, 1.2), layout="constrained"
)
top.plot(X[60][:, 0], color="0.3")
top.set(
    ylabel="reading",
    title=f"on 20 test signals: {alone:.1%} of readings right alone, {right:.1%} by segments",
)
rows = np.stack([labels(y[60]), single.predict(X[60]), labels(found[0])])
bottom.imshow(rows, aspect="auto", cmap="viridis", interpolation="nearest")
bottom.set(yticks=range(3), yticklabels=["truth", "alone", "segments"], xlabel="time")
plt.show()
