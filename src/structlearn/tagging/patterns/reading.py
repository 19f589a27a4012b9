r"""Patterns of CRF++ and Wapiti: lines of text in which cells of the data stand for %x[...] and its kin.

    U05:%x[-1,0]/%x[0,0]     CRF++: the cell of column 0 of the token before, a slash, that of this token
    B                        the transitions between labels, which there always are
    B01:%x[0,1]              features that score pairs of neighbouring labels
    u:low=%X[0,0]            Wapiti: u for U, b for B, * for both; %X is %x in lower case
    u:pre=%m[0,0,"^..."]     what a regular expression matches (see `expressions`), nothing if it does not
    u:cap=%t[0,0,"^\u"]      whether it matches: true or false
    u:end=%x[@-1,0]          the cell of the last token of the sentence; @1 is the first

A text is Wapiti's if one of its lines is, and CRF++'s otherwise: comments begin with # anywhere in a line of
Wapiti's, and at its beginning in CRF++'s; the first letter of a line of Wapiti's may be upper-case; cells
outside of the sentence are _x-1, _x-2 ... _x-# and _x+1 ... in Wapiti, and _B-1 ... _B-8, _B+1 ... in CRF++.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from structlearn.core.wording import quote
from structlearn.storage.errors import DataError
from structlearn.tagging.patterns.expressions import Expression

CRFPP, WAPITI = "CRF++", "Wapiti"
#: What scores labels, pairs of them, or both.
LABELS, PAIRS, BOTH = "u", "b", "*"
#: Where no file is named.
_TEMPLATES = "the templates"
#: Cells outside of a sentence, from its border away; the last stands for all that are farther.
_OUTSIDE = {
    CRFPP: [f"_B{{}}{k}" for k in range(1, 9)],
    WAPITI: [f"_x{{}}{k}" for k in (1, 2, 3, 4, "#")],
}
_FARTHEST = 1_000_000
_COMMAND = re.compile(r"%(?P<letter>[xXmMtT])\[(?P<absolute>@?)(?P<offset>[-+]?\d{1,9}),(?P<column>\d{1,9})")
_QUOTED = re.compile(r',"((?:[^"\\]|\\.)*)"', re.DOTALL)
_WAPITI = re.compile(r"[ub*]|.*%(?:[XmMtT]|x\[@)")


@dataclass(frozen=True)
class PatternCell:
    """What a pattern takes of a cell: all of it (x), what an expression matches (m), or whether it does (t).

    column : number of the column
    offset : tokens to the right; if `absolute`, the number of the token from 1, from the end if negative
    """

    command: str
    column: str
    offset: int
    absolute: bool = False
    lower: bool = False
    expression: str = ""

    @cached_property
    def view(self) -> Callable[[str], str]:
        """The function from the text of a cell to what the pattern takes of it."""
        of_case = _lower if self.lower else str
        if self.command == "x":
            return of_case
        compiled = Expression(self.expression)
        look = _match if self.command == "m" else _test
        return lambda text: of_case(look(compiled, text))


@dataclass(frozen=True)
class Pattern:
    """A line of templates: pieces of text and cells, which make one feature per token.

    text : the line, without its comment
    dialect : CRF++ or Wapiti
    place : "Line 7 of x.template", for errors
    """

    text: str
    pieces: tuple[str | PatternCell, ...]
    dialect: str
    place: str = field(compare=False)

    @property
    def kind(self) -> str:
        """What its features score: labels, pairs of labels, or both."""
        return self.text[0].lower()

    @property
    def atoms(self) -> tuple[PatternCell, ...]:
        """The cells."""
        return tuple(piece for piece in self.pieces if isinstance(piece, PatternCell))

    @property
    def is_transition(self) -> bool:
        """Whether it stands for the transitions between labels, whatever is seen."""
        return self.kind == PAIRS and not self.atoms

    @property
    def scores_pairs(self) -> bool:
        """Whether its features score pairs of labels, which depend on what is seen."""
        return self.kind != LABELS and bool(self.atoms)

    def __str__(self) -> str:
        return self.text


def is_patterns(text: str) -> bool:
    """Whether templates are written as CRF++ and Wapiti write them."""
    return "%" in text


def parse_patterns(text: str, source: str = _TEMPLATES) -> tuple[Pattern, ...]:
    """Read the lines of templates; DataError that names the first line that cannot be read."""
    lines = list(enumerate(text.replace("\r\n", "\n").split("\n"), 1))
    dialect = WAPITI if any(map(_WAPITI.match, (line for _, line in lines if line[:1] != "#"))) else CRFPP
    return tuple(_patterns(lines, dialect, source))


def outside(dialect: str) -> tuple[list[str], list[str]]:
    """Return what cells before and behind a sentence hold, from its borders away."""
    return tuple([one.format(sign) for one in _OUTSIDE[dialect]] for sign in "-+")  # type: ignore[return-value]


def _patterns(lines: Iterable[tuple[int, str]], dialect: str, source: str) -> Iterator[Pattern]:
    for number, line in lines:
        place = f"Line {number} of {source}"
        text = (line if dialect == CRFPP and line[:1] != "#" else line.partition("#")[0]).rstrip()
        if not text:
            continue
        if dialect == WAPITI:
            text = text[0].lower() + text[1:]
        try:
            yield Pattern(text, tuple(_pieces(text, dialect)), dialect, place)
        except ValueError as error:
            raise DataError(f"{place}: {error}.") from None


def _pieces(text: str, dialect: str) -> Iterator[str | PatternCell]:
    """Yield the pieces of a line."""
    if text[0] not in ("UB" if dialect == CRFPP else "ub*"):
        raise ValueError(
            f"{quote(text)} begins with {quote(text[0])}; a pattern begins with U or B or, in Wapiti, also "
            "with u, b or *"
        )
    at = 0
    while at < len(text):
        end = text.find("%", at)
        if end != at:
            end = len(text) if end < 0 else end
            yield text[at:end]
            at = end
        else:
            cell, at = _cell(text, at)
            if dialect == CRFPP and abs(cell.offset) > len(_OUTSIDE[CRFPP]):
                raise ValueError(f"an offset of CRF++ is at most {len(_OUTSIDE[CRFPP])}; got {cell.offset}")
            yield cell


def _cell(text: str, at: int) -> tuple[PatternCell, int]:
    """Return the cell that is written from a place on, and the place behind it."""
    found = _COMMAND.match(text, at)
    if found is None:
        raise ValueError(_problem(text[at:]))
    command, end = found["letter"].lower(), found.end()
    expression = _QUOTED.match(text, end) if command != "x" else None
    if command != "x" and expression is None:
        raise ValueError(f'{quote(text[at:])} needs a closed regular expression: %{command}[0,0,"^..."]')
    if expression is not None:
        Expression(expression[1])
        end = expression.end()
    if text[end : end + 1] != "]":
        raise ValueError(f"{quote(text[at:])} lacks its closing bracket")
    offset, absolute = int(found["offset"]), bool(found["absolute"])
    if abs(offset) > _FARTHEST or (absolute and offset == 0):
        raise ValueError(f"{quote(text[at:])} looks at a token that there never is")
    cell = PatternCell(
        command,
        str(int(found["column"])),
        offset,
        absolute=absolute,
        lower=found["letter"] != command,
        expression="" if expression is None else expression[1],
    )
    return cell, end + 1


def _problem(rest: str) -> str:
    if rest[1:2] in set("xXmMtT"):
        return f"{quote(rest)} is not written as %{rest[1]}[OFFSET,COLUMN ...], such as %x[-1,0]"
    return f"{quote(rest[:2])} is an unknown directive; use %x or, in Wapiti's patterns, %X, %m, %M, %t or %T"


def _lower(text: str) -> str:
    """Return text with ASCII letters in lower case, as Wapiti does."""
    return _text(_bytes(text).lower())


def _match(expression: Expression, text: str) -> str:
    found = expression.find(_bytes(text))
    return "" if found is None else _text(_bytes(text)[slice(*found)])


def _test(expression: Expression, text: str) -> str:
    return "false" if expression.find(_bytes(text)) is None else "true"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    """Return bytes as text; those of a character that was cut are kept as they are."""
    return data.decode("utf-8", "surrogateescape")
