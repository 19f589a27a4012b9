"""
Hinge, softmax, sparsemax: three ways to be unsure
==================================================

The same chain of handwritten digits is trained with three losses of one family. Softmax gives every digit
some probability everywhere. Sparsemax, the Euclidean projection onto the polytope of sequences, leaves most
probabilities at exactly zero. The hinge answers with one sequence. Rows are digits, columns are positions
of one noisy number, and boxes mark the truth.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import ChainClassifier
from structlearn.data import train_test_digit_sequences

X, X_test, y, y_test = train_test_digit_sequences(150, 60, kind="counters", noise=0.6)
figure, panels = plt.subplots(1, 3, figsize=(12, 4.4), sharey=True, layout="constrained")
for axes, loss in zip(panels, ("hinge", "softmax", "sparsemax")):
    model = ChainClassifier(loss=loss, regularization=0.02, tol=1e-2, random_state=0).fit(X, y)
    if loss == "hinge":
        table = np.eye(10)[model.predict(X_test[:1])[0]]
    else:
        table = model.predict_marginals(X_test[:1])[0]
    image = axes.imshow(table.T, vmin=0, vmax=1, cmap="Blues", aspect="auto")
    for position, digit in enumerate(y_test[0]):
        axes.add_patch(
            plt.Rectangle((position - 0.5, digit - 0.5), 1, 1, fill=False, edgecolor="#D55E00", linewidth=2)
        )
    axes.set(title=f"{loss}: {np.mean(table == 0):.0%} zeros, {model.score(X_test, y_test):.0%} right")
    axes.set(xlabel="position", yticks=range(10))
panels[0].set(ylabel="digit")
figure.colorbar(image, ax=panels, label="probability", shrink=0.8)
plt.show()
