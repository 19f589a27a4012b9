"""`structlearn solve`: the best labelling of a Markov random field in a file."""

from __future__ import annotations

import time
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
    if factors.order > 2:
        return _best_of_factors(factors, begin, seconds)
    return _best(factors.pairwise(), begin, seconds)


def _best(scores: PairwiseScores, begin: float, seconds: float) -> GraphAnswer:
    """Return the best answer within some seconds: searches become longer, and the bound is the first one."""
    from structlearn.structures import PairwiseGraph

    (n, edges), k = scores.graph, scores.node.shape[1]
    theta = scores.theta
    found = PairwiseGraph(n, edges, k).solve(theta)
    effort = _FIRST_EFFORT
    try:
        with show_progress("searching", seconds) as step:
            while not found.exact and (spent := time.perf_counter() - begin) < seconds:
                step.reach(spent, f"score {found.value + scores.constant:.6g}")
                started = time.perf_counter()
                found = _searched(PairwiseGraph(n, edges, k, effort=effort), theta, found)
                taken = time.perf_counter() - started
                left = seconds - (time.perf_counter() - begin)
                effort = int(effort * min(4.0, max(left / max(taken, 1e-9), 1.0)))
    except KeyboardInterrupt:
        say("Interrupted: the best labelling so far is written.")
    return found._replace(value=found.value + scores.constant, bound=found.bound + scores.constant)


def _best_of_factors(factors: Factors, begin: float, seconds: float) -> GraphAnswer:
    """Return the best answer where tables are over more than two variables: branch and bound goes on longer
    and longer.
    """
    from structlearn.structures.factors.factor_graph import MOST_BRANCHES, FactorGraph
    from structlearn.structures.graph.answers import GraphAnswer

    graph, theta, constant = factors.factor_graph()
    branches, taken = 1, 0.0
    found = FactorGraph(graph.n_states, graph.factors, most_branches=branches).solve(theta)
    try:
        with show_progress("searching", seconds) as step:
            while not found.exact and (spent := time.perf_counter() - begin) + 4 * taken < seconds:
                step.reach(spent, f"score {found.value + constant:.6g}")
                branches, started = max(4 * branches, MOST_BRANCHES), time.perf_counter()
                found = FactorGraph(graph.n_states, graph.factors, most_branches=branches).solve(theta)
                taken = time.perf_counter() - started
    except KeyboardInterrupt:
        say("Interrupted: the best labelling so far is written.")
    return GraphAnswer(found.states, found.value + constant, found.bound + constant, "dual decomposition")


def _searched(structure: PairwiseGraph, theta: Array, best: GraphAnswer) -> GraphAnswer:
    """Return the better of an answer and that of a search."""
    vertex = structure.maximize(theta)
    value = float(theta[vertex > 0] @ vertex[vertex > 0])
    return best._replace(states=structure.decode(vertex), value=value) if value > best.value else best
