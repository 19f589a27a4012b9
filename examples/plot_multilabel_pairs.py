"""
Label sets with pairs of labels
===============================

Each example has a set of labels, and some labels tend to occur together, or to exclude each other. With
`edges="none"` every label is decided separately. With `edges="all"` each pair of labels has a table of four
weights, learned with the rest. The first panel compares how many label sets are entirely right. The others
show which pairs go together in the data, and the interaction learned for each pair: its weights where the
two labels agree minus those where they differ. Labels that correlate only through a third label need little
interaction.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import MultiLabelClassifier
from structlearn.data import make_multilabel


def interactions(model):
    """A symmetric table of the pairs' interactions: both or neither, minus only one."""
    table = np.zeros((len(model.classes_), len(model.classes_)))
    tables = model.pair_coef_
    strength = tables[:, 0, 0] + tables[:, 1, 1] - tables[:, 0, 1] - tables[:, 1, 0]
    first, second = model.edges_.T
    table[first, second] = table[second, first] = strength
    return table


n_train = 500
n_test = 1000
X, y = make_multilabel(n_train + n_test, n_labels=8, n_features=10, random_state=0, noise=0.3)
fits = {
    edges: MultiLabelClassifier(loss="hinge", edges=edges, regularization=0.1, random_state=0).fit(
        X[:n_train], y[:n_train]
    )
    for edges in ("none", "all")
}
figure = plt.figure(figsize=(12, 4), layout="constrained")
bars, data, learned = figure.subplots(1, 3)
scores = [100 * model.score(X[n_train:], y[n_train:]) for model in fits.values()]
bars.bar_label(bars.bar(["no pairs", "all pairs"], scores, color=["#0072B2", "#D55E00"]), fmt="%.1f")
bars.set(title="Whole label sets right", ylabel="test examples (%)", ylim=(0, 100))
correlation = np.corrcoef(y.T) - np.eye(y.shape[1])
for axes, table, title in (
    (data, correlation, "Correlation in the data"),
    (learned, interactions(fits["all"]), "Learned interaction"),
):
    limit = abs(table).max()
    figure.colorbar(axes.imshow(table, cmap="PuOr_r", vmin=-limit, vmax=limit), ax=axes, shrink=0.8)
    axes.set(title=title, xlabel="label", ylabel="label")
plt.show()
