"""A user's own structure, in the three forms in which it may come: exactly two of n parts are chosen."""

import os
from pathlib import Path

import numba
import numpy as np


class ChooseTwo:
    """Nothing but `maximize`."""

    def maximize(self, theta):
        vertex = np.zeros(theta.size)
        vertex[np.argsort(-theta, kind="stable")[:2]] = 1.0
        return vertex


@numba.njit
def choose_two(theta, out):
    first, second = -1, -1
    for k in range(theta.size):
        out[k] = 0.0
        if first < 0 or theta[k] > theta[first]:
            first, second = k, first
        elif second < 0 or theta[k] > theta[second]:
            second = k
    out[first] = 1.0
    out[second] = 1.0
    return theta[first] + theta[second]


class CompiledChooseTwo:
    """An object with a Numba function."""

    oracle = staticmethod(choose_two)


class ChooseTwoApart(ChooseTwo):
    """In other processes, each of which leaves a file with its number in a folder."""

    parallel = "processes"

    def __init__(self, folder):
        self.folder = str(folder)
        self.calls_here = 0

    def maximize(self, theta):
        self.calls_here += 1
        (Path(self.folder) / str(os.getpid())).touch()
        return super().maximize(theta)


class BestApart:
    """As many parts as the example says, in other processes."""

    parallel = "processes"

    def maximize(self, theta, k):
        vertex = np.zeros(theta.size)
        vertex[np.argsort(-theta, kind="stable")[:k]] = 1.0
        return vertex


class RaisesApart(ChooseTwo):
    """Raises in every process but the one that made it."""

    parallel = "processes"

    def __init__(self):
        self.home = os.getpid()

    def maximize(self, theta):
        if os.getpid() != self.home:
            raise ArithmeticError("a bad day")
        return super().maximize(theta)


class EndsApart(RaisesApart):
    """Ends every process but the one that made it."""

    def maximize(self, theta):
        if os.getpid() != self.home:
            os._exit(3)
        return super().maximize(theta)


class SoftChooseTwo(ChooseTwo):
    """With marginals and a projection of its own."""

    def marginals(self, theta):
        """By the second elementary symmetric polynomial of x = exp theta, e2 = (s^2 - sum x^2) / 2."""
        top = theta.max()
        x = np.exp(theta - top)
        others = x.sum() - x
        e2 = float(x @ others) / 2
        return x * others / e2, 2 * top + np.log(e2)

    def project(self, theta):
        """By bisection: sum_k clip(theta_k - tau, 0, 1) = 2."""
        low, high = theta.min() - 1, theta.max()
        for _ in range(100):
            tau = (low + high) / 2
            low, high = (tau, high) if np.clip(theta - tau, 0, 1).sum() > 2 else (low, tau)
        return np.clip(theta - (low + high) / 2, 0, 1)


@numba.njit
def marginals_of_two(theta, out):
    top = theta.max()
    x = np.exp(theta - top)
    out[:] = x * (x.sum() - x)
    e2 = out.sum() / 2
    out /= e2
    return 2 * top + np.log(e2)


@numba.njit
def project_on_two(theta, out):
    low, high = theta.min() - 1, theta.max()
    for _ in range(100):
        tau = (low + high) / 2
        total = 0.0
        for k in range(theta.size):
            total += min(max(theta[k] - tau, 0.0), 1.0)
        if total > 2:
            low = tau
        else:
            high = tau
    for k in range(theta.size):
        out[k] = min(max(theta[k] - high, 0.0), 1.0)


class CompiledSoftChooseTwo(CompiledChooseTwo):
    """The same, compiled."""

    marginals = staticmethod(marginals_of_two)
    project = staticmethod(project_on_two)


class PlainViterbi:
    """A structure of the library behind a plain `maximize`, which keeps it out of compiled code."""

    def __init__(self, structure):
        self.structure = structure
        self.part_ndim = structure.part_ndim

    def maximize(self, theta):
        return self.structure.maximize(theta)

    def encode(self, y):
        return self.structure.encode(y)

    def decode(self, vertex):
        return self.structure.decode(vertex)

    def cost(self, mu):
        return self.structure.cost(mu)
