"""The page of decisions: figures and bins counted by hand, the paths that are drawn, and what is left out."""

import re

import numpy as np
import pytest

from html_reader import Reader
from structlearn.reports import decision_page as module
from structlearn.reports.decision_page import DecidedExamples, decision_page
from structlearn.reports.grid_paths import draw_paths, grid_columns
from structlearn.structures import Assignment, Knapsack, ShortestPath, SpanningTree, TopK

HOSTILE = "<script>alert(1)</script>"


def grid_examples(n=30, baseline=True, seed=0):
    paths = ShortestPath.grid(3, 3)
    rng = np.random.default_rng(seed)
    costs = rng.uniform(1, 2, (n, 12))
    predicted = costs + rng.normal(size=costs.shape)
    decided, best = (np.array([paths.maximize(-c) for c in some]) for some in (predicted, costs))
    other = np.array([paths.maximize(-c) for c in rng.uniform(1, 2, (n, 12))]) if baseline else None
    return DecidedExamples(predicted, costs, decided.astype(int), best.astype(int), other, paths)


def table_rows(html):
    """The cells of the histogram."""
    body = re.search(r"<tbody>(.*?)</tbody>", html, re.DOTALL)[1]
    return [re.findall(r">([^<>]+)</t[hd]>", row) for row in body.split("</tr>")[:-1]]


def test_figures_and_bins():
    found = grid_examples()
    html = decision_page(found).html()
    cost, best = (found.costs * found.decided).sum(axis=1), (found.costs * found.best).sum(axis=1)
    other = (found.costs * found.baseline).sum(axis=1)
    texts = Reader(html).texts
    assert f"{100 * (cost - best).sum() / best.sum():.2f}%" in texts
    assert f"{100 * (other - best).sum() / best.sum():.2f}%" in texts
    assert f"{100 * np.mean(cost - best < 1e-9):.1f}%" in texts
    rows = table_rows(html)
    assert sum(int(row[1]) for row in rows) == sum(int(row[2]) for row in rows) == 30
    assert rows[0][0] == "0"
    assert int(rows[0][1]) == np.sum(cost - best < 1e-9)
    for name, count, other_count in rows[1:]:
        low, high = map(float, name.split(" to "))
        for regrets, given in ((cost - best, count), (other - best, other_count)):
            assert np.sum((regrets > max(low, 1e-9)) & (regrets < high)) == int(given)
    assert len(rows) <= module.MOST_BINS + 1


def test_the_worst_come_first_and_paths_are_drawn():
    found = grid_examples()
    html = decision_page(found, limit=3).html()
    regrets = (found.costs * (found.decided - found.best)).sum(axis=1)
    worst = (np.argsort(-regrets)[:3] + 1).tolist()
    assert list(map(int, re.findall(r"<h3>Example (\d+)</h3>", html))) == worst
    assert html.count("<svg") == 6
    own = np.sum(found.decided[np.array(worst) - 1] > found.best[np.array(worst) - 1])
    assert html.count('class="own"') == 2 * own
    assert html.count('class="both"') == 2 * (4 * 3 - own)


def test_edges_are_where_they_belong():
    found = grid_examples()
    i = int((found.decided != found.best).any(axis=1).argmax())
    drawing = draw_paths(found.structure.edges, 3, found.costs[i], found.decided[i], found.best[i])
    (name, total, edges), (_, best, others) = drawing.panels
    assert name == "decided"
    assert float(total) == pytest.approx(found.costs[i] @ found.decided[i], rel=1e-3)
    assert float(best) == pytest.approx(found.costs[i] @ found.best[i], rel=1e-3)
    taken = {edge.title.split(":")[0] for edge in others if edge.kind}
    assert taken == {f"edge {e}" for e in np.flatnonzero(found.best[i])}
    steps = sorted({abs(edge.x1 - edge.x2) + abs(edge.y1 - edge.y2) for edge in edges})
    assert steps == [130.0]
    path = [edge for edge in edges if edge.kind]
    ends = {(edge.x1, edge.y1) for edge in path} ^ {(edge.x2, edge.y2) for edge in path}
    assert ends == {drawing.nodes[0], drawing.nodes[-1]}


@pytest.mark.parametrize(
    ("structure", "columns"),
    [
        (ShortestPath.grid(4, 6), 6),
        (ShortestPath([(0, 1), (1, 3), (0, 3), (0, 2), (2, 3)], 0, 3), 2),  # a diagonal
        (ShortestPath([(0, 2), (2, 5), (0, 1), (1, 5), (3, 4)], 0, 5), None),
        (SpanningTree([(0, 1), (1, 3), (0, 2), (2, 3)]), None),
        (TopK(4, 2), None),
    ],
)
def test_which_graphs_are_grids(structure, columns):
    assert grid_columns(structure) == columns


@pytest.mark.parametrize(
    ("structure", "name"),
    [
        (Knapsack([2, 3, 4, 5], 7), "item 0"),
        (Assignment(2, 2), "row 0, column 0"),
        (SpanningTree([(0, 1), (1, 2), (2, 0), (2, 3)]), "edge 0: 0 – 1"),
        (ShortestPath([(0, 4), (4, 9), (0, 5), (5, 9)], 0, 9), "edge 0: 0 → 4"),
        (TopK(4, 2), "part 0"),
    ],
)
def test_other_decisions_are_tables_of_parts(structure, name):
    costs = np.array([[4.0, 3.0, 2.0, 1.0]])
    decided, best = np.array([[1, 0, 0, 1]]), np.array([[0, 1, 0, 1]])
    found = DecidedExamples(costs + 0.25, costs, decided, best, None, structure, "max")
    html = decision_page(found, title=HOSTILE).html()
    assert "<svg" not in html
    texts = Reader(html).texts
    assert name in texts
    assert "4.25" in texts
    assert "two stages" not in html
    assert "value 5, best 4, regret 1" in texts
    assert HOSTILE not in html


def test_decisions_that_are_all_best_and_cost_nothing():
    zero = np.zeros((2, 4))
    one = np.array([[1, 1, 0, 0]] * 2)
    html = decision_page(DecidedExamples(zero, zero, one, one, None, TopK(4, 2))).html()
    assert "0 on average" in html
    assert html.count("The decision is the best one.") == 2
    assert table_rows(html) == [["0", "2"]]


def test_large_pages_stay_small(monkeypatch):
    monkeypatch.setattr(module, "MOST_EDGES", 50)
    html = decision_page(grid_examples()).html()
    assert "2 of 30 examples are shown, the worst first." in html
    assert html.count("<svg") == 4
    costs = np.ones((1, 30))
    found = DecidedExamples(
        costs, costs, np.arange(30)[None] < 15, np.arange(30)[None] >= 15, None, TopK(30, 15)
    )
    html = decision_page(found._replace(decided=found.decided * 1, best=found.best * 1)).html()
    assert "The 8 of 30 parts that matter most are shown." in html
