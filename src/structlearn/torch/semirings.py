"""log Z of chains and trees in PyTorch's own operations, on whatever device the scores are.

    chains                a_t(k) = theta_t(k) + log sum_j exp(a_(t-1)(j) + transition(j, k))
    non-projective trees  log det of the Laplacian (Koo et al. 2007), each word's largest score taken out
    projective trees      Eisner's spans (see `structures/tree/eisner.py`), all of one width at a time

Autograd differentiates them as often as wanted: its first derivatives are the marginals. What is padded has
no influence.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from structlearn.structures import Chain, NonProjectiveTree, ProjectiveTree, Structure
from structlearn.structures.base import nothing_allowed


def log_partition(structure: Structure, theta: Tensor, shared: Tensor, lengths: Tensor) -> Tensor:
    """Return log Z of each example, (batch,); ValueError where it has none.

    theta : (batch, ...) as `StructuredLayer` takes it; shared : (n_shared,); lengths : (batch,)
    """
    unusable = ~(theta < torch.inf) & _inside(theta, lengths, structure.beyond_length)
    if unusable.any():
        b = int(unusable.flatten(1).any(1).nonzero()[0])
        raise ValueError(f"Scores must be finite or -inf (a forbidden part); example {b} has NaN or +inf.")
    inside = theta.masked_fill(~_inside(theta, lengths, structure.beyond_length), 0.0)
    found = RULES[type(structure)](structure, inside, shared, lengths)
    forbidden = (found == -torch.inf).nonzero()
    if len(forbidden):
        raise nothing_allowed(f"Example {int(forbidden[0])}")
    return found


def _inside(theta: Tensor, lengths: Tensor, beyond: tuple[int, ...]) -> Tensor:
    """Return where scores are not padded."""
    inside = torch.ones_like(theta, dtype=torch.bool)
    for axis, more in enumerate(beyond, 1):
        at = torch.arange(theta.shape[axis], device=theta.device)
        shape = [len(theta) if k == 0 else -1 if k == axis else 1 for k in range(theta.ndim)]
        inside = inside & (at < lengths[:, None] + more).reshape(shape)
    return inside


def log_sum(x: Tensor, dim: int) -> Tensor:
    """log sum exp, also of -inf alone, where PyTorch's own has the slope NaN."""
    top = x.amax(dim, keepdim=True).detach()
    top = top.masked_fill(top == -torch.inf, 0.0)
    total = (x - top).exp().sum(dim)
    none = total == 0
    return total.masked_fill(none, 1.0).log().masked_fill(none, -torch.inf) + top.squeeze(dim)


def _chain(structure: Any, theta: Tensor, shared: Tensor, lengths: Tensor) -> Tensor:
    k = structure.n_labels
    steps, rest = shared[: k * k].reshape(k, k), shared[k * k :]
    first = rest[:k] if structure.start else torch.zeros_like(theta[0, 0])
    last = rest[-k:] if structure.end else torch.zeros_like(theta[0, 0])
    if structure.forbidden is not None:
        masks = (torch.as_tensor(one).to(theta) for one in structure.masks)
        steps, first, last = (one + mask for one, mask in zip((steps, first, last), masks))
    ahead = theta[:, 0] + first
    for t in range(1, theta.shape[1]):
        after = log_sum(ahead[:, :, None] + steps, 1) + theta[:, t]
        ahead = torch.where((t < lengths)[:, None], after, ahead)
    return log_sum(ahead + last, 1)


def _matrix_tree(structure: Any, theta: Tensor, shared: Tensor, lengths: Tensor) -> Tensor:
    n = theta.shape[2]
    is_word = torch.arange(n, device=theta.device) < lengths[:, None]
    loops = torch.eye(n + 1, n, dtype=torch.bool, device=theta.device).roll(1, 0)
    scores = theta.masked_fill(loops | ~_inside(theta, lengths, structure.beyond_length), -torch.inf)
    top = scores.amax(1).detach()
    top = top.masked_fill(top == -torch.inf, 0.0)
    weights = (scores - top[:, None]).exp()
    heads = weights[:, 1:] if structure.single_root else weights
    laplacian = torch.diag_embed(heads.sum(1) + (~is_word).to(theta)) - weights[:, 1:]
    if structure.single_root:
        laplacian = torch.cat([weights[:, :1], laplacian[:, 1:]], 1)
    sign, value = torch.linalg.slogdet(laplacian)
    lost = (sign < 0).nonzero()
    if len(lost):
        raise ValueError(
            f"Example {int(lost[0])} has scores so far apart that its determinant has no digit left; use "
            "backend='compiled', which has no such limit."
        )
    return value + (top * is_word).sum(1)


def _eisner(structure: Any, theta: Tensor, shared: Tensor, lengths: Tensor) -> Tensor:
    """Tables by width w hold spans (s, s + w) for all s."""
    batch, size = len(theta), theta.shape[1]
    done = theta.new_zeros(batch, size)
    right, left = [done], [done]
    rightward, leftward = [done], [done]  # those of width 0 are not used
    never = theta.new_full((batch, 1), -torch.inf)
    for w in range(1, size):
        n = size - w
        joined = _sum_splits(right, left, w, n, [(a, w - 1 - a, a + 1) for a in range(w)])
        rightward.append(joined + theta[:, torch.arange(n), torch.arange(n) + w - 1])
        # an arc back to s = 0 would enter the root
        back = joined[:, 1:] + theta[:, torch.arange(1, n) + w, torch.arange(1, n) - 1]
        leftward.append(torch.cat([never, back], 1))
        right.append(_sum_splits(rightward, right, w, n, [(a, w - a, a) for a in range(1, w + 1)]))
        left.append(_sum_splits(left, leftward, w, n, [(a, w - a, a) for a in range(w)]))
    if not structure.single_root:
        return torch.stack([table[:, 0] for table in right], 1).gather(1, lengths[:, None])[:, 0]
    # one word r under the root: L(1, r) + R(r, n) + theta(0, r)
    words = torch.arange(1, size, device=theta.device)
    before = torch.stack([left[r - 1][:, 1] for r in range(1, size)], 1)
    every = torch.stack([torch.nn.functional.pad(table, (0, size - table.shape[1])) for table in right], 1)
    width = (lengths[:, None] - words).clamp_min(0)
    after = every[torch.arange(batch, device=theta.device)[:, None], width, words]
    terms = (before + after + theta[:, 0]).masked_fill(words > lengths[:, None], -torch.inf)
    return log_sum(terms, 1)


def _sum_splits(
    first: list[Tensor], second: list[Tensor], w: int, n: int, splits: list[tuple[int, int, int]]
) -> Tensor:
    """Return log sums over splits: widths of the two halves, and where the second begins after s."""
    terms = [first[a][:, :n] + second[b][:, begin : begin + n] for a, b, begin in splits]
    return log_sum(torch.stack(terms), 0)


RULES: dict[type[Structure], Callable[[Any, Tensor, Tensor, Tensor], Tensor]] = {
    Chain: _chain,
    NonProjectiveTree: _matrix_tree,
    ProjectiveTree: _eisner,
}
