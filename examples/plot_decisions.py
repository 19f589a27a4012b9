"""
Routes that are predicted
=========================

Travel times of the streets of a town depend on what is known in the morning. A linear model predicts them,
and the van takes the shortest path by the prediction. Trained by least squares, the model is close to the
times on average. Trained for the decision (SPO+), it is close where the choice of the path depends on it.
The panels are the three mornings on which least squares lost most: the best path in grey, the paths by both
models, and wider lines for streets that took longer.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import DecisionPredictor
from structlearn.data import make_shortest_paths

SIDE = 7
X, costs, grid = make_shortest_paths(1000, rows=SIDE, columns=SIDE, degree=6, noise=0.25, random_state=1)
train, test = slice(0, 500), slice(500, None)
models = {
    "least squares": DecisionPredictor(grid, loss="two-stage", random_state=0),
    "for the decision": DecisionPredictor(grid, loss="spo+", random_state=0),
}
paths = {name: model.fit(X[train], costs[train]).predict(X[test]) for name, model in models.items()}
best = models["least squares"].best_decisions(costs[test])
regrets = {name: ((path - best) * costs[test]).sum(axis=1) for name, path in paths.items()}

figure = plt.figure(figsize=(12, 4.4), layout="constrained")
panels = figure.subplots(1, 3)
looks = {"least squares": ("#D55E00", -0.07), "for the decision": ("#0072B2", 0.07)}
rows, columns = np.divmod(grid.edges, SIDE)
for axes, i in zip(panels, np.argsort(-regrets["least squares"])[:3]):
    shade = costs[test][i] / costs[test][i].max()
    for e in range(len(rows)):
        axes.plot(columns[e], rows[e], color="0.8", linewidth=0.5 + 3 * shade[e], zorder=0)
        if best[i, e]:
            axes.plot(columns[e], rows[e], color="0.35", linewidth=9, alpha=0.35, solid_capstyle="round")
        for name, (colour, shift) in looks.items():
            if paths[name][i, e]:
                axes.plot(columns[e] + shift, rows[e] + shift, color=colour, linewidth=2.5, label=name)
    lost = (f"{regrets[name][i] / (best[i] @ costs[test][i]):.0%} {name}" for name in looks)
    axes.set_title("regret " + ", ".join(lost), fontsize=10)
    axes.set(ylim=(SIDE - 0.7, -0.3), aspect="equal")
    axes.axis("off")
handles = dict(zip(*reversed(panels[0].get_legend_handles_labels())))
figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=2, frameon=False)
scores = ", ".join(f"{-model.score(X[test], costs[test]):.1%} {name}" for name, model in models.items())
figure.suptitle(f"Regret over {len(best)} mornings: {scores}")
plt.show()
