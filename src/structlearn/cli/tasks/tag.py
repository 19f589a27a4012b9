"""The tasks `tag`, `chunk` and `ner`: a label for each token of a sentence, from column files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from structlearn.apps.registry import tagger_of
from structlearn.cli.commands.folds import FoldedExamples, SentenceFile, TrainingFile
from structlearn.cli.tasks.cells import ColumnFile, check_cells, read_cells, reread_cells
from structlearn.cli.tasks.constraints import (
    UNKNOWN,
    constraints_for,
    parse_constraints,
    partly,
    with_constraints,
)
from structlearn.cli.tasks.continuing import continue_model
from structlearn.cli.tasks.doubts import check_columns, note_columns
from structlearn.cli.tasks.neural import is_neural, neural_tagger
from structlearn.cli.tasks.tag_options import CELLS, ITEMS
from structlearn.cli.tasks.tag_scores import check_seen, known_labels, tag_scores, whole_labellings
from structlearn.cli.tasks.task import Inputs, Scores, Task, Training
from structlearn.cli.tasks.with_models import columns_with, taggers_with
from structlearn.core.contract import Array
from structlearn.core.wording import count_of, plain
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
from structlearn.data.file_formats import ENTRY
from structlearn.estimators import ChainClassifier, SegmentTagger
from structlearn.estimators.completion.partial_labels import is_partial
from structlearn.estimators.files.persistence import Bundle
from structlearn.estimators.inputs.constraints import Constraints
from structlearn.estimators.inputs.feature_names import Names, listed_names, looked_up
from structlearn.estimators.inputs.spans import tag_type
from structlearn.estimators.inputs.token_features import NamedRows, TokenFeatures
from structlearn.estimators.weights.explaining import explanations
from structlearn.tagging.answers import TaggerAnswers
from structlearn.tagging.explaining import tagger_feature_names
from structlearn.tagging.features.names import names_in
from structlearn.tagging.features.resources import OF_WORDS
from structlearn.tagging.models import OF_CHAINS
from structlearn.tagging.parameters import SEGMENTS
from structlearn.tagging.plan import Plan, make_plan
from structlearn.tagging.stored import FEATURES, is_of_names
from structlearn.tagging.tagger import Tagger

if TYPE_CHECKING:
    from structlearn.cli.tasks.options import ProblemOptions
    from structlearn.reports import Page


class Tag(Task):
    """One token per line, its columns and its label, blank lines between sentences."""

    estimator = "ChainClassifier"
    drawn = True
    confident = calibrated = covered = True
    noun = "sentence"
    labelled = "tokens"
    packed = "chain"
    #: whose defaults the templates are
    task: ClassVar[str] = "tag"
    #: whether labels mark spans
    spans: ClassVar[bool] = False

    # ---- training -----------------------------------------------------------------------------------------

    def new_model(self, parameters: Mapping[str, Any]) -> Any:
        """Return a tagger, which knows the parameters of its chain that differ from the usual ones."""
        if self.options.constraints is not None:
            parse_constraints(self.options.constraints)
        if self._is_of_segments and not self.spans:
            raise ValueError("--model segments goes with chunk and ner; for tag there are chain and neural.")
        if is_neural(self.options):
            return neural_tagger(self.task, self.options, parameters)
        usual = ChainClassifier().get_params(deep=False)
        own = {name: value for name, value in parameters.items() if name in Tagger._get_param_names()}
        others = {name: value for name, value in parameters.items() if name not in own}
        chain = {name: value for name, value in others.items() if value != usual.get(name, others)}
        chain |= own.pop("chain_options", None) or {}
        for name in ("transitions", "constraints", "continue_", "penalty") if self._is_of_segments else ():
            if getattr(self.options, name) is not None:
                raise ValueError(f"--{name.strip('_')} goes with --model chain, not with segments.")
        tagger = Tagger(task=self.task, **own, chain_options=chain or None)
        tagger.check_parameters()
        return tagger

    def training(self, path: Path, target: str | None) -> Training:
        """Read as every task does; constraints of packed data are those found when it was packed, if any."""
        if path.is_dir() and (self._is_of_segments or is_neural(self.options)):
            raise ValueError(f"--model {self.options.model} trains on files, not on packed data.")
        found = super().training(path, target)
        if not path.is_dir() or self.options.constraints is None:
            return found
        return with_constraints(found, parse_constraints(self.options.constraints))

    @property
    def _is_of_segments(self) -> bool:
        return getattr(self.options, "model", None) == SEGMENTS

    def examples(self, source: TrainingFile, folder: Path) -> FoldedExamples:
        """Return the sentences of the file, nearby ones together if the model looks at those."""
        if source.path.is_dir():
            return super().examples(source, folder)
        context = self.new_model(self.options.parameters()).resources().context
        return SentenceFile(self, self.training(*source), source, context, folder)

    def read(self, path: Path, target: str | None) -> Training:
        """Read a column file; features are learned when a tagger is trained on it."""
        options = self.options
        if options.templates == ITEMS or (self._is_free and is_crfsuite(path)):
            return self._read_items(path, target)
        if options.keep_names:
            raise ValueError(
                "--keep-names goes with files of CRFsuite; features of templates have names without it, "
                "unless --hash-bits is given."
            )
        label = options.label if options.label is not None else target
        tokens = read_tokens(path, lambda names: self._columns_to_read(names, label))
        plan = self._plan(tokens.layout.names, label)
        labels = split_rows(tokens.filled_cells(plan.label), tokens.lengths)
        if all(ENTRY.fullmatch(one) for one in tokens.column(plan.label).strings):
            # Training on it would take hours: a label for each distinct entry.
            raise DataError(f"{path} looks like a libsvm file: its labels are index:value entries.")
        check_columns(tokens, plan, chosen=label is not None, spans=self.spans)
        constraints = constraints_for(labels, options.constraints, spans=self.spans, error=tokens.error)
        if not options.with_ and self._brings_features(tokens, plan.label):
            if self._has_resources():
                raise ValueError(
                    "--lexicon, --clusters, --vectors, --usual and --context go with columns of words."
                )
            return self._for_training(read_cells(tokens, tokens.layout.place(plan.label)), constraints)
        note_columns(tokens, plan)
        summary = f"{count_of(len(tokens), 'sequence')}, {count_of(tokens.n_tokens, 'token')}"
        training = Training(plan.apply(tokens), labels, plan.as_notes(), {}, summary, source=plan)
        return self._for_training(training, constraints)

    def _for_training(self, training: Training, constraints: Constraints) -> Training:
        """Return the data with constraints, which segments do not use, and None for unknown labels."""
        training = training._replace(y=partly(training.y))
        if self._is_of_segments:
            return training
        return with_constraints(training, constraints)

    @property
    def _is_free(self) -> bool:
        """Whether no flag says what a file's columns are."""
        return self.options.templates is None and self.options.columns is None and self.options.label is None

    def _has_resources(self) -> bool:
        """Whether a flag asks for derived columns."""
        given = self.options.parameters()
        return any(given.get(name) not in (None, "", 0, False) for name in OF_WORDS)

    def _read_items(self, path: Path, target: str | None) -> Training:
        """Read a file of CRFsuite, whose features have names."""
        options = self.options
        of_columns = (options.columns, options.label, target, options.transitions, options.with_)
        if any(given is not None for given in of_columns) or self._has_resources():
            raise ValueError(
                "--label, --columns, --transitions, --with, --lexicon, --clusters, --vectors, --usual and "
                "--context go with column files, not with CRFsuite's."
            )
        features = TokenFeatures(options.min_count or 1, options.hash_bits, options.keep_names or None)
        file = CrfsuiteFile(path)
        X = features.fit_transform(file)
        file.check_labels()
        summary = f"{count_of(len(X), 'sequence')}, {count_of(X.rows.shape[0], 'token')}"
        constraints = constraints_for(file.labels, options.constraints, spans=self.spans, error=file.error)
        return self._for_training(Training(X, file.labels, {}, {}, summary), constraints)

    def adapt(self, model: Tagger, training: Training, problem: ProblemOptions) -> Any:
        """Return the tagger that looks at the file's columns; for rows that are features, its chain."""
        constraints: Any = training.parameters.get("constraints")
        if constraints is not None:
            model.set_params(constraints=constraints)
        if is_neural(self.options) and not isinstance(training.X, Tokens):
            raise ValueError("--model neural reads words; the cells of this file are features.")
        if not self._is_of_words(training):
            return self._chain(model, training, problem)
        plan: Plan | None = training.source
        if plan is not None:
            taggers = taggers_with(self.options.with_ or (), plan) or None
            model.set_params(columns=plan.columns, taggers=taggers)
        if self.options.continue_ is not None:
            continue_model(model, Path(self.options.continue_), self, training)
        return model

    @staticmethod
    def _is_of_words(training: Training) -> bool:
        """Whether a tagger makes the features, or knows their names."""
        return isinstance(training.X, Tokens | NamedRows)

    def _chain(self, tagger: Tagger, training: Training, problem: ProblemOptions) -> Any:
        """Return the chain that a tagger would train, for rows that are packed or cells of the file."""
        if self.options.continue_ is not None:
            raise ValueError("--continue goes with features of templates and with files of CRFsuite.")
        parameters = {**problem.parameters(), **self.given_parameters(), "verbose": tagger.verbose}
        chain = SegmentTagger() if tagger.model == SEGMENTS else ChainClassifier()
        chain.set_params(**parameters).check_parameters()
        return super().adapt(chain, training, problem)

    def given_parameters(self) -> dict[str, Any]:
        """Return the parameters of a chain that the options stand for."""
        given = self.options.parameters()
        own = {name: given[name] for name in ("loss", *OF_CHAINS) if name in given}
        return {**own, **given.get("chain_options", {})}

    def estimator_to_train(self, model: Any) -> Any:
        return model.new_chain() if isinstance(model, Tagger) else model

    def laid_out(self, model: Any, training: Training) -> tuple[Any, Training]:
        """Return the chain of a tagger, and the rows of features that it makes of the text."""
        if not isinstance(model, Tagger):
            return model, training
        rows = model.prepare(training.X, training.y)
        stored = model.bundle(training.source)
        known = training._replace(notes=stored.notes, texts=stored.texts, arrays=stored.arrays)
        problem = model.problem_parameters(len(rows))
        parameters = {**problem, "constraints": model.constraints}
        return model.chain_, known._replace(X=rows, bundled=stored.bundled, parameters=parameters)

    def bundle(self, model: Any, training: Training) -> Bundle:
        """Return the tagger as a model file holds it; a chain with the notes of its file."""
        if isinstance(model, TaggerAnswers):
            return model.bundle(training.source)
        return super().bundle(model, training)

    def check_packing(self, training: Training) -> str:
        """Check as every task does; features with names are not packed, nor are models inside."""
        if training.bundled:
            raise ValueError("Data for a model --with others is not packed; train reads its file.")
        if isinstance(training.X, NamedRows):
            raise ValueError("Files of CRFsuite are not packed; train reads them.")
        if is_partial(training.y):
            raise ValueError("Partly labelled sentences are not packed; train reads them.")
        return super().check_packing(training)

    def _plan(self, names: tuple[str, ...], label: str | None) -> Plan:
        options = self.options
        columns = None if options.columns is None else [name.strip() for name in options.columns.split(",")]
        templates = options.parameters().get("templates")
        resources = self.new_model(options.parameters()).resources()
        return make_plan(
            names,
            label,
            columns,
            templates,
            options.transitions,
            columns_with(options.with_ or ()),
            task=self.task,
            resources=resources,
        )

    def _columns_to_read(self, names: tuple[str, ...], label: str | None) -> list[str]:
        plan = self._plan(names, label)
        return plan.read if plan.conllu else list(names)

    def _brings_features(self, tokens: Tokens, label: str) -> bool:
        """Whether cells are features themselves: asked for or, for `tag`, to be seen."""
        options = self.options
        if options.templates is not None or options.columns is not None or self.spans or tokens.layout.conllu:
            return bool(options.templates == CELLS)
        return any(has_own_features(c.strings) for name, c in tokens.columns.items() if name != label)

    # ---- models -------------------------------------------------------------------------------------------

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
        tokens = plan.apply(read_tokens(path, plan.present, text=not labels))
        there = plan.label in tokens.columns
        y = split_rows(tokens.filled_cells(plan.label), tokens.lengths) if there and labels else None
        source = ColumnFile(tokens, plan.label, plan.names.index(plan.label))
        return Inputs(tagger_of(bundle).rows(tokens), y, source)

    def pages(self, bundle: Bundle, inputs: Inputs, *, marginals: bool) -> Iterator[str]:
        """Return the file itself, the label column filled; with confidences, the probability of each label.

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
        """Check the plan and its features, or the vocabulary of the cells."""
        if FEATURES in bundle.arrays or is_of_names(bundle):
            tagger_of(bundle)
            return
        check_cells(bundle)

    def feature_names(self, bundle: Bundle) -> Names:
        """Return the names of templates' features, of the file's own cells, or of CRFsuite's."""
        if FEATURES in bundle.arrays:
            return tagger_feature_names(Tagger.of(bundle))
        if "vocabulary" in bundle.texts:
            check_cells(bundle)
            return listed_names(FeatureVocabulary.from_lines(bundle.texts["vocabulary"]).names_)
        return super().feature_names(bundle)

    def page(self, bundle: Bundle, path: Path, limit: int) -> Page:
        """Draw the tagged text; the words are the first column that is not the label."""
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

    def held_out(self, bundle: Bundle, inputs: Inputs, path: Path) -> list[list[Any]]:
        """Return whole labellings; ValueError where a label is not known."""
        return whole_labellings(path, inputs.y, bundle.estimator.classes_)

    def evaluate(self, bundle: Bundle, y: Sequence[Array], predicted: Sequence[Array]) -> Scores:
        """Return the shares of right tokens and sentences; for spans, precision, recall and F1 by type."""
        return tag_scores(bundle.estimator.classes_, y, predicted, spans=self.spans)

    def outcome(self, values: Mapping[str, float | int], truths: Sequence[Any]) -> str:
        known = [labels[labels.astype(str) != UNKNOWN] for one in truths for labels in one]
        said = super().outcome(values, [known])
        return f"the F1 of spans is {values['f1']:.3f}, and {said}" if self.spans else said

    def error(self, values: Mapping[str, float | int]) -> float:
        """Return the share of wrong labels or, of spans, 1 - F1."""
        return 1.0 - values["f1" if self.spans else "accuracy"]


def _confidences(estimator: ChainClassifier, X: Any, predicted: list[Array]) -> Iterator[float]:
    """Yield the probability of each predicted label."""
    place = {label: k for k, label in enumerate(estimator.classes_.tolist())}
    for labels, table in zip(predicted, estimator.predict_marginals(X)):
        for label, row in zip(labels.tolist(), table):
            yield float(row[place[label]])


def _labels_alone(predicted: list[Array], shares: Iterator[float] | None) -> Iterator[str]:
    """Yield one label per line (and its probability), and a blank line between sequences."""
    for i, labels in enumerate(predicted):
        if i:
            yield "\n"
        for label in labels.tolist():
            yield f"{label}\n" if shares is None else f"{label} {next(shares):.4f}\n"
