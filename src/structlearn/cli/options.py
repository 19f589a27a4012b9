"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Loss = Annotated[
    str | None,
    typer.Option(
        metavar="L",
        help="hinge, perceptron, softmax or sparsemax ; classify: also entmax15. All but "
        "the first two give probabilities.  [default: hinge; regress has its own, the squared error]",
    ),
]
Penalty = Annotated[
    str | None,
    typer.Option(
        metavar="P",
        help="classify: l2, or, with a smooth loss, l1 (few weights) or group (few features); regress: "
        "l2, l1, elasticnet (half of each) or group (few groups of features).  [default: l2]",
    ),
]
Cost = Annotated[
    str | None,
    typer.Option(
        metavar="C",
        help="With the hinge: hamming (mistakes over length) or count.  [default: hamming; parse: count; "
        "regress has none]",
    ),
]
NoIntercept = Annotated[bool, typer.Option("--no-intercept", help="Add no constant feature.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of all random choices.")]
Jobs = Annotated[
    int, typer.Option(metavar="N", help="Threads; -1 for all cores. regress has no use for them.")
]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="NAME[,NAME]",
        help="Target column(s) of a table; for tag, the number of the label column, from 0.  "
        "[default: the last column]",
    ),
]
Edges = Annotated[
    str | None,
    typer.Option(metavar="E", help="multilabel: pairs with weights: all, tree or none.  [default: all]"),
]
Boundaries = Annotated[
    bool, typer.Option("--boundaries", help="tag: weights for the first and last label of a sequence.")
]
NonProjective = Annotated[bool, typer.Option("--non-projective", help="parse: arcs may cross.")]
ManyRoots = Annotated[bool, typer.Option("--many-roots", help="parse: several words may depend on the root.")]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", metavar="DIR", help="Folder of all data sets.  [default: $STRUCTLEARN_DATA or your own]"
    ),
]
