r"""
7. Fenchel-Young losses
=======================

The last two chapters did the same thing twice. They took a convex regulariser :math:`\Omega` of the outputs, predicted by

.. math:: \hat p(\theta) = \arg\max_{p} \; \langle \theta, p \rangle - \Omega(p) ,

and learned with the gap in Fenchel's inequality (Blondel, Martins and Niculae, 2020),

.. math:: L(\theta, y) = \Omega^*(\theta) + \Omega(y) - \langle \theta, y \rangle \; \ge \; 0 .

The loss is convex in :math:`\theta`, it is zero exactly where the prediction is y, and its gradient is
:math:`\hat p(\theta) - y`: expected minus observed. One formula gives many models.
"""

# %%
# One picture for three regularisers
# ----------------------------------
#
# With two labels, plot the loss of the first label against the lead of its score.
import matplotlib.pyplot as plt
import numpy as np

from structlearn.losses import FenchelYoungLoss, Shannon, SquaredNorm, Tsallis, Zero
from structlearn.structures import Chain, Simplex

regularizers = {
    "zero: perceptron": Zero(),
    "half squared norm: sparsemax": SquaredNorm(),
    "Tsallis 1.5: entmax": Tsallis(1.5),
    "negative entropy: softmax": Shannon(),
}
leads = np.linspace(-3, 3, 200)
figure, (values, predictions) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
for name, omega in regularizers.items():
    loss = FenchelYoungLoss(Simplex(2), omega)
    thetas = np.stack([leads, np.zeros_like(leads)], axis=1)
    values.plot(leads, [loss.value(theta, 0) for theta in thetas], label=name)
    predictions.plot(leads, [loss.predict(theta)[0] for theta in thetas], label=name)
values.set(title="loss of the first label", xlabel="lead of its score")
predictions.set(title="its predicted probability", xlabel="lead of its score")
values.legend(frameon=False, fontsize=9)
plt.show()

# %%
# Losses that reach zero have a *margin*: a lead that is large enough costs nothing, as with the hinge. Softmax has no margin: its
# loss is never zero.
#
# A cost in the scores
# --------------------
#
# If the cost of each output is added to the scores before predicting, the perceptron becomes the structured hinge:
#
# .. math:: \max_{p} \langle \theta + c_y, p \rangle - \langle \theta, y \rangle .
#
# All of this works on any set of outputs over which one can maximise. Here it is on label sequences:
chain, gold = Chain(3), np.array([0, 1, 1, 2])
theta = np.random.default_rng(0).normal(
    size=4 * 3 + 3 * 3
)  # scores of labels at positions, then of transitions
hinge = FenchelYoungLoss(chain, Zero(), cost="hamming")
crf = FenchelYoungLoss(chain, Shannon())
sparse = FenchelYoungLoss(chain, SquaredNorm())
for name, loss in (("hinge", hinge), ("softmax: a CRF", crf), ("sparsemax: SparseMAP", sparse)):
    print(f"{name:22s} {loss.value(theta, gold):.4f}")

# %%
# The plot shows the probabilities of the labels at each position. The prediction of the hinge is one sequence, that of the CRF is
# a mixture of all 81, and that of SparseMAP is a mixture of a few.
figure, panels = plt.subplots(1, 3, figsize=(10, 3.2), layout="constrained")
for axes, (name, loss) in zip(panels, (("argmax", hinge), ("softmax", crf), ("sparsemax", sparse))):
    table = loss.predict(theta)[:12].reshape(4, 3).T
    axes.imshow(table, vmin=0, vmax=1, cmap="Blues")
    for (label, position), value in np.ndenumerate(table):
        axes.text(
            position,
            label,
            f"{value:.2f}",
            ha="center",
            va="center",
            color="white" if value > 0.5 else "black",
        )
    axes.set(title=name, xlabel="position", xticks=range(4), yticks=range(3))
panels[0].set(ylabel="label")
plt.show()

# %%
# Exercises
# ---------
#
# 1. Check by enumerating all 81 sequences that the CRF's loss is the log-sum-exp of their scores minus the score of the gold
#    sequence.
# 2. Check the gradient formula of all three losses by differences.
# 3. At most how many sequences does SparseMAP mix on this chain? Find the dimension of the polytope, and use Caratheodory's
#    theorem.
#
# Solutions
# ---------
from itertools import product

from scipy.special import logsumexp

vertices = np.array([chain.encode(np.array(labels)) for labels in product(range(3), repeat=4)])
np.testing.assert_allclose(
    crf.value(theta, gold), logsumexp(vertices @ theta) - chain.encode(gold) @ theta, rtol=1e-10
)

for loss in (hinge, crf, sparse):
    direction = np.random.default_rng(1).normal(size=len(theta))
    eps = 1e-6
    slope = (loss.value(theta + eps * direction, gold) - loss.value(theta - eps * direction, gold)) / (
        2 * eps
    )
    np.testing.assert_allclose(slope, loss.gradient(theta, gold) @ direction, rtol=1e-4)

# 3. One more than the dimension of the sequences' affine hull:
dimension = np.linalg.matrix_rank(vertices - vertices[0])
assert dimension + 1 < len(vertices)
print(f"at most {dimension + 1} of {len(vertices)} sequences")
