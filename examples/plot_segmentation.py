"""
Segmentation by minimum cuts: neighbours agree unless the pixels say otherwise
==============================================================================

Images of two ellipses are covered by noise. Labelling each pixel by its own score leaves speckles. A
`CutSegmenter` learns the weights of the pixels' channels together with the cost of a cut between
neighbours. It then finds the best labelling of a whole image exactly, as a minimum cut. The columns show a
test image (mean of its channels), its gold labels, each pixel alone by the learned scores, and the minimum
cut.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn import CutSegmenter
from structlearn.data import make_segmentations

n_train = 20
n_test = 20
side = 40
X, y = make_segmentations(n_train + n_test, side, side, random_state=2, noise=1.2)
model = CutSegmenter(regularization=400.0, tol=0.01, random_state=0).fit(X[:n_train], y[:n_train])
X, y = X[n_train:], y[n_train:]
cuts = model.predict(X)
alone = [(scores > 0).astype(int) for scores in model.decision_function(X)]
figure = plt.figure(figsize=(10, 7.8), layout="constrained")
panels = figure.subplots(3, 4)
for row, image, gold, pixelwise, cut in zip(panels, X, y, alone, cuts):
    row[0].imshow(image.mean(axis=2), cmap="gray")
    for axes, labels in zip(row[1:], (gold, pixelwise, cut)):
        axes.imshow(labels, cmap="PuOr", vmin=-0.3, vmax=1.3)
    row[2].set_xlabel(f"{np.mean(pixelwise == gold):.1%} right")
    row[3].set_xlabel(f"{np.mean(cut == gold):.1%} right")
for axes, title in zip(panels[0], ("image", "gold", "each pixel alone", "minimum cut")):
    axes.set_title(title)
for axes in panels.ravel():
    axes.set(xticks=[], yticks=[])
right = np.mean([np.mean(a == b) for a, b in zip(alone, y)])
figure.suptitle(f"{len(X)} test images: {right:.1%} of pixels right alone, {model.score(X, y):.1%} by cuts")
plt.show()
