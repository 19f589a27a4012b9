r"""
3. Duality and the support vector machine
=========================================

A lower bound is as useful as a good solution: together they say how far the solution is from the optimum. Lagrangian duality
gives such bounds.

Write the hinge with slack variables: minimise :math:`\frac\lambda2\|w\|^2 + \frac1n \sum_i \xi_i` subject to :math:`\xi_i \ge 0`
and :math:`\xi_i \ge 1 - y_i \langle w, x_i \rangle`. Now allow violations of the second constraints, at a price
:math:`\alpha_i \ge 0` per unit. Where the constraints hold, the price term is zero or negative. So for :math:`\xi \ge 0`

.. math:: \mathcal L(w, \xi, \alpha) = \frac\lambda2\|w\|^2 + \frac1n \sum_i \xi_i
          + \sum_i \alpha_i \big( 1 - y_i \langle w, x_i \rangle - \xi_i \big)

is at most the objective wherever the constraints hold, and its minimum over w and :math:`\xi` is a lower bound on the optimum.
The minimum over :math:`\xi_i \ge 0` of :math:`(\frac1n - \alpha_i) \xi_i` is zero if :math:`\alpha_i \le \frac1n`, and minus
infinity otherwise; this gives the box constraint. The minimum over w is where the gradient vanishes, at
:math:`w = \frac1\lambda \sum_i \alpha_i y_i x_i`. What remains is the *dual*,

.. math:: D(\alpha) = \sum_i \alpha_i - \frac{1}{2\lambda} \Big\| \sum_i \alpha_i y_i x_i \Big\|^2,
          \qquad 0 \le \alpha_i \le \tfrac1n .

Every feasible :math:`\alpha` gives :math:`D(\alpha) \le P(w)` for every w. The difference is the *gap*, the number at the end of every
run of this library. At the optimum it is zero.
"""

# %%
# Two ascent methods
# ------------------
#
# The dual is a smooth concave function over a box. *Projected gradient* moves all prices at once and clips them. *Coordinate
# ascent* takes one example at a time, maximises over its price exactly, and clips. It uses the same box and needs no step size.
import matplotlib.pyplot as plt
import numpy as np

from structlearn import BinaryClassifier

rng = np.random.default_rng(1)
X = np.concatenate([rng.normal([-1, 0], 0.9, (60, 2)), rng.normal([1, 0.5], 0.9, (60, 2))])
y = np.repeat([0, 1], 60)
shared = {"loss": "hinge", "regularization": 0.02, "tol": 1e-5, "max_passes": 400, "random_state": 0}
models = {
    name: BinaryClassifier(solver=name, **shared).fit(X, y)
    for name in ("coordinate-ascent", "projected-gradient")
}

figure, (race, plane) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for name, model in models.items():
    history = model.history_
    race.loglog(np.maximum(history["passes"], 0.5), np.maximum(history["gap"], 1e-9), label=name)
race.set(title="the gap falls", xlabel="passes over the data", ylabel="primal less dual")
race.legend(frameon=False)

model = models["coordinate-ascent"]
support = np.zeros(len(X), dtype=bool)
support[model.support_] = True
plane.scatter(*X[~support].T, c=np.where(y[~support], "#D55E00", "#0072B2"), s=12, alpha=0.5)
plane.scatter(*X[support].T, c=np.where(y[support], "#D55E00", "#0072B2"), s=40, edgecolor="black")
(w,), (b,) = model.coef_, model.intercept_
across = np.linspace(-4, 4, 2)
for level, style in ((-1, ":"), (0, "-"), (1, ":")):
    plane.plot(across, (level - b - w[0] * across) / w[1], style, color="black")
plane.set(title=f"{support.sum()} of {len(X)} points hold the line", xlim=(-4, 4), ylim=(-3, 3.5))
plt.show()

# %%
# The line is a sum of *support vectors*: points inside the margin or on it. For all others the price of the constraint is zero,
# and they could be removed.
#
# Exercises
# ---------
#
# 1. Compute P and D at the model's weights and prices by hand, and check the certificate.
# 2. Check complementary slackness: points outside the margin have price 0, and points strictly inside have the full price 1/n.
# 3. Remove the points that are not support vectors. What happens to the line?
# 4. Write coordinate ascent yourself. With all other prices fixed, D is a parabola in one price. Where is its maximum, and where
#    is its maximum in the box?
#
# Solutions
# ---------
#
# The constant feature for the intercept is penalised like any other, so it is part of x.
lam, n = 0.02, len(X)
rows = np.hstack([X, np.ones((n, 1))])
signs = np.where(y == 1, 1, -1)
weights = np.append(model.coef_[0], model.intercept_[0])
margins = signs * (rows @ weights)
primal = lam / 2 * weights @ weights + np.maximum(0, 1 - margins).mean()
np.testing.assert_allclose(primal, model.certificate_.primal, rtol=1e-9)

prices = np.abs(model.dual_coef_[0]) * lam  # sum_i dual_coef_i x_i is w
dual = prices.sum() - (rows.T @ (prices * signs)) @ (rows.T @ (prices * signs)) / (2 * lam)
assert primal - 1e-3 < dual <= primal + 1e-12

assert prices[margins > 1.01].max() < 1e-6
assert prices[margins < 0.99].min() > 1 / n - 1e-6

# 3. Nothing. Prices are shares of the mean, so with fewer examples lambda n must stay the same.
fewer = BinaryClassifier(**{**shared, "regularization": lam * n / support.sum()}).fit(X[support], y[support])
assert np.abs(fewer.coef_ - model.coef_).max() < 0.05

# 4. The slope along price i is 1 - y_i <w, x_i>, the curvature -||x_i||^2 / lambda: go to the maximum, and clip.
alpha, v = np.zeros(n), np.zeros(3)  # v is w(alpha)
for _ in range(400):
    for i in range(n):
        top = alpha[i] + lam * (1 - signs[i] * (rows[i] @ v)) / (rows[i] @ rows[i])
        new = np.clip(top, 0, 1 / n)
        v += (new - alpha[i]) * signs[i] * rows[i] / lam
        alpha[i] = new
by_hand = alpha.sum() - lam / 2 * v @ v
np.testing.assert_allclose(by_hand, model.certificate_.dual, atol=2e-4)
