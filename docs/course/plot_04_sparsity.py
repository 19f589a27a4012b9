r"""
4. Norms that make zeros
========================

The penalty :math:`\frac\lambda2 \|w\|_2^2` makes all weights small and none zero. The sum of absolute values makes some exactly
zero: its slope does not vanish near zero, so a weight must be useful enough to become nonzero. Here are three such penalties for
regression:

=============================================================  =======================================================
:math:`\lambda \|w\|_1`                                        the lasso: single weights are zero
:math:`\lambda \sum_g \|w_g\|_2`                               the group lasso: groups are zero, or not, as a whole
:math:`\lambda (\rho \|w\|_1 + \frac{1 - \rho}{2} \|w\|_2^2)`  the elastic net: zeros, but similar features share
=============================================================  =======================================================

The path of the weights as :math:`\lambda` falls shows how they differ.
"""

# %%
# Why corners make zeros
# ----------------------
#
# A penalty is a budget: for every :math:`\lambda` there is a radius such that minimising the loss over the ball of that radius
# gives the same weights. Enlarge the level sets of the loss until they touch the ball. They can touch a round ball anywhere, but
# for many losses they touch the :math:`\ell_1` ball at a corner, where a weight is zero.
import matplotlib.pyplot as plt
import numpy as np

from structlearn import LinearRegressor

grid = np.stack(np.meshgrid(np.linspace(-1.5, 2.5, 300), np.linspace(-1.5, 2.5, 300)))
best, shape = np.array([0.9, 1.9]), np.array([[1.0, 0.4], [0.4, 1.3]])
away = grid - best[:, None, None]
loss = np.einsum("iab,ij,jab->ab", away, shape, away)
balls = {
    "$\\ell_2$": np.hypot(*grid),
    "$\\ell_1$": np.abs(grid).sum(axis=0),
    "elastic net": 0.5 * np.abs(grid).sum(axis=0) + 0.5 * (grid**2).sum(axis=0),
}
figure, panels = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
touched = {}
for axes, (name, size) in zip(panels, balls.items()):
    inside = np.where(size <= 1, loss, np.inf)
    touched[name] = grid[:, *np.unravel_index(inside.argmin(), inside.shape)]
    axes.contourf(*grid, size, levels=[0, 1], colors=["#CCE3F2"])
    axes.contour(*grid, loss, levels=inside.min() * np.array([0.3, 0.6, 1.0]), colors="#D55E00")
    axes.plot(*touched[name], "ko")
    axes.axhline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.axvline(0, color="0.8", linewidth=0.8, zorder=0)
    axes.set(title=name, xlabel="$w_1$", ylabel="$w_2$", aspect="equal")
plt.show()

# %%
# Paths
# -----
#
# There are ten features, of which three matter. Two more are noisy copies of the first.

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 10))
X[:, 3] = X[:, 0] + 0.1 * rng.normal(size=100)
X[:, 4] = X[:, 0] + 0.1 * rng.normal(size=100)
y = X[:, 0] * 3 + X[:, 1] * 2 - X[:, 2] + 0.5 * rng.normal(size=100)

lambdas = np.geomspace(5, 0.005, 40)
settings = {
    "ridge": {"penalty": "l2"},
    "lasso": {"penalty": "l1"},
    "elastic net": {"penalty": "elasticnet", "l1_ratio": 0.3},
}
paths = {
    name: np.array(
        [LinearRegressor(regularization=value, tol=1e-6, **setting).fit(X, y).coef_ for value in lambdas]
    )
    for name, setting in settings.items()
}
figure, panels = plt.subplots(1, 3, figsize=(12, 4), sharey=True, layout="constrained")
for axes, (name, path) in zip(panels, paths.items()):
    for k in range(10):
        look = {"color": f"C{k}", "linewidth": 2} if k < 5 else {"color": "0.75", "linewidth": 1}
        axes.semilogx(lambdas, path[:, k], **look, label=f"feature {k + 1}" if k < 5 else None)
    axes.invert_xaxis()
    axes.set(title=name, xlabel="$\\lambda$")
panels[0].set(ylabel="weight")
panels[2].legend(frameon=False, fontsize=8)
plt.show()

# %%
# The lasso picks one of the three copies first; the elastic net takes all of them together; ridge keeps everything.
#
# Where the first weight appears
# ------------------------------
#
# At :math:`\lambda` above :math:`\max_k |\frac1n \langle x_k, y \rangle|` (centred) all weights are zero. This value is the dual
# norm of the gradient at zero, and every path begins there.
centred, target = X - X.mean(axis=0), y - y.mean()
first = np.abs(centred.T @ target / len(y)).max()
above = LinearRegressor(penalty="l1", regularization=first * 1.001, tol=1e-10).fit(X, y)
below = LinearRegressor(penalty="l1", regularization=first * 0.99, tol=1e-10).fit(X, y)
print(np.count_nonzero(above.coef_), np.count_nonzero(below.coef_))

# %%
# Exercises
# ---------
#
# 1. Solve the lasso with one feature on paper (*soft thresholding*), and check it.
# 2. In the first picture, which of the three balls is touched where a weight is zero?
# 3. Put features 1, 4 and 5 into one group, every other into its own. Do they enter together?
#
# Solutions
# ---------
#
# 1. Minimise :math:`\frac12 a w^2 - c w + \lambda |w|`: :math:`w = \operatorname{sign}(c) \max(0, |c| - \lambda) / a`.
x = centred[:, :1]
a, c, lam = (x**2).mean(), (x[:, 0] * target).mean(), 0.7
one = LinearRegressor(penalty="l1", regularization=lam, tol=1e-12).fit(x, target)
np.testing.assert_allclose(one.coef_[0], np.sign(c) * max(0, abs(c) - lam) / a, rtol=1e-6)
assert np.count_nonzero(above.coef_) == 0
assert np.count_nonzero(below.coef_) == 1

# 2. Only the ball of the l1 norm (up to the width of the grid). That of the elastic net has corners as well, but blunter ones.
assert abs(touched["$\\ell_1$"][0]) < 0.02
assert all(np.abs(touched[name]).min() > 0.02 for name in ("$\\ell_2$", "elastic net"))

# 3. They do, at every lambda that was tried.
groups = [[0, 3, 4], [1], [2], [5], [6], [7], [8], [9]]
for value in lambdas[::4]:
    w = LinearRegressor(penalty="group", groups=groups, regularization=value, tol=2e-4).fit(X, y).coef_
    assert np.count_nonzero(w[[0, 3, 4]]) in (0, 3)
