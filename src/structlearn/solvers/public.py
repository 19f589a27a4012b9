"""The public names of the room, imported when one of them is asked for."""

from structlearn.solvers.bcfw.active_steps import Steps
from structlearn.solvers.bcfw.block_frank_wolfe import ActiveBlocks, BlockFrankWolfe, ExactBlocks
from structlearn.solvers.bcfw.orders import GapSampling, Order, Permutation, Uniform
from structlearn.solvers.checkpoint import Checkpoint
from structlearn.solvers.cutting_plane.n_slack import NSlack
from structlearn.solvers.cutting_plane.one_slack import CuttingPlane
from structlearn.solvers.extragradient.extragradient import Extragradient
from structlearn.solvers.extragradient.geometry import EntropicGeometry, EuclideanGeometry
from structlearn.solvers.extragradient.plain import PlainExtragradient
from structlearn.solvers.first_order.frank_wolfe import FrankWolfe
from structlearn.solvers.first_order.gradient import GradientDescent, Proximal
from structlearn.solvers.first_order.lbfgs import LBFGS
from structlearn.solvers.first_order.projected_gradient import ProjectedGradient
from structlearn.solvers.first_order.steps import ConstantStep, DiminishingStep, PegasosStep, StepRule
from structlearn.solvers.first_order.stochastic_subgradient import Perceptron, StochasticSubgradient
from structlearn.solvers.first_order.subgradient import Subgradient
from structlearn.solvers.loop import Stopping, solve
from structlearn.solvers.solution import Certificate, History, Row, Solution
from structlearn.solvers.solver import Candidate, Progress, Solver, SolverBase

__all__ = [
    "LBFGS",
    "ActiveBlocks",
    "BlockFrankWolfe",
    "Candidate",
    "Certificate",
    "Checkpoint",
    "ConstantStep",
    "CuttingPlane",
    "DiminishingStep",
    "EntropicGeometry",
    "EuclideanGeometry",
    "ExactBlocks",
    "Extragradient",
    "FrankWolfe",
    "GapSampling",
    "GradientDescent",
    "History",
    "NSlack",
    "Order",
    "PegasosStep",
    "Perceptron",
    "Permutation",
    "PlainExtragradient",
    "Progress",
    "ProjectedGradient",
    "Proximal",
    "Row",
    "Solution",
    "Solver",
    "SolverBase",
    "StepRule",
    "Steps",
    "StochasticSubgradient",
    "Stopping",
    "Subgradient",
    "Uniform",
    "solve",
]
