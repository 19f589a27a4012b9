"""Solvers: one file an algorithm, and the only loop. One objective, one certificate."""

from structlearn.solvers.active_blocks import ActiveBlocks
from structlearn.solvers.active_steps import Steps
from structlearn.solvers.block_frank_wolfe import BlockFrankWolfe, ExactBlocks
from structlearn.solvers.checkpoint import Checkpoint
from structlearn.solvers.cutting_plane import CuttingPlane
from structlearn.solvers.extragradient import Extragradient
from structlearn.solvers.extragradient_plain import PlainExtragradient
from structlearn.solvers.frank_wolfe import FrankWolfe
from structlearn.solvers.geometry import EntropicGeometry, EuclideanGeometry
from structlearn.solvers.gradient import GradientDescent, Proximal
from structlearn.solvers.lbfgs import LBFGS
from structlearn.solvers.loop import Candidate, Progress, Solver, Stopping, solve
from structlearn.solvers.n_slack import NSlack
from structlearn.solvers.orders import GapSampling, Order, Permutation, Uniform
from structlearn.solvers.projected_gradient import ProjectedGradient
from structlearn.solvers.solution import Certificate, History, Row, Solution
from structlearn.solvers.steps import ConstantStep, DiminishingStep, PegasosStep, StepRule
from structlearn.solvers.stochastic_subgradient import Perceptron, StochasticSubgradient
from structlearn.solvers.subgradient import Subgradient

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
    "StepRule",
    "Steps",
    "StochasticSubgradient",
    "Stopping",
    "Subgradient",
    "Uniform",
    "solve",
]
