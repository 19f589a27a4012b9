r"""
10. The report, redone
======================

The project began with a report on one question: how do structural SVMs scale? It compared two methods that had been proposed for them,
on word alignment, scene labelling and image triplets, and could train on a hundred sentence pairs. This chapter retells it with today's
solvers on small data; the figures for real data, with every command, are in :doc:`../compare` and :doc:`../scalability`.

The saddle point
----------------

Replace the maximum over outputs by one over their polytope :math:`\mathcal M_i`, and training is a game between weights and mixtures of
outputs,

.. math:: \min_w \max_{z_i \in \mathcal M_i} \; \frac{\lambda}{2}\|w\|^2 + \frac1n \sum_i \langle \Phi_i w, z_i - \mu_i \rangle + \langle c_i, z_i \rangle .

*The dual extragradient* (Taskar, Lacoste-Julien and Jordan, 2006) plays both sides at once: look one step ahead, then step with the slopes
found there. It needs a projection onto :math:`\mathcal M_i`: Euclidean, or in the geometry of the entropy, where projections are marginals.

*Frank-Wolfe* maximises the dual, where w is eliminated, and needs only the oracle: move towards the best vertex of all blocks. The
*block-coordinate* form (Lacoste-Julien et al., 2013) moves one example at a time, each by an exact line search.
"""

# %%
# One problem, five methods
# -------------------------
#
# A chain of handwritten digits, 100 sequences. Passes count how often every example was asked.
import warnings

import matplotlib.pyplot as plt
import numpy as np

from structlearn import ChainClassifier
from structlearn.data import train_test_digit_sequences

X, X_test, y, y_test = train_test_digit_sequences(100, 100, noise=0.3)
runs = {
    "extragradient, Euclidean": ("extragradient", {"geometry": "euclidean"}),
    "extragradient, entropic": ("extragradient", {"geometry": "entropic"}),
    "Frank-Wolfe": ("fw", None),
    "block-coordinate Frank-Wolfe": ("bcfw", None),
    "stochastic extragradient": ("seg", None),
}
shared = {"regularization": 0.01, "tol": 1e-3, "max_passes": 300, "random_state": 0, "fit_intercept": False}
models = {}
warnings.simplefilter("ignore")  # batch methods end at 300 passes, and say so
for name, (solver, options) in runs.items():
    model = ChainClassifier(solver=solver, solver_options=options, **shared)
    models[name] = model.fit(X, y)

figure, (passes, seconds) = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
for name, model in models.items():
    history = model.history_
    gap = np.maximum(history["gap"], 1e-5)
    passes.loglog(np.maximum(history["passes"], 0.5), gap, label=name)
    seconds.loglog(np.maximum(history["seconds"], 1e-3), gap)
passes.set(xlabel="passes", ylabel="duality gap")
seconds.set(xlabel="seconds")
passes.legend(frameon=False, fontsize=8)
plt.show()

# %%
# What the report could not do
# ----------------------------
#
# It named two drawbacks of the extragradient: it cannot be made stochastic, and its projections are dear. Both can be mended. A primal-dual
# method that visits one block at a time, in that block's own metric, steps by the same active-set step as block-coordinate Frank-Wolfe:
# that is the *stochastic extragradient* above, today's default (:doc:`../extragradient`).
#
# What was found on real data, from 100 examples to all of them and from :math:`\lambda = 1` to :math:`1/n`, is told in :doc:`../scalability`:
# block-coordinate methods need a number of passes that hardly grows with n, batch methods do not; the smaller :math:`\lambda`, the more the
# extragradient family gains.
#
# To repeat the report's own three experiments:
#
# .. code-block:: console
#
#     structlearn compare alignment --out report
#     structlearn compare scene --out report
#     structlearn compare triplets --out report
#
# Exercises
# ---------
#
# 1. Check that all five methods bound the same optimum: no dual value is above any primal value.
# 2. Which methods ever let the dual value fall?
#
# Solutions
# ---------
primal = min(model.certificate_.primal for model in models.values())
dual = max(model.certificate_.dual for model in models.values())
assert dual <= primal + 1e-9
for model in models.values():
    assert model.certificate_.dual <= primal + 1e-9

# 2. Frank-Wolfe's steps are line searches, so that its dual never falls; the extragradient makes no such promise.
for name in ("Frank-Wolfe", "block-coordinate Frank-Wolfe"):
    values = np.asarray(models[name].history_["dual"])
    assert (np.diff(values) >= -1e-12).all()
