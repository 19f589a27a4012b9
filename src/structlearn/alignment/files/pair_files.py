"""Files that hold both sides of a text, and links if they are known: tab-separated, JSON lines, TMX."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple, cast

from structlearn.alignment.files.tmx import LINKS, Languages, both_segments, read_units, written_units
from structlearn.alignment.gold.votes import VotedPair
from structlearn.alignment.links import Links, links_at
from structlearn.alignment.text.pairs import AT_BLANKS, Splits, file_lines, read_tab_pairs
from structlearn.alignment.text.tokenizers import SplitText
from structlearn.core.registry import Registry
from structlearn.core.wording import list_names, quote
from structlearn.data import DataError
from structlearn.data.compression import inner_name
from structlearn.storage.errors import StrPath
from structlearn.storage.schema import read_json

if TYPE_CHECKING:
    from structlearn.alignment.gold.vectors import Words
    from structlearn.alignment.gold.votes import Scores


class FilePair(NamedTuple):
    """A sentence and its translation, the line (from 1) where they are found, and their links if known."""

    number: int
    source: list[str]
    target: list[str]
    links: Links | None = None

    def words(self) -> Words:
        """Return the words of both sides."""
        return self.source, self.target


class VotedFilePair(FilePair):
    """A pair with the links of other aligners."""

    votes: tuple[Scores, ...] = ()

    def words(self) -> Words:
        """Return the words of both sides, with the votes."""
        return cast("Words", VotedPair.of((self.source, self.target), self.votes))


class WrittenPair(NamedTuple):
    """What is written of a pair: its words, its links in order, and how sure each is, if that is known."""

    source: Sequence[str]
    target: Sequence[str]
    links: Sequence[tuple[int, int]]
    confidence: Sequence[float]

    def pharaoh(self) -> str:
        """One Pharaoh line, with scores behind the links where there are any."""
        if self.confidence:
            return " ".join([f"{i}-{j}:{sure:.3f}" for (i, j), sure in zip(self.links, self.confidence)])
        return " ".join([f"{i}-{j}" for i, j in self.links])


# ---- tab-separated ----------------------------------------------------------------------------------


def read_tsv(
    path: StrPath, languages: Languages = (None, None), split: Splits = AT_BLANKS
) -> Iterator[FilePair]:
    """Yield the pairs of lines `source TAB target [TAB links]`."""
    for (number, source, target), links in read_tab_pairs(path, allow_empty=True, split=split):
        yield _pair_with_links(path, number, (source, target), links)


def write_tsv(pairs: Iterable[WrittenPair], languages: Languages = (None, None)) -> Iterator[str]:
    return (f"{' '.join(one.source)}\t{' '.join(one.target)}\t{one.pharaoh()}\n" for one in pairs)


def _pair_with_links(
    path: StrPath, number: int, sides: tuple[list[str], list[str]], links: str | None
) -> FilePair:
    lengths = len(sides[0]), len(sides[1])
    return FilePair(number, *sides, None if links is None else links_at(path, number, links, lengths))


# ---- JSON lines -------------------------------------------------------------------------------------


def read_jsonl(
    path: StrPath, languages: Languages = (None, None), split: Splits = AT_BLANKS
) -> Iterator[FilePair]:
    """Yield pairs of objects with "source" and "target" (or the languages), and maybe "links"."""
    keys = languages[0] or "source", languages[1] or "target"
    for number, line in file_lines(path):
        if line.strip():
            yield _object(path, number, line, keys, split)


def _object(path: StrPath, number: int, line: str, keys: tuple[str, str], split: Splits) -> FilePair:
    try:
        found = read_json(line, dict, "the line")
    except ValueError as error:
        raise DataError.at(path, number, f"this is no JSON object ({error}).") from None
    missing = [key for key in keys if key not in found]
    if missing:
        there = list_names(found) or "none"
        raise DataError.at(path, number, f"the keys {keys[0]} and {keys[1]} are wanted; there are: {there}.")
    source, target = (_words(path, number, key, found[key], one) for key, one in zip(keys, split))
    links = found.get("links")
    return _pair_with_links(
        path, number, (source, target), None if links is None else _pharaoh(path, number, links)
    )


def _words(
    path: StrPath, number: int, key: str, value: object, split: Callable[[str], list[str]]
) -> list[str]:
    if isinstance(value, str):
        return split(value)
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return value
    raise DataError.at(path, number, f"{quote(key)} is text or a list of words, not {quote(value)}.")


def _pharaoh(path: StrPath, number: int, links: object) -> str:
    """Return links as text: they are a Pharaoh line, or pairs of numbers."""
    if isinstance(links, str):
        return links
    pairs: list = links if isinstance(links, list) else [links]
    if all(isinstance(one, list) and [type(k) for k in one] == [int, int] for one in pairs):
        return " ".join(f"{i}-{j}" for i, j in pairs)
    raise DataError.at(
        path, number, f'"links" are such as [[0, 0], [1, 2]] or "0-0 1-2"; got {quote(links)}.'
    )


def write_jsonl(pairs: Iterable[WrittenPair], languages: Languages = (None, None)) -> Iterator[str]:
    keys = languages[0] or "source", languages[1] or "target"
    for one in pairs:
        found: dict[str, object] = {keys[0]: list(one.source), keys[1]: list(one.target)}
        for key, side in zip(keys, (one.source, one.target)):
            if isinstance(side, SplitText):
                found[f"{key}_spans"] = side.spans
        found["links"] = list(one.links)
        if one.confidence:
            found["confidence"] = [round(sure, 4) for sure in one.confidence]
        yield json.dumps(found) + "\n"


# ---- TMX --------------------------------------------------------------------------------------------


def read_tmx(
    path: StrPath, languages: Languages = (None, None), split: Splits = AT_BLANKS
) -> Iterator[FilePair]:
    """Yield translation units, their words between blanks."""
    for unit, source, target in both_segments(path, read_units(path), languages):
        links = unit.properties.get(LINKS)
        yield _pair_with_links(path, unit.line, (split[0](source), split[1](target)), links)


def write_tmx(pairs: Iterable[WrittenPair], languages: Languages = (None, None)) -> Iterator[str]:
    rows = ((" ".join(one.source), " ".join(one.target), one.pharaoh()) for one in pairs)
    return written_units(rows, languages)


# ---- by name ----------------------------------------------------------------------------------------


def write_pharaoh_lines(pairs: Iterable[WrittenPair], languages: Languages = (None, None)) -> Iterator[str]:
    return (f"{one.pharaoh()}\n" for one in pairs)


def write_naacl_lines(pairs: Iterable[WrittenPair], languages: Languages = (None, None)) -> Iterator[str]:
    for sentence, one in enumerate(pairs, 1):
        for i, j in one.links:
            yield f"{sentence:04d} {i + 1} {j + 1} S\n"


Reader = Callable[[StrPath, Languages, Splits], Iterator[FilePair]]
Writer = Callable[[Iterable[WrittenPair], Languages], Iterator[str]]


class PairFormat(NamedTuple):
    """A kind of file: what a line of it is, how its names end, how it is read and written."""

    name: str
    what: str
    suffixes: tuple[str, ...]
    write: Writer
    read: Reader | None = None


PAIR_FORMATS: Registry[PairFormat] = Registry(
    "format",
    [
        PairFormat("pharaoh", "0-0 1-2 a pair", (), write_pharaoh_lines),
        PairFormat("naacl", "one link per line", (".wa",), write_naacl_lines),
        PairFormat("tsv", "source, target and links between tabs", (".tsv", ".tab"), write_tsv, read_tsv),
        PairFormat("jsonl", "one object per pair", (".jsonl", ".ndjson", ".json"), write_jsonl, read_jsonl),
        PairFormat("tmx", "XML of translation memories", (".tmx",), write_tmx, read_tmx),
    ],
)


def format_by_name(path: StrPath, default: str) -> PairFormat:
    """Return the format that the ending of a file's name says, .gz or .zst set aside."""
    name = PurePath(inner_name(path)).name.lower()
    return next(
        (one for one in PAIR_FORMATS.values() if name.endswith(one.suffixes or "\0")), PAIR_FORMATS[default]
    )


def read_pair_file(
    path: StrPath,
    form: str | None = None,
    languages: Languages = (None, None),
    split: Splits = AT_BLANKS,
) -> Iterator[FilePair]:
    """Stream the pairs of a file that holds both sides.

    Parameters
    ----------
    path : str or path
        Plain, .gz or .zst, or `-` for the standard input.
    form : str, optional
        "tsv", "jsonl" or "tmx"; by default what the name says, else "tsv".
    languages : pair of str or None
        Which languages of a TMX file, or which keys of JSON objects, the two sides are.
    split : pair of functions
        What makes tokens of the text of either side; lists of words in JSON are taken as they are.

    """
    kind = format_by_name(path, "tsv") if form is None else PAIR_FORMATS.entry(form)
    if kind.read is None:
        raise ValueError(f"A file of the format {kind.name} holds no text; give tsv, jsonl or tmx.")
    return kind.read(path, languages, split)
