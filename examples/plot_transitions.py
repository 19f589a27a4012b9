"""
What a chain learns about dates
===============================

Dates are written YYYYMMDD, but the chain is not told so. Its table of transitions between digits shows what
is common: a 1 or a 2 at the start, 9 after 1 and 0 after 2 in the years. All positions share one set of
weights for the images of digits. They are shown below: orange pixels are evidence for a digit, purple
pixels are evidence against it.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import ChainClassifier
from structlearn.data import train_test_digit_sequences

X, X_test, y, y_test = train_test_digit_sequences(300, 100, kind="dates", noise=0.3)
model = ChainClassifier(regularization=0.01, tol=1e-2, random_state=0).fit(X, y)
transitions = model.transition_coef_

figure = plt.figure(figsize=(9, 7), layout="constrained")
top, bottom = figure.subfigures(2, 1, height_ratios=(2, 1.2))
axes = top.subplots()
limit = np.abs(transitions).max()
image = axes.imshow(transitions, cmap="PuOr_r", vmin=-limit, vmax=limit)
axes.set(
    title="weight of each transition", xlabel="next digit", ylabel="digit", xticks=range(10), yticks=range(10)
)
top.colorbar(image, ax=axes)
scale = np.abs(model.coef_).max()
for digit, panel in enumerate(bottom.subplots(2, 5).ravel()):
    panel.imshow(model.coef_[digit].reshape(8, 8), cmap="PuOr_r", vmin=-scale, vmax=scale)
    panel.set(title=digit, xticks=[], yticks=[])
plt.show()
