"""
A matching on top of a network
==============================

Two rows show the same six digits, in different orders and by different hands. Which belongs to which? A
small network of PyTorch maps each image to a vector; the score of a link is the product of the two vectors.
The loss is that of SparseMAP over all matchings: it looks at whole matchings, and few of them get a share.
The picture shows a pair of rows that was not seen in training, with the links that have a share. Without
PyTorch this page has no picture.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from structlearn.losses import SquaredNorm
from structlearn.structures import Matching

try:
    import torch

    from structlearn.torch import StructuredLayer, StructuredLoss
except ImportError:
    torch = None
    print("This example needs PyTorch: pip install structlearn[torch]")


def pairs_of_rows(images, digits, n, rng):
    """Images (n, 2, 6, 64) of six different digits in two orders, and the links between them (n, 6, 6)."""
    by_digit = [images[digits == k] for k in range(10)]
    rows, links = np.empty((n, 2, 6, 64), dtype=np.float32), np.empty((n, 6, 6))
    for pair, link in zip(rows, links):
        left = rng.choice(10, 6, replace=False)
        right = rng.permutation(left)
        for row, order in zip(pair, (left, right)):
            row[:] = [by_digit[k][rng.integers(len(by_digit[k]))] for k in order]
        link[:] = left[:, None] == right
    return rows, links


def draw(axes, pair, gold, links):
    """Two rows of images, and lines between them: blue where the link is right, orange where it is not."""
    for row, images in enumerate(pair):
        for k, image in enumerate(images):
            axes.imshow(image.reshape(8, 8), extent=(k, k + 0.8, 2 - 2 * row, 2.8 - 2 * row), cmap="gray_r")
    for i, j in np.argwhere(links > 0.02):
        colour = "#0072B2" if gold[i, j] else "#D55E00"
        axes.plot([i + 0.4, j + 0.4], [1.9, 0.9], color=colour, linewidth=4 * links[i, j])
    axes.set(xlim=(-0.1, 6), ylim=(-0.1, 2.9))
    axes.axis("off")


if torch is not None:
    images, digits = load_digits(return_X_y=True)
    images, rng = images / 16, np.random.default_rng(0)
    rows, links = pairs_of_rows(images[:1000], digits[:1000], 300, rng)
    test_rows, test_links = pairs_of_rows(images[1000:], digits[1000:], 200, rng)
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, 16))
    loss, layer = StructuredLoss(Matching(), SquaredNorm()), StructuredLayer(Matching(), SquaredNorm())

    def scores(rows):
        left, right = network(torch.as_tensor(rows)).unbind(1)
        return left @ right.transpose(1, 2)

    figure, panels = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained")
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for axes, name, epochs in zip(panels, ("before training", "after training"), (0, 40)):
        for _ in range(epochs):
            optimizer.zero_grad()
            loss(scores(rows), torch.as_tensor(links)).backward()
            optimizer.step()
        with torch.no_grad():
            shares, found = layer(scores(test_rows)), layer.decode(scores(test_rows))
        right = np.mean([(one * gold).sum() / 6 for one, gold in zip(found, test_links)])
        draw(axes, test_rows[0], test_links[0], shares[0].numpy())
        axes.set_title(f"{name}: {right:.0%} of links right")
    plt.show()
