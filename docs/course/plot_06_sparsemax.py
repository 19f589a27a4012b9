r"""
6. Sparsemax on the simplex
===========================

*Softmax* turns K scores into probabilities that are never zero. *Sparsemax* is as easy to learn with, but gives probability zero
to labels with low scores. It projects the scores onto the simplex, in the Euclidean norm (Martins and Astudillo, 2016):

.. math:: \operatorname{sparsemax}(\theta) = \arg\min_{p \in \Delta} \tfrac12 \|p - \theta\|^2
          = \arg\max_{p \in \Delta} \langle \theta, p \rangle - \tfrac12 \|p\|^2 .

The second form is that of the last chapter, with another regulariser: half the squared norm instead of the negative entropy.
"""

# %%
# Two labels
# ----------
#
# The plot shows the probability of the first label against the difference of the scores. For sparsemax it is a straight line, cut
# off at 0 and 1.
import matplotlib.pyplot as plt
import numpy as np
from scipy.special import softmax

from structlearn.structures import Simplex

differences = np.linspace(-3, 3, 200)
scores = np.stack([differences, np.zeros_like(differences)], axis=1)
sparse = np.array([Simplex(2).project(theta)[0] for theta in scores])

figure, axes = plt.subplots(figsize=(6.5, 3.5), layout="constrained")
axes.plot(differences, softmax(scores, axis=1)[:, 0], label="softmax")
axes.plot(differences, sparse, label="sparsemax")
axes.set(xlabel="score of the first label less the second's", ylabel="probability of the first")
axes.legend(frameon=False)
plt.show()

# %%
# Three labels
# ------------
#
# The plots show scores in the plane of the simplex, and where they are projected. Outside the triangle, whole regions are
# projected onto an edge or a corner.
three = Simplex(3)
corners = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])
side = np.linspace(-0.5, 1.5, 60)
plane = np.stack(np.meshgrid(side, side - 0.1), axis=-1).reshape(-1, 2)
back = np.linalg.pinv(np.vstack([corners.T, np.ones(3)]))  # from the plane to coordinates that sum to one
theta = np.hstack([plane, np.ones((len(plane), 1))]) @ back.T
found = np.array([three.project(row) for row in theta])
support = (found > 1e-12).sum(axis=1)

figure, (regions, arrows) = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
regions.scatter(*plane.T, c=support, cmap="viridis", s=18, marker="s")
regions.set(title="how many labels stay possible")
few = np.arange(0, len(plane), 7)
for a, b in zip(plane[few], (found @ corners)[few]):
    arrows.plot(*np.stack([a, b]).T, color="0.7", linewidth=0.7, zorder=0)
arrows.scatter(*plane[few].T, c=found[few], s=22)
arrows.set(title="where scores are sent")
for axes in (regions, arrows):
    axes.plot(*corners[[0, 1, 2, 0]].T, color="black")
    axes.set(aspect="equal", xticks=[], yticks=[])
plt.show()

# %%
# How it is computed
# ------------------
#
# The optimum is :math:`p_k = \max(0, \theta_k - \tau)` with the threshold :math:`\tau` that makes the sum one. To find it, sort
# the scores and find the largest k for which the k-th score is still above the threshold computed from the first k scores.
#
# Exercises
# ---------
#
# 1. Write it in five lines, and compare with the library.
# 2. Show that adding a constant to all scores changes nothing.
# 3. With two labels, how large must the difference of the scores be for a probability of exactly one?
#
# Solutions
# ---------


def sparsemax(theta):
    ordered = np.sort(theta)[::-1]
    thresholds = (np.cumsum(ordered) - 1) / np.arange(1, len(theta) + 1)
    size = np.flatnonzero(ordered > thresholds)[-1]
    return np.maximum(0, theta - thresholds[size])


rng = np.random.default_rng(0)
for row in rng.normal(size=(100, 3)):
    np.testing.assert_allclose(three.project(row), sparsemax(row), atol=1e-12)
    # On the simplex ||p - theta - c||^2 is ||p - theta||^2 less 2 c and a constant: the same minimiser.
    np.testing.assert_allclose(three.project(row + 5.0), three.project(row), atol=1e-12)

# 3. One:
assert Simplex(2).project(np.array([1.0, 0.0])).tolist() == [1.0, 0.0]
assert Simplex(2).project(np.array([0.99, 0.0]))[1] > 0
