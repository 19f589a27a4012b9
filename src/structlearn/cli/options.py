"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

TaskName = Annotated[
    str,
    typer.Argument(
        metavar="TASK",
        help="{tasks}.",
        show_default=False,
    ),
]
Loss = Annotated[
    str | None,
    typer.Option(
        metavar="L",
        help="{losses}  [default: hinge; for words softmax; regress has its own, the squared error]",
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
        help="With the hinge: hamming (mistakes over length) or count.  [default: hamming; for words and "
        "parse count; regress has none]",
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
        help="Target column(s) of a table; for tag, chunk and ner the same as --label.  "
        "[default: the last column]",
    ),
]
Label = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="tag, chunk, ner: the column to learn, by its number from 0 (-1 is the last) or, in CoNLL-U, by "
        "its name.  [default: the last; upos in CoNLL-U]",
    ),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN,...",
        help="tag, chunk, ner: the columns to look at, the words first.  [default: all but the label; in "
        "CoNLL-U form]",
    ),
]
Templates = Annotated[
    str | None,
    typer.Option(
        metavar="T",
        help="tag, chunk, ner: feature templates, such as 'word[-1..1] word.suffix1..3 pos[-1]&pos', or the "
        "word cells if the columns hold features themselves.  [default: see docs/tagging.md]",
    ),
]
Transitions = Annotated[
    str | None,
    typer.Option(
        metavar="T",
        help="tag, chunk, ner: templates whose features score pairs of neighbouring labels, too (pos, say).",
    ),
]
MinCount = Annotated[
    int | None,
    typer.Option(metavar="N", help="tag, chunk, ner: leave out rarer features.  [default: 1]"),
]
HashBits = Annotated[
    int | None,
    typer.Option(metavar="N", help="tag, chunk, ner: number features by N bits of a hash, no vocabulary."),
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
