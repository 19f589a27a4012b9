"""Tagged sentences as text: columns, JSON, or words with their labels in brackets."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from structlearn.core.registry import Registry
from structlearn.estimators.inputs.spans import spans
from structlearn.tagging.raw import TaggedToken

_MARKED = re.compile(r"O|[BIESLU]-.*", re.DOTALL)


def mark_spans(labels: Iterable[object]) -> bool:
    """Whether labels mark spans: each O or one like B-NP, and not all O."""
    names = [str(label) for label in labels]
    return all(map(_MARKED.fullmatch, names)) and any(name != "O" for name in names)


def as_columns(sentence: Sequence[TaggedToken], *, marked: bool) -> str:
    """Return one token per line, a tab and its label, and a blank line behind the sentence."""
    return "".join(f"{one.token}\t{one.label}\n" for one in sentence) + "\n"


def as_json(sentence: Sequence[TaggedToken], *, marked: bool) -> str:
    """Write one line of ASCII: tokens, labels, offsets, and spans if labels mark them."""
    tokens, labels, starts, ends = zip(*sentence)
    found = [
        {"start": first, "end": last, "label": kind, "offsets": [starts[first], ends[last - 1]]}
        for kind, first, last in (spans(labels) if marked else ())
    ]
    about = {"tokens": tokens, "labels": labels, "offsets": list(zip(starts, ends)), "spans": found}
    return json.dumps(about) + "\n"


def as_inline(sentence: Sequence[TaggedToken], *, marked: bool) -> str:
    """Write one line: `[NP The dog] [VP runs] .` if labels mark spans, else `The/D dog/N`."""
    if not marked:
        return " ".join(f"{one.token}/{one.label}" for one in sentence) + "\n"
    words = [one.token for one in sentence]
    for kind, first, last in spans(one.label for one in sentence):
        words[first] = f"[{kind} {words[first]}"
        words[last - 1] += "]"
    return " ".join(words) + "\n"


class TextFormat(NamedTuple):
    """How a tagged sentence is written, by name."""

    name: str
    what: str
    write: Callable[..., str]


TEXT_FORMATS: Registry[TextFormat] = Registry(
    "format",
    [
        TextFormat("conll", "a token and its label a line", as_columns),
        TextFormat("json", "one sentence per line", as_json),
        TextFormat("inline", "words with their labels, to read", as_inline),
    ],
)
