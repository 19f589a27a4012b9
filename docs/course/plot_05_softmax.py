r"""
5. Softmax as a variational problem
===================================

Softmax turns scores into positive numbers that sum to one, but many maps do that. What singles it out is that it solves an
optimisation problem: among all distributions p over K labels, take the one with the best expected score, plus a reward for
uncertainty,

.. math:: \max_{p \in \Delta} \; \langle \theta, p \rangle + H(p), \qquad H(p) = -\sum_k p_k \log p_k .

The maximum is :math:`\log \sum_k e^{\theta_k}`, and it is attained at :math:`p_k \propto e^{\theta_k}`: the log-partition function is the
*convex conjugate* of the negative entropy, and softmax is its gradient.

The proof takes two lines. At the maximum the slope :math:`\theta_k - \log p_k - 1` is the same number for all k (the multiplier
of :math:`\sum_k p_k = 1`), so :math:`p_k \propto e^{\theta_k}`. Insert it:
:math:`\langle \theta, p \rangle - \sum_k p_k (\theta_k - \log Z) = \log Z`.
"""

# %%
# Seen on the simplex
# -------------------
#
# With three labels, every point of the triangle is a distribution. The colours show :math:`\langle\theta, p\rangle + H(p)` for
# three weights of the entropy, and the star is softmax.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import logsumexp, softmax, xlogy

corners = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])
rng = np.random.default_rng(0)
points = rng.dirichlet([1, 1, 1], 20_000)
figure, panels = plt.subplots(1, 3, figsize=(12, 4.0), layout="constrained")
theta = np.array([1.0, 0.2, -0.5])
for axes, temperature in zip(panels, (0.2, 1.0, 5.0)):
    values = points @ theta - temperature * xlogy(points, points).sum(axis=1)
    axes.scatter(*(points @ corners).T, c=values, s=4, cmap="viridis")
    axes.plot(
        *(softmax(theta / temperature) @ corners), "*", color="white", markersize=16, markeredgecolor="black"
    )
    axes.set(title=f"entropy times {temperature:g}", aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# A small reward for uncertainty moves the maximum to a corner: the *argmax*, the zero-temperature limit. A large reward moves it
# to the middle.
#
# The loss that belongs to it
# ---------------------------
#
# Take the difference of the two sides of Fenchel's inequality :math:`\langle \theta, p \rangle \le \Omega^*(\theta) + \Omega(p)`
# at a gold label y, with :math:`\Omega = -H`: :math:`\log\sum_k e^{\theta_k} - \theta_y`. This is the logistic loss. With
# sequences or trees in place of labels, it is the loss of a conditional random field. (Matchings have no softmax: their sum over
# exponentials is #P-hard.)
from structlearn.losses import FenchelYoungLoss, Shannon
from structlearn.structures import Chain, Simplex

loss = FenchelYoungLoss(Simplex(3), Shannon())
print(loss.value(theta, 0), logsumexp(theta) - theta[0])

chain = FenchelYoungLoss(Chain(3), Shannon())
theta_chain = np.random.default_rng(0).normal(size=4 * 3 + 3 * 3)  # four positions, then 3 x 3 transitions
print(chain.value(theta_chain, np.array([0, 1, 1, 2])))

# %%
# Exercises
# ---------
#
# 1. Check that the gradient of the log-partition function is softmax, by differences.
# 2. What is the maximum of the entropy, and where is it attained? What does this say about the loss at :math:`\theta = 0`?
# 3. Check that softmax is the maximiser by trying 20,000 other distributions.
#
# Solutions
# ---------
eps = 1e-6
slopes = [(logsumexp(theta + eps * e) - logsumexp(theta - eps * e)) / (2 * eps) for e in np.eye(3)]
np.testing.assert_allclose(slopes, softmax(theta), rtol=1e-6)
np.testing.assert_allclose(loss.predict(theta), softmax(theta), rtol=1e-9)

# The entropy is at most log 3, at the uniform distribution: the loss at zero is log K.
np.testing.assert_allclose(loss.value(np.zeros(3), 1), np.log(3))

values = points @ theta - xlogy(points, points).sum(axis=1)
assert values.max() <= logsumexp(theta) + 1e-12
assert values.max() > logsumexp(theta) - 1e-2
