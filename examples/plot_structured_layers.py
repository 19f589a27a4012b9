"""
A chain on top of a network
===========================

A small network of PyTorch reads runs of handwritten digits such as 7 8 9 0 1. Its loss decides what it
learns: one digit at a time, or the likelihood of the whole number by a chain whose transitions are
learned with it. The network is the same; the picture shows the probabilities of one noisy number that it
has not seen. Rows are digits, columns are positions, and boxes mark the truth. Without PyTorch this page
has no picture.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn.data import train_test_digit_sequences
from structlearn.losses import Shannon
from structlearn.structures import Chain

try:
    import torch

    from structlearn.torch import StructuredLayer, StructuredLoss
except ImportError:
    torch = None
    print("This example needs PyTorch: pip install structlearn[torch]")


def padded(rows):
    """One tensor for rows of several lengths, and the lengths."""
    rows = [torch.as_tensor(np.asarray(one)) for one in rows]
    return torch.nn.utils.rnn.pad_sequence(rows, batch_first=True), [len(one) for one in rows]


def train(x, y, lengths, with_steps):
    """A network and its transitions, which stay zero if the digits are to be read one by one."""
    torch.manual_seed(0)
    network = torch.nn.Sequential(torch.nn.Linear(x.shape[2], 32), torch.nn.Tanh(), torch.nn.Linear(32, 10))
    steps = torch.zeros(10, 10, requires_grad=with_steps)
    loss = StructuredLoss(Chain(10), Shannon())
    optimizer = torch.optim.Adam([*network.parameters(), *([steps] if with_steps else [])], lr=0.02)
    for _ in range(60):
        optimizer.zero_grad()
        loss(network(x), y, steps, sizes=lengths).backward()
        optimizer.step()
    return network, steps.detach()


def draw(axes, title, table, truth):
    image = axes.imshow(table.T, vmin=0, vmax=1, cmap="Blues", aspect="auto")
    for position, digit in enumerate(truth):
        axes.add_patch(
            plt.Rectangle((position - 0.5, digit - 0.5), 1, 1, fill=False, edgecolor="#D55E00", linewidth=2)
        )
    axes.set(title=title, xlabel="position", yticks=range(10))
    return image


if torch is not None:
    X, X_test, y, y_test = train_test_digit_sequences(150, 60, kind="counters", noise=0.6)
    x, lengths = padded([one.astype(np.float32) for one in X])
    x_test, test_lengths = padded([one.astype(np.float32) for one in X_test])
    layer = StructuredLayer(Chain(10), Shannon())
    figure, panels = plt.subplots(1, 2, figsize=(9, 4.4), sharey=True, layout="constrained")
    for axes, name in zip(panels, ("one by one", "as a chain")):
        network, steps = train(x, padded(y)[0], lengths, name == "as a chain")
        with torch.no_grad():
            table = layer(network(x_test), steps, sizes=test_lengths)
            best = layer.decode(network(x_test), steps, sizes=test_lengths)
        right = np.mean(np.concatenate(best) == np.concatenate(y_test))
        image = draw(axes, f"{name}: {right:.0%} right", table[0, : test_lengths[0]].numpy(), y_test[0])
    panels[0].set(ylabel="digit")
    figure.colorbar(image, ax=panels, label="probability", shrink=0.8)
    plt.show()
