r"""
2. Subgradients do not descend
==============================

The hinge has kinks. At a kink there is no gradient, but there are *subgradients*: the slopes g of lines that touch f from below,
:math:`f(v) \ge f(w) + \langle g, v - w \rangle` for all v. A step goes in the opposite direction, as with a gradient:

.. math:: w_{t+1} = w_t - \gamma_t \, g_t .

It is tempting to call :math:`-g` a descent direction. It is not, and a small counter-example fits in one picture.
"""

# %%
# What a subgradient is
# ---------------------
#
# Look at the hinge at its kink: every line through the kink with a slope between -1 and 0 stays below the function. Where the
# hinge is smooth, only one such line is left, the tangent.
import matplotlib.pyplot as plt
import numpy as np

margin = np.linspace(-1, 3, 200)
figure, axes = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
axes.plot(margin, np.maximum(0, 1 - margin), color="black", linewidth=2.5, label="hinge")
for slope in np.linspace(-1, 0, 6):
    axes.plot(margin, slope * (margin - 1), color="#D55E00", linewidth=1)
axes.plot([], [], color="#D55E00", label="subgradients at 1")
axes.set(xlabel="margin", ylabel="loss", ylim=(-1.6, 2.2))
axes.legend(frameon=False)
plt.show()

# %%
# The counter-example
# -------------------
#
# Take :math:`f(w) = |w_1| + 2 |w_2|` at :math:`w = (1, 0)`. On the second axis f has a kink, and every :math:`(1, s)` with
# :math:`|s| \le 2` is a subgradient there. Take a step along :math:`-g = -(1, 2)`: the first term falls by :math:`\gamma`, the second grows
# by :math:`4 \gamma`. However small the step, f grows.


def f(w):
    return np.abs(w[0]) + 2 * np.abs(w[1])


w, g = np.array([1.0, 0.0]), np.array([1.0, 2.0])
grid = np.stack(np.meshgrid(np.linspace(-0.6, 1.6, 200), np.linspace(-1, 1, 200)))
figure, (plane, along) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
plane.contour(*grid, f(grid), levels=np.linspace(0.2, 3, 15), cmap="viridis")
plane.annotate("", w - 0.35 * g, w, arrowprops={"width": 2, "color": "#D55E00"})
plane.plot(*w, "ko")
plane.plot(0, 0, "k*", markersize=12)
plane.set(title="against a subgradient, up the hill", xlabel="$w_1$", ylabel="$w_2$", aspect="equal")
steps = np.linspace(0, 0.5, 100)
walked = w[:, None] - g[:, None] * steps
along.plot(steps, f(walked), color="#D55E00", label="f")
along.plot(steps, np.hypot(*walked), color="#0072B2", label="distance to the minimum")
along.set(title="the value grows, the distance falls", xlabel="step")
along.legend(frameon=False)
plt.show()

# %%
# The right-hand plot shows why the method works nevertheless. The definition of a subgradient, at the minimum :math:`w^*`, says
# :math:`\langle g, w - w^* \rangle \ge f(w) - f(w^*) > 0`: the step points into the half space that contains the minimum. A short
# step comes *nearer* to the minimum, though not lower. This gives two rules: keep the best weights seen (or average them), and let the steps shrink.
#
# Step sizes
# ----------
#
# On :math:`f(w) = |w_1| + 2|w_2|`, a constant step ends in a zigzag of the size of the step, and :math:`1/\sqrt t` converges.
rules = {
    "constant": lambda t: 0.1,
    "$1/\\sqrt{t}$": lambda t: 0.3 / np.sqrt(t),
    "$1/t$": lambda t: 0.3 / t,
}
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
best = {}
for name, rule in rules.items():
    w, values = np.array([1.3, 0.9]), []
    for t in range(1, 1001):
        values.append(f(w))
        w = w - rule(t) * np.array([1, 2]) * np.sign(w)
    best[name] = np.minimum.accumulate(values)
    axes.loglog(range(1, 1001), best[name], label=name)
axes.set(xlabel="step", ylabel="best value so far")
axes.legend(frameon=False)
plt.show()

# %%
# On this problem :math:`0.3/t` stops before it arrives, because the sum of its steps grows only like a logarithm. With a
# *strongly convex* objective, such as ours with :math:`\lambda/2 \|w\|^2`, the step :math:`1/(\lambda t)` is the right one
# (Pegasos), and needs no tuning.
import warnings

from sklearn.datasets import load_digits

from structlearn import BinaryClassifier

X, y = load_digits(n_class=2, return_X_y=True)
X = X / 16
choices = {
    "$1/(\\lambda t)$": {"step": "pegasos"},
    "constant 0.1": {"step": "constant", "eta": 0.1},
    "$0.1/\\sqrt{t}$": {"step": "diminishing", "eta": 0.1},
}
shared = {"loss": "hinge", "regularization": 0.01, "tol": 1e-4, "max_passes": 200, "random_state": 0}
warnings.simplefilter("ignore")  # some end at 200 passes, and say so
models = {
    name: BinaryClassifier(solver="stochastic-subgradient", solver_options=one, **shared).fit(X, y)
    for name, one in choices.items()
}
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for name, model in models.items():
    axes.loglog(
        np.maximum(model.history_["passes"], 0.5), np.maximum(model.history_["gap"], 1e-5), label=name
    )
axes.set(xlabel="passes over the data", ylabel="primal less dual", title="a support vector machine, 0 or 1?")
axes.legend(frameon=False)
plt.show()
print(models["$1/(\\lambda t)$"].certificate_)

# %%
# Exercises
# ---------
#
# 1. Give a subgradient of f at (1, 0) whose negative *is* a descent direction.
# 2. Which subgradients in w does :math:`\max(0, 1 - y \langle w, x \rangle)` have at the margins 0, 1 and 2?
# 3. Which constant step makes the walk from (1.3, 0.9) hit f's minimum exactly in its first coordinate, and what happens then?
#
# Solutions
# ---------
#
# 1. (1, 0): the first term falls, the second does not change.
# 2. :math:`-y x`; every :math:`-s y x` with :math:`0 \le s \le 1`; and 0. They satisfy the definition against random weights.
# 3. 0.1 after 13 steps, up to rounding; the sign of (nearly) zero then sends it back and forth.
w = np.array([1.0, 0.0])
assert f(w - 0.01 * np.array([1.0, 0.0])) < f(w)
assert f(w - 0.01 * g) > f(w)

rng = np.random.default_rng(0)
x = np.array([2.0, -1.0])
for at, shares in ((0.0, (1.0,)), (1.0, (0.0, 0.3, 1.0)), (2.0, (0.0,))):
    w = at * x / (x @ x)  # a point with this margin, y = 1
    for v in rng.normal(size=(200, 2)) * 3:
        for share in shares:
            assert max(0, 1 - v @ x) >= max(0, 1 - w @ x) + (-share * x) @ (v - w) - 1e-12

w1 = 1.3
for _ in range(13):
    w1 -= 0.1 * np.sign(w1)
assert abs(w1) < 1e-12
assert best["$1/\\sqrt{t}$"][-1] < best["constant"][-1]
