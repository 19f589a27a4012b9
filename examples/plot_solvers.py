"""
Seven solvers on one problem
============================

All solvers minimise the same objective, a multiclass SVM on handwritten digits, and each reports its own
gap: the distance between its best weights and its best lower bound. Block methods look at one example at a
time, and batch methods look at all examples before they move. Cutting planes solve a small quadratic
program after each pass.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from structlearn import MulticlassClassifier

X, y = load_digits(return_X_y=True)
X = X / 16
solvers = ("bcfw", "seg", "cutting-plane", "extragradient", "fw", "subgradient", "stochastic-subgradient")
warnings.simplefilter("ignore")  # some do not reach the gap in 200 passes, and warn

figure, (by_passes, by_seconds) = plt.subplots(1, 2, figsize=(11, 4.2), sharey=True, layout="constrained")
for solver in solvers:
    model = MulticlassClassifier(loss="hinge", solver=solver, tol=1e-4, max_passes=200, random_state=0)
    history = model.fit(X, y).history_
    gap = np.maximum(history["gap"], 1e-5)
    by_passes.loglog(np.maximum(history["passes"], 0.5), gap, label=solver)
    by_seconds.loglog(np.maximum(history["seconds"], 1e-4), gap)
by_passes.set(xlabel="passes over the data", ylabel="duality gap")
by_seconds.set(xlabel="seconds")
by_passes.legend(frameon=False, fontsize=8)
plt.show()
