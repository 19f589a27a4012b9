"""
Sets that contain the right answer
==================================

After `conformalize` on sequences that were used for nothing else, `predict_sets` returns for each sequence
a list of labellings that contains the true one with the requested probability. This needs no assumption
about the model, only that sequences are exchangeable. The price of a higher probability is larger sets.
Noisier test sequences need more labellings for the same probability.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import ChainClassifier
from structlearn.data import digit_sequences

asked = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95])
figure, (holds, sizes) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for noise, color in ((0.4, "#0072B2"), (0.55, "#D55E00")):
    X, y = digit_sequences(900, kind="dates", noise=noise)
    model = ChainClassifier(loss="softmax", regularization=0.01, tol=1e-2, random_state=0)
    model.fit(X[:150], y[:150]).conformalize(X[150:500], y[150:500])
    held, size = [], []
    for coverage in asked:
        sets = model.predict_sets(X[500:], coverage=coverage)
        held.append(
            np.mean(
                [s is None or any(np.array_equal(one, gold) for one in s) for s, gold in zip(sets, y[500:])]
            )
        )
        size.append(np.mean([1000 if s is None else len(s) for s in sets]))
    holds.plot(asked, held, "o-", color=color, label=f"noise {noise}")
    sizes.semilogy(asked, size, "o-", color=color, label=f"noise {noise}")
holds.plot(asked, asked, color="0.6", zorder=0)
holds.set(xlabel="coverage asked for", ylabel="sets that hold the truth", title="400 test sequences")
sizes.set(xlabel="coverage asked for", ylabel="labellings in a set, on average")
sizes.legend(frameon=False)
plt.show()
