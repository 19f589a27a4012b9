"""The parameters of taggers, which the shell offers as options: so nothing heavy is imported here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from structlearn.core.help_texts import with_inherited

if TYPE_CHECKING:
    import numpy as np

    from structlearn.estimators.inputs.constraints import Constraints
    from structlearn.tagging.features import Templates
    from structlearn.tagging.features.lexicon import LexiconSource
    from structlearn.tagging.pipeline import Taggers

TOL = 0.01
#: what `model` may be
CHAIN, SEGMENTS = "chain", "segments"


@dataclass(kw_only=True, eq=False, repr=False)
class TaggerParameters:
    """What a tagger looks at, what it is trained for, and how.

    Parameters
    ----------
    columns : sequence of str
        Names of the columns of a token, the word first: ("word", "pos") for sentences of (word, tag) pairs.
    templates : str, list, path or None
        See `structlearn.tagging.features.templates`; `default_templates(columns)` unless given. Patterns of
        CRF++ and Wapiti are read, too: a `Path` of their file, their text or a list of its lines. Their
        columns go by number, in the order of `columns` (see `structlearn.tagging.patterns.reading`).
    task : {"tag", "chunk", "ner"}
        "ner" (names) has default templates and usual labels of its own.
    model : {"chain", "segments"}
        "chain" gives each token a label; "segments" scores whole spans and their lengths, which labels mark
        as O, B-type, I-type ... (see `SegmentClassifier`), and answers in IOB2. Transitions, constraints,
        penalties and warm starts go with chains.
    lexicons : dict, optional
        Lists of phrases, or files with one phrase per line, by names: columns that say where the phrases are.
    span_lexicon : bool
        Take the phrases that are spans of the training text as a lexicon, too: the column ``spans``.
    clusters : path, optional
        File of word clusters (``bits word count`` or ``word cluster``): the column ``cluster``.
    vectors : path, optional
        File of word vectors (fastText's text format), of which clusters are made: the column ``vector``.
    usual : str, list or None
        Templates whose values' usual labels in the training text become the columns ``usual1``, ``usual2``
        ... "" (in the shell, none) asks for none. By default those of the task, unless `templates` are given.
    context : int, optional
        Sentences to either side in which the same word is looked for: what a first pass says of it there
        becomes the columns ``nearby`` and ``within`` (see `structlearn.tagging.features.context`), so that
        labels depend on the other sentences of a call, in their order. 0 for none. By default 20 for "ner",
        unless `templates` are given, and 0 otherwise. Fewer than 60 sentences with labels teach none.
    transitions : str, list or None
        Templates (such as pos) whose features score pairs of neighbouring labels, too, so that transitions
        depend on what is seen. Each feature takes K * K weights.
    min_count : int
        Leave out features that occur less often than this in the training text.
    hash_bits : int, optional
        Number features by this many bits of a hash instead of a vocabulary.
    keep_names : bool, optional
        Keep the names of features that come by name (dicts, files of CRFsuite), however many. By default,
        names are kept below a million.
    keep_weights : bool
        Write model files with all weights in 64 bits. By default, files of models with at least 100,000
        weights have 32 bits per weight, and leave out weights of at most 0.0005 in absolute value.
    loss : {"auto", "softmax", "hinge", "sparsemax", "perceptron"}
        "softmax" is the conditional random field, which "auto" stands for unless `chain_options` have a cost,
        or a solver of another loss alone. `chain_.loss_` tells which it was.
    regularization : float, optional
        lambda; 1 over the number of sentences unless given.
    penalty : {"l2", "elasticnet", "l1"}
    l1_ratio : float
        As in `ChainClassifier`: the last two penalties leave few weights.
    features : {"auto", "all", "seen"}
        Which labels a feature has weights for, as in `ChainClassifier`: all, or those that it was seen with
        in the training text. "auto" takes the latter where there are many labels.
    candidates : str, optional
        A template, such as word, whose values are the keys of a tag dictionary: a value that occurs at least
        `candidate_min_count` times in the training text has the labels that it was seen with, and no others;
        all others have the labels of rarer values. Faster where there are many labels (see
        `ChainClassifier`); not with constraints.
    candidate_min_count : int
        How often a value must occur to have candidate labels of its own.
    tol : float
        Training ends when the duality gap is at most this (the loss is that of a whole sentence).
    constraints : "bio", "bioes", "bilou" or a list of pairs (before, after), optional
        Which label may not follow which, as in `ChainClassifier`.
    n_jobs, random_state, verbose : int, optional
        As in `ChainClassifier`.
    taggers : dict of str to Tagger, optional
        Fitted taggers of words that fill columns beside the word, in training and in predictions: sentences
        come without these columns (what a file has there is not looked at), and raw text can be tagged.
    warm_start : bool
        Whether another `fit`, also on other sentences and labels, starts from the weights before, by the
        names of features and labels. Certificate and optimum are those of the new data alone.
    chain_options : dict, optional
        Other parameters of `ChainClassifier`: solver, max_passes, start, end, cost ("count" unless given) ...
    """

    columns: Sequence[str] = ("word",)
    templates: Templates | None = None
    transitions: Templates | None = None
    min_count: int = 1
    hash_bits: int | None = None
    task: str = "tag"
    model: str = CHAIN
    lexicons: Mapping[str, LexiconSource] | None = None
    clusters: str | Path | None = None
    vectors: str | Path | None = None
    usual: Templates | None = None
    context: int | None = None
    span_lexicon: bool = False
    keep_names: bool | None = None
    keep_weights: bool = False
    loss: str = "auto"
    regularization: float | None = None
    penalty: str = "l2"
    l1_ratio: float = 0.5
    features: str = "auto"
    candidates: str | None = None
    candidate_min_count: int = 5
    tol: float = TOL
    constraints: Constraints = None
    n_jobs: int | None = 1
    random_state: int | np.random.RandomState | None = None
    verbose: int = 0
    chain_options: dict[str, Any] | None = None
    taggers: Taggers | None = None
    warm_start: bool = False

    def __init_subclass__(cls, **options: object) -> None:
        """Help texts of taggers name all parameters."""
        super().__init_subclass__(**options)
        cls.__doc__ = with_inherited(cls)
