"""`--with [COLUMN=]MODEL`: taggers that fill columns of another one's text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from structlearn.core.wording import quote
from structlearn.tagging.plan import Plan
from structlearn.tagging.raw import check_words_only
from structlearn.tagging.tagger import Tagger

_NAMED = re.compile(r"(?:(\w+)=)?(.+)", re.DOTALL)


def columns_with(given: Sequence[str]) -> list[str | None]:
    """Return the column that each names, None where it names none."""
    return [column for column, _ in _parse_models(given)]


def taggers_with(given: Sequence[str], plan: Plan) -> dict[str, Tagger]:
    """Return the taggers by the columns that they fill; ValueError for one that cannot."""
    if len(set(plan.bundled)) < len(plan.bundled):
        raise ValueError("--with names two taggers for one column; write --with COLUMN=MODEL for each.")
    return {
        column: _tagger(path) for column, (_, path) in zip(plan.bundled, _parse_models(given), strict=True)
    }


def _tagger(path: Path) -> Tagger:
    tagger = Tagger.load(path)
    try:
        check_words_only(tagger)
    except ValueError as error:
        raise ValueError(f"--with {path}: {error}") from None
    return tagger


def _parse_models(given: Sequence[str]) -> list[tuple[str | None, Path]]:
    found = [_NAMED.fullmatch(one) for one in given]
    for one, match in zip(given, found):
        if match is None:
            raise ValueError(f"--with takes a model file, or COLUMN=MODEL; got {quote(one)}.")
    return [(match[1], Path(match[2])) for match in found if match is not None]
