"""The oracle of a data set: structure and scoring together, asked for all examples at given weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial, reduce
from typing import NamedTuple, TypeVar

import numpy as np

from structlearn.core.contract import Array, Record, max_value, maximize, omega, strong_convexity, workspace
from structlearn.core.erased import Erased
from structlearn.core.kernels import kernel
from structlearn.core.threads import Team, blas_threads, in_order
from structlearn.problem.gold import ExampleLayout as ExampleLayout
from structlearn.problem.gold import GoldVertices as GoldVertices
from structlearn.problem.gold import against_gold, compare_chunk
from structlearn.scoring.base import PARTS_AT_ONCE, Scoring
from structlearn.structures.base import Structure
from structlearn.structures.batches import BatchOracle
from structlearn.structures.erased import ErasedStructure, erase_structure

Found = TypeVar("Found")
Range = tuple[int, int]
#: Parts that a thread scores and asks for their value at a time: they stay near the processor.
PARTS_DEALT = 1 << 15


class ExampleBlocks(NamedTuple):
    """The examples as a compiled pass over blocks sees them: their layout, then what the objective adds."""

    shapes: Array
    start: Array
    largest: tuple[int, int]
    most_parts: int
    cost: Array
    weight: Array
    gold_start: Array
    gold_index: Array
    gold_value: Array
    #: how many local parts, the first of each example, the squared norm covers
    curved: Array


class Losses(NamedTuple):
    """What examples add up to: sum_i p_i loss_i, loss_i = Omega*(theta_i) + Omega(mu_i) - <theta_i, mu_i>."""

    total: float = 0.0
    #: sum_i p_i { Omega(mu_i) - Omega(s_i) }, where answers s_i were asked for
    gain: float = 0.0
    #: the least loss, over the scores that it is a difference of and 1, and whose it is: negative by no more
    #: than rounding, unless mu_i beats the answer that should be maximal
    least: float = np.inf
    example: int = -1

    def plus(self, other: Losses) -> Losses:
        """Return what the examples of both add up to."""
        least = min(self[2:], other[2:])
        return Losses(self.total + other.total, self.gain + other.gain, *least)


class Maximizers(NamedTuple):
    """Weighted answers p_i s_i of a range of examples."""

    first: int
    last: int
    #: local parts, examples end to end
    vertices: Array
    #: shared parts, summed over the examples
    shared: Array
    losses: Losses


class Oracle:
    """Answers of a structure to the scores of all examples.

    Parameters
    ----------
    record : NamedTuple
        What answers `maximize`: a structure's record, regularised or not.
    scoring : Scoring
    structure : Structure
        Whose record it is. It checks the shapes of all examples: no other way leads from a data set to
        compiled answers.
    n_jobs : int
        Threads; examples are shared out in ranges, and sums do not depend on it.
    """

    def __init__(self, record: Record, scoring: Scoring, *, structure: Structure, n_jobs: int = 1) -> None:
        structure.check_examples(scoring.shapes, np.diff(scoring.start), scoring.n_shared)
        self.record = record
        self.structure = structure
        self.scoring = scoring
        self.n_jobs = n_jobs

    def run(self, function: Callable[..., Found], *args: object) -> Found:
        """Call the kernel `function(structure, *args)`; then raise what the structure has raised inside."""
        found = function(self.for_pass(function), *args)
        if self.structure.ahead is not None:
            self.structure.ahead.forget()
        self.structure.raise_failure()
        return found

    def for_pass(self, function: Callable[..., object]) -> ErasedStructure:
        """Return the structure behind addresses, for a call of the kernel `function` in this thread."""
        return self._erased.record(function)

    @cached_property
    def _erased(self) -> Erased[ErasedStructure]:
        # without `self`: a cycle would keep the features of every batch until garbage is collected
        return Erased(partial(erase_structure, self.record, self.layout.largest))

    @cached_property
    def batches(self) -> BatchOracle | None:
        """What answers several examples at a time, where the structure has it."""
        return self.structure.batches(self.record)

    def _lengths(self, first: int, last: int) -> Array:
        return self.scoring.shapes[first:last, 0]

    @cached_property
    def layout(self) -> ExampleLayout:
        shapes, start = self.scoring.shapes, self.scoring.start
        largest = (int(shapes[:, 0].max()), int(shapes[:, 1].max()))
        return ExampleLayout(shapes, start, largest, int(np.diff(start).max()))

    @cached_property
    def no_gold(self) -> GoldVertices:
        return GoldVertices.nothing(self.scoring.n_examples)

    def losses(self, w: Array, cost: Array, weight: Array, gold: GoldVertices) -> Losses:
        """sum_i p_i loss_i at the scores Phi_i w + c_i."""
        is_zero = not w.any()

        def one(chunk: Range) -> Losses:
            if not weight[slice(*chunk)].any():
                return Losses()
            theta = self._costs(cost, *chunk).copy() if is_zero else self._scores(w, cost, *chunk)
            shared = self.scoring.shared(w)
            values = None
            if self.batches is not None:
                values = self.batches.values(self._lengths(*chunk), theta, shared)
            if values is not None:
                return Losses(*compare_chunk(self.layout, gold, weight, *chunk, theta, shared, values))
            self._prepare(weight, theta, *chunk)
            found = self.run(loss_chunk, self.layout, gold, weight, *chunk, theta, shared)
            return Losses(*found)

        size = PARTS_DEALT if self.batches is None else self.batches.parts_at_once
        return reduce(Losses.plus, self.all_chunks(one, size), Losses())

    def maximizers(
        self,
        w: Array,
        cost: Array | None,
        weight: Array,
        chunks: list[Range] | None = None,
        gold: GoldVertices | None = None,
    ) -> Iterator[Maximizers]:
        """p_i argmax_z <Phi_i w + c_i, z>, a range of examples at a time (all, unless given)."""
        gold = self.no_gold if gold is None else gold
        if chunks is None and self.batches is not None:
            chunks = self.scoring.chunks(self.batches.parts_at_once)
        return self.each_chunk(lambda chunk: self._maximizers(w, cost, weight, gold, *chunk), chunks)

    def _maximizers(
        self, w: Array, cost: Array | None, weight: Array, gold: GoldVertices, first: int, last: int
    ) -> Maximizers:
        theta = self._scores(w, cost, first, last)
        shared = self.scoring.shared(w)
        together = None
        if self.batches is not None:
            together = self.batches.answers(self._lengths(first, last), theta, shared, weight[first:last])
        if together is not None:
            losses = Losses(
                *compare_chunk(self.layout, gold, weight, first, last, theta, shared, together.values)
            )
            losses = losses._replace(gain=together.gain)
            return Maximizers(first, last, together.vertices, together.shared, losses)
        vertices, shared_sum = np.empty(theta.size), np.zeros(shared.size)
        self._prepare(weight, theta, first, last)
        found = self.run(
            maximize_chunk, self.layout, gold, weight, first, last, theta, shared, vertices, shared_sum
        )
        return Maximizers(first, last, vertices, shared_sum, Losses(*found))

    def _prepare(self, weight: Array, theta: Array, first: int, last: int) -> None:
        """Tell plain Python what it will be asked for examples first .. last - 1."""
        ahead = self.structure.ahead
        if ahead is None or self.structure.record != self.record:
            return
        own = first + np.flatnonzero(weight[first:last])
        begins = self.scoring.start[first : last + 1] - self.scoring.start[first]
        thetas = [theta[begins[i] : begins[i + 1]] for i in own - first]
        ahead.prepare(self.scoring.shapes[own].tolist(), thetas, self.n_jobs)

    @property
    def asks_processes(self) -> bool:
        """Whether several processes answer for a `maximize` in plain Python."""
        return self.n_jobs > 1 and self.structure.ahead is not None and self.structure.ahead.in_processes

    def ask_ahead(self, w: Array, cost: Array, examples: Array) -> None:
        """Let plain Python answer for examples at w, about which compiled code will ask in this order."""
        if self.structure.ahead is not None:
            thetas = [self._scores(w, cost, i, i + 1) for i in examples.tolist()]
            shapes = self.scoring.shapes[examples].tolist()
            self.structure.ahead.prepare(shapes, thetas, self.n_jobs, in_turn=True)

    def read(
        self, w: Array, reader: Callable[[Array], Found], shift: Array | None = None
    ) -> list[tuple[int, int, Found]]:
        """(first, last, what `reader` makes of argmax_z <Phi_i w + shift_i, z>), a range of examples each."""
        ones = np.ones(self.scoring.n_examples)

        def one(chunk: Range) -> tuple[int, int, Found]:
            return *chunk, reader(self._maximizers(w, shift, ones, self.no_gold, *chunk).vertices)

        return self.all_chunks(one)

    def predict(self, w: Array, shift: Array | None = None) -> Iterator[tuple[int, Array]]:
        """(i, local parts of argmax_z <Phi_i w + shift_i, z>) for every example."""
        start = self.scoring.start
        for answer in self.maximizers(w, shift, np.ones(self.scoring.n_examples)):
            for i in range(answer.first, answer.last):
                yield i, answer.vertices[start[i] - start[answer.first] : start[i + 1] - start[answer.first]]

    def _scores(self, w: Array, cost: Array | None, first: int, last: int) -> Array:
        theta = self.scoring.scores(w, first, last)
        if cost is not None:
            theta += self._costs(cost, first, last)
        return theta

    def _costs(self, cost: Array, first: int, last: int) -> Array:
        return cost[self.scoring.start[first] : self.scoring.start[last]]

    def each_chunk(
        self, function: Callable[[Range], Found], chunks: list[Range] | None = None
    ) -> Iterator[Found]:
        """Yield `function` of each range of examples, in their order; a few answers per thread wait."""
        chunks = self.scoring.chunks() if chunks is None else chunks
        alone = len(chunks) == 1 or not self.structure.compiled
        with blas_threads(1), in_order(1 if alone else self.n_jobs) as run:
            yield from run(function, chunks)

    def added_up(self, add: Callable[[int, int, Array], None]) -> Array:
        """Add up what `add(first, last, out)` adds to weights for ranges of examples, by all threads.

        Each range has a sum of its own, unless there are more weights than parts in a range: so the order of
        additions is the same for any number of threads.
        """
        n_weights = self.scoring.n_weights
        out = np.zeros(n_weights)
        if n_weights > PARTS_AT_ONCE:
            for chunk in self.scoring.chunks():
                add(*chunk, out)
            return out

        def one(chunk: Range) -> Array:
            own = np.zeros(n_weights)
            add(*chunk, own)
            return own

        for own in self.each_chunk(one):
            out += own
        return out

    @cached_property
    def team(self) -> Team:
        """Threads that stay: as many as may work for this structure."""
        return Team(self.n_jobs if self.structure.compiled else 1)

    def all_chunks(self, function: Callable[[Range], Found], parts_at_once: int | None = None) -> list[Found]:
        """Return `function` of each range of examples, as a list."""
        with blas_threads(1):
            return self.team.deal(function, self.scoring.chunks(parts_at_once))


@kernel
def loss_chunk(
    structure: ErasedStructure,
    layout: ExampleLayout,
    gold: GoldVertices,
    weight: Array,
    first: int,
    last: int,
    theta: Array,
    shared: Array,
) -> tuple[float, float, float, int]:
    """Return the fields of `Losses` for a range of examples."""
    work = workspace(structure, layout.largest)
    vertex = np.empty(layout.most_parts + shared.size)
    convexity = strong_convexity(structure)
    offset = layout.start[first]
    total, least, example = 0.0, np.inf, -1
    for i in range(first, last):
        if weight[i] == 0.0:
            continue
        a, b = layout.start[i] - offset, layout.start[i + 1] - offset
        shape = (layout.shapes[i, 0], layout.shapes[i, 1])
        best = max_value(structure, shape, theta[a:b], shared, work, vertex[: b - a + shared.size])
        loss, fraction, _ = against_gold(gold, i, convexity, theta[a:b], shared, best)
        if fraction < least:
            least, example = fraction, i
        total += weight[i] * loss
    return total, 0.0, least, example


@kernel
def maximize_chunk(
    structure: ErasedStructure,
    layout: ExampleLayout,
    gold: GoldVertices,
    weight: Array,
    first: int,
    last: int,
    theta: Array,
    shared: Array,
    vertices: Array,
    shared_sum: Array,
) -> tuple[float, float, float, int]:
    """Write weighted vertices p_i s_i of a range of examples; return the fields of `Losses`."""
    work = workspace(structure, layout.largest)
    vertex = np.empty(layout.most_parts + shared.size)
    convexity = strong_convexity(structure)
    offset = layout.start[first]
    total, gain, least, example = 0.0, 0.0, np.inf, -1
    for i in range(first, last):
        a, b = layout.start[i] - offset, layout.start[i + 1] - offset
        size = b - a
        p = weight[i]
        if p == 0.0:
            vertices[a:b] = 0.0
            continue
        s = vertex[: size + shared.size]
        shape = (layout.shapes[i, 0], layout.shapes[i, 1])
        best = maximize(structure, shape, theta[a:b], shared, work, s)
        loss, fraction, at_gold = against_gold(gold, i, convexity, theta[a:b], shared, best)
        if fraction < least:
            least, example = fraction, i
        total += p * loss
        square = 0.0
        for j in range(gold.curved[i]):
            square += s[j] * s[j]
        there = convexity * square / 2.0
        if convexity == 0.0:
            there = omega(structure, shape, theta[a:b], shared, work, s, best)
        gain += p * (at_gold - there)
        for j in range(size):
            vertices[a + j] = p * s[j]
        for j in range(shared.size):
            shared_sum[j] += p * s[size + j]
    return total, gain, least, example


@kernel
def pullback_shared(
    blocks: ExampleBlocks, first: int, last: int, z: Array, local: Array, shared: Array
) -> None:
    """local <- p_i z_i of the local parts, end to end; shared <- shared - sum_i p_i z_i of the others."""
    n_shared = shared.size
    offset = blocks.start[first]
    for i in range(first, last):
        p = blocks.weight[i]
        begin, end = blocks.start[i], blocks.start[i + 1]
        for j in range(begin, end):
            local[j - offset] = p * z[j + i * n_shared]
        for j in range(n_shared):
            shared[j] -= p * z[end + i * n_shared + j]
