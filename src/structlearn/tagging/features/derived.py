"""Columns that are made of others, for templates to look at: lexicons, clusters, usual labels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

from structlearn.core.contract import Array
from structlearn.core.wording import quote
from structlearn.data import Column, Tokens
from structlearn.storage.schema import read_json

_NAME = re.compile(r"[^\W\d]\w*")


class Stored(NamedTuple):
    """What a model file holds of a derived column: JSON notes, texts and arrays by name."""

    notes: dict[str, str]
    texts: dict[str, list[str]]
    arrays: dict[str, Array]


class Derived(Protocol):
    """Adds columns to a text."""

    @property
    def columns(self) -> list[str]:
        """Names of the columns that are added."""

    @property
    def needs(self) -> list[str]:
        """Columns that are looked at."""

    @property
    def default_templates(self) -> str:
        """Templates that look at them, unless templates are given."""

    def add(self, tokens: Tokens) -> Tokens:
        """Return a text with the columns."""

    def to_stored(self) -> Stored:
        """Return what a model file holds of it."""


class LearntColumns(Derived, Protocol):
    """Columns that are learnt from labels."""

    def fresh(self) -> LearntColumns:
        """Return a copy that has learnt nothing."""

    def learn(self, tokens: Tokens, labels: Sequence[Any]) -> Tokens:
        """Learn from a training text, and add to it columns that do not see the labels of their block."""


def with_columns(tokens: Tokens, columns: Mapping[str, Column]) -> Tokens:
    """Return a text with more columns."""
    return replace(tokens, columns={**tokens.columns, **columns})


def read_strings(lines: Sequence[str]) -> list[str]:
    """Read the strings of a text that is one line of JSON; ValueError if it is not."""
    (line,) = lines
    return read_json(line, list[str], "derived")


def check_name(name: str) -> str:
    """Return `name` if templates can use it as the name of a column."""
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"{quote(name)} cannot name a lexicon: use letters, digits and _, a letter first, as PERSON."
        )
    return name
