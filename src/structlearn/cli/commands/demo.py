"""`structlearn demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from structlearn.cli.support.errors import handling_errors
from structlearn.cli.support.options import option


@handling_errors()
def demo(
    out: Annotated[Path, option("DIR", "Folder for the results.")] = Path("structlearn-demo"),
) -> None:
    """Train on data that comes with the library and print what was learned, with its certificate."""
    from structlearn.apps.demo import run_demo

    run_demo(out)
