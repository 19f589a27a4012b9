"""
The least loss is not the least regret
======================================

SPO+ bounds the regret of decisions from above. Along a path of decreasing lambda its value on the training
data falls, and with it the training regret. The regret on new data falls first and then rises: lambda is
chosen by the regret on examples that were left out, not by the loss.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import DecisionPredictor, regularization_path
from structlearn.data import make_knapsacks

X, values, knapsack = make_knapsacks(1350, n_items=20, degree=4, noise=0.5, random_state=2)
train, validation, test = slice(0, 100), slice(100, 350), slice(350, None)
lambdas = np.geomspace(30, 3e-3, 13)
model = DecisionPredictor(knapsack, sense="max", random_state=0)
models = regularization_path(model, X[train], values[train], lambdas)
losses = [
    one.certificate_.primal - one.regularization / 2 * float(one.weights_ @ one.weights_) for one in models
]
regrets = {
    name: [-100 * one.score(X[part], values[part]) for one in models]
    for name, part in (("training", train), ("validation", validation), ("test", test))
}

figure = plt.figure(figsize=(10, 4.2), layout="constrained")
left, right = figure.subplots(1, 2)
left.semilogx(lambdas, losses, marker="o", color="#0072B2")
left.set(xlabel="lambda", ylabel="mean SPO+ loss, training", ylim=(0, None))
for (name, found), colour in zip(regrets.items(), ("#0072B2", "#E69F00", "#D55E00")):
    right.semilogx(lambdas, found, marker="o", color=colour, label=name)
chosen = int(np.argmin(regrets["validation"]))
right.axvline(lambdas[chosen], color="0.6", linestyle=":", zorder=0)
right.set(xlabel="lambda", ylabel="normalised regret, per cent", ylim=(0, None))
right.legend(frameon=False)
for axes in (left, right):
    axes.invert_xaxis()
figure.suptitle(
    f"Chosen by validation: lambda {lambdas[chosen]:.2g}, test regret {regrets['test'][chosen]:.1f}%"
)
plt.show()
