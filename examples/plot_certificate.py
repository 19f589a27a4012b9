"""
A certificate during training
=============================

Training brings two curves together: the objective of the best weights so far, from above, and a lower bound
on the optimum, from below. The optimum always lies in the shaded band, and the height of the band is the
gap. You can stop at any time and know how much could still be gained.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import ChainClassifier
from structlearn.data import train_test_digit_sequences

X, X_test, y, y_test = train_test_digit_sequences(150, 50, noise=0.4)
model = ChainClassifier(loss="hinge", solver="bcfw", regularization=0.002, tol=2e-3, random_state=0).fit(X, y)
history = model.history_
passes = np.maximum(history["passes"], 0.7)

figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.fill_between(
    passes, history["dual"], history["primal"], color="#56B4E9", alpha=0.35, label="the optimum is here"
)
axes.plot(passes, history["primal"], color="#D55E00", label="primal: this model")
axes.plot(passes, history["dual"], color="#0072B2", label="dual: no model is better")
axes.set(xscale="log", xlabel="passes over the data", ylabel="objective", ylim=(0, 1.05))
axes.set(title=f"gap {model.certificate_.gap:.4f} after {model.certificate_.passes:.0f} passes")
axes.legend(frameon=False)
plt.show()
