r"""
1. Linear models and their losses
=================================

A linear model scores an input x by :math:`\langle w, x \rangle`. With two classes, :math:`y = \pm 1`, the sign of the score is the prediction,
and the *margin* :math:`m = y \langle w, x \rangle` measures how right it is: a positive margin is correct, a large one is safe.

We would like to minimise the number of mistakes, the step function of the margin. It is flat almost everywhere, so small changes of w
do not tell which direction is better. Every loss below is a convex surrogate that can be minimised. The hinge is never below the
step, and neither are the squared loss and the logistic loss, once the first is multiplied by 2 and the second divided by log 2.
"""

# %%
# Four surrogates
# ---------------
#
# ==================  ===========================  ===============================================
# loss                as a function of m           what it asks for
# ==================  ===========================  ===============================================
# perceptron          :math:`\max(0, -m)`          the right side, barely
# hinge               :math:`\max(0, 1 - m)`       the right side, by 1 (support vector machine)
# logistic            :math:`\log(1 + e^{-m})`     probabilities
# squared             :math:`\tfrac12 (1 - m)^2`   exactly 1 (regression on the labels)
# ==================  ===========================  ===============================================
import matplotlib.pyplot as plt
import numpy as np

margin = np.linspace(-2, 3, 500)
losses = {
    "perceptron": np.maximum(0, -margin),
    "hinge": np.maximum(0, 1 - margin),
    "logistic": np.log1p(np.exp(-margin)),
    "squared": (1 - margin) ** 2 / 2,
}
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
axes.step(margin, margin < 0, color="0.6", label="mistake", where="post")
for name, values in losses.items():
    axes.plot(margin, values, label=name)
axes.set(xlabel="margin y <w, x>", ylabel="loss", ylim=(-0.1, 3.2))
axes.legend(frameon=False)
plt.show()

# %%
# The squared loss penalises points that are *too* right. Points far away on the correct side tilt the line; the hinge ignores
# them.
from structlearn import BinaryClassifier, LinearRegressor

rng = np.random.default_rng(0)
X = np.concatenate([rng.normal([-1, -1], 0.6, (40, 2)), rng.normal([1, 1], 0.6, (40, 2))])
y = np.repeat([-1, 1], 40)
X = np.concatenate([X, rng.normal([9, 1], 0.3, (12, 2))])  # far away, and easy
y = np.concatenate([y, np.ones(12, dtype=int)])

hinge = BinaryClassifier(loss="hinge", regularization=0.01, tol=1e-4).fit(X, y)
squared = LinearRegressor(regularization=0.01).fit(X, y)
lines = {
    "hinge": (hinge.coef_[0], hinge.intercept_[0]),
    "squared": (squared.coef_, squared.intercept_),
}
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.scatter(*X.T, c=np.where(y > 0, "#D55E00", "#0072B2"), s=14)
across = np.linspace(-4, 10, 2)
for (name, (w, b)), style in zip(lines.items(), ("-", "--")):
    axes.plot(across, -(w[0] * across + b) / w[1], style, color="black", label=name)
axes.set(xlim=(-3, 10), ylim=(-3, 3), xlabel="first feature", ylabel="second feature")
axes.legend(frameon=False)
plt.show()

# %%
# Regularisation, and how the problem is written
# ----------------------------------------------
#
# Everything in this course, and every estimator of the library, minimises
#
# .. math:: P(w) = \frac{\lambda}{2} \|w\|^2 + \frac1n \sum_{i=1}^n \ell_i(w) ,
#
# a penalty that prefers small weights, and the *mean* loss, so that :math:`\lambda` means the same for 100 examples and for a million.
#
# Exercises
# ---------
#
# 1. Which of the four losses bound the number of mistakes from above, at every margin?
# 2. Where is the logistic loss above the hinge, and by how much at most?
# 3. How many of the twelve far points have a positive hinge loss under the fitted line?
#
# Solutions
# ---------
#
# 1. The hinge does, the logistic loss divided by :math:`\log 2`, and twice the squared loss. The perceptron's loss does not: it
#    is nearly 0 just below margin 0.
# 2. Where :math:`m > \log(e - 1) \approx 0.54`; most at margin 1, where the hinge is 0 and the logistic loss :math:`\log(1 + 1/e) \approx 0.31`.
# 3. None:
steps = margin < 0
assert (losses["hinge"] >= steps).all()
assert (losses["logistic"] / np.log(2) >= steps).all()
assert (2 * losses["squared"] >= steps).all()
assert not (losses["perceptron"] >= steps).all()

difference = losses["logistic"] - losses["hinge"]
assert ((difference > 0) == (margin > np.log(np.e - 1))).all()
assert abs(margin[difference.argmax()] - 1) < 0.02
assert abs(difference.max() - np.log1p(np.exp(-1))) < 5e-3

far = hinge.decision_function(X[-12:])
assert (far >= 1).all()
