"""
A tree on top of a network
==========================

Sums such as 7 - 2 * 4 + 1 have a tree: each operator is the head of what it joins, and * binds closer than
+ and -. A small network of PyTorch reads the symbols and scores every head for every symbol. Its loss is
the likelihood of the whole tree among all projective trees, by inside and outside sums. The picture shows
the probabilities of heads for one sum that the network has not seen, before and after training; boxes mark
the true heads. Without PyTorch this page has no picture.
"""

import matplotlib.pyplot as plt
import numpy as np

from structlearn.losses import Shannon
from structlearn.structures import ProjectiveTree

try:
    import torch

    from structlearn.torch import StructuredLayer, StructuredLoss
except ImportError:
    torch = None
    print("This example needs PyTorch: pip install structlearn[torch]")


def heads_of(symbols, first, last, head, heads):
    """Write the heads of symbols first .. last - 1, whose root hangs from `head`; positions count from 1."""
    signs = [[i for i in range(first, last) if symbols[i] in some] for some in ("+-", "*")]
    operators = signs[0] or signs[1]
    root = operators[-1] if operators else first
    heads[root] = head
    if operators:
        heads_of(symbols, first, root, root + 1, heads)
        heads_of(symbols, root + 1, last, root + 1, heads)
    return heads


def sums(n, rng):
    """Return random sums, and the heads of their symbols (0 for the root)."""
    sizes = rng.integers(2, 7, n)
    found = [
        "".join(f"{rng.integers(10)}{rng.choice(list('+-*'))}" for _ in range(size))[:-1] for size in sizes
    ]
    return [(one, heads_of(one, 0, len(one), 0, [0] * len(one))) for one in found]


if torch is not None:

    class HeadScorer(torch.nn.Module):
        """Scores of shape (batch, length + 1, length): from the root and every symbol to every symbol."""

        def __init__(self, width=24):
            super().__init__()
            self.symbols = torch.nn.Embedding(128, width)
            self.reader = torch.nn.LSTM(width, width, batch_first=True, bidirectional=True)
            self.head, self.child = (torch.nn.Linear(2 * width, 2 * width) for _ in range(2))

        def forward(self, sentences):
            codes = [torch.tensor([0, *map(ord, symbols)]) for symbols in sentences]  # 0 is the root
            read, _ = self.reader(self.symbols(torch.nn.utils.rnn.pad_sequence(codes, batch_first=True)))
            return torch.tanh(self.head(read)) @ torch.tanh(self.child(read[:, 1:])).transpose(1, 2)

    train, test = (sums(n, np.random.default_rng(n)) for n in (300, 200))
    torch.manual_seed(0)
    network, trees = HeadScorer(), ProjectiveTree()
    loss, layer = StructuredLoss(trees, Shannon()), StructuredLayer(trees, Shannon())
    (train_sentences, train_heads), (sentences, gold) = zip(*train), zip(*test)
    lengths = [*map(len, gold)]
    shown = int(np.argmax(lengths))
    figure, panels = plt.subplots(1, 2, figsize=(10, 5), sharey=True, layout="constrained")
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01)
    for axes, name, epochs in zip(panels, ("before training", "after training"), (0, 60)):
        for _ in range(epochs):
            optimizer.zero_grad()
            loss(network(train_sentences), train_heads, sizes=[*map(len, train_heads)]).backward()
            optimizer.step()
        with torch.no_grad():
            scores = network(sentences)
            arcs, found = layer(scores, sizes=lengths)[shown], layer.decode(scores, sizes=lengths)
        right = np.mean([np.array_equal(*pair) for pair in zip(found, gold)])
        image = axes.imshow(arcs, vmin=0, vmax=1, cmap="Blues")
        for child, head in enumerate(gold[shown]):
            axes.add_patch(plt.Rectangle((child - 0.5, head - 0.5), 1, 1, fill=False, edgecolor="#D55E00"))
        axes.set_xticks(range(lengths[shown]), sentences[shown])
        axes.set_title(f"{name}: {right:.0%} of trees right")
    panels[0].set_yticks(range(lengths[shown] + 1), ["root", *sentences[shown]])
    figure.colorbar(image, ax=panels, label="probability", shrink=0.8)
    plt.show()
