"""P and D of a training problem: the public names of `structlearn.problem.objective`."""

from structlearn.problem.objective import Objective as Objective
