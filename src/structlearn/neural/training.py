"""How networks are trained: Adam, a rate that falls to zero, and the average of the weights."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from structlearn.core.contract import Array
from structlearn.core.progress import Step, show_progress
from structlearn.estimators.choices import threads
from structlearn.neural.batches import Batch, TextBatches, grouped
from structlearn.neural.parameters import NetworkParameters
from structlearn.solvers.solution import INTERRUPTED

N = TypeVar("N", bound=nn.Module)
#: From the numbers of the sentences of a batch, and the batch, to the sum of their losses.
Loss = Callable[[Array, Batch], Tensor]

#: The rate rises over this many steps, or over a tenth of all if these are fewer.
_WARM_UP = 100
#: Of the average of weights, the share that stays per step.
_AVERAGE = 0.998
_BETAS = 0.9, 0.98
_LONGEST_GRADIENT = 5.0


class EpochRow(NamedTuple):
    """What one epoch has come to: the mean loss per sentence in training, seconds from the beginning."""

    loss: float
    seconds: float


@contextmanager
def torch_settings(n_jobs: int | None, seed: int | None = None) -> Iterator[None]:
    """Run PyTorch with this many threads and this seed, and leave both as they were."""
    before = torch.get_num_threads()
    torch.set_num_threads(threads(n_jobs))
    try:
        with torch.random.fork_rng(devices=[]):
            if seed is not None:
                torch.manual_seed(seed)
            yield
    finally:
        torch.set_num_threads(before)


class NetworkTraining:
    """One network's training: Adam with gradients of bounded length, and an average of the weights.

    `ended` says why it has ended early, and is empty where it has not.

        rate_t    = learning_rate min(1, t / min(100, T / 10)) (1 - t / T)
        average_t = a average_(t-1) + (1 - a) w_t

    with a = min(0.998, (1 + t) / (10 + t)), which forgets the first steps soon.
    """

    def __init__(
        self, network: nn.Module, loss: Loss, batches: TextBatches, options: NetworkParameters
    ) -> None:
        self.network, self.loss, self.batches, self.options = network, loss, batches, options
        self.weights = [one for one in network.parameters() if one.requires_grad]
        self.average = [one.detach().clone() for one in self.weights]
        self.adam = torch.optim.Adam(self.weights, betas=_BETAS)
        self.epochs: list[EpochRow] = []
        self.ended = ""
        self._step = 0
        self._total = options.epochs * len(grouped(batches.text.lengths, options.batch_size))

    def run(self, rng: np.random.Generator, begin: float, what: str) -> None:
        """Train; the network then has the average of its weights."""
        self.network.train()
        try:
            with show_progress(what, self._total) as progress:
                for _ in range(self.options.epochs):
                    self._run_epoch(rng, begin, what, progress)
                    if self.ended:
                        return
        except KeyboardInterrupt:
            self.ended = INTERRUPTED
        finally:
            self._take_average()

    def _run_epoch(self, rng: np.random.Generator, begin: float, what: str, progress: Step) -> None:
        lost, seen, limit = 0.0, 0, self.options.max_seconds
        try:
            for chosen in grouped(self.batches.text.lengths, self.options.batch_size, rng):
                lost += self._update(chosen, rng)
                seen += len(chosen)
                progress.advance()
                if limit is not None and time.perf_counter() - begin > limit:
                    self.ended = "Stopped after max_seconds"
                    return
        finally:
            self._note(lost / max(seen, 1), begin, what)

    def _update(self, chosen: Array, rng: np.random.Generator) -> float:
        """Make one step; return the sum of the losses before it."""
        batch = self.batches.make(chosen, rng, self.options.word_dropout)
        rising = (1 + self._step) / max(1.0, min(_WARM_UP, self._total / 10))
        left = max(0.0, 1.0 - self._step / self._total)  # batches are drawn anew: there may be a few more
        for group in self.adam.param_groups:
            group["lr"] = self.options.learning_rate * min(1.0, rising) * left
        loss = self.loss(chosen, batch)
        self.adam.zero_grad()
        (loss / len(chosen)).backward()
        nn.utils.clip_grad_norm_(self.weights, _LONGEST_GRADIENT)
        self.adam.step()
        self._step += 1
        share = min(_AVERAGE, (1 + self._step) / (10 + self._step))
        with torch.no_grad():
            torch._foreach_lerp_(self.average, self.weights, 1.0 - share)
        return loss.item()

    def _note(self, loss: float, begin: float, what: str) -> None:
        self.epochs.append(EpochRow(loss, time.perf_counter() - begin))
        if self.options.verbose:
            line = f"{what}, epoch {len(self.epochs)}: loss {loss:.4f}, {self.epochs[-1].seconds:.1f} s"
            print(line, file=sys.stderr, flush=True)

    def _take_average(self) -> None:
        with torch.no_grad():
            for one, mean in zip(self.weights, self.average):
                one.copy_(mean)
        self.network.eval()
