"""`structlearn solve`: the best labelling of a Markov random field in a file."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from structlearn.cli.support.errors import handling_errors, say
from structlearn.cli.support.options import Json, argument, option
from structlearn.cli.support.outputs import output_file, print_figures, write_pieces
from structlearn.core.progress import show_progress

if TYPE_CHECKING:
    from structlearn.core.contract import Array
    from structlearn.data.uai import Factors, PairwiseScores
    from structlearn.structures import PairwiseGraph
    from structlearn.structures.graph.answers import GraphAnswer

#: Draws of all nodes in the first search; each further one makes four times as many.
_FIRST_EFFORT = 64
#: Operations of sweeps over cycles for each second.
_A_SECOND = 1 << 28


@handling_errors()
def solve(
    file: Annotated[Path, argument("FILE", "Factors: .uai or .wcsp, packed or not.")],
    out: Annotated[
        Path | None, option("FILE", "Write the labelling here, as MAP, n and n states.  [default: stdout]")
    ] = None,
    seconds: Annotated[float, option("S", "Search for about as long for a better labelling.", min=0)] = 5.0,
    as_json: Json = False,
) -> None:
    """Find a labelling whose factors have the largest product, and a bound on that of all labellings.

    Scores are natural logarithms, summed over factors; with --out they are printed as `name: value` lines.
    Ctrl-C ends the search, and the best labelling so far is written. Factors may be over any number of
    variables, if their tables fit into memory.
    """
    from structlearn.data.uai import labelling_text, read_factors

    out_file = output_file(out, [file])
    begin = time.perf_counter()
    factors = read_factors(file)
    found = best_answer(factors, begin, seconds)
    write_pieces([labelling_text(found.states)], out_file)
    if out_file is None:
        return
    say(f"Wrote the labelling to {out}.")
    figures = {
        "variables": len(factors.n_states),
        "factors": len(factors.scopes),
        "score": found.value,
        "bound": found.bound,
        "gap": found.bound - found.value,
        "method": found.method,
        "exact": found.exact,
        "seconds": time.perf_counter() - begin,
    }
    print_figures(figures.items(), as_json=as_json)


def best_answer(factors: Factors, begin: float, seconds: float) -> GraphAnswer:
    """Return the best answer that is found until some seconds after `begin`."""
    from structlearn.structures.base import NothingFound

    if factors.is_pairwise:
        with suppress(NothingFound):  # then by branch and bound that goes on
            return _best(factors.pairwise(), begin, seconds)
    return _best_of_factors(factors, begin, seconds)


def _best(scores: PairwiseScores, begin: float, seconds: float) -> GraphAnswer:
    """Return the best answer within some seconds: a bound that cycles tighten, and longer searches."""
    from structlearn.structures import PairwiseGraph
    from structlearn.structures.graph.polishing import heats, polish

    (n, edges), k = scores.graph, scores.node.shape[1]
    graph, theta = PairwiseGraph(n, edges, k), scores.theta
    found = graph.solve(theta)
    try:
        with show_progress("searching", seconds) as step:
            if not found.exact:
                found = _with_cycles(graph, scores, found, seconds)
            turns, effort, turn, taken = heats(k), _FIRST_EFFORT, 0, 0.0
            while not found.exact and (spent := time.perf_counter() - begin) + taken < seconds:
                step.reach(spent, f"score {found.value + scores.constant:.6g}")
                started, heat = time.perf_counter(), turns[turn % len(turns)]
                found = _better(found, *polish(graph, theta, found.states, found.bound, effort, heat))
                taken, turn = time.perf_counter() - started, turn + 1
                effort *= 2 if turn % len(turns) == 0 else 1
    except KeyboardInterrupt:
        say("Interrupted: the best labelling so far is written.")
    return found._replace(value=found.value + scores.constant, bound=found.bound + scores.constant)


def _with_cycles(
    graph: PairwiseGraph, scores: PairwiseScores, found: GraphAnswer, seconds: float
) -> GraphAnswer:
    """Return the answer with a bound that cycles tighten, and the labelling that they speak for.

    It takes a quarter of the seconds, about.
    """
    from structlearn.structures.factors.cycles import ALL_SWEEPS, cycle_bound
    from structlearn.structures.graph.polishing import polish

    most = int(min(seconds * _A_SECOND, ALL_SWEEPS))
    tight = cycle_bound(scores.graph, scores.node, scores.table, most)
    if tight is None:
        return found
    if tight.bound < found.bound:
        found = found._replace(bound=max(tight.bound, found.value), method="message passing with cycles")
    return _better(found, *polish(graph, scores.theta, tight.states, found.bound, 0, 1.0))


def _better(found: GraphAnswer, states: Array, value: float) -> GraphAnswer:
    """Return the answer with another labelling, if that is better."""
    return found._replace(states=states, value=value) if value > found.value else found


def _best_of_factors(factors: Factors, begin: float, seconds: float) -> GraphAnswer:
    """Return the best answer where tables are over more than two variables: branch and bound goes on longer
    and longer.
    """
    from structlearn.structures.base import NothingFound
    from structlearn.structures.factors.factor_graph import MOST_BRANCHES, FactorAnswer, FactorGraph
    from structlearn.structures.graph.answers import GraphAnswer

    graph, theta, constant = factors.factor_graph()

    def search(branches: int) -> FactorAnswer | None:
        try:
            return FactorGraph(graph.n_states, graph.factors, most_branches=branches).solve(theta)
        except NothingFound:
            return None

    branches, taken = 1, 0.0
    found = search(branches)
    try:
        with show_progress("searching", seconds) as step:
            while not (found and found.exact) and (
                (spent := time.perf_counter() - begin) + 4 * taken < seconds
            ):
                step.reach(spent, f"score {found.value + constant:.6g}" if found else "")
                branches, started = max(4 * branches, MOST_BRANCHES), time.perf_counter()
                found = search(branches) or found
                taken = time.perf_counter() - started
    except KeyboardInterrupt:
        if found:
            say("Interrupted: the best labelling so far is written.")
    if found is None:
        raise ValueError(
            "No labelling without a zero was found in time, though there may be one; give more --seconds."
        )
    return GraphAnswer(found.states, found.value + constant, found.bound + constant, "dual decomposition")
