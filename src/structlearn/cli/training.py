"""`structlearn train`."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

from structlearn.cli import options
from structlearn.cli.errors import fitting, handling_errors, say
from structlearn.cli.groups import grouped
from structlearn.cli.options import argument, option, switch
from structlearn.cli.outputs import check_output
from structlearn.cli.task_help import TaskCommand

if TYPE_CHECKING:
    from structlearn.cli.task import Training
    from structlearn.reports.runs import Trainable
    from structlearn.solvers import Checkpoint


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
        option(
            "X",
            "Lambda, the weight of the penalty (l2: of ||w||^2/2).  [default: 0.01; tag, chunk, ner: 1 "
            "over the number of sentences]",
        ),
    ] = None
    cost: options.Cost = None
    tol: Annotated[
        float | None,
        option(
            "X",
            "Stop when the duality gap is at most this; regress: stop when the duality gap is at most this "
            "share of the objective at zero.  [default: 0.001; tag, chunk, ner: 0.01; parse: 0.2]",
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
    resume: Annotated[
        bool, switch("--resume", "Go on from the checkpoint in DIR; from the beginning if there is none.")
    ] = False
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
            "processes here. For classify, tag and match, with the solvers bcfw and sdca.  [default: here]",
        ),
    ] = None

    def chosen_checkpoint(self) -> Checkpoint | None:
        """Where training is written to, checked."""
        if self.checkpoint is None:
            if self.resume:
                raise ValueError("--resume goes on from a checkpoint: say where it is with --checkpoint DIR.")
            return None
        from structlearn.estimators.choices import check_number
        from structlearn.solvers import Checkpoint

        seconds = check_number("checkpoint-seconds", self.checkpoint_seconds)
        return Checkpoint(self.checkpoint, seconds, self.resume)


@dataclass(frozen=True)
class ReadingOptions:
    """How files are read: columns of words, and images."""

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
            "tag, chunk, ner: the columns to look at, the words first.  [default: all but the label; in "
            "CoNLL-U form]",
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
        int | None, option("N", "tag, chunk, ner: leave out rarer features.  [default: 1]")
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
            "NAME=FILE", "tag, chunk, ner: a list of phrases, one a line, as the column NAME. Repeatable."
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


class TrainCommand(TaskCommand):
    """Of `train`: the options in the groups that they are declared in."""

    groups: ClassVar[dict[str, tuple[str, ...]]] = {
        "Files": ("out", "target", "verbose", *(one.name for one in fields(ReadingOptions))),
        "Outputs": tuple(one.name for one in fields(OutputOptions)),
        "Problem and solver": tuple(one.name for one in fields(ProblemOptions)),
        "Long runs": tuple(one.name for one in fields(RunOptions)),
    }
    specific: ClassVar[dict[str, str]] = {
        **{name: name.strip("_").replace("_", "-") for name in (*groups["Files"][3:], *groups["Outputs"])},
        **{
            name.replace("-", "_"): name
            for name in ("loss", "penalty", "l1-ratio", "groups", "cost", "memory")
        },
        **dict.fromkeys(("checkpoint", "checkpoint_seconds", "resume"), "checkpoint"),
    }


@handling_errors()
@grouped
def train(
    *,
    task: options.TaskName,
    data: Annotated[Path, argument("DATA", "Training data, plain or .gz; or a folder that data pack wrote.")],
    out: options.ModelOut,
    problem: ProblemOptions,
    run: RunOptions,
    target: options.Target = None,
    reading: ReadingOptions,
    outputs: OutputOptions,
    verbose: Annotated[bool, switch("--verbose", "A line on stderr at each evaluation.")] = False,
) -> None:
    """Train a model, write it to MODEL, and print the certificate: how far from optimal it is at most.

    {files}

    Ctrl-C ends training early; the best model so far is written. With --checkpoint nothing is lost if the
    machine stops: --resume gives the model that training without the interruption would have given.
    """
    from structlearn.cli.tasks import task_named, task_parameters

    words = {**asdict(reading), "with_": reading.with_ or None}
    known, checkpoint = task_named(task), run.chosen_checkpoint()
    given = {**problem.flags(), **asdict(outputs), **words, "checkpoint": checkpoint, "memory": run.memory}
    parameters = task_parameters(
        task, {name.strip("_").replace("_", "-"): value for name, value in given.items()}
    )
    chosen = known.with_options(**words)
    out_file = check_output(out, others=[data])
    history_file = run.history and check_output(run.history, others=[data, out])
    if checkpoint is not None:
        checkpoint.check()
    estimator = checked_estimator(
        chosen.estimator, verbose=int(verbose), **problem.parameters(), **parameters
    )
    with _clients(run.cluster, estimator, task) as client:
        training = chosen.training(data, target)
        chosen.check_training(estimator, training)
        say(f"Read {training.summary} from {data}.")
        found = training.parameters.items()
        estimator.set_params(**{name: value for name, value in found if name not in problem.chosen()})
        _fit(estimator, training, client)
    _save(estimator, {"task": task, **training.notes}, chosen.trimmed(estimator, training), out_file)
    say(f"Wrote the model to {out}.")
    if history_file is not None:
        estimator.history_.to_csv(history_file)
    print(estimator.certificate_)


def checked_estimator(name: str, **parameters: object) -> Trainable:
    """The estimator, its parameters checked before data is read."""
    from structlearn import estimators
    from structlearn.estimators.choices import cost_options

    kind = getattr(estimators, name)
    if not hasattr(kind, "n_jobs"):
        del parameters["n_jobs"]
    for parameter in parameters.keys() - set(kind._get_param_names()):
        raise ValueError(f"--{parameter.replace('_', '-')} does not go with a {name}; leave it out.")
    estimator = kind(**parameters)
    estimator.check_parameters()
    if "cost" in parameters:
        cost_options(estimator.cost)
    return estimator


def _clients(cluster: str | None, estimator: Trainable, task: str) -> AbstractContextManager[object]:
    """A client of the cluster, if there is one, checked before data is read."""
    if cluster is None:
        return nullcontext()
    if not getattr(estimator, "_packed", ""):
        raise ValueError(f"--cluster trains classify, tag and match; the task {task} trains here.")
    from structlearn.distributed import connected

    return connected(cluster)


def _fit(estimator: Trainable, training: Training, client: object) -> None:
    if hasattr(training.X, "paths") and client is None:
        raise ValueError(
            "The data is split into partitions: train on them with --cluster, or give the whole."
        )
    with fitting():
        estimator.fit(training.X, training.y, **({} if client is None else {"client": client}))


def _save(estimator: Trainable, notes: dict[str, object], training: Training, out: Path) -> None:
    from structlearn.estimators.persistence import Bundle, save_bundle

    save_bundle(Bundle(estimator, notes, training.texts, training.arrays, training.bundled), out)
