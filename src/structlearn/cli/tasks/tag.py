"""The tasks `tag`, `chunk` and `ner`: a label for each token of a sentence, from column files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from structlearn.cli.commands.folds import FoldedExamples, SentenceFile, TrainingFile
from structlearn.cli.tasks.cells import ColumnFile, check_cells, read_cells, reread_cells, summary_of
from structlearn.cli.tasks.constraints import constraints_for, parse_constraints, partly, with_constraints
from structlearn.cli.tasks.continuing import continue_model
from structlearn.cli.tasks.doubts import check_columns, note_columns
from structlearn.cli.tasks.formats import ENTRY
from structlearn.cli.tasks.resources import context_of, described_tagger, has_resources
from structlearn.cli.tasks.tag_scores import check_seen, known_labels, tag_scores
from structlearn.cli.tasks.task import Inputs, Scores, Task, Training
from structlearn.cli.tasks.with_models import columns_with, taggers_with
from structlearn.core.contract import Array
from structlearn.core.wording import plain
from structlearn.data import (
    DataError,
    FeatureVocabulary,
    Tokens,
    filled,
    has_own_features,
    read_tokens,
    split_rows,
)
from structlearn.data.crfsuite import CrfsuiteFile, is_crfsuite
from structlearn.estimators.completion.partial_labels import is_partial
from structlearn.estimators.files.persistence import Bundle
from structlearn.estimators.inputs.constraints import Constraints
from structlearn.estimators.inputs.feature_names import Names, listed_names, looked_up
from structlearn.estimators.inputs.spans import tag_type
from structlearn.estimators.inputs.token_features import NamedRows, TokenFeatures
from structlearn.estimators.weights.explaining import explanations
from structlearn.tagging.explaining import STARTS, feature_names
from structlearn.tagging.features.features import starts_of_used
from structlearn.tagging.features.names import names_in
from structlearn.tagging.features.resources import parse_lexicons
from structlearn.tagging.plan import Plan, make_plan
from structlearn.tagging.pruning import drop_unused
from structlearn.tagging.stored import FEATURES, is_of_names, named_notes
from structlearn.tagging.tagger import Tagger

if TYPE_CHECKING:
    from structlearn.estimators import ChainClassifier
    from structlearn.reports import Page

#: --templates for files whose cells are the features
CELLS = "cells"
#: --templates for files of CRFsuite
ITEMS = "crfsuite"


@dataclass(frozen=True)
class Tag(Task):
    """One token a line, its columns and its label, blank lines between sentences."""

    estimator = "ChainClassifier"
    drawn = True
    confident = True
    packed = "chain"
    penalties = ("l2", "elasticnet", "l1")
    #: whose defaults the templates are
    task: ClassVar[str] = "tag"
    #: whether labels mark spans
    spans: ClassVar[bool] = False
    label: str | None = None
    columns: str | None = None
    templates: str | None = None
    transitions: str | None = None
    min_count: int = 1
    hash_bits: int | None = None
    keep_names: bool = False
    with_: Sequence[str] = ()
    continue_: str | None = None
    constraints: str | None = None
    model: str | None = None
    lexicon: tuple[str, ...] = ()
    clusters: Path | None = None
    vectors: Path | None = None
    usual: str | None = None
    context: int | None = None
    span_lexicon: bool = False

    def with_options(self, **options: Any) -> Tag:
        if options.get("constraints") is not None:
            parse_constraints(options["constraints"])
        parse_lexicons(options.get("lexicon") or ())
        return replace(self, **{name: value for name, value in options.items() if value is not None})

    def training(self, path: Path, target: str | None) -> Training:
        """As every task; constraints of packed data are those that were found when it was packed, if any."""
        found = super().training(path, target)
        if not path.is_dir() or self.constraints is None:
            return found
        return with_constraints(found, parse_constraints(self.constraints))

    def examples(self, source: TrainingFile, folder: Path) -> FoldedExamples:
        """Sentences of the file, near ones together where the model looks at those."""
        if source.path.is_dir():
            return super().examples(source, folder)
        return SentenceFile(self, self.training(*source), source, context_of(self), folder)

    def read(self, path: Path, target: str | None) -> Training:
        """Read a column file and learn its features."""
        if self.templates == ITEMS or (self._is_free and is_crfsuite(path)):
            return self._read_items(path, target)
        if self.keep_names:
            raise ValueError(
                "--keep-names goes with files of CRFsuite; features of templates have names without it, "
                "unless --hash-bits is given."
            )
        label = self.label if self.label is not None else target
        tokens = read_tokens(path, lambda names: self._wanted(names, label))
        plan = self._plan(tokens.layout.names, label)
        labels = split_rows(tokens.filled_cells(plan.label), tokens.lengths)
        if all(ENTRY.fullmatch(one) for one in tokens.column(plan.label).strings):
            # Training on it would take hours: a label for each distinct entry.
            raise DataError(f"{path} looks like a libsvm file: its labels are index:value entries.")
        check_columns(tokens, plan, chosen=label is not None, spans=self.spans)
        constraints = constraints_for(labels, self.constraints, spans=self.spans, error=tokens.error)
        if not self.with_ and self._brings_features(tokens, plan.label):
            if has_resources(self):
                raise ValueError(
                    "--lexicon, --clusters, --vectors, --usual and --context go with columns of words."
                )
            return self._for_training(read_cells(tokens, tokens.layout.place(plan.label)), constraints)
        note_columns(tokens, plan)
        tagger = described_tagger(self, plan.columns, plan.templates)
        tagger.set_params(taggers=taggers_with(self.with_, plan) or None)
        X = tagger.fit_features(plan.applied(tokens), partly(labels))
        training = Training(
            X,
            labels,
            tagger.notes(plan, self.transitions),
            tagger.derived_.texts(),
            summary_of(len(tokens), *X.rows.shape),
            tagger.arrays(),
            tagger.problem_parameters(len(tokens)),
            bundled={name: one.bundle() for name, one in (tagger.taggers or {}).items()},
        )
        return self._for_training(training, constraints)

    @staticmethod
    def _for_training(training: Training, constraints: Constraints) -> Training:
        """With constraints, and `_` for what is not known."""
        return with_constraints(training._replace(y=partly(training.y)), constraints)

    @property
    def _is_free(self) -> bool:
        """Whether no flag says what a file's columns are."""
        return self.templates is None and self.columns is None and self.label is None

    def _read_items(self, path: Path, target: str | None) -> Training:
        """Read a file of CRFsuite, whose features have names."""
        of_columns = (self.columns, self.label, target, self.transitions, self.with_ or None)
        if any(given is not None for given in of_columns) or has_resources(self):
            raise ValueError(
                "--label, --columns, --transitions, --with, --lexicon, --clusters, --vectors, --usual and "
                "--context go with column files, not with CRFsuite's."
            )
        features = TokenFeatures(self.min_count, self.hash_bits, self.keep_names or None)
        file = CrfsuiteFile(path)
        X = features.fit_transform(file)
        file.check_labels()
        summary = summary_of(len(X), X.rows.shape[0], features.n_features)
        parameters = Tagger().problem_parameters(len(X))
        constraints = constraints_for(file.labels, self.constraints, spans=self.spans, error=file.error)
        training = Training(X, file.labels, named_notes(), {}, summary, {}, parameters)
        return self._for_training(training, constraints)

    def trimmed(self, estimator: Any, training: Training) -> Training:
        """The vocabulary without features that have no weight."""
        keys = training.arrays.get(FEATURES)
        used = drop_unused(estimator) if keys is not None and keys.size else None
        if keys is None or used is None:
            return training
        arrays = {**training.arrays, FEATURES: keys[used]}
        if STARTS in arrays:
            arrays[STARTS] = starts_of_used(arrays[STARTS], used)
        return training._replace(arrays=arrays)

    def check_training(self, estimator: Any, training: Training) -> None:
        """With --continue, the model to go on from must be of this kind; the estimator starts there."""
        if self.continue_ is not None:
            continue_model(Path(self.continue_), self, estimator, training)

    def check_packing(self, training: Training) -> str:
        """As every task; features that have names are not packed, nor are models inside."""
        if training.bundled:
            raise ValueError("Data for a model --with others is not packed; train reads its file.")
        if isinstance(training.X, NamedRows):
            raise ValueError("Files of CRFsuite are not packed; train reads them.")
        if is_partial(training.y):
            raise ValueError("Partly labelled sentences are not packed; train reads them.")
        return super().check_packing(training)

    def _plan(self, names: tuple[str, ...], label: str | None) -> Plan:
        columns = None if self.columns is None else [name.strip() for name in self.columns.split(",")]
        templates = None if self.templates == CELLS else self.templates
        resources = described_tagger(self).resources()
        bundled = columns_with(self.with_)
        return make_plan(
            names, label, columns, templates, self.transitions, bundled, task=self.task, resources=resources
        )

    def _wanted(self, names: tuple[str, ...], label: str | None) -> list[str]:
        plan = self._plan(names, label)
        return plan.read if plan.conllu else list(names)

    def _brings_features(self, tokens: Tokens, label: str) -> bool:
        """Whether cells are features themselves: asked for or, for `tag`, to be seen."""
        if self.templates is not None or self.columns is not None or self.spans or tokens.layout.conllu:
            return self.templates == CELLS
        return any(has_own_features(c.strings) for name, c in tokens.columns.items() if name != label)

    def reread(self, path: Path, bundle: Bundle, *, labels: bool) -> Inputs:
        """Read a column file with or without the label column."""
        if is_of_names(bundle):
            file = CrfsuiteFile(path)
            X = bundle.estimator.features_.transform(file)
            if not X.rows.nnz:
                raise DataError(f"{path} has no feature that the model knows; is it a file of CRFsuite?")
            return Inputs(X, file.labels if labels else None)
        if FEATURES not in bundle.arrays:
            return reread_cells(path, bundle)
        plan = Plan.from_notes(bundle.notes)
        tokens = plan.applied(read_tokens(path, plan.present, text=not labels))
        there = plan.label in tokens.columns
        y = split_rows(tokens.filled_cells(plan.label), tokens.lengths) if there and labels else None
        source = ColumnFile(tokens, plan.label, plan.names.index(plan.label))
        return Inputs(Tagger.of(bundle).rows(tokens), y, source)

    def pages(self, bundle: Bundle, inputs: Inputs, *, marginals: bool) -> Iterator[str]:
        """The file itself, the label column filled; with confidences, the probability of each label.

        Of packed data, which has no lines to fill, and of files of CRFsuite the labels alone.
        """
        estimator, page = bundle.estimator, inputs.source
        predicted = estimator.predict(inputs.X)
        shares = _confidences(estimator, inputs.X, predicted) if marginals else None
        if page is None:
            return _labels_alone(predicted, shares)
        values = (str(label) for one in predicted for label in one.tolist())
        return filled(page.tokens, page.label, values, place=page.place, confidences=shares)

    def check_notes(self, bundle: Bundle) -> None:
        """The plan and its features, or the vocabulary of the cells."""
        if FEATURES in bundle.arrays or is_of_names(bundle):
            Tagger.of(bundle)
            return
        check_cells(bundle)

    def feature_names(self, bundle: Bundle) -> Names:
        """Names of templates' features, of the file's own cells, or of CRFsuite's."""
        if FEATURES in bundle.arrays:
            return feature_names(Tagger.of(bundle))
        if "vocabulary" in bundle.texts:
            return listed_names(FeatureVocabulary.from_lines(bundle.texts["vocabulary"]).names_)
        return super().feature_names(bundle)

    def page(self, bundle: Bundle, path: Path, limit: int) -> Page:
        """Tagged text; the words are the first column that is not the label."""
        from structlearn.reports.tagged_text import TaggedText
        from structlearn.tagging.page import text_page

        if is_of_names(bundle):
            raise ValueError("A file of CRFsuite has no words to show; show draws models of column files.")
        X, gold, source = self.reread(path, bundle, labels=True)
        predicted = bundle.estimator.predict(X)
        known = repeat(None) if gold is None else known_labels(gold, bundle.estimator.classes_)
        sentences = [
            TaggedText(
                one,
                list(map(str, tags)),
                list(map(str, right)) if there is not None and there.all() else None,
            )
            for one, tags, right, there in zip(
                source.words, predicted, repeat(None) if gold is None else gold, known
            )
        ]
        names, rows = self.feature_names(bundle), cast(Sequence[Any], X)
        if FEATURES in bundle.arrays:
            tagger = Tagger.of(bundle)
            text = tagger.text(source.tokens)
            names = looked_up(names_in(tagger.features_, text), names)
        return text_page(
            sentences,
            title=f"Tagged text of {plain(path.name)}",
            limit=limit,
            of_spans=self.spans,
            explain=(lambda chosen: explanations(bundle.estimator, [rows[i] for i in chosen], names))
            if type(bundle.estimator).__name__ == Tag.estimator
            else None,
        )

    def check_labels(self, bundle: Bundle, inputs: Inputs) -> None:
        """DataError if the file has a label (a type of spans) that training never saw."""
        check_seen(bundle.estimator.classes_, inputs, tag_type if self.spans else str)

    def evaluate(self, bundle: Bundle, y: Sequence[Array], predicted: Sequence[Array]) -> Scores:
        """Shares of right tokens and of right sentences; for spans, precision, recall and F1, by type."""
        return tag_scores(bundle.estimator.classes_, y, predicted, spans=self.spans)

    def error(self, values: Mapping[str, float | int]) -> float:
        """The share of wrong labels or, of spans, 1 - F1."""
        return 1.0 - values["f1" if self.spans else "accuracy"]


def _confidences(estimator: ChainClassifier, X: Any, predicted: list[Array]) -> Iterator[float]:
    """The probability of each predicted label."""
    place = {label: k for k, label in enumerate(estimator.classes_.tolist())}
    for labels, table in zip(predicted, estimator.predict_marginals(X)):
        for label, row in zip(labels.tolist(), table):
            yield float(row[place[label]])


def _labels_alone(predicted: list[Array], shares: Iterator[float] | None) -> Iterator[str]:
    """A label a line (and its probability), a blank line between sequences."""
    for i, labels in enumerate(predicted):
        if i:
            yield "\n"
        for label in labels.tolist():
            yield f"{label}\n" if shares is None else f"{label} {next(shares):.4f}\n"
