"""Pictures of training runs and of what was learned, comparisons of solvers, and pages that hold them."""

from structlearn.reports.comparison import Comparison, compare
from structlearn.reports.page import Page
from structlearn.reports.plots import plot_history, plot_sequences, plot_transitions, save_figure
from structlearn.reports.runs import Run

__all__ = [
    "Comparison",
    "Page",
    "Run",
    "compare",
    "plot_history",
    "plot_sequences",
    "plot_transitions",
    "save_figure",
]


def __dir__() -> list[str]:
    return sorted(__all__)
