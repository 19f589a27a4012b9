"""
Aligning words
==============

An aligner learns from 150 English sentences with their French translations, and from the links that a
person annotated between their words. On new sentences it predicts the links itself. The shades are its
confidences, and the circles are the annotated links: filled for sure links, dotted for possible ones. The
corpus comes with the library.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import Aligner
from structlearn.alignment.corpus import load_corpus

corpus = load_corpus()
pairs = [(one.source, one.target) for one in corpus]
links = [one.links for one in corpus]
aligner = Aligner(random_state=0).fit(pairs[:150], links[:150])
chosen = sorted(range(150, len(pairs)), key=lambda k: -len(pairs[k][0]))[:3]

figure, panels = plt.subplots(1, 3, figsize=(13, 5), layout="constrained")
for axes, k in zip(panels, chosen):
    source, target = pairs[k]
    table = np.zeros((len(source), len(target)))
    for (i, j), confidence in aligner.predict_scores([pairs[k]])[0].items():
        table[i, j] = confidence
    axes.imshow(table, cmap="Blues", vmin=0, vmax=1.2)
    for kind, style in ((links[k].possible - links[k].sure, "dotted"), (links[k].sure, "solid")):
        if kind:
            rows, columns = np.array(sorted(kind)).T
            axes.scatter(columns, rows, s=180, facecolor="none", edgecolor="#D55E00", linestyle=style)
    axes.set_xticks(range(len(target)), target, rotation=60, ha="right")
    axes.set_yticks(range(len(source)), source)
plt.show()
