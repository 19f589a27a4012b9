"""Solvers: what minimises the objective, all with the same loop and the same certificate.

Names are imported when they are first used: the registry is light, for `--help`.
"""

from typing import TYPE_CHECKING

from structlearn.core.imports import names_of

if TYPE_CHECKING:
    from structlearn.solvers.bcfw.active_steps import Steps as Steps
    from structlearn.solvers.bcfw.block_frank_wolfe import ActiveBlocks as ActiveBlocks
    from structlearn.solvers.bcfw.block_frank_wolfe import BlockFrankWolfe as BlockFrankWolfe
    from structlearn.solvers.bcfw.block_frank_wolfe import ExactBlocks as ExactBlocks
    from structlearn.solvers.bcfw.orders import GapSampling as GapSampling
    from structlearn.solvers.bcfw.orders import Order as Order
    from structlearn.solvers.bcfw.orders import Permutation as Permutation
    from structlearn.solvers.bcfw.orders import Uniform as Uniform
    from structlearn.solvers.bcfw.stochastic import StochasticExtragradient as StochasticExtragradient
    from structlearn.solvers.bcfw.stretched import StretchedExtragradient as StretchedExtragradient
    from structlearn.solvers.checkpoint import Checkpoint as Checkpoint
    from structlearn.solvers.cutting_plane.n_slack import NSlack as NSlack
    from structlearn.solvers.cutting_plane.one_slack import CuttingPlane as CuttingPlane
    from structlearn.solvers.extragradient.extragradient import Extragradient as Extragradient
    from structlearn.solvers.extragradient.geometry import EntropicGeometry as EntropicGeometry
    from structlearn.solvers.extragradient.geometry import EuclideanGeometry as EuclideanGeometry
    from structlearn.solvers.extragradient.plain import PlainExtragradient as PlainExtragradient
    from structlearn.solvers.first_order.frank_wolfe import FrankWolfe as FrankWolfe
    from structlearn.solvers.first_order.gradient import GradientDescent as GradientDescent
    from structlearn.solvers.first_order.gradient import Proximal as Proximal
    from structlearn.solvers.first_order.lbfgs import LBFGS as LBFGS
    from structlearn.solvers.first_order.newton import Newton as Newton
    from structlearn.solvers.first_order.projected_gradient import ProjectedGradient as ProjectedGradient
    from structlearn.solvers.first_order.proximal_newton import ProximalNewton as ProximalNewton
    from structlearn.solvers.first_order.steps import ConstantStep as ConstantStep
    from structlearn.solvers.first_order.steps import DiminishingStep as DiminishingStep
    from structlearn.solvers.first_order.steps import PegasosStep as PegasosStep
    from structlearn.solvers.first_order.steps import StepRule as StepRule
    from structlearn.solvers.first_order.stochastic_subgradient import Perceptron as Perceptron
    from structlearn.solvers.first_order.stochastic_subgradient import (
        StochasticSubgradient as StochasticSubgradient,
    )
    from structlearn.solvers.first_order.subgradient import Subgradient as Subgradient
    from structlearn.solvers.loop import Stopping as Stopping
    from structlearn.solvers.loop import solve as solve
    from structlearn.solvers.solution import Certificate as Certificate
    from structlearn.solvers.solution import History as History
    from structlearn.solvers.solution import Row as Row
    from structlearn.solvers.solution import Solution as Solution
    from structlearn.solvers.solver import Candidate as Candidate
    from structlearn.solvers.solver import Progress as Progress
    from structlearn.solvers.solver import Solver as Solver
    from structlearn.solvers.solver import SolverBase as SolverBase

_PUBLIC = {
    "bcfw.active_steps": ("Steps",),
    "bcfw.block_frank_wolfe": (
        "ActiveBlocks",
        "BlockFrankWolfe",
        "ExactBlocks",
    ),
    "bcfw.orders": (
        "GapSampling",
        "Order",
        "Permutation",
        "Uniform",
    ),
    "bcfw.stochastic": ("StochasticExtragradient",),
    "bcfw.stretched": ("StretchedExtragradient",),
    "checkpoint": ("Checkpoint",),
    "cutting_plane.n_slack": ("NSlack",),
    "cutting_plane.one_slack": ("CuttingPlane",),
    "extragradient.extragradient": ("Extragradient",),
    "extragradient.geometry": (
        "EntropicGeometry",
        "EuclideanGeometry",
    ),
    "extragradient.plain": ("PlainExtragradient",),
    "first_order.frank_wolfe": ("FrankWolfe",),
    "first_order.gradient": (
        "GradientDescent",
        "Proximal",
    ),
    "first_order.lbfgs": ("LBFGS",),
    "first_order.newton": ("Newton",),
    "first_order.proximal_newton": ("ProximalNewton",),
    "first_order.projected_gradient": ("ProjectedGradient",),
    "first_order.steps": (
        "ConstantStep",
        "DiminishingStep",
        "PegasosStep",
        "StepRule",
    ),
    "first_order.stochastic_subgradient": (
        "Perceptron",
        "StochasticSubgradient",
    ),
    "first_order.subgradient": ("Subgradient",),
    "loop": (
        "Stopping",
        "solve",
    ),
    "solution": (
        "Certificate",
        "History",
        "Row",
        "Solution",
    ),
    "solver": (
        "Candidate",
        "Progress",
        "Solver",
        "SolverBase",
    ),
}

__all__ = sorted(name for names in _PUBLIC.values() for name in names)

__getattr__, __dir__ = names_of(__name__, {name: home for home, names in _PUBLIC.items() for name in names})
