"""Flags of `tag`, `chunk` and `ner` that say what a tagger knows beside the text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from structlearn.tagging.features.resources import parse_lexicons
from structlearn.tagging.features.templates import default_context, default_usual
from structlearn.tagging.parameters import CHAIN, SEGMENTS
from structlearn.tagging.tagger import Tagger

if TYPE_CHECKING:
    from structlearn.cli.tasks.tag import Tag

#: --usual for no usual labels
NONE = "none"


def described_tagger(task: Tag, columns: Sequence[str] = ("word",), templates: str | None = None) -> Tagger:
    """The tagger that the flags describe."""
    return Tagger(
        model=SEGMENTS if task.estimator == "SegmentTagger" else CHAIN,
        columns=columns,
        templates=templates,
        transitions=task.transitions,
        min_count=task.min_count,
        hash_bits=task.hash_bits,
        task=task.task,
        lexicons=parse_lexicons(task.lexicon),
        clusters=task.clusters,
        vectors=task.vectors,
        usual=_usual(task),
        context=context_of(task),
        span_lexicon=task.span_lexicon,
    )


def _usual(task: Tag) -> str:
    """Templates of usual labels: those given, or the task's unless templates are given."""
    of_task = default_usual(task=task.task) if task.templates is None else None
    return "" if task.usual == NONE else task.usual or of_task or ""


def context_of(task: Tag) -> int:
    """Sentences that are near: as many as are asked for, or the task's unless templates are given."""
    of_task = default_context(task.task) if task.templates is None else 0
    return of_task if task.context is None else task.context


def has_resources(task: Tag) -> bool:
    """Whether a flag asks for derived columns."""
    lexicon = task.lexicon or task.span_lexicon
    return bool(lexicon or task.clusters or task.vectors or task.usual or task.context)
