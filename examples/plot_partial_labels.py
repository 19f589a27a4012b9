"""
Learning from half of the labels
================================

Labels are expensive. In this example every position of a sequence is labelled only with some probability.
Unknown positions are summed out: the chain fills them in with what it knows about their neighbours. The
alternative, to keep only sequences with all labels, soon has no data left.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from structlearn import ChainClassifier
from structlearn.data import train_test_digit_sequences

X, X_test, y, y_test = train_test_digit_sequences(120, 150, kind="counters", noise=0.4)
rng = np.random.default_rng(0)
shares = [1.0, 0.8, 0.6, 0.4, 0.2]
warnings.simplefilter("ignore")  # a warning says that the problem is not convex with unknown labels
partial, whole = [], []
for share in shares:
    some = [[int(label) if rng.random() < share else None for label in labels] for labels in y]
    model = ChainClassifier(loss="softmax", regularization=0.01, tol=1e-2, random_state=0)
    partial.append(100 * (1 - model.fit(X, some).score(X_test, y_test)))
    kept = [k for k, labels in enumerate(some) if None not in labels]
    if len(kept) < 2:
        whole.append(np.nan)
        continue
    model.fit([X[k] for k in kept], [y[k] for k in kept])
    whole.append(100 * (1 - model.score(X_test, y_test)))

figure, axes = plt.subplots(figsize=(6.5, 4), layout="constrained")
axes.plot(shares, partial, "o-", color="#D55E00", label="all sequences, unknown labels summed out")
axes.plot(shares, whole, "s--", color="#0072B2", label="sequences labelled whole")
axes.set(xlabel="share of positions with a label", ylabel="wrong digits (%)")
axes.invert_xaxis()
axes.legend(frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1))
plt.show()
