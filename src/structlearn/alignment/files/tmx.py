"""TMX: sentence pairs as XML, read as a stream. Entities are refused: no file grows while it is read."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from typing import IO, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from structlearn.core.wording import list_names, quote
from structlearn.data import DataError
from structlearn.data.text import open_bytes, standard_input
from structlearn.storage.errors import StrPath

#: The languages of the two sides; None is the first, or the second, that the first unit has.
Languages = tuple[str | None, str | None]

_PIECE = 1 << 16
#: More characters are no segment.
_LONGEST = 1 << 20
#: Elements of a segment whose text is code of another program.
_CODE = frozenset({"bpt", "ept", "it", "ph", "ut"})
#: What XML cannot hold.
_FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LANGUAGE = ("{http://www.w3.org/XML/1998/namespace}lang", "lang")
#: How alignments are written: a property of the unit.
LINKS = "x-links"


class Unit(NamedTuple):
    """A translation unit: the line where it ends, its segments by language (lower case), its properties."""

    line: int
    segments: dict[str, str]
    properties: dict[str, str]


def read_units(path: StrPath) -> Iterator[Unit]:
    """Stream the translation units of a TMX file, plain, .gz or .zst; `-` is the standard input."""
    from defusedxml.common import DefusedXmlException
    from defusedxml.ElementTree import DefusedXMLParser, ParseError

    target = _Target()
    parser = DefusedXMLParser(target=target)
    target.line = lambda: parser.parser.CurrentLineNumber
    try:
        with _open(path) as stream:
            while piece := stream.read(_PIECE):
                parser.feed(piece)
                yield from target.take_units()
        parser.close()
    except ParseError as error:
        raise DataError.at(path, error.position[0], f"this is no XML ({error.msg}).") from None
    except DefusedXmlException:
        raise DataError.at(
            path, target.line(), "it declares entities, which TMX has no need of; remove the declarations."
        ) from None
    except _NoTmx as error:
        raise DataError.at(path, target.line(), str(error)) from None
    except (OSError, EOFError, LookupError) as error:
        raise DataError.at(path, target.line(), f"the file cannot be read further ({error}).") from error
    yield from target.take_units()


def _open(path: StrPath) -> IO[bytes] | nullcontext[IO[bytes]]:
    return nullcontext(standard_input()) if os.fspath(path) == "-" else open_bytes(path)


class _NoTmx(Exception):
    """What is wrong with a file that is XML."""


class _Target:
    """What the parser tells of; it keeps the unit that is being read, and those that wait to be taken."""

    line: Callable[[], int]

    def __init__(self) -> None:
        self._units: list[Unit] = []
        self._segments: dict[str, str] = {}
        self._properties: dict[str, str] = {}
        self._key = ""
        self._text: list[str] | None = None
        self._length = self._in_code = 0
        self._root = True

    def take_units(self) -> list[Unit]:
        units, self._units = self._units, []
        return units

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = _name(tag)
        if self._root and name != "tmx":
            raise _NoTmx(f"the first element is {quote(name)}, not tmx.")
        self._root = False
        if name == "tu":
            self._segments, self._properties = {}, {}
        elif name == "tuv":
            self._key = next((attributes[one] for one in _LANGUAGE if one in attributes), "").lower()
        elif name in ("seg", "prop"):
            self._text, self._length = [], 0
            self._key = attributes.get("type", "") if name == "prop" else self._key
        elif name in _CODE:
            self._in_code += 1

    def data(self, text: str) -> None:
        if self._text is None or self._in_code:
            return
        self._text.append(text)
        self._length += len(text)
        if self._length > _LONGEST:
            raise _NoTmx(f"the segment has more than {_LONGEST} characters.")

    def end(self, tag: str) -> None:
        name = _name(tag)
        if name in ("seg", "prop"):
            known = self._segments if name == "seg" else self._properties
            known[self._key] = "".join(self._text or ())
            self._text = None
        elif name in _CODE:
            self._in_code -= 1
        elif name == "tu":
            self._units.append(Unit(self.line(), self._segments, self._properties))

    def close(self) -> None:
        """Note the end of the file."""


def _name(tag: str) -> str:
    return tag.rpartition("}")[2]


def both_segments(
    path: StrPath, units: Iterable[Unit], languages: Languages
) -> Iterator[tuple[Unit, str, str]]:
    """Yield units with their segments of two languages, empty if one is missing; `en` is `en-GB` too."""
    wanted: tuple[str, str] | None = None
    for unit in units:
        wanted = wanted or _pick_languages(path, unit, languages)
        yield unit, _segment(unit, wanted[0]), _segment(unit, wanted[1])


def _pick_languages(path: StrPath, unit: Unit, languages: Languages) -> tuple[str, str]:
    given = [one.lower() for one in languages if one]
    others = [one for one in unit.segments if not any(_is_of(one, known) for known in given)]
    wanted = [one.lower() if one else others.pop(0) if others else None for one in languages]
    if wanted[0] is None or wanted[1] is None:
        raise DataError.at(
            path, unit.line, f"two languages are wanted; the unit has {list_names(unit.segments) or 'none'}."
        )
    return wanted[0], wanted[1]


def _is_of(language: str, wanted: str) -> bool:
    return language == wanted or language.startswith((f"{wanted}-", f"{wanted}_"))


def _segment(unit: Unit, language: str) -> str:
    return next((text for one, text in unit.segments.items() if _is_of(one, language)), "")


def written_units(pairs: Iterable[tuple[str, str, str]], languages: Languages) -> Iterator[str]:
    """Yield a TMX file, in pieces, of (source, target, links)."""
    source, target = languages[0] or "source", languages[1] or "target"
    yield (
        '<?xml version="1.0" encoding="UTF-8"?>\n<tmx version="1.4">\n'
        f'<header creationtool="structlearn" creationtoolversion="1" segtype="sentence" o-tmf="text" '
        f'adminlang="en" srclang={quoteattr(source)} datatype="plaintext"/>\n<body>\n'
    )
    for left, right, links in pairs:
        segments = _variant(source, left) + _variant(target, right)
        yield f'<tu><prop type="{LINKS}">{_safe(links)}</prop>{segments}</tu>\n'
    yield "</body>\n</tmx>\n"


def _variant(language: str, text: str) -> str:
    return f"<tuv xml:lang={quoteattr(language)}><seg>{_safe(text)}</seg></tuv>"


def _safe(text: str) -> str:
    return escape(_FORBIDDEN.sub("\ufffd", text))
