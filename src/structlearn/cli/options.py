"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TaskName = Annotated[
    str,
    typer.Argument(metavar="TASK", help="classify, multilabel, regress, tag or match.", show_default=False),
]
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
        help="With the hinge: hamming (mistakes over length) or count.  [default: hamming; regress has none]",
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
CheckpointDir = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Folder to write the state of training to, to go on from if it ends."),
]
CheckpointSeconds = Annotated[float, typer.Option(metavar="N", help="Seconds between two checkpoints.")]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on from the checkpoint in DIR; from the beginning if there is none."),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Most memory to take, such as 2GB; the rest goes to files in $TMPDIR.  [default: no limit]",
    ),
]
Cluster = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Train on a Dask cluster: its scheduler (tcp://host:8786, tls://host:8786), or local:K for K "
        "processes here. classify, tag and match, with the solvers bcfw and sdca.  [default: here]",
    ),
]
DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", metavar="DIR", help="Folder of all data sets.  [default: $STRUCTLEARN_DATA or your own]"
    ),
]
