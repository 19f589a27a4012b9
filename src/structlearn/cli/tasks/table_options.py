"""Options of tables: which columns are text, which are left out, and whether numbers are scaled."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from structlearn.cli.support.options import option, switch


@dataclass(frozen=True)
class TableOptions:
    """How the columns of a table are read."""

    text: Annotated[
        list[str] | None,
        option(
            "NAME[,NAME]",
            "classify, multilabel, regress: columns of a table to take as text, such as codes that are "
            "numbers.  [default: columns whose cells are no numbers]",
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        option("NAME[,NAME]", "classify, multilabel, regress: columns of a table to leave out."),
    ] = None
    no_scale: Annotated[
        bool,
        switch("--no-scale", "classify, multilabel, regress: do not standardise the numbers of a table."),
    ] = False
