"""A user's own structure, in the three forms in which it may come: exactly two of n parts are chosen."""

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
