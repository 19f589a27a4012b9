"""Which problems are trained how: every estimator with every loss and solver that it takes.

A kind is what is compiled apart: a problem, a loss, a solver and a layout of the features. A seed stands for
one random problem of kind number `seed % len(KINDS)`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from . import chain_problems as chains
from . import latent_problems as latents
from . import part_problems as parts
from . import problems as some
from . import segment_problems as segments
from .data import Rng

HINGE = (
    *("auto", "bcfw", "bcfw dense", "fw", "subgradient", "stochastic-subgradient", "cutting-plane"),
    *("n-slack", "extragradient", "seg"),
)
SMOOTH = ("sdca", "seg", "lbfgs", "gradient", "subgradient", "cutting-plane", "proximal")
BENT = ("sdca", "seg", "subgradient", "cutting-plane")  # where the squared norm leaves parts out
PLANES = ("cutting-plane", "n-slack")  # a pass takes longer, the more there have been
ORDERS = ("permutation", "uniform", "gap")
NORMS = ("l1", "elasticnet", "group")


class Kind(NamedTuple):
    """What is compiled apart."""

    problem: type[some.Problem]
    loss: str
    solver: str
    layout: str
    penalty: str = "l2"

    def __str__(self) -> str:
        return " / ".join([self.problem.__name__, *self[1:]])


def _kinds() -> list[Kind]:
    rows = ("float64", "float32", "float64 csr", "float32 csr")
    flat = (*HINGE, "coordinate-ascent", "projected-gradient")
    found = [
        *_all(some.Binary, {"hinge": flat, "logistic": SMOOTH}),
        *_all(some.Multiclass, {"hinge": flat, "softmax": SMOOTH, "sparsemax": SMOOTH, "entmax15": SMOOTH}),
        *_all(some.LabelSets, {"hinge": flat, "softmax": SMOOTH, "sparsemax": SMOOTH}),
        *_all(some.LabelTrees, {"hinge": HINGE, "softmax": SMOOTH, "sparsemax": BENT}),
        *_all(some.LabelGraphs, {"hinge": HINGE, "softmax": SMOOTH, "sparsemax": BENT}),
        *_all(chains.Chains, {"hinge": HINGE, "softmax": SMOOTH, "sparsemax": BENT}),
        *_all(chains.ConditionedChains, {"hinge": HINGE, "softmax": SMOOTH, "sparsemax": BENT}),
        *_all(parts.Matchings, {"hinge": HINGE, "sparsemax": SMOOTH}),
        *_all(parts.Cuts, {"hinge": HINGE, "sparsemax": SMOOTH}),
        *_all(parts.Trees, {"hinge": HINGE, "softmax": SMOOTH, "sparsemax": ("sdca", "seg", "lbfgs")}),
        *_all(parts.FreeTrees, {"hinge": HINGE, "softmax": SMOOTH, "sparsemax": ("sdca", "seg", "lbfgs")}),
        *_all(parts.Parsers, {"hinge": ("auto", "cutting-plane"), "softmax": ("sdca", "seg", "lbfgs")}),
        *_all(
            parts.WholeChains,
            {"hinge": ("auto", "fw"), "softmax": ("sdca", "seg", "lbfgs"), "sparsemax": ("sdca", "seg")},
        ),
        *_all(parts.LocalCopy, {"hinge": HINGE, "sparsemax": SMOOTH}),
        *_all(parts.OwnCompiled, {"hinge": ("auto", "fw"), "sparsemax": ("sdca", "seg")}),
        *_all(parts.WrongOracle, {"hinge": ("bcfw", "bcfw dense", "fw", "cutting-plane", "n-slack")}),
    ]
    for layout in rows[1:]:
        found += _all(some.Binary, {"hinge": ("auto",), "logistic": ("sdca", "lbfgs")}, layout)
        found += _all(some.Multiclass, {"hinge": ("auto", "bcfw dense"), "softmax": ("sdca",)}, layout)
        found += _all(chains.Chains, {"hinge": ("auto",), "softmax": ("sdca", "seg", "lbfgs")}, layout)
    for penalty in ("l1", "group"):
        found += [
            Kind(some.Multiclass, loss, "proximal", rows[0], penalty)
            for loss in ("softmax", "sparsemax", "entmax15")
        ]
    for problem in (some.Binary, some.Multiclass, chains.Chains, parts.Matchings):
        found += [
            Kind(problem, "perceptron", "perceptron", rows[0]),
            Kind(problem, "hinge", "extragradient", rows[0], "ball"),
        ]
    # new kinds come last: seeds below their number stay what they are
    found += [
        *_all(segments.Segmentations, {"hinge": HINGE, "softmax": SMOOTH, "sparsemax": ("sdca", "seg")}),
        *_all(segments.Graphs, {"hinge": HINGE, "softmax": SMOOTH, "sparsemax": BENT}),
    ]
    for problem in (chains.Chains, chains.ConditionedChains):
        found += [
            *(
                Kind(problem, loss, "seg", rows[0], "elasticnet")
                for loss in ("hinge", "softmax", "sparsemax")
            ),
            *(Kind(problem, "softmax", "proximal", rows[0], penalty) for penalty in ("elasticnet", "l1")),
        ]
    latent = {
        "hinge": ("auto", "bcfw", "fw", "cutting-plane", "n-slack"),
        "softmax": ("sdca", "seg", "lbfgs"),
    }
    found += _all(latents.LatentGraphs, latent)
    for problem in (parts.LocalCopy, parts.OwnCompiled, parts.WholeChains):
        found += [Kind(problem, loss, "seg", rows[0], "nonnegative") for loss in ("hinge", "sparsemax")]
    found += [Kind(parts.LocalCopy, "sparsemax", "proximal", rows[0], "nonnegative")]
    for layout in (rows[0], rows[3]):
        seen = {"hinge": ("auto", "bcfw", "bcfw dense", "fw"), "softmax": ("sdca", "seg", "lbfgs")}
        found += _all(chains.SeenChains, seen, layout)
        found += _all(chains.LongChains, {"softmax": ("stretches",)}, layout)
    found += [Kind(chains.LongChains, "softmax", "stretches", rows[0], "elasticnet")]
    candidates = {"hinge": HINGE, "softmax": SMOOTH, "sparsemax": BENT}
    found += _all(chains.CandidateChains, candidates)
    for layout in rows:
        found += [
            Kind(some.Binary, "logistic", "newton", layout),
            Kind(some.Multiclass, "softmax", "newton", layout),
            *(Kind(some.Binary, "logistic", "proximal-newton", layout, one) for one in ("l1", "elasticnet")),
            *(Kind(some.Multiclass, "softmax", "proximal-newton", layout, one) for one in NORMS),
        ]
    return [*found, Kind(some.LabelSets, "softmax", "newton", rows[0])]


def _all(
    problem: type[some.Problem], solvers: dict[str, tuple[str, ...]], layout: str = "float64"
) -> list[Kind]:
    return [Kind(problem, loss, solver, layout) for loss, names in solvers.items() for solver in names]


KINDS = _kinds()


def draw_solver(rng: Rng, kind: Kind) -> dict[str, Any]:
    """The parameters `solver` and `solver_options`."""
    name, _, form = kind.solver.partition(" ")
    options = {name: draw() for name, draw in _options(rng, kind).items() if rng.random() < 0.4}
    if name == "stretches":
        options["every"] = int(rng.integers(2, 4))  # sequences are shorter than usual stretches
    if form:
        options["form"] = form
        options = {
            key: value for key, value in options.items() if key in ("form", "order", "averaging", "exact")
        }
    if "eta" in options and options.get("step") in (None, "pegasos", "backtracking"):
        del options["eta"]
    return {"solver": name, "solver_options": options or None}


def _options(rng: Rng, kind: Kind) -> dict[str, Callable[[], Any]]:
    def one_of(*values: Any) -> Callable[[], Any]:
        return lambda: values[rng.integers(len(values))]

    def eta() -> float:
        return float(10.0 ** rng.uniform(-6, 1))

    order, averaging = one_of(*ORDERS), one_of(True, False)
    blocks = {"order": order, "averaging": averaging}
    steps = {"step": one_of("constant", "diminishing", "pegasos"), "eta": eta, "averaging": averaging}
    active = {
        "steps": one_of("pairwise", "away", "plain"),
        "inner_steps": one_of(1, 3),
        "cached_passes": one_of(0, 2),
    }
    return {
        "bcfw": {
            **blocks,
            "exact": one_of(True, False),
            **active,
            "forget_after": one_of(0, 1),
            "most_atoms": one_of(2, 3),
        },
        "seg": {
            "exact": one_of(True, False),
            **active,
            "forget_after": one_of(0, 1),
            "most_atoms": one_of(2, 3),
            "follows": one_of(1, 5),
        },
        "stretches": {"follows": one_of(1, 5)},
        "sdca": {**blocks, "exact": one_of(True, False), "smoothing": one_of(0.5, 1e-6)},
        "coordinate-ascent": {**blocks, "focus": one_of(0.0, 2.0)},
        "fw": {"line_search": one_of(True, False)},
        "extragradient": {
            "geometry": one_of("euclidean", "entropic"),
            "variant": one_of("plain", "adaptive"),
            "memory": one_of("full", "efficient"),
        },
        "cutting-plane": {"forget_after": one_of(1, 3)},
        "n-slack": {"examples_at_once": one_of(1, 2), "forget_after": one_of(1, 3)},
        "subgradient": steps,
        "stochastic-subgradient": {
            **steps,
            "order": one_of("permutation", "uniform"),
            "uniform_average": averaging,
        },
        "lbfgs": {"memory": one_of(1, 3)},
        "newton": {"memory": one_of(1, 3)},
        "gradient": {"step": one_of("backtracking", "constant", "diminishing"), "eta": eta},
        "perceptron": {"order": one_of("permutation", "uniform"), "averaging": averaging},
    }.get(kind.solver.partition(" ")[0], {})


def draw_settings(rng: Rng, kind: Kind) -> dict[str, Any]:
    """All other parameters of training."""
    settings = draw_solver(rng, kind)
    settings.update(
        loss=kind.loss,
        regularization=float(10.0 ** rng.uniform(-8, 1)),
        tol=float(rng.choice([1e-1, 1e-3, 1e-3, 1e-6, 1e-9, 0.0])),
        max_passes=float(rng.choice([1, 2, 3, 30, 30 if kind.solver in PLANES else 200])),
        random_state=int(rng.integers(100)),
        n_jobs=2 if rng.random() < 0.1 else 1,
    )
    if kind.penalty == "ball":
        radius = float(10.0 ** rng.uniform(-4, 3))
        settings["solver_options"] = {**(settings["solver_options"] or {}), "radius": radius}
    elif kind.penalty == "nonnegative":
        settings["positive"] = True
    elif kind.penalty != "l2":
        settings["penalty"] = kind.penalty
    if kind.penalty == "elasticnet":
        settings["l1_ratio"] = float(rng.choice([0.0, 0.01, 0.5, 0.99, rng.uniform()]))
    return settings


def draw_problem(rng: Rng, kind: Kind) -> some.Problem:
    return kind.problem(rng, kind.layout)


def generator(seed: int) -> Rng:
    return np.random.default_rng(seed)
