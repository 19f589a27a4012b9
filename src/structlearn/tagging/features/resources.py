"""What a tagger knows beside the text: lexicons, clusters of words, the usual labels of training text."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from structlearn.core.contract import Array
from structlearn.core.wording import list_names, quote
from structlearn.data import Tokens
from structlearn.estimators.inputs.checking import Stacked
from structlearn.estimators.inputs.segment_features import SegmentedRows
from structlearn.estimators.scikit import Rows
from structlearn.storage.schema import check_form
from structlearn.tagging.features.clusters import Clusters, cluster_vectors, read_clusters
from structlearn.tagging.features.context import COLUMNS as OF_CONTEXT
from structlearn.tagging.features.context import FEWEST, Context, check_context, n_known
from structlearn.tagging.features.derived import Derived, LearntColumns, Stored, check_name
from structlearn.tagging.features.features import TextFeatures
from structlearn.tagging.features.lexicon import LexiconSource, PhraseList
from structlearn.tagging.features.span_lexicon import SpanLexicon
from structlearn.tagging.features.templates import (
    Template,
    Templates,
    default_context,
    default_usual,
    own_templates,
)
from structlearn.tagging.features.usual import UsualLabels
from structlearn.tagging.features.whole_segments import WholeSegments
from structlearn.tagging.parameters import SEGMENTS, TaggerParameters

#: The note of a model file that describes derived columns, and the prefix of their texts and arrays.
DERIVED = "derived"
_CLUSTER, _VECTOR = "cluster", "vector"
_KINDS: dict[str, Callable[[Stored], Derived]] = {
    "usual": UsualLabels.from_stored,
    "lexicon": PhraseList.from_stored,
    "clusters": Clusters.from_stored,
    "segments": WholeSegments.from_stored,
    "context": Context.from_stored,
    "span lexicon": SpanLexicon.from_stored,
}
_NOTES = list[dict[str, str]]


#: Parameters of taggers that make columns of words and labels.
OF_WORDS = ("lexicons", "clusters", "vectors", "usual", "context", "span_lexicon")


@dataclass(frozen=True)
class Resources:
    """What columns are to be derived, by the parameters of a tagger, before a text is read."""

    parameters: TaggerParameters

    @property
    def word(self) -> str:
        """The column of words."""
        columns = self.parameters.columns
        return "word" if "word" in columns else columns[0]

    @property
    def usual(self) -> Templates:
        """Templates whose values' usual labels are columns: those given, or the default of the task."""
        given = self.parameters.usual
        return (default_usual(self.word, self._task) or "") if given is None else given

    @property
    def context(self) -> int:
        """Sentences to either side in which the same word is looked for: as given, or as the task has it."""
        given = self.parameters.context
        return default_context(self._task) if given is None else check_context(given)

    @property
    def segments(self) -> bool:
        """Whether whole segments have features."""
        return self.parameters.model == SEGMENTS

    @property
    def _task(self) -> str:
        """The task whose defaults hold: none where templates are given."""
        return self.parameters.task if self.parameters.templates is None else ""

    @property
    def names(self) -> list[str]:
        """Names of the columns that will be added."""
        given = self.parameters
        files = [(_CLUSTER, given.clusters), (_VECTOR, given.vectors)]
        usual = UsualLabels.of(self.usual).columns if self.usual else []
        context = OF_CONTEXT if self.context else ()
        read = [name for name, file in files if file is not None]
        spans = SpanLexicon(self.word).columns if given.span_lexicon else []
        return [*map(check_name, given.lexicons or {}), *read, *usual, *spans, *context]

    @property
    def needs(self) -> list[str]:
        """Columns of the text that are looked at."""
        usual = UsualLabels.of(self.usual).needs if self.usual else []
        return list(dict.fromkeys([self.word, *usual])) if self.names else []

    def check(self, columns: Iterable[str]) -> None:
        """ValueError if a column would have the name of another."""
        names = self.names
        taken = [name for name in names if name in set(columns) or names.count(name) > 1]
        if taken:
            raise ValueError(f"{quote(taken[0])} is the name of another column; call the lexicon otherwise.")

    def learn(self, tokens: Tokens, y: Sequence[Any] | None) -> tuple[Tokens, DerivedColumns]:
        """Return a training text with its columns, and what adds them to other texts."""
        parts: list[Derived] = [*self._from_files(tokens)]
        added = DerivedColumns(tuple(parts)).add(tokens)
        if y is None and (self.usual or self.segments or self.parameters.span_lexicon):
            raise ValueError("usual labels, features of segments and spans are learnt from labels: give y.")
        for learnt in self._from_labels():
            added = learnt.learn(added, [] if y is None else y)
            parts.append(learnt)
        if self.segments:
            whole = WholeSegments(self.word)
            whole.learn(tokens, [] if y is None else y)
            parts.append(whole)
        return added, DerivedColumns(tuple(parts))

    def with_context(
        self, tokens: Tokens, y: Sequence[Any] | None, derived: DerivedColumns, first: TextFeatures | None
    ) -> tuple[Tokens, DerivedColumns]:
        """Add columns of context, from a first pass by these features, to a text and its derived columns.

        Where too few sentences have labels there are none.
        """
        if first is None or not self.context or y is None or n_known(y) < FEWEST:
            return tokens, derived
        part = Context(first, self.word, self.context)
        if self.parameters.keep_weights:
            part.near_zero = 0.0
        learnt = [one for one in derived.parts if isinstance(one, UsualLabels | SpanLexicon)]
        seconds = (self.parameters.chain_options or {}).get("max_seconds")
        return part.learn(tokens, y, learnt, seconds), DerivedColumns((*derived.parts, part))

    def _from_labels(self) -> Iterator[LearntColumns]:
        if self.usual:
            yield UsualLabels.of(self.usual)
        if self.parameters.span_lexicon:
            yield SpanLexicon(self.word)

    def _from_files(self, tokens: Tokens) -> Iterator[Derived]:
        given = self.parameters
        for name, source in (given.lexicons or {}).items():
            yield PhraseList.of(name, source, self.word)
        if given.clusters is not None:
            yield read_clusters(given.clusters, tokens, self.word)
        if given.vectors is not None:
            yield cluster_vectors(given.vectors, tokens, self.word)


@dataclass(frozen=True, eq=False)
class DerivedColumns:
    """All columns that a tagger derives, in their order: later ones may look at earlier ones."""

    parts: tuple[Derived, ...] = ()

    def add(self, tokens: Tokens) -> Tokens:
        """Return a text with the columns."""
        for part in self.parts:
            tokens = part.add(tokens)
        return tokens

    @property
    def context(self) -> int:
        """Sentences to either side that count."""
        return max((part.reach for part in self.parts if isinstance(part, Context)), default=0)

    def stack(self, rows: Rows, tokens: Tokens, *, training: bool = False) -> Stacked:
        """Return the rows of tokens' features and, if whole segments have any, what makes those."""
        whole = [part for part in self.parts if isinstance(part, WholeSegments)]
        if not whole:
            return Stacked(rows, tokens.lengths)
        lexicons = [part for part in self.parts if isinstance(part, PhraseList)]
        return SegmentedRows(
            rows, tokens.lengths, partial(whole[0].rows, tokens, lexicons, training=training)
        )

    def complete_templates(self, templates: Sequence[Template]) -> tuple[Template, ...]:
        """Return the templates, and default ones for columns that none of them looks at."""
        named = {atom.column for template in templates for atom in template.atoms}
        own = [part.default_templates for part in self.parts if named.isdisjoint(part.columns)]
        return own_templates([*templates, *own])

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of `Tagger` that make them again, but for files of clusters."""
        usual = [part.templates for part in self.parts if isinstance(part, UsualLabels)]
        lexicons = [part for part in self.parts if isinstance(part, PhraseList)]
        return {
            "context": self.context,
            "span_lexicon": any(isinstance(part, SpanLexicon) for part in self.parts),
            "usual": " ".join(map(str, usual[0])) if usual else "",
            "lexicons": {part.name: [" ".join(one) for one in part.phrases] for part in lexicons} or None,
        }

    def notes(self) -> dict[str, object]:
        """Return what the notes of a model file say."""
        told = [
            {**part.to_stored().notes, "columns": " ".join(part.columns), "needs": " ".join(part.needs)}
            for part in self.parts
        ]
        return {DERIVED: told} if told else {}

    def texts(self) -> dict[str, list[str]]:
        """Return the texts of a model file."""
        return {
            f"{DERIVED}{i}:{name}": lines
            for i, part in enumerate(self.parts)
            for name, lines in part.to_stored().texts.items()
        }

    def arrays(self) -> dict[str, Array]:
        """Return the arrays of a model file."""
        return {
            f"{DERIVED}{i}:{name}": array
            for i, part in enumerate(self.parts)
            for name, array in part.to_stored().arrays.items()
        }

    @classmethod
    def from_stored(cls, stored: Any) -> DerivedColumns:
        """Read the parts of a model file (its notes, texts and arrays); ValueError if they are not valid."""
        told = stored.notes.get(DERIVED, [])
        check_form(told, _NOTES, f"notes.{DERIVED}")
        return cls(tuple(_part(i, notes, stored) for i, notes in enumerate(told)))


def _part(i: int, notes: dict[str, str], stored: Any) -> Derived:
    """Read one part of a model file."""
    kind = notes.get("kind", "")
    if kind not in _KINDS:
        raise ValueError(f"its derived columns are of a kind {quote(kind)}, not {list_names(_KINDS)}")
    own = {name: value for name, value in notes.items() if name not in ("columns", "needs")}
    texts, arrays = (
        {name.removeprefix(f"{DERIVED}{i}:"): value for name, value in those.items()}
        for those in (stored.texts, stored.arrays)
    )
    try:
        return _KINDS[kind](Stored(own, texts, arrays))
    except KeyError as missing:
        raise ValueError(f"its derived columns lack {missing}") from None


def derived_names(notes: Mapping[str, Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names of a model's derived columns, and the columns they are made of, from its notes."""
    told = notes.get(DERIVED, [])
    check_form(told, _NOTES, f"notes.{DERIVED}")
    columns, needs = (_words(told, key) for key in ("columns", "needs"))
    return columns, tuple(name for name in needs if name not in columns)


def _words(told: Iterable[Mapping[str, str]], key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in told for name in part.get(key, "").split()))


def parse_lexicons(flags: Sequence[str]) -> dict[str, LexiconSource]:
    """Parse NAME=FILE pairs of the shell."""
    found: dict[str, LexiconSource] = {}
    for text in flags:
        name, mark, path = text.partition("=")
        if not mark or not path or name in found:
            why = "is there twice" if name in found else "is not NAME=FILE"
            raise ValueError(f"--lexicon {quote(text)} {why}; write --lexicon PERSON=names.txt.")
        found[check_name(name)] = os.path.expanduser(path)
    return found
