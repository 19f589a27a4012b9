"""`structlearn demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from structlearn.cli.errors import handling_errors


@handling_errors()
def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the results.")] = Path(
        "structlearn-demo"
    ),
) -> None:
    """Train on data that comes with the library and print what was learned, with its certificate."""
    from structlearn.apps import demo as sequences
    from structlearn.apps.alignment import demonstration as alignment

    sequences.run(out)
    print("\nWord alignment, English and French")
    alignment.run(out)
