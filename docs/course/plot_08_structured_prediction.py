r"""
8. Structured prediction
========================

Multiclass classification chooses the best of K scores. A sentence of ten words with K tags has :math:`K^{10}` outputs, and a pair
of long sentences has more matchings than there are atoms in the universe, so the outputs cannot be listed. But scores are sums
over *parts*, so an algorithm can find the best output. This algorithm is the *oracle* of the structure,

.. math:: \arg\max_{y} \; \langle \theta, \mu(y) \rangle ,

where :math:`\mu(y)` says which parts y has. Chapters 1 to 7 need nothing else.

=====================  =============================  ===========================
output                 parts                          oracle
=====================  =============================  ===========================
label sequence         labels, pairs of neighbours    Viterbi
dependency tree        arcs                           Eisner; Chu-Liu and Edmonds
matching               links                          assignment
cut                    nodes, edges between unlike    maximum flow
=====================  =============================  ===========================
"""

# %%
# A sequence
# ----------
#
# The data are handwritten digits that count upwards. A blurred digit in the middle of a sequence cannot be read alone, but with a
# table of transitions, learned with the rest, it can.
import matplotlib.pyplot as plt
import numpy as np

from structlearn import ChainClassifier, MatchingClassifier, MulticlassClassifier
from structlearn.data import make_matchings, train_test_digit_sequences

X, X_test, y, y_test = train_test_digit_sequences(150, 100, kind="counters", noise=0.5)
chain = ChainClassifier(loss="hinge", regularization=0.03, tol=5e-3, random_state=0).fit(X, y)
single = MulticlassClassifier(loss="hinge", regularization=0.03, tol=5e-3, random_state=0).fit(
    np.concatenate(X), np.concatenate(y)
)

images, gold = X_test[0], y_test[0]
figure, panels = plt.subplots(1, len(images), figsize=(1.3 * len(images), 1.9), layout="constrained")
for axes, image, alone, together, true in zip(
    panels, images, single.predict(images), chain.predict([images])[0], gold
):
    axes.imshow(image.reshape(8, 8), cmap="gray")
    axes.set(xticks=[], yticks=[], title=f"{alone} alone\n{together} in the chain", xlabel=f"is {true}")
    axes.title.set_fontsize(8)
plt.show()

# %%
# Tagging, and how Viterbi works
# ------------------------------
#
# In "the can rusts", the score of *can* alone favours a verb, but a verb after a determiner has a low score. The best sequence is
# found from left to right: the best score of all prefixes that end in label b at position t is
#
# .. math:: V_t(b) = s_t(b) + \max_a \, [ V_{t-1}(a) + T(a, b) ] .
#
# Remember which a was the best, and walk back from the best label at the end. This takes :math:`O(n K^2)` operations for
# :math:`K^n` sequences.
tags, words = ["DET", "NOUN", "VERB"], ["the", "can", "rusts"]
local = np.array([[2.0, 0.0, 0.0], [0.0, 0.7, 1.0], [0.0, 0.3, 1.0]])  # a row per word
follows = np.array([[-1.0, 1.0, -1.0], [0.0, 0.0, 1.0], [0.5, 0.2, -0.5]])  # from, to
reached, came_from = [local[0]], []
for row in local[1:]:
    ways = reached[-1][:, None] + follows
    came_from.append(ways.argmax(axis=0))
    reached.append(row + ways.max(axis=0))
path = [int(reached[-1].argmax())]
for back in reversed(came_from):
    path.insert(0, int(back[path[0]]))

figure, axes = plt.subplots(figsize=(7, 3.2), layout="constrained")
for t, back in enumerate(came_from):
    for b, came in enumerate(back):
        axes.plot([t, t + 1], [came, b], color="0.75", zorder=0)
axes.plot(range(3), path, color="#D55E00", linewidth=3, zorder=1)
for t, values in enumerate(reached):
    for b, value in enumerate(values):
        axes.text(
            t, b, f"{value:.1f}", ha="center", va="center", bbox={"boxstyle": "circle", "facecolor": "white"}
        )
axes.set(
    xticks=range(3), xticklabels=words, yticks=range(3), yticklabels=tags, ylim=(2.5, -0.5), xlim=(-0.3, 2.3)
)
axes.set(title="best score of a beginning that ends here, and where it came from")
plt.show()

# %%
# In practice the tables are learned, with features of the words in place of our numbers. For raw words, use a
# :doc:`tagger <../tagging>`:
from structlearn import Tagger

sentences = ["the can rusts", "we can swim", "the dog can swim", "a dog barks", "we see the can"]
labels = ["DET NOUN VERB", "PRON AUX VERB", "DET NOUN AUX VERB", "DET NOUN VERB", "PRON VERB DET NOUN"]
tagger = Tagger(random_state=0).fit([one.split() for one in sentences], [one.split() for one in labels])
print(tagger.predict([["a", "can", "barks"], ["we", "can", "see"]]))

# %%
# A matching
# ----------
#
# A matching says which row belongs to which column, if to any. If each row simply took its best column with a positive score, two
# rows might take the same column.
pairs, links = make_matchings(80, 6, 6, n_features=5, random_state=0)
matcher = MatchingClassifier(random_state=0).fit(pairs[:60], links[:60])
shown = 60 + int(np.argmax([table.sum() for table in links[60:]]))  # the one with most gold links
scores = matcher.decision_function(pairs[shown : shown + 1])[0]
greedy = (scores == scores.max(axis=1, keepdims=True)) & (scores > 0)
matched = matcher.predict(pairs[shown : shown + 1])[0]
figure, panels = plt.subplots(1, 2, figsize=(8, 4), layout="constrained")
for axes, found, name in zip(panels, (greedy, matched), ("best of each row", "best matching")):
    axes.imshow(scores, cmap="PuOr_r", alpha=0.6)
    gold = axes.scatter(*np.nonzero(links[shown])[::-1], s=260, facecolor="none", edgecolor="black")
    answer = axes.scatter(*np.nonzero(found)[::-1], s=70, marker="x", color="black")
    axes.set(title=name, xlabel="column", ylabel="row")
figure.legend([gold, answer], ["gold", "predicted"], loc="outside lower center", ncols=2)
plt.show()

# %%
# A tree
# ------
#
# Arc scores have heads in rows and words in columns. Eisner's algorithm finds the best tree in :math:`O(n^3)`.
from structlearn.structures import ProjectiveTree

words = ["the", "cat", "sees", "a", "small", "dog"]
rng = np.random.default_rng(4)
arcs = rng.normal(size=(7, 6)) * 0.5
for head, word in ((2, 0), (3, 1), (0, 2), (6, 3), (6, 4), (3, 5)):
    arcs[head, word] += 1.5
tree = ProjectiveTree()
heads = tree.decode(tree.maximize(arcs))
figure, axes = plt.subplots(figsize=(8, 2.8), layout="constrained")
half = np.linspace(0, np.pi, 50)
for k, (word, head) in enumerate(zip(words, heads)):
    axes.text(k, -0.15, word, ha="center", va="top")
    if head:
        middle, reach = (head - 1 + k) / 2, (head - 1 - k) / 2
        axes.plot(middle + reach * np.cos(half), 0.9 * abs(reach) * np.sin(half), color="#0072B2")
    else:
        axes.plot([k, k], [0, 1.6], color="#D55E00")
axes.set(xlim=(-0.6, 5.6), ylim=(-0.5, 1.9))
axes.axis("off")
plt.show()

# %%
# Training
# --------
#
# The structured hinge requires that the score of the gold output exceeds that of every other output by its cost:
#
# .. math:: \ell_i(w) = \max_y \big[ \langle w, \phi(x_i, y) \rangle + c(y_i, y) \big] - \langle w, \phi(x_i, y_i) \rangle .
#
# Each term is a maximisation by the oracle, and its subgradient is a difference of features. In the dual, each example has a
# polytope instead of an interval. *Block-coordinate Frank-Wolfe* (Lacoste-Julien et al., 2013) needs only the oracle to ascend
# there, one example at a time.
print(chain.certificate_)

# %%
# Exercises
# ---------
#
# 1. Enumerate all 1,000 sequences of three digits and check that Viterbi's algorithm finds the best score.
# 2. Is the hinge of chapter 1 a special case? Write it with K = 2.
# 3. In the figure, which tag would *can* get if every word were tagged alone? Check the whole path with the library.
# 4. How often does "best of each row" break the matching constraint on the 20 test problems?
#
# Solutions
# ---------
from itertools import product

from structlearn.structures import Chain

structure = Chain(10)
theta = rng.normal(size=3 * 10 + 100)
best = max(structure.encode(np.array(labels)) @ theta for labels in product(range(10), repeat=3))
np.testing.assert_allclose(structure.maximize(theta) @ theta, best)

# 2. With weights w/2 and -w/2 for the classes +1 and -1 and cost 1, the loss is the maximum of 0 and 1 - y <w, x>.
w, x = rng.normal(size=(2, 4))
for label in (1, -1):
    two = np.array([w / 2 @ x, -w / 2 @ x])
    right = 0 if label == 1 else 1
    structured = max(two[k] + (k != right) for k in range(2)) - two[right]
    np.testing.assert_allclose(structured, max(0, 1 - label * (w @ x)))

# 3. A verb, with 1.0 against 0.7. Together:
assert [tags[k] for k in local.argmax(axis=1)] == ["DET", "VERB", "VERB"]
three = Chain(3)
found = three.decode(three.maximize(np.concatenate([local.ravel(), follows.ravel()])))
assert found.tolist() == path
assert [tags[k] for k in path] == ["DET", "NOUN", "VERB"]

# 4. The constraint is broken in
tables = matcher.decision_function(pairs[60:])
best_of_rows = [(table == table.max(axis=1, keepdims=True)) & (table > 0) for table in tables]
broken = sum(bool((table.sum(axis=0) > 1).any()) for table in best_of_rows)
assert broken > 0
assert all((table.sum(axis=0) <= 1).all() for table in matcher.predict(pairs[60:]))
print(f"{broken} of {len(best_of_rows)}")
