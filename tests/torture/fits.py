"""One random fit, and whether its certificate is true."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .kinds import KINDS, Kind, draw_problem, draw_settings, generator
from .optimum import best_weights
from .part_problems import WrongOracle
from .problems import Problem
from .reference import Written

#: Warnings that some of the random problems deserve.
DESERVED = (
    ".*(training edges between like labels|crossing arcs).*",
    "(All weights are zero|The model predicts the same|n_jobs serves).*",
)
#: Sentences of refusals that some of the random problems deserve.
REFUSALS = (
    "has no marginals for geometry",
    "Steps of 1/(lambda t) need",
)


class Report(NamedTuple):
    """What a fit came to: its kind; a failure as a sentence, or none; whether it was refused."""

    label: str
    failure: str | None
    refused: bool = False


def drawn(seed: int) -> tuple[Kind, Problem, Any]:
    """The kind, the problem and the model, not yet trained, of a seed."""
    kind, rng = KINDS[seed % len(KINDS)], generator(seed)
    problem = draw_problem(rng, kind)
    return kind, problem, problem.model(**draw_settings(rng, kind), warm_start=bool(rng.random() < 0.15))


def describe(seed: int) -> str:
    """The problem of a seed, as it would be typed in."""
    _, problem, model = drawn(seed)
    return f"{model}\nX = {problem.X!r}\ny = {problem.y!r}\nsample_weight = {problem.sample_weight!r}"


def run(seed: int) -> Report:
    """Train the problem of a seed, and check what the certificate says."""
    kind, problem, model = drawn(seed)
    try:
        train(model, problem)
    except (ValueError, TypeError) as error:
        if type(error).__name__ == "OracleError" and kind.problem is WrongOracle:
            return Report(str(kind), None)
        refused = any(part in str(error) for part in REFUSALS) and type(error) in (ValueError, TypeError)
        return Report(str(kind), None if refused else f"{type(error).__name__}: {error}", refused)
    except Exception as error:
        return Report(str(kind), f"{type(error).__name__}: {error}")
    found = wrong_oracle(model) if kind.problem is WrongOracle else complaints(model, problem, kind)
    return Report(str(kind), "; ".join(found) or None)


def groups(seeds: range) -> list[list[int]]:
    """Seeds of one kind together: one process compiles it."""
    by_kind: dict[int, list[int]] = {}
    for seed in seeds:
        by_kind.setdefault(seed % len(KINDS), []).append(seed)
    return list(by_kind.values())


def train(model: Any, problem: Problem) -> None:
    """Fit; a model with a warm start once more, with ten times the regularisation."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", ConvergenceWarning)
        for message in DESERVED:
            warnings.filterwarnings("ignore", message=message)
        model.fit(problem.X, problem.y, problem.sample_weight)
        if model.warm_start:
            model.set_params(regularization=10 * model.regularization, max_passes=model.max_passes + 1)
            model.fit(problem.X, problem.y, problem.sample_weight)


def complaints(model: Any, problem: Problem, kind: Kind) -> list[str]:
    """All that is untrue of a certificate."""
    certificate = model.certificate_
    numbers = [certificate.primal, certificate.dual, certificate.gap, certificate.seconds]
    if not np.isfinite(numbers).all() or not np.isfinite(model.weights_).all():
        return [f"not finite: primal {certificate.primal}, dual {certificate.dual}, gap {certificate.gap}"]
    written = written_out(model, problem, kind)
    w = problem.weights(model)
    found = [] if same_weights(w, model.weights_) else ["the named weights are not weights_"]
    found += problem.also(model)
    if kind.loss == "perceptron":
        return found
    found += of_values(certificate, float(model.history_.dual.max()), written, w)
    return found + of_status(certificate, model.tol, written.at_zero()) + of_history(model)


def written_out(model: Any, problem: Problem, kind: Kind) -> Written:
    """The objective, from the parameters of the model."""
    loss = {"logistic": "softmax", "perceptron": "hinge"}.get(kind.loss, kind.loss)
    strength = model.regularization
    if kind.penalty == "ball":
        strength = model.solver_options["radius"]
    rows = getattr(problem, "n_labels", 1)
    ratio = model.l1_ratio if kind.penalty == "elasticnet" else 0.0
    return problem.written(model, loss, strength=strength, penalty=kind.penalty, rows=rows, ratio=ratio)


def same_weights(named: Any, flat: Any) -> bool:
    """Whether they are the same numbers; a table may have zeros for pairs that have no weight."""
    some, others = (np.sort(one[one != 0]) for one in (named, flat))
    return named.size >= flat.size and np.array_equal(some, others)


def of_values(certificate: Any, highest: float, written: Written, w: Any) -> list[str]:
    """P is P(weights_) to its rounding and at most P(0); D, also in the history, is at most P anywhere."""
    primal, dual, here = certificate.primal, certificate.dual, written.value(w)
    at_zero, slack = written.at_zero(), certificate.rounding
    found = [] if np.isfinite(slack) and slack >= 0 else [f"rounding {slack!r}"]
    if not here.below - slack <= primal <= here.above + slack:
        found.append(f"primal {primal!r} but P(weights_) = {float(here.above)!r}")
    if primal > at_zero + slack:
        found.append(f"primal {primal!r} above P(0) = {at_zero!r}")
    best = min(float(here.above), *(float(written.value(v).above) for v in best_weights(written)))
    if max(dual, highest) > best:
        found.append(f"dual {max(dual, highest)!r} above the optimum, which is at most {best!r}")
    return found


def of_status(certificate: Any, tol: float, at_zero: float) -> list[str]:
    """The gap is the difference and not below zero; converged means that it is within the tolerance.

    That is tol, times what P(0) exceeds 10 by, or falls short of 1/10 by, as a factor; but not where P(0) is
    0 to rounding, as where there is only one output.
    """
    found = []
    bound = tol * at_zero / min(max(at_zero, 0.1), 10) if at_zero > 1e-12 else tol
    if not math.isclose(certificate.tolerance, bound, rel_tol=1e-6):
        found.append(f"tolerance {certificate.tolerance!r} for tol {tol:g} and P(0) = {at_zero!r}")
    if certificate.gap != certificate.primal - certificate.dual:
        found.append(f"gap {certificate.gap!r} is not primal - dual")
    if certificate.gap < 0:
        found.append(f"gap {certificate.gap!r} below zero")
    if certificate.converged != (certificate.gap <= certificate.tolerance):
        found.append(f"converged is {certificate.converged} at gap {certificate.gap!r}, tolerance {bound!r}")
    if not certificate.status.endswith(".") or "nan" in certificate.status:
        found.append(f"status {certificate.status!r}")
    return found


def of_history(model: Any) -> list[str]:
    """Primal values only fall, no dual was better (but for rounding), and the last are the certificate's."""
    history, certificate = model.history_, model.certificate_
    if (np.diff(history.primal) > 0).any() or history.dual.max() > certificate.dual + certificate.rounding:
        return ["the history has better values than the certificate"]
    if (history.primal[-1], history.dual[-1]) != (certificate.primal, certificate.dual):
        return ["the history does not end with the certificate"]
    return []


def wrong_oracle(model: Any) -> list[str]:
    """Not every wrong oracle can be told; but what it leads to must not contradict itself."""
    gap = model.certificate_.gap
    return [] if gap >= 0 else [f"gap {gap!r} below zero, and no error names the oracle"]
