r"""
4. Norms that make zeros
========================

The penalty :math:`\frac\lambda2 \|w\|_2^2` makes all weights small and none zero. The sum of absolute values makes some exactly zero:
near zero its slope does not vanish, so that a weight must earn its place. Three penalties for regression,

=========================================  =======================================================
:math:`\lambda \|w\|_1`                    the lasso: single weights are zero
:math:`\lambda \sum_g \|w_g\|_2`           the group lasso: groups are zero, or not, as a whole
a mixture of :math:`\ell_1` and            the elastic net: zeros, but alike features share
:math:`\ell_2`
=========================================  =======================================================

and the picture that explains them is the path of the weights as :math:`\lambda` falls.
"""

# %%
# Paths
# -----
#
# Ten features, of which three matter. Two more are noisy copies of the first.
import matplotlib.pyplot as plt
import numpy as np

from structlearn import LinearRegressor

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
        [LinearRegressor(regularization=value, tol=1e-8, **setting).fit(X, y).coef_ for value in lambdas]
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
# At :math:`\lambda` above :math:`\max_k |\frac1n \langle x_k, y \rangle|` (centred) all weights are zero. It is the dual norm of the gradient at
# zero, and it is where every path begins.
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
# 2. Put features 1, 4 and 5 into one group, every other into its own. Do they enter together?
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

groups = [[0, 3, 4], [1], [2], [5], [6], [7], [8], [9]]
for value in lambdas[::4]:
    w = LinearRegressor(penalty="group", groups=groups, regularization=value, tol=1e-8).fit(X, y).coef_
    assert np.count_nonzero(w[[0, 3, 4]]) in (0, 3)
