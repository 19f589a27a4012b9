"""Links between the words of a sentence pair, and the two text formats they come in.

A link (i, j) says that source word i and target word j translate each other; both count from 0.

* Pharaoh: one line per sentence pair, `0-0 1-2 2?3`, source-target from 0; `?` or `p` for a possible link.
* NAACL (`.wa`): one line per link, `0001 1 3 S`: sentence, source and target from 1, S (sure), P (possible).
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from itertools import chain
from operator import index
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from structlearn.alignment.text.pairs import file_lines
from structlearn.core.contract import Array
from structlearn.core.wording import plain, quote
from structlearn.data import DataError, write_lines, written_text
from structlearn.data.compression import inner_name

Link = tuple[int, int]
Path = str | os.PathLike[str]
#: numbers of source and target words
Lengths = tuple[int, int]

# At most nine digits: no text has more sentences, no sentence more words.
_PHARAOH = re.compile(r"(\d{1,9})([-?p])(\d{1,9})(?::\S*)?", re.ASCII)
_NAACL = re.compile(r"\s*(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})(?:\s+([SP]))?(?:\s+[\d.eE+-]+)?\s*", re.ASCII)
#: Numbers of sentences may have gaps: the last may be this, and this many times the number of pairs.
_ALWAYS_FINE = 100_000
_TIMES_PAIRS = 100


class Links(NamedTuple):
    """The links of one sentence pair: the sure ones, and the possible ones, *which include the sure*."""

    sure: frozenset[Link]
    possible: frozenset[Link]

    @classmethod
    def of(cls, sure: Iterable[Link], possible: Iterable[Link] = ()) -> Links:
        """Make links from sure and further possible ones."""
        sure = frozenset(sure)
        return cls(sure, sure | frozenset(possible))

    @classmethod
    def from_user(cls, links: Links | Iterable[Link], place: int = 0) -> Links:
        """Read links as users give them: `Links`, or a set, list or dict of pairs (source, target).

        ValueError for anything else, which names the `place` of the sentence pair.
        """
        if isinstance(links, Links):
            return links
        try:
            return cls.of((index(i), index(j)) for i, j in links)
        except (TypeError, ValueError):
            raise ValueError(
                f"The links of pair {place} must be Links, or pairs of word numbers from 0 such as "
                f"{{(0, 0), (1, 2)}}; got {plain(repr(links), 80)}."
            ) from None

    def tables(self, lengths: Lengths) -> tuple[Array, Array]:
        """Return 0/1 tables [source, target] of the sure and of the possible links."""
        return link_table(self.sure, lengths), link_table(self.possible, lengths)


class Aligned(NamedTuple):
    """One aligned pair: its links in order and, if asked for, how sure each is."""

    links: list[Link]
    confidence: list[float]


_NO_LINKS = Links.of(())


def link_table(links: Collection[Link], lengths: Lengths) -> Array:
    """Return the 0/1 table [source, target] of a set of links."""
    table = np.zeros(lengths, dtype=np.int8)
    for link in links:
        table[link] = 1
    return table


def table_links(table: ArrayLike) -> frozenset[Link]:
    """Return the links where a table [source, target] is not zero."""
    return frozenset((i, j) for i, j in np.argwhere(np.asarray(table)).tolist())


# ---- one line ---------------------------------------------------------------------------------------


def parse_pharaoh(line: str) -> Links:
    """Parse one Pharaoh line; a score behind a link (`0-1:0.93`) is ignored. ValueError if it is not one."""
    sure: list[Link] = []
    possible: list[Link] = []
    for entry in line.split():
        match = _PHARAOH.fullmatch(entry)
        if match is None:
            raise ValueError(f"{quote(entry)} is not a link such as 0-1 (or 0?1 for a possible one).")
        (sure if match[2] == "-" else possible).append((int(match[1]), int(match[3])))
    return Links.of(sure, possible) if sure or possible else _NO_LINKS


def parse_scored(line: str) -> Aligned:
    """Return the sure and possible links of one Pharaoh line with their scores (1 where there is none)."""
    parse_pharaoh(line)
    links: list[Link] = []
    scores: list[float] = []
    for entry in line.split():
        link, _, score = entry.partition(":")
        i, j = re.split("[-?p]", link)
        links.append((int(i), int(j)))
        scores.append(_score(score) if score else 1.0)
    return Aligned(links, scores)


def _score(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError(f"{quote(text)} is not a confidence between 0 and 1.")
    return value


def format_pharaoh(links: Links | Collection[Link], *, possible: bool = False) -> str:
    """Return one Pharaoh line, in order; of `Links` the sure ones and, if asked, possible ones as `i?j`."""
    known = _as_links(links)
    shown = sorted(known.possible if possible else known.sure)
    return " ".join(f"{i}{'-' if (i, j) in known.sure else '?'}{j}" for i, j in shown)


def _as_links(links: Links | Collection[Link]) -> Links:
    return links if isinstance(links, Links) else Links.of(links)


# ---- reading ----------------------------------------------------------------------------------------


def read_links(path: Path, lengths: Sequence[Lengths] | None = None) -> list[Links]:
    """Read the links of all sentence pairs, from a file of either format, which its first line tells.

    Parameters
    ----------
    path : str or path
        A text file, plain, .gz or .zst; `-` is the standard input.
    lengths : sequence of (number of source words, number of target words), optional
        One for each sentence pair; then a link outside its sentence, and a wrong number of pairs, are errors.

    Returns
    -------
    list of Links
        One for each line (Pharaoh), or for each number up to the highest, or of `lengths` (NAACL).

    Raises
    ------
    DataError
        With the file and the line of what is wrong.

    """
    return _read(path, lengths)[0]


def read_both(one: Path, other: Path) -> tuple[list[Links], list[Links]]:
    """Read the links of the same sentence pairs from two files, each of either format.

    NAACL files do not say how many sentence pairs there are: the last may have no links. DataError if a
    Pharaoh file has fewer lines than the other file has pairs.
    """
    if os.fspath(one) == os.fspath(other) == "-":
        raise DataError("Only one of the two files can be the standard input.")
    read = [_read(path, None) for path in (one, other)]
    n_pairs = max(len(links) for links, _ in read)
    for path, (links, is_naacl) in zip((one, other), read):
        if not is_naacl and len(links) < n_pairs:
            raise DataError(
                f"{os.fspath(path)} has {len(links)} lines, but there are {n_pairs} sentence pairs."
            )
        links.extend([Links.of(())] * (n_pairs - len(links)))
    return read[0][0], read[1][0]


def _read(path: Path, lengths: Sequence[Lengths] | None) -> tuple[list[Links], bool]:
    """Return the links, and whether the file is of the NAACL kind."""
    with closing(file_lines(path)) as lines:
        blank, first = _first_text(lines)
        is_naacl = _is_naacl(os.fspath(path), first)
        read = _read_naacl if is_naacl else _read_pharaoh
        before = ((number, "") for number in range(1, blank + 1))
        return read(path, chain(before, first, lines), lengths), is_naacl


def links_at(path: Path, number: int, text: str, lengths: Lengths | None = None) -> Links:
    """Parse a Pharaoh line of a file; DataError unless links are inside their sentences of `lengths`."""
    try:
        links = parse_pharaoh(text)
    except ValueError as error:
        raise DataError.at(path, number, str(error)) from error
    for link in sorted(links.possible):
        _check_inside(path, number, link, lengths)
    return links


def read_aligned(path: Path) -> Iterator[tuple[int, Aligned]]:
    """Stream the numbered lines of a Pharaoh file, with the scores of their links."""
    for number, line in file_lines(path):
        try:
            yield number, parse_scored(line)
        except ValueError as error:
            raise DataError.at(path, number, str(error)) from error


def check_inside(path: Path, number: int, links: Iterable[Link], lengths: Lengths) -> None:
    """DataError for a link outside of its sentences."""
    for link in links:
        _check_inside(path, number, link, lengths)


def _first_text(lines: Iterator[tuple[int, str]]) -> tuple[int, list[tuple[int, str]]]:
    """How many lines are blank up to the first that is not, and that one if there is one."""
    number = 0
    for number, line in lines:
        if line.strip():
            return number - 1, [(number, line)]
    return number, []


def _is_naacl(name: str, first: list[tuple[int, str]]) -> bool:
    if first:
        return _NAACL.fullmatch(first[0][1]) is not None
    return inner_name(name).lower().endswith(".wa")


def _read_pharaoh(
    path: Path, lines: Iterable[tuple[int, str]], lengths: Sequence[Lengths] | None
) -> list[Links]:
    found = [links_at(path, k, line, _lengths_of(path, k, k, lengths)) for k, line in lines]
    if lengths is not None and len(found) != len(lengths):
        raise DataError(f"{os.fspath(path)} has {len(found)} lines for {len(lengths)} sentence pairs.")
    return found


def _read_naacl(
    path: Path, lines: Iterable[tuple[int, str]], lengths: Sequence[Lengths] | None
) -> list[Links]:
    sure: dict[int, set[Link]] = {}
    possible: dict[int, set[Link]] = {}
    for number, line in lines:
        if not line.strip():
            continue
        sentence, link, is_sure = _parse_naacl(path, number, line)
        _check_inside(path, number, link, _lengths_of(path, number, sentence, lengths))
        (sure if is_sure else possible).setdefault(sentence, set()).add(link)
    last = _last(path, {*sure, *possible}) if lengths is None else len(lengths)
    return [Links.of(sure.get(k, ()), possible.get(k, ())) for k in range(1, last + 1)]


def _last(path: Path, sentences: set[int]) -> int:
    """Return the highest number of a sentence pair.

    DataError if it is far off, for each number takes memory.
    """
    last = max(sentences, default=0)
    most = max(_ALWAYS_FINE, _TIMES_PAIRS * len(sentences))
    if last > most:
        raise DataError(
            f"{os.fspath(path)} has links of {len(sentences)} sentence pairs but one has the number {last}, "
            f"more than {most}; number them from 1 on."
        )
    return last


def _parse_naacl(path: Path, number: int, line: str) -> tuple[int, Link, bool]:
    match = _NAACL.fullmatch(line)
    if match is None:
        raise DataError.at(path, number, f"{quote(line.strip())} is not 'sentence source target S' (or P).")
    sentence, source, target = (int(match[k]) for k in (1, 2, 3))
    if min(sentence, source, target) == 0:
        raise DataError.at(path, number, "sentences and positions count from 1, but there is a 0.")
    return sentence, (source - 1, target - 1), match[4] != "P"


def _lengths_of(path: Path, number: int, sentence: int, lengths: Sequence[Lengths] | None) -> Lengths | None:
    """Return the lengths of a sentence pair, counted from 1; DataError if there is no such pair."""
    if lengths is not None and sentence > len(lengths):
        raise DataError.at(path, number, f"there is no sentence pair {sentence}, only {len(lengths)}.")
    return None if lengths is None else lengths[sentence - 1]


def _check_inside(path: Path, number: int, link: Link, lengths: Lengths | None) -> None:
    if lengths is not None and (link[0] >= lengths[0] or link[1] >= lengths[1]):
        raise DataError.at(
            path,
            number,
            f"the link from source word {link[0] + 1} to target word {link[1] + 1} (counted from 1) is "
            f"outside its sentence pair of {lengths[0]} and {lengths[1]} words.",
        )


# ---- writing ----------------------------------------------------------------------------------------


def write_pharaoh(
    path: Path, alignments: Iterable[Links | Collection[Link]], *, possible: bool = False
) -> None:
    """Write one line per sentence pair, whole or not at all; see `format_pharaoh`."""
    with written_text(path) as stream:
        write_lines(stream, (format_pharaoh(links, possible=possible) for links in alignments))


def write_naacl(path: Path, alignments: Iterable[Links | Collection[Link]]) -> None:
    """Write one line per link, numbered from 1, sure and possible; whole or not at all."""
    with written_text(path) as stream:
        for sentence, links in enumerate(alignments, 1):
            known = _as_links(links)
            kinds = {link: "S" if link in known.sure else "P" for link in sorted(known.possible)}
            write_lines(stream, (f"{sentence:04d} {i + 1} {j + 1} {kind}" for (i, j), kind in kinds.items()))
