"""structlearn: structured prediction with a certificate.

Everything is imported when it is first used, so that `import structlearn` is quick.
"""

from typing import TYPE_CHECKING, Any

from structlearn.core.extras import name_missing_extras
from structlearn.core.imports import names_of
from structlearn.estimators import ESTIMATORS

__version__ = "0.2.0"

_HOMES = {
    **{name: "structlearn.estimators" for name, entry in ESTIMATORS.items() if entry.at_root},
    "Tagger": "structlearn.tagging.tagger",
    "Aligner": "structlearn.alignment.aligner",
    "NothingLearnedWarning": "structlearn.core.errors",
    "OracleError": "structlearn.core.errors",
    "SplineExpansion": "structlearn.estimators.row_maps.splines",
    "load": "structlearn.apps.registry",
    "make_table_transformer": "structlearn.estimators.inputs.tables",
    "regularization_path": "structlearn.estimators.path",
    "regularization_values": "structlearn.estimators.path_values",
}
_ROOMS = (
    "alignment",
    "apps",
    "constraints",
    "data",
    "estimators",
    "losses",
    "metrics",
    "objective",
    "parsing",
    "reports",
    "scoring",
    "solvers",
    "structures",
    "tagging",
)

__all__ = [*_HOMES, *_ROOMS, "__version__"]

if TYPE_CHECKING:
    from structlearn.alignment.aligner import Aligner as Aligner
    from structlearn.apps.registry import load as load
    from structlearn.core.errors import NothingLearnedWarning as NothingLearnedWarning
    from structlearn.core.errors import OracleError as OracleError
    from structlearn.estimators import *  # noqa: F403
    from structlearn.estimators.inputs.tables import make_table_transformer as make_table_transformer
    from structlearn.estimators.path import regularization_path as regularization_path
    from structlearn.estimators.path_values import regularization_values as regularization_values
    from structlearn.estimators.row_maps.splines import SplineExpansion as SplineExpansion
    from structlearn.tagging.tagger import Tagger as Tagger

name_missing_extras()
_find, _ = names_of(__name__, _HOMES, {name: f"{__name__}.{name}" for name in _ROOMS})


def __getattr__(name: str) -> Any:
    return _find(name)


def __dir__() -> list[str]:
    return sorted(__all__)
