"""The options of `train`, in groups: what `tune` takes, too."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from structlearn.cli import options
from structlearn.cli.options import lambda_option, option, switch
from structlearn.cli.stdin import Format
from structlearn.cli.table_options import TableOptions


@dataclass(frozen=True)
class ProblemOptions:
    """What is minimised, and by what."""

    loss: options.Loss = None
    penalty: options.Penalty = None
    l1_ratio: options.L1Ratio = None
    groups: Annotated[
        str | None,
        option(
            "G,G,...",
            "regress with --penalty group: the group of each feature, a number or a name, in the order "
            "of the file's features (the target is none).",
        ),
    ] = None
    solver: Annotated[str, option("S", "{solvers}")] = "auto"
    regularization: Annotated[
        float | None,
        lambda_option(
            "Lambda, the weight of the penalty (l2: of ||w||^2/2).  [default: 0.01; tag, chunk, ner: 1 "
            "over the number of sentences; graph, grid: auto, by the sizes of graphs and features]",
        ),
    ] = None
    cost: options.Cost = None
    tol: Annotated[
        float | None,
        option(
            "X",
            "Stop when the duality gap is at most this, in proportion to the objective at zero where that is "
            "far from 1; regress: always in proportion to it.  "
            "[default: 0.001; tag, chunk, ner: 0.01; parse: 0.2]",
        ),
    ] = None
    max_passes: Annotated[float, option("N", "Stop after so many passes over the data.")] = 1000
    max_seconds: Annotated[float | None, option("N", "Stop after so many seconds.  [default: no limit]")] = (
        None
    )
    no_intercept: options.NoIntercept = False
    seed: options.Seed = 0
    jobs: options.Jobs = 1

    def chosen(self) -> dict[str, object]:
        """What was given of the parameters that depend on the task's data unless given."""
        named = {name: getattr(self, name) for name in ("loss", "cost", "regularization", "tol")}
        return {name: value for name, value in named.items() if value is not None}

    def parameters(self) -> dict[str, object]:
        """Parameters of every estimator."""
        numbers = {name: value for name, value in self.chosen().items() if name in ("regularization", "tol")}
        return {
            "solver": self.solver,
            "max_passes": self.max_passes,
            "max_seconds": self.max_seconds,
            "fit_intercept": not self.no_intercept,
            "random_state": self.seed,
            "n_jobs": self.jobs,
            **numbers,
        }

    def flags(self) -> dict[str, object]:
        """What only some tasks have."""
        groups = None if self.groups is None else [name.strip() for name in self.groups.split(",")]
        penalty = {"penalty": self.penalty, "l1-ratio": self.l1_ratio, "groups": groups}
        return {"loss": self.loss, **penalty, "cost": self.cost}


@dataclass(frozen=True)
class RunOptions:
    """Where and how training runs, and what it leaves behind."""

    history: Annotated[Path | None, option("FILE.csv", "Write the trace of primal, dual and gap.")] = None
    checkpoint: Annotated[
        Path | None, option("DIR", "Folder to write the state of training to, to go on from if it ends.")
    ] = None
    checkpoint_seconds: Annotated[float, option("N", "Seconds between two checkpoints.")] = 60.0
    resume: options.Resume = False
    memory: Annotated[
        str | None,
        option(
            "SIZE",
            "Most memory to take, such as 2GB; the rest goes to files in $TMPDIR.  [default: no limit]",
        ),
    ] = None
    cluster: Annotated[
        str | None,
        option(
            "ADDRESS",
            "Train on a Dask cluster: its scheduler (tcp://host:8786, tls://host:8786), or local:K for K "
            "processes here. For classify, tag and match, with seg, bcfw or sdca.  [default: here]",
        ),
    ] = None


@dataclass(frozen=True)
class DataOptions:
    """What data is, where its name and place do not tell."""

    target: options.Target = None
    format: Format = None


@dataclass(frozen=True)
class TalkOptions:
    """What is said meanwhile and in the end."""

    verbose: Annotated[bool, switch("--verbose", "A line on stderr at each evaluation.")] = False
    as_json: options.Json = False


@dataclass(frozen=True)
class ReadingOptions(TableOptions):
    """How files are read: tables, columns of words, and images."""

    window: Annotated[
        int | None, option("N", "grid: a pixel has the values of N x N pixels around it.  [default: 1]")
    ] = None

    label: Annotated[
        str | None,
        option(
            "COLUMN",
            "tag, chunk, ner: the column to learn, by its number from 0 (-1 is the last) or, in CoNLL-U, by "
            "its name.  [default: the last; upos in CoNLL-U]",
        ),
    ] = None
    columns: Annotated[
        str | None,
        option(
            "COLUMN,...",
            "tag, chunk, ner: the columns to look at, the words first.  [default: all but the label; ner: "
            "the first; in CoNLL-U form]",
        ),
    ] = None
    templates: Annotated[
        str | None,
        option(
            "T",
            "tag, chunk, ner: feature templates, such as 'word[-1..1] word.suffix1..3 pos[-1]&pos', or the "
            "word cells if the columns hold features themselves, or crfsuite for a file of "
            "CRFsuite.  [default: see docs/tagging.md]",
        ),
    ] = None
    transitions: Annotated[
        str | None,
        option(
            "T",
            "tag, chunk, ner: templates whose features score pairs of neighbouring labels, too (pos, say).",
        ),
    ] = None
    min_count: Annotated[
        int | None,
        option(
            "N",
            "tag, chunk, ner: leave out rarer features; classify, multilabel, regress: texts of a table's "
            "column that fewer rows have are one level.  [default: 1; classify, multilabel, regress: 5, or "
            "a row in 20 if that is less]",
        ),
    ] = None
    hash_bits: Annotated[
        int | None, option("N", "tag, chunk, ner: number features by N bits of a hash, no vocabulary.")
    ] = None
    constraints: Annotated[
        str | None,
        option(
            "C",
            "tag, chunk, ner: which label may not follow which: bio, bioes, bilou, none, or pairs such as "
            "'O>I-LOC,>I-LOC' (nothing before > is the start, nothing after it the end).  [default: none; "
            "chunk, ner: what the labels follow]",
        ),
    ] = None
    model: Annotated[
        str | None,
        option(
            "M",
            "chunk, ner: chain, a label per token, or segments, whole spans and their lengths.  [default: "
            "chain]",
        ),
    ] = None
    keep_names: Annotated[
        bool,
        switch(
            "--keep-names",
            "tag, chunk, ner with files of CRFsuite: keep the names of features in the model, however many.  "
            "[default: below a million]",
        ),
    ] = False
    lexicon: Annotated[
        list[str] | None,
        option(
            "NAME=FILE", "tag, chunk, ner: a list of phrases, one per line, as the column NAME. Repeatable."
        ),
    ] = None
    span_lexicon: Annotated[
        bool,
        switch(
            "--span-lexicon",
            "tag, chunk, ner: phrases that are spans of the training text are a lexicon, the column spans.",
        ),
    ] = False
    clusters: Annotated[
        Path | None,
        option("FILE", "tag, chunk, ner: word clusters (bits word count, or word cluster) as a column."),
    ] = None
    vectors: Annotated[
        Path | None,
        option(
            "FILE.vec",
            "tag, chunk, ner: word vectors (fastText's text format), clusters of which are a column.",
        ),
    ] = None
    usual: Annotated[
        str | None,
        option(
            "T",
            "tag, chunk, ner: templates whose values' usual labels are columns, or none.  [default: for ner, "
            "see docs/tagging.md]",
        ),
    ] = None
    context: Annotated[
        int | None,
        option(
            "N",
            "tag, chunk, ner: look for the same word in N sentences to either side, and at what a first pass "
            "says of it there; 0 for none.  [default: 20 for ner, unless templates are given]",
        ),
    ] = None
    continue_: Annotated[
        str | None,
        option(
            "MODEL",
            "tag, chunk, ner: start at the weights of this model, by the names of features and labels; the "
            "certificate is that of DATA alone.",
            "--continue",
        ),
    ] = None
    with_: Annotated[
        list[str] | None,
        option(
            "[COLUMN=]MODEL",
            "tag, chunk, ner: a tagger of words that fills a column (the first beside the words, or a new "
            "one, pos), in training and in use; it is kept in the model, which then tags raw text.",
            "--with",
        ),
    ] = None


@dataclass(frozen=True)
class OutputOptions:
    """What outputs are like."""

    pairs: Annotated[
        str | None,
        option(
            "P",
            "graph, grid: tables of weights for the labels of neighbours: full, symmetric, antisymmetric "
            "or potts.  [default: full]",
        ),
    ] = None
    latent_states: Annotated[
        int | None, option("N", "graph, grid: latent states of each label.  [default: 1]", min=1)
    ] = None
    connectivity: Annotated[int | None, option("N", "grid: neighbours of a pixel, 4 or 8.  [default: 4]")] = (
        None
    )
    edges: options.Edges = None
    boundaries: options.Boundaries = False
    non_projective: Annotated[bool, switch("--non-projective", "parse: arcs may cross.")] = False
    many_roots: Annotated[bool, switch("--many-roots", "parse: several words may depend on the root.")] = (
        False
    )
