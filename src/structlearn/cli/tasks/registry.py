"""The tasks of `train` by name: one entry each, of which help texts, refusals and the docs are made.

A new task is a subclass of `Task` in a file of its own and an entry here. Nothing heavy is imported until a
task is used.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING

from structlearn.core.registry import Registry, resolve_name

if TYPE_CHECKING:
    from structlearn.apps.examples.example import TaskExample
    from structlearn.cli.tasks.options import TaskOptions
    from structlearn.cli.tasks.task import Task


@dataclass(frozen=True, kw_only=True)
class TaskEntry:
    """A task by name.

    Attributes
    ----------
    name : what users call it
    what : what is predicted, in words
    made : its class, or where that is
    options : the dataclass of its own options, or where that is (light: help imports it)
    estimator : the class that is trained
    formats : what files it reads, in words
    reads : what help says of its files
    figures : what the help of `evaluate` says of its figures; empty where an earlier task's says it
    metrics : the figures that `tune` can go by, first the one that it does go by
    examples : two commands that one may begin with
    example : where the `TaskExample` is that `structlearn example` writes
    """

    name: str
    what: str
    made: str | type[Task]
    estimator: str
    formats: str
    options: str | type[TaskOptions] = "structlearn.cli.tasks.options:StructuredOptions"
    reads: str = ""
    figures: str = ""
    metrics: tuple[str, ...] = ("accuracy",)
    examples: tuple[str, ...] = ()
    example: str | TaskExample = ""

    @cached_property
    def options_class(self) -> type[TaskOptions]:
        """The dataclass of its own options."""
        found: type[TaskOptions] = resolve_name(self.options)
        return found

    @cached_property
    def flags(self) -> tuple[str, ...]:
        """Its own options as they are typed, without dashes in front."""
        return tuple(one.name.strip("_").replace("_", "-") for one in fields(self.options_class))

    @cached_property
    def task(self) -> Task:
        """The task, for models that are there: nothing is said of how files are read."""
        return self.with_options(self.options_class())

    def with_options(self, options: TaskOptions) -> Task:
        """Return the task as options describe it."""
        found: Task = resolve_name(self.made)(options, self.name)
        return found


_TABLES = "CSV, Parquet, libsvm"
_COLUMNS = "CoNLL columns, CoNLL-U"
_READS_TABLES = (
    "DATA is a table with a header (CSV with commas, semicolons or tabs; .parquet), the target last, or a "
    "libsvm file (label index:value ...). Of a table, numbers are standardised and missing ones imputed, "
    "dates, money, yes and no, categories and free text become features: see docs/tables.md."
)
_READS_COLUMNS = (
    "DATA has CoNLL-style columns (one token per line, the word first and the label last, a blank line "
    "between sentences) or is CoNLL-U; features are made of words and other columns by templates. Files of "
    "CRFsuite are read, too (label, then feature[:value] ... between tabs)."
)
_OF_SPANS = ("f1", "precision", "recall", "accuracy", "exact_match")
_OF_NODES = ("accuracy", "mean_iou", "exact_match", "macro_f1")

TASKS: Registry[TaskEntry] = Registry(
    "task",
    [
        TaskEntry(
            name="classify",
            what="one of several classes",
            made="structlearn.cli.tasks.flat:Classify",
            estimator="MulticlassClassifier",
            formats=_TABLES,
            reads=_READS_TABLES,
            figures="classify: accuracy, beside that of answering with the most frequent class of DATA; "
            "macro_precision, macro_recall and macro_f1, means over the classes; log_loss, if the loss has "
            "probabilities; auc, the area under the ROC curve, for two classes.",
            options="structlearn.cli.tasks.row_options:ClassifyOptions",
            metrics=("accuracy", "macro_f1", "macro_precision", "macro_recall", "auc", "log_loss"),
            example="structlearn.apps.examples.rows:CLASSIFY",
            examples=(
                "structlearn train classify people.csv --target bought --out model.safetensors",
                "structlearn train classify train.libsvm --loss softmax --out m.safetensors",
            ),
        ),
        TaskEntry(
            name="multilabel",
            what="a set of labels",
            made="structlearn.cli.tasks.multilabel:MultiLabel",
            estimator="MultiLabelClassifier",
            formats=_TABLES,
            reads="DATA is a libsvm file with label sets (0,4 index:value ...), or a table whose columns of "
            "0 and 1 --target names. A file named .csv, .tsv or .parquet is a table; any other is libsvm if "
            "index:value entries are seen in its first lines, else a table if its first line has a comma, a "
            "tab or a semicolon.",
            figures="multilabel: exact_match (whole sets), beside that of answering with the most frequent "
            "set of DATA, hamming_loss and micro_f1 (single labels), and means over the labels.",
            options="structlearn.cli.tasks.row_options:MultiLabelOptions",
            metrics=("micro_f1", "exact_match", "macro_f1", "hamming_loss"),
            example="structlearn.apps.examples.rows:MULTILABEL",
            examples=(
                "structlearn train multilabel labels.csv --target red,green --out model.safetensors",
                "structlearn train multilabel labels.csv --target red,green --edges tree --out m.safetensors",
            ),
        ),
        TaskEntry(
            name="regress",
            what="a number",
            made="structlearn.cli.tasks.regress:Regress",
            estimator="LinearRegressor",
            formats=_TABLES,
            reads=_READS_TABLES,
            figures="regress: r2 (share of the variance explained), rmse and mae (sizes of the errors), "
            "beside those of answering with the mean of DATA.",
            options="structlearn.cli.tasks.row_options:RegressOptions",
            metrics=("r2", "rmse", "mae"),
            example="structlearn.apps.examples.rows:REGRESS",
            examples=(
                "structlearn train regress prices.csv --target price --out model.safetensors",
                "structlearn train regress prices.csv --penalty l1 --regularization 0.1 --out m.safetensors",
            ),
        ),
        TaskEntry(
            name="tag",
            what="a label for each token",
            made="structlearn.cli.tasks.tag:Tag",
            estimator="Tagger",
            formats=_COLUMNS,
            reads=f"{_READS_COLUMNS} If tag finds a column of numbers or of name=value cells, the cells are "
            "the features.",
            figures="tag: accuracy (tokens) and exact_match (whole sequences);",
            options="structlearn.cli.tasks.tag_options:TagOptions",
            metrics=("accuracy", "exact_match"),
            example="structlearn.apps.examples.sentences:TAG",
            examples=(
                "structlearn train tag words.conll --out tagger.safetensors",
                "structlearn train tag en-train.conllu --label upos --out upos.safetensors",
            ),
        ),
        TaskEntry(
            name="chunk",
            what="spans of tokens, such as phrases",
            made="structlearn.cli.tasks.spans:TagSpans",
            estimator="Tagger",
            formats=_COLUMNS,
            reads=_READS_COLUMNS,
            figures="chunk and ner: also precision, recall and f1 of spans, as conlleval counts them.",
            options="structlearn.cli.tasks.tag_options:SpanOptions",
            metrics=_OF_SPANS,
            example="structlearn.apps.examples.sentences:CHUNK",
            examples=(
                "structlearn train chunk train.txt --out chunker.safetensors",
                "structlearn train chunk train.txt --penalty elasticnet --out small.safetensors",
            ),
        ),
        TaskEntry(
            name="ner",
            what="spans of tokens, such as names",
            made="structlearn.cli.tasks.spans:TagNames",
            estimator="Tagger",
            formats=_COLUMNS,
            reads=_READS_COLUMNS,
            options="structlearn.cli.tasks.tag_options:SpanOptions",
            metrics=_OF_SPANS,
            example="structlearn.apps.examples.sentences:NER",
            examples=(
                "structlearn train ner names.conll --out names.safetensors",
                "structlearn train ner names.conll --lexicon CITY=cities.txt --out names.safetensors",
            ),
        ),
        TaskEntry(
            name="parse",
            what="a head and a relation for each word",
            made="structlearn.cli.tasks.parse:ParseTask",
            estimator="TreeParser",
            formats="CoNLL-U",
            reads="DATA is a CoNLL-U file.",
            figures="parse: uas and las, the shares of words with the right head, and with the right head "
            "and relation; they count punctuation and leave out subtypes of relations, as the CoNLL 2018 "
            "scorer does; las_full compares whole relations, the no_punct figures leave out punctuation.",
            options="structlearn.cli.tasks.options:ParseOptions",
            metrics=("uas", "las", "las_full", "uas_no_punct", "las_no_punct"),
            example="structlearn.apps.examples.sentences:PARSE",
            examples=(
                "structlearn train parse train.conllu --out parser.safetensors",
                "structlearn train parse train.conllu --non-projective --jobs 2 --out parser.safetensors",
            ),
        ),
        TaskEntry(
            name="match",
            what="which nodes of two sides belong together",
            made="structlearn.cli.tasks.match:Match",
            estimator="MatchingClassifier",
            formats=".npz",
            options="structlearn.cli.tasks.options:MatchOptions",
            reads="DATA is an .npz file of NumPy: features, a row per pair of nodes; shapes, the nodes of "
            "both sides of each example; links, a row per link: its example, row and column.",
            metrics=("f1", "precision", "recall"),
            example="structlearn.apps.examples.pairs:MATCH",
            examples=(
                "structlearn train match pairs.npz --out matcher.safetensors",
                "structlearn train match pairs.npz --cost count --regularization 0.1 --out m.safetensors",
            ),
        ),
        TaskEntry(
            name="graph",
            what="a label for each node of a graph",
            made="structlearn.cli.tasks.graph:GraphTask",
            estimator="GraphClassifier",
            formats=".npz",
            reads="DATA is an .npz file of NumPy, the graphs end to end: nodes, a row of features "
            "per node; edges, pairs of nodes; sizes, the nodes and edges of each graph; edge_features; "
            "labels, whole numbers, -1 for unknown ones.",
            figures="graph and grid: accuracy (nodes, pixels), exact_match (whole graphs, images), mean_iou "
            "(right over gold or found, the mean over labels) and macro averages.",
            options="structlearn.cli.tasks.options:GraphOptions",
            metrics=_OF_NODES,
            example="structlearn.apps.examples.photo:GRAPH",
            examples=(
                "structlearn train graph graphs.npz --out model.safetensors",
                "structlearn train graph graphs.npz --pairs potts --out model.safetensors",
            ),
        ),
        TaskEntry(
            name="grid",
            what="a label for each pixel of an image",
            made="structlearn.cli.tasks.grid:GridTask",
            estimator="GridClassifier",
            formats="folder of PNG, JPEG, .npy",
            reads="DATA is a folder with the folders images (.png, .jpg, .npy) and labels (.png of the "
            "same names, 8 bits, 255 for unknown labels).",
            options="structlearn.cli.tasks.options:GridOptions",
            metrics=_OF_NODES,
            example="structlearn.apps.examples.photo:GRID",
            examples=(
                "structlearn train grid folder --out model.safetensors",
                "structlearn train grid folder --window 3 --connectivity 8 --out model.safetensors",
            ),
        ),
        TaskEntry(
            name="decide",
            what="a decision by predicted costs, such as a path",
            made="structlearn.cli.tasks.decide:DecideTask",
            estimator="DecisionPredictor",
            formats=".npz",
            reads="DATA is an .npz file of NumPy: features, a row per example (n, d) or per part (n, parts, "
            "d); costs, a row per example; and what is decided: edges, source and target (a path), edges "
            "alone (a spanning tree), weights and capacity (a knapsack), k, or least and most (some of the "
            "parts), rows and columns (an assignment), n_nodes (a tour), or A, b, A_eq, b_eq, lower, upper "
            "and integrality (a program). known_costs, forbidden and sense may be there: see docs/shell.md.",
            figures="decide: regret (what decisions cost more than the best ones, as a share of what these "
            "cost), cost and best_cost (means over the examples), two_stage_regret and two_stage_cost (of "
            "least squares on the same training data), best_decisions (the share that no decision beats).",
            options="structlearn.cli.tasks.options:DecideOptions",
            metrics=("regret", "best_decisions"),
            example="structlearn.apps.examples.rows:DECIDE",
            examples=(
                "structlearn train decide paths.npz --out model.safetensors",
                "structlearn train decide packs.npz --sense max --early-stopping --out model.safetensors",
            ),
        ),
    ],
)
