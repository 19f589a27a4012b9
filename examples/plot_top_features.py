"""
Explaining a tagger's decisions
===============================

A tagger of English words, trained on a few sentences, can tell which features are evidence for a label, and
which ones decided a single word. Left: the largest weights for nouns and verbs. Right: what made "light" a
noun here rather than the runner-up.
"""

import matplotlib.pyplot as plt

from structlearn import Tagger

SENTENCES = """the/D cat/N runs/V ./.
a/D dog/N sees/V the/D cat/N ./.
the/D light/N shines/V ./.
they/P light/V the/D fire/N ./.
we/P run/V ./.
the/D run/N was/V long/A ./.
she/P lights/V a/D lamp/N ./.
a/D long/A walk/N helps/V ./.
they/P walk/V the/D dog/N ./."""
data = [[token.rsplit("/", 1) for token in line.split()] for line in SENTENCES.splitlines()]
X = [[word for word, _ in sentence] for sentence in data]
y = [[label for _, label in sentence] for sentence in data]
tagger = Tagger(random_state=0).fit(X, y)

figure, panels = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
top = tagger.top_features(8)
for axes, label in zip(panels, ("N", "V")):
    names, weights = zip(*[(name, weight) for name, weight in top.labels[label] if weight > 0][::-1])
    axes.barh(names, weights, color="#0072B2")
    axes.set(title=f"speaks for {label}", xlabel="weight")
sentence = ["the", "light", "was", "long", "."]
why = tagger.explain(sentence)[1]
amounts = sorted(why.contributions, key=lambda one: abs(one.amount))[-8:]
colors = ["#D55E00" if one.amount < 0 else "#009E73" for one in amounts]
panels[2].barh([one.name for one in amounts], [one.amount for one in amounts], color=colors)
panels[2].set(title=f"'light' is {why.label}, not {why.runner_up}", xlabel="adds to the difference")
plt.show()
