"""Pictures of training runs and of what was learned, and a page that holds them."""

from structlearn.reports.page import Page
from structlearn.reports.plots import plot_history, plot_sequences, plot_transitions, save_figure

__all__ = ["Page", "plot_history", "plot_sequences", "plot_transitions", "save_figure"]
