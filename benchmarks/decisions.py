"""Decisions: paths, knapsacks, large grids, tours and programs, trained to a gap; beside PyEPO if installed.

python benchmarks/decisions.py [paths|energy|adam|large|tours|program ...]

Times are CPU seconds of one thread, after compilation. PyEPO's losses, its data sets and Adam run as in its
notebooks (learning rate 0.01, batches of 32, a linear layer); its solver calls are our compiled structure,
called once per example as PyEPO calls any solver, since Gurobi wants a licence. So its times are low ones.
Gaps are relative to P(0); regrets are normalised, in per cent, on data that training did not see.
"""

from __future__ import annotations

import itertools
import sys
import time
import warnings

import numpy as np
from common import DATA, machine, note, recorded

from structlearn import DecisionPredictor, structures
from structlearn.data import make_shortest_paths
from structlearn.estimators.decisions.rows import DecisionRows
from structlearn.structures import Knapsack

QUICK = [["paths"]]
SEEDS = range(10)
N_TEST = 1000


def cpu(function, *arguments):
    """Return the answer of a function and the CPU seconds that it took."""
    begin = time.process_time()
    found = function(*arguments)
    return found, time.process_time() - begin


def relative_gap(model):
    """Return the gap over P(0), from the tolerance, which is a share of it."""
    certificate = model.certificate_
    return certificate.gap / (certificate.tolerance / model.tol)


def tell(what, **figures):
    """Print and keep a row."""
    note(what=what, **figures)
    print(f"{what}: " + ", ".join(f"{name.replace('_', ' ')} {_shown(one)}" for name, one in figures.items()))


def _shown(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def averages(rows):
    """Return means and, for regrets, standard deviations over seeds of figures with the same names."""
    found = {}
    for name in rows[0]:
        values = [row[name] for row in rows]
        found[name] = float(np.mean(values))
        if "regret" in name:
            found[f"sd_of_{name}"] = float(np.std(values, ddof=1))
    return found


# ---- PyEPO, where it is installed -----------------------------------------------------------------------


def peer():
    """Return what is needed of PyEPO and PyTorch, or None."""
    try:
        import logging

        import pyepo
        import torch
    except ImportError:
        return None
    logging.getLogger("pyepo").setLevel(logging.ERROR)
    torch.set_num_threads(1)
    return pyepo, torch


def peer_model(structure, sense):
    """Return a model of PyEPO whose solver is a structure."""
    from pyepo import EPO
    from pyepo.model.opt import optModel

    class Solver(optModel):
        def __init__(self):
            super().__init__()
            self.modelSense = EPO.MINIMIZE if sense == "min" else EPO.MAXIMIZE

        def _getModel(self):
            return None, list(range(structure.n_parts))

        def setObj(self, c):
            self.c = np.asarray(c, dtype=np.float64)

        def solve(self):
            z = structure.maximize(self.c if sense == "max" else -self.c)
            return z, float(self.c @ z)

    return Solver()


class PeerTraining:
    """A linear layer trained by a loss of PyEPO and Adam, one epoch at a time."""

    def __init__(self, X, costs, structure, sense, loss, rate, seed):
        import torch
        from pyepo.data.dataset import optDataset
        from pyepo.func import SPOPlus, perturbedFenchelYoung

        torch.manual_seed(seed)
        model = peer_model(structure, sense)
        rows = optDataset(model, X.astype(np.float32), costs.astype(np.float32))
        self.batches = torch.utils.data.DataLoader(rows, batch_size=32, shuffle=True)
        self.layer = torch.nn.Linear(X.shape[-1], 1 if X.ndim == 3 else costs.shape[1])
        self.optimizer = torch.optim.Adam(self.layer.parameters(), lr=rate)
        if loss == "spo+":
            function = SPOPlus(model)
            self.loss = lambda out, c, w, z: function(out, c, w, z)
        else:
            function = perturbedFenchelYoung(model, n_samples=3, sigma=1.0)
            self.loss = lambda out, c, w, z: function(out, w)

    def epoch(self):
        for x, c, w, z in self.batches:
            out = self.layer(x)
            value = self.loss(out.squeeze(-1) if x.ndim == 3 else out, c, w, z)
            self.optimizer.zero_grad()
            value.backward()
            self.optimizer.step()

    def run(self, epochs):
        for _ in range(epochs):
            self.epoch()

    def predict_costs(self, X):
        B, b = (one.detach().numpy().astype(np.float64) for one in self.layer.parameters())
        return (X @ B[0] + b[0]) if X.ndim == 3 else X @ B.T + b


def regret_of(predicted, costs, structure, sense):
    """Return the normalised regret of predicted costs, in per cent."""
    sign = 1.0 if sense == "max" else -1.0
    best, made = (np.asarray(structure.maximize(sign * one)) for one in (costs, predicted))
    return 100 * sign * float(((best - made) * costs).sum()) / abs(float((best * costs).sum()))


def spo_loss(predicted, costs, structure, sense="min"):
    """Return the mean SPO+ loss of predicted costs, without any regularisation."""
    if sense == "max":
        predicted, costs = -predicted, -costs
    best, worst = (np.asarray(structure.maximize(one)) for one in (-costs, costs - 2 * predicted))
    return float(((costs - 2 * predicted) * (worst - best)).sum(1).mean())


# ---- the targets ----------------------------------------------------------------------------------------


def paths():
    """Shortest paths on 5 x 5 nodes, n = 1,000, degree 4, noise 0.5: ten seeds."""
    found = {}
    for seed in SEEDS:
        X, costs, grid = make_shortest_paths(1000 + N_TEST, degree=4, noise=0.5, random_state=seed)
        train, test = slice(0, 1000), slice(1000, None)
        for loss, tol in (
            ("spo+", 1e-3),
            ("spo+", 1e-6),
            ("imitation", 1e-3),
            ("perturbed", 1e-3),
            ("two-stage", 1e-3),
        ):
            model = DecisionPredictor(grid, loss=loss, tol=tol, random_state=0)
            if seed == 0:
                model.fit(X[:100], costs[:100])  # compiles
            _, seconds = cpu(model.fit, X[train], costs[train])
            name = f"ours, {loss}" + (f" to {tol:g}" if loss == "spo+" else "")
            row = {
                "cpu_seconds": seconds,
                "relative_gap": relative_gap(model),
                "regret": -100 * model.score(X[test], costs[test]),
            }
            if loss == "spo+":
                row["spo_plus_loss"] = spo_loss(model.predict_costs(X[train]), costs[train], grid)
            found.setdefault(name, []).append(row)
        if peer() is None:
            continue
        for name, loss in (("PyEPO, SPO+", "spo+"), ("PyEPO, perturbed Fenchel-Young", "perturbed")):
            begin = time.process_time()
            other = PeerTraining(X[train], costs[train], grid, "min", loss, 0.01, seed)
            other.run(20)
            seconds = time.process_time() - begin
            row = {
                "cpu_seconds": seconds,
                "regret": regret_of(other.predict_costs(X[test]), costs[test], grid, "min"),
            }
            if loss == "spo+":
                row["spo_plus_loss"] = spo_loss(other.predict_costs(X[train]), costs[train], grid)
            found.setdefault(name, []).append(row)
    least = np.mean([row["spo_plus_loss"] for row in found["ours, spo+ to 1e-06"]])
    for name, rows in found.items():
        row = averages(rows)
        if "spo_plus_loss" in row:
            row["above_the_least"] = row["spo_plus_loss"] / least - 1
        tell(f"5 x 5 paths, {name}", **row)


def energy():
    """Electricity prices: knapsacks of 48 half hours; 400 days to train, 50 to choose; 5 splits."""
    data = np.load(DATA / "energy" / "knapsack.npz", allow_pickle=False)
    for capacity in (60, 120, 180):
        bag = Knapsack(data["weights"].astype(np.int64), capacity)
        found = {}
        for seed in range(5):
            order = np.random.default_rng(seed).permutation(len(data["prices"]))
            x, y = data["features"][order].astype(float), data["prices"][order].astype(float)
            x = (x - x[:400].mean((0, 1))) / x[:400].std((0, 1))
            sets = [(x[one], y[one]) for one in (slice(0, 400), slice(400, 450), slice(450, None))]
            found.setdefault("ours, spo+, auto", []).append(_energy_auto(bag, *sets))
            found.setdefault("ours, spo+, chosen", []).append(_energy_chosen(bag, *sets, "spo+"))
            found.setdefault("ours, two-stage, chosen", []).append(_energy_chosen(bag, *sets, "two-stage"))
            if peer() is not None:
                found.setdefault("PyEPO, SPO+, chosen", []).append(_energy_peer(bag, *sets, seed))
        for name, rows in found.items():
            tell(f"energy, capacity {capacity}, {name}", **averages(rows))


def _energy_auto(bag, train, validate, test):
    model = DecisionPredictor(bag, sense="max", tol=1e-3, random_state=0)
    model.fit(*train)
    _, seconds = cpu(model.fit, *train)
    gap = relative_gap(model)
    return {"cpu_seconds": seconds, "relative_gap": gap, "regret": -100 * model.score(*test)}


def _energy_chosen(bag, train, validate, test, loss):
    """Choose lambda, alpha, and whether to stop early, on the validation days; the mean price is known."""
    begin, fits = time.process_time(), []
    known = train[1].mean()
    scale = DecisionPredictor(bag, sense="max", loss=loss, random_state=0).fit(*train).regularization_
    grid = itertools.product(np.geomspace(1e-2, 1e4, 7), (0.5, 1.0, 2.0, 4.0), (False, True))
    for factor, alpha, early in grid if loss == "spo+" else ((one, 2.0, False) for one in (1e-2, 1.0, 1e2)):
        model = DecisionPredictor(
            bag, sense="max", loss=loss, alpha=alpha, regularization=factor * scale, tol=1e-3,
            early_stopping=early, random_state=0,
        )  # fmt: skip
        days = DecisionRows(validate[0], known_costs=np.full_like(validate[1], known))
        stop = {"validation": (days, validate[1])} if early else {}
        model.fit(*train, known_costs=np.full_like(train[1], known), **stop)
        fits.append((model.score(*validate, known_costs=np.full_like(validate[1], known)), model))
    best = max(fits, key=lambda pair: pair[0])[1]
    regret = -100 * best.score(*test, known_costs=np.full_like(test[1], known))
    return {"cpu_seconds": time.process_time() - begin, "regret": regret}


def _energy_peer(bag, train, validate, test, seed):
    """Choose the learning rate, and the epoch of 35, on the validation days."""
    begin, least = time.process_time(), (np.inf, None)
    for rate in (0.01, 0.1, 1.0):
        other = PeerTraining(*train, bag, "max", "spo+", rate, seed)
        for _ in range(35):
            other.epoch()
            found = regret_of(other.predict_costs(validate[0]), validate[1], bag, "max")
            if found < least[0]:
                least = found, other.predict_costs(test[0])
    seconds = time.process_time() - begin
    return {"cpu_seconds": seconds, "regret": regret_of(least[1], test[1], bag, "max")}


def adam():
    """How far above the least training loss Adam ends on the energy data: 35 epochs, three learning rates."""
    if peer() is None:
        return
    data = np.load(DATA / "energy" / "knapsack.npz", allow_pickle=False)
    order = np.random.default_rng(0).permutation(len(data["prices"]))[:400]
    x, y = data["features"][order].astype(float), data["prices"][order].astype(float)
    x = (x - x.mean((0, 1))) / x.std((0, 1))
    for capacity in (60, 120, 180):
        bag = Knapsack(data["weights"].astype(np.int64), capacity)
        model = DecisionPredictor(bag, sense="max", tol=1e-6, max_passes=100_000, random_state=0)
        scale = model.fit(x, y).regularization_
        model.set_params(regularization=1e-4 * scale).fit(x, y)
        least = spo_loss(model.predict_costs(x), y, bag, "max")
        above = {}
        for rate in (0.01, 0.1, 1.0):
            other = PeerTraining(x, y, bag, "max", "spo+", rate, 0)
            other.run(35)
            loss = spo_loss(other.predict_costs(x), y, bag, "max")
            above[f"rate_{rate:g}_ends_above_it"] = loss / least - 1
        tell(
            f"energy, capacity {capacity}, loss of SPO+",
            ours=least,
            relative_gap=relative_gap(model),
            **above,
        )


def large():
    """Grids of 50 x 50 nodes, 4,900 edges."""
    X, costs, grid = make_shortest_paths(1000, rows=50, columns=50, degree=4, noise=0.5, random_state=0)
    model = DecisionPredictor(grid, tol=1e-2, random_state=0).fit(X[:50], costs[:50])
    _, seconds = cpu(model.fit, X, costs)
    gap = relative_gap(model)
    tell("50 x 50 paths, n = 1,000", cpu_seconds=seconds, relative_gap=gap, passes=model.certificate_.passes)


def tours():
    """Tours of 20 nodes."""
    if not hasattr(structures, "Tour"):
        return print("tours: structlearn.structures has no Tour")
    from structlearn.data import make_tours

    X, costs, tour = make_tours(1000, degree=4, noise=0.5, random_state=0)
    model = DecisionPredictor(tour, tol=1e-2, random_state=0).fit(X[:20], costs[:20])
    _, seconds = cpu(model.fit, X, costs)
    gap = relative_gap(model)
    calls = model.certificate_.oracle_calls / len(X)
    tell("tours of 20, n = 1,000", cpu_seconds=seconds, relative_gap=gap, oracle_calls_per_example=calls)


def program():
    """The 5 x 5 paths as a linear program beside the compiled structure, to the same gap."""
    if not hasattr(structures, "Program"):
        return print("program: structlearn.structures has no Program")
    X, costs, grid = make_shortest_paths(1000, degree=4, noise=0.5, random_state=0)
    flow = np.zeros((25, len(grid.edges)))
    flow[grid.edges[:, 0], np.arange(len(grid.edges))] = 1
    flow[grid.edges[:, 1], np.arange(len(grid.edges))] -= 1
    ends = np.zeros(25)
    ends[0], ends[24] = 1, -1
    linear = structures.Program(None, None, A_eq=flow, b_eq=ends)
    seconds, primal = {}, {}
    for name, structure in (("compiled paths", grid), ("program", linear)):
        model = DecisionPredictor(structure, tol=1e-7, random_state=0, max_passes=100_000)
        model.fit(X[:50], costs[:50])
        _, seconds[name] = cpu(model.fit, X, costs)
        primal[name] = model.certificate_.primal
        tell(
            f"5 x 5 paths to 1e-7, {name}",
            cpu_seconds=seconds[name],
            times=seconds[name] / seconds["compiled paths"],
            relative_gap=relative_gap(model),
            optimum_differs_by=abs(primal[name] / primal["compiled paths"] - 1),
        )


PARTS = {one.__name__: one for one in (paths, energy, adam, large, tours, program)}


def main():
    warnings.simplefilter("ignore")
    print(f"# decisions; {machine()}, {time.strftime('%Y-%m-%d')}")
    if peer() is None:
        print("# PyEPO and PyTorch are not installed: pip install pyepo torch")
    for name in sys.argv[1:] or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    recorded(main, peers=["pyepo", "torch"])
