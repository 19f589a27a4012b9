r"""
11. Decisions
=============

A van is to go from one corner of a town to the other. The travel times of today are not known, but the weather, the weekday and
yesterday's traffic are. So we predict the times :math:`\hat c` of all streets from these features, and take the path

.. math:: z(\hat c) = \arg\min_z \; \langle \hat c, z \rangle .

What is lost is not an error of prediction. It is the *regret*: what our path costs more than the best one, in true times c,

.. math:: \langle c, z(\hat c) \rangle - \langle c, z(c) \rangle .

This chapter trains predictions for the decision that they lead to. It needs nothing new: the loss is the structured hinge of
chapter 8.
"""

# %%
# Good predictions, bad decisions
# -------------------------------
#
# Two streets lead to the goal. Their true times depend on one feature x. The first is a curve, the second is constant. A line that is
# fitted to the curve by least squares is closest where most of the curve is, and crosses the constant at the wrong place. Between the
# two crossings it decides wrongly. Another line is a worse prediction, and decides better.
import matplotlib.pyplot as plt
import numpy as np

from structlearn import DecisionPredictor
from structlearn.data import make_shortest_paths
from structlearn.structures import TopK

x = np.linspace(0, 3, 200)[:, None]
costs = np.column_stack([0.4 * x[:, 0] ** 4 / 9, np.full(200, 1.2)])
either = TopK(2, 1)  # exactly one of two parts
least_squares = DecisionPredictor(either, loss="two-stage", random_state=0).fit(x, costs)
decided = DecisionPredictor(either, loss="spo+", regularization=1e-3, tol=1e-5, random_state=0).fit(x, costs)

figure, panels = plt.subplots(1, 2, figsize=(10, 3.8), layout="constrained", sharey=True)
for axes, model, name in zip(panels, (least_squares, decided), ("least squares", "SPO+")):
    predicted = model.predict_costs(x)
    for k, colour in enumerate(("#0072B2", "#D55E00")):
        axes.plot(x, costs[:, k], color=colour, label=f"street {k + 1}")
        axes.plot(x, predicted[:, k], "--", color=colour, label=f"street {k + 1}, predicted")
    wrong = model.predict(x).argmax(axis=1) != costs.argmin(axis=1)
    axes.fill_between(x[:, 0], -1, 4, where=wrong, color="0.85", label="wrong street")
    axes.set(title=f"{name}: regret {-model.score(x, costs):.1%}", xlabel="x", ylim=(-1, 4))
panels[0].set(ylabel="time")
panels[0].legend(fontsize=8, loc="upper left")
plt.show()

# %%
# From the regret to SPO+
# -----------------------
#
# As a function of :math:`\hat c` the regret jumps where the decision changes, and is flat elsewhere. Elmachtoub and Grigas bound it.
# For any number :math:`\alpha`, the best decision :math:`z^* = z(c)` and :math:`\hat z = z(\hat c)`,
#
# .. math:: \langle c, \hat z - z^* \rangle \le \langle c - \alpha \hat c, \hat z - z^* \rangle
#           \le \max_z \; \langle c - \alpha \hat c, z - z^* \rangle ,
#
# the first because :math:`\langle \hat c, \hat z \rangle \le \langle \hat c, z^* \rangle`. The right side with :math:`\alpha = 2` is the
# SPO+ loss. With scores :math:`\theta = -2 \hat c` it is :math:`\max_z [ \langle \theta, z - z^* \rangle + \langle c, z - z^* \rangle ]`:
# the structured hinge, in which the cost of a mistake is its regret. Here are both along a line of predictions for two streets:
move = np.linspace(-2, 2, 401)
true = np.array([1.0, 2.0])
streets = np.eye(2)
predictions = np.column_stack([1.5 + move / 2, 1.5 - move / 2])  # the second is less where move > 0
chosen = streets[predictions.argmin(axis=1)]
regret = chosen @ true - true.min()
spo_plus = ((true - 2 * predictions) @ streets.T).max(axis=1) + (2 * predictions - true) @ streets[0]
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
axes.plot(move, regret, color="#D55E00", label="regret")
axes.plot(move, spo_plus, color="#0072B2", label="SPO+")
axes.set(xlabel="predicted time of street 1 minus that of street 2", ylabel="loss")
axes.legend()
plt.show()

# %%
# Shortest paths
# --------------
#
# The benchmark of this field: a grid of 5 x 5 nodes, and costs that are a polynomial of five features, with noise. The higher the
# degree, the more wrong is a linear model. Training ends with a certificate, as always.
degrees, regrets = (1, 2, 4, 6), {"spo+": [], "two-stage": []}
for degree in degrees:
    X, times, grid = make_shortest_paths(1500, degree=degree, noise=0.25, random_state=0)
    for loss, found in regrets.items():
        model = DecisionPredictor(grid, loss=loss, random_state=0).fit(X[:500], times[:500])
        found.append(-100 * model.score(X[500:], times[500:]))
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for (loss, found), marker in zip(regrets.items(), "os"):
    axes.plot(degrees, found, marker=marker, label=loss)
axes.set(xlabel="degree", ylabel="normalised regret, per cent", xticks=degrees, ylim=(0, None))
axes.legend()
plt.show()

# %%
# At degree 1 regression is the right model, and nothing can be gained. What is left of the regret there comes from the noise, which
# nobody can predict. :doc:`The page on decisions <../decisions>` has the whole study.
model = DecisionPredictor(grid, random_state=0).fit(X[:500], times[:500])
print(model.certificate_)

# %%
# Exercises
# ---------
#
# 1. Show that SPO+ is zero only if the prediction is right with a margin: <alpha c_hat - c, z* - z> is at most 0 for all z. Check on
#    the predictions of the second figure where it is zero.
# 2. Why does alpha change nothing that lambda does not change? Check it with two models.
# 3. The optimum of SPO+ is not the least regret. Find a lambda whose training regret is lower than that of a smaller lambda.
#
# Solutions
# ---------
margins = ((2 * predictions - true) @ (streets[0] - streets[1])) <= 1e-12
np.testing.assert_array_equal(margins, spo_plus <= 1e-12)

# 2. The loss depends on alpha B alone, and lambda/2 ||B||^2 = (lambda/alpha^2)/2 ||alpha B||^2.
first, second = (
    DecisionPredictor(grid, alpha=alpha, regularization=strength, tol=1e-7, random_state=0).fit(
        X[:100], times[:100]
    )
    for alpha, strength in ((2.0, 0.4), (1.0, 0.1))
)
np.testing.assert_allclose(2 * first.coef_, second.coef_, atol=2e-2)

# 3. Of these, the loss falls to the last, but the regret does not:
strengths = np.geomspace(1, 1e-4, 9)
models = [
    DecisionPredictor(grid, regularization=one, tol=1e-4, random_state=0).fit(X[:100], times[:100])
    for one in strengths
]
for one, found in zip(strengths, models):
    print(f"lambda {one:.1e}: training regret {-found.score(X[:100], times[:100]):.3%}")
on_training = [-found.score(X[:100], times[:100]) for found in models]
assert any(early < late for k, early in enumerate(on_training) for late in on_training[k + 1 :])
