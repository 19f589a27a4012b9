r"""
9. Bayesian regression
======================

Regularisation can also be seen as a prior belief. Let the weights be :math:`N(0, I/\alpha)` before any data is seen, and let the
targets be :math:`y = \langle w, x \rangle` plus noise :math:`N(0, 1/\beta)`. Then after n examples the weights are again
Gaussian, with

.. math:: \Sigma^{-1} = \alpha I + \beta X^\top X, \qquad m = \beta \, \Sigma X^\top y .

The mean is ridge regression with :math:`\lambda = \alpha / (\beta n)`. The covariance is new: it says what the data leave
uncertain.
"""

# %%
# A picture of the uncertainty
# ----------------------------
#
# Fit a polynomial of degree nine to a few points. The band is one predictive standard deviation on each side.
import matplotlib.pyplot as plt
import numpy as np

from structlearn import LinearRegressor

rng = np.random.default_rng(0)


def curve(x):
    return np.sin(3 * x)


def features(x):
    return np.polynomial.chebyshev.chebvander(x, 9)[:, 1:]


def sample(n):
    x = np.sort(np.concatenate([rng.uniform(-1, -0.2, n // 2), rng.uniform(0.4, 1, n - n // 2)]))
    return x, curve(x) + 0.15 * rng.normal(size=n)


across = np.linspace(-1, 1, 200)
figure, panels = plt.subplots(1, 3, figsize=(12, 3.6), sharey=True, layout="constrained")
models = []
for axes, n in zip(panels, (6, 20, 100)):
    x, y = sample(n)
    model = LinearRegressor(posterior="gaussian").fit(features(x), y)
    mean, std = model.predict(features(across), return_std=True)
    axes.fill_between(across, mean - std, mean + std, alpha=0.25)
    axes.plot(across, mean, label="mean")
    axes.plot(across, curve(across), "--", color="black", label="truth")
    axes.plot(x, y, "k.", markersize=5)
    axes.set(title=f"{n} examples", xlabel="x", ylim=(-2, 2))
    models.append((x, y, model))
panels[0].legend(frameon=False)
plt.show()

# %%
# Where the prior comes from
# --------------------------
#
# :math:`\alpha` and :math:`\beta` are not chosen: they maximise the *evidence*, the probability of the data with the weights integrated out.
# It prefers models that are just flexible enough, because a model that could explain everything spreads its probability thinly.
x, y, model = models[1]
degrees = range(1, 15)
evidence = [
    LinearRegressor(posterior="gaussian")
    .fit(np.polynomial.chebyshev.chebvander(x, d)[:, 1:], y)
    .log_evidence_
    for d in degrees
]
figure, axes = plt.subplots(figsize=(6.5, 3.4), layout="constrained")
axes.plot(degrees, evidence, "o-")
axes.set(xlabel="degree", ylabel="log evidence", title="20 examples")
plt.show()

# %%
# Exercises
# ---------
#
# 1. Compute the posterior mean by the formula, from the :math:`\alpha` and :math:`\beta` that were found (centre first: the intercept has a flat
#    prior).
# 2. Check that ridge with :math:`\lambda = \alpha/(\beta n)` has the same weights.
# 3. What share of 1,000 new points lies within two predictive standard deviations?
#
# Solutions
# ---------
table = features(x)
centred, target = table - table.mean(axis=0), y - y.mean()
alpha, beta = model.prior_precision_, model.noise_precision_
covariance = np.linalg.inv(alpha * np.eye(9) + beta * centred.T @ centred)
np.testing.assert_allclose(
    beta * covariance @ centred.T @ target, model.posterior_mean_, rtol=1e-6, atol=1e-8
)

ridge = LinearRegressor(penalty="l2", regularization=alpha / (beta * len(x)), tol=1e-12).fit(table, y)
np.testing.assert_allclose(ridge.coef_, model.posterior_mean_, rtol=1e-5, atol=1e-7)

x, y, model = models[2]
new = rng.uniform(-1, 1, 1000)
observed = curve(new) + 0.15 * rng.normal(size=1000)
mean, std = model.predict(features(new), return_std=True)
share = np.mean(np.abs(observed - mean) < 2 * std)
print(f"{share:.1%}")
assert 0.9 < share < 0.99
