"""Transformers of rows of features as model files hold them: arrays, and how they are applied.

A new one is a class in a file of this room, decorated with `@register_row_map`; a line here imports it.
"""

from structlearn.estimators.row_maps import columns as columns
from structlearn.estimators.row_maps import kernels as kernels
from structlearn.estimators.row_maps import projections as projections
from structlearn.estimators.row_maps import scaling as scaling
from structlearn.estimators.row_maps import splines as splines
from structlearn.estimators.row_maps import table as table
from structlearn.estimators.row_maps import table_columns as table_columns
