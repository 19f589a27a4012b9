"""
Sparsemax on the simplex
========================

*Softmax* turns K scores into probabilities that are never zero. The course's question: is there a map that is as smooth to
learn with, and that says "impossible" where it can? Project the scores onto the simplex, in the Euclidean norm:

.. math:: \\operatorname{sparsemax}(\\theta) = \\arg\\min_{p \\in \\Delta} \\tfrac12 \\|p - \\theta\\|^2 .

Compare it with the variational form of softmax, which maximises :math:`\\langle \\theta, p \\rangle` plus entropy: both are
:math:`\\arg\\max_{p \\in \\Delta} \\langle \\theta, p \\rangle - \\Omega(p)`, with another regulariser :math:`\\Omega`.
"""

# %%
# Two labels first: the probability of the first one, against the difference of the scores. Sparsemax is a straight line that is cut
# off at 0 and 1.
import matplotlib.pyplot as plt
import numpy as np

from structlearn.structures import Simplex

pair = Simplex(2)
differences = np.linspace(-3, 3, 200)
scores = np.stack([differences, np.zeros_like(differences)], axis=1)
soft = 1 / (1 + np.exp(-differences))
sparse = np.array([pair.project(theta)[0] for theta in scores])

figure, axes = plt.subplots(figsize=(6, 3.5), layout="constrained")
axes.plot(differences, soft, label="softmax")
axes.plot(differences, sparse, label="sparsemax")
axes.set(xlabel="score of the first label less the second's", ylabel="probability of the first label")
axes.legend()
plt.show()

# %%
# Exercise
# --------
#
# Show that adding a constant to all scores changes neither map, and try it.
#
# .. dropdown:: Solution
#
#     For softmax the factor :math:`e^c` cancels. For sparsemax, :math:`\|p - \theta - c 1\|^2` differs from :math:`\|p - \theta\|^2`
#     by :math:`-2 c \langle 1, p\rangle` and constants, and :math:`\langle 1, p \rangle = 1` on the simplex.
three = Simplex(3)
theta = np.array([0.3, -0.2, 0.9])
np.testing.assert_allclose(three.project(theta), three.project(theta + 5.0))
