"""Statistics of parallel text: co-occurrence, Model 1 and the HMM in both directions."""

from structlearn.core.imports import names_of

__getattr__, __dir__ = names_of(__name__, {"AlignmentStatistics": "statistics"})
