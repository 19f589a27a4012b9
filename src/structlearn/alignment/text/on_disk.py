"""Text that need not fit into memory: tokenised once into files of numbers, then read window by window.

A window is as many sentence pairs as have about `MemoryPlan.cells` cells. The files have no name and vanish
with the process, however it ends.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
import weakref
import zlib
from array import array
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedRandom
from pathlib import Path
from typing import NamedTuple

import numpy as np

from structlearn.alignment.statistics.memory_plan import MemoryPlan
from structlearn.alignment.text.bitext import (
    NOTHING_KNOWN,
    Bitext,
    Corpus,
    Vocabulary,
    by_frequency,
    checked_pair,
)
from structlearn.alignment.text.numbering import Numbering
from structlearn.core.contract import Array
from structlearn.data.text import open_bytes
from structlearn.storage.errors import DataError, StrPath

#: Bytes of a number. A token is one, and takes at least two bytes of text, itself and a blank; so is the
#: length of a sentence, of which a line has two at most.
_NUMBER = 4
_PIECE = 1 << 20
#: Numbers of cells are kept only where the disk has this many times their room.
_ROOM_LEFT = 2
_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


class WindowSize(NamedTuple):
    """How many sentence pairs and tokens a window has."""

    pairs: int
    source: int
    target: int


class TextOnDisk:
    """Sentence pairs as numbers in files; a `TrainingText`.

    Parameters
    ----------
    pairs : iterable of (source words, target words)
        Read once, as a stream.
    plan : MemoryPlan
    known : pair of Vocabulary, optional
        Of an earlier text: its words keep their numbers, and their counts go on.
    """

    in_memory = False

    def __init__(
        self,
        pairs: Iterable[tuple[Iterable[str], Iterable[str]]],
        plan: MemoryPlan,
        known: tuple[Vocabulary, Vocabulary] | None = None,
    ) -> None:
        self.most_entries = plan.entries
        self.n_cells = 0
        self._sizes: list[WindowSize] = []
        with _said_if_full():
            self._source, self._target = (_WrittenSide(plan.words, one) for one in known or NOTHING_KNOWN)
            self._read(pairs, plan.cells)
        self.source_words, self.target_words = self._source.finish(), self._target.finish()

    def _read(self, pairs: Iterable[tuple[Iterable[str], Iterable[str]]], most: int) -> None:
        cells = 0
        for source, target in map(checked_pair, pairs):
            m, n = self._source.add(source), self._target.add(target)
            cells += m * n
            if cells >= most:
                self._end_window(cells)
                cells = 0
        self._end_window(cells)

    def _end_window(self, cells: int) -> None:
        (pairs, source), (_, target) = self._source.flush(), self._target.flush()
        self.n_cells += cells
        if pairs:
            self._sizes.append(WindowSize(pairs, source, target))

    @property
    def n_windows(self) -> int:
        return len(self._sizes)

    def windows(self, step: int = 1) -> Iterator[Bitext]:
        """Yield the text, window by window; of every `step` windows the last."""
        at = WindowSize(0, 0, 0)
        for k, size in enumerate(self._sizes, 1):
            if k % step == 0:
                source = self._source.read(at.pairs, size.pairs, at.source, size.source)
                target = self._target.read(at.pairs, size.pairs, at.target, size.target)
                yield Bitext(source, target, self.source_words, self.target_words)
            at = WindowSize(*(a + b for a, b in zip(at, size)))


class _WrittenSide:
    """One side: its words, and the files of its tokens (as they are numbered at first) and lengths."""

    def __init__(self, most_words: int, known: Vocabulary) -> None:
        self._known = known
        self._numbers = Numbering(known.words, most_words)
        self._counts = np.zeros(0, dtype=np.int64)
        self._tokens, self._lengths = array("i"), array("i")
        self._files = _open_unnamed_file(self), _open_unnamed_file(self)
        self._rank = np.empty(0, dtype=np.int32)

    def add(self, sentence: Iterable[str]) -> int:
        """Append a sentence; return its number of words."""
        before = len(self._tokens)
        self._tokens.extend(self._numbers.encode(sentence))
        self._lengths.append(len(self._tokens) - before)
        return self._lengths[-1]

    def flush(self) -> tuple[int, int]:
        """Write what was added; how many sentences and tokens it was."""
        found = len(self._lengths), len(self._tokens)
        counts = np.bincount(np.asarray(self._tokens), minlength=len(self._numbers))
        counts[: self._counts.size] += self._counts
        self._counts = counts
        for file, values in zip(self._files, (self._tokens, self._lengths)):
            values.tofile(file)
            file.flush()  # a disk that is full says so here
        self._tokens, self._lengths = array("i"), array("i")
        return found

    def finish(self) -> Vocabulary:
        """Return the words, frequent ones first."""
        words, self._rank = by_frequency(self._numbers, self._counts, self._known)
        self._numbers = Numbering()
        return words

    def read(self, sentence: int, n_sentences: int, token: int, n_tokens: int) -> Corpus:
        """Read `n_sentences` sentences of `n_tokens` tokens from these places on."""
        tokens = _numbers(self._files[0], token, n_tokens)
        lengths = _numbers(self._files[1], sentence, n_sentences)
        start = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        return Corpus(self._rank[tokens], start)


class KeptCells:
    """A number for each cell of a text, written once, window by window, to be read in later passes.

    Where the disk has no room for them, what does not fit is not kept.
    """

    def __init__(self, n_cells: int) -> None:
        free = shutil.disk_usage(tempfile.gettempdir()).free
        self._is_full = _ROOM_LEFT * _NUMBER * n_cells > free
        self._start = [0]
        self._file = _open_unnamed_file(self)

    def read(self, window: int) -> Array | None:
        """Return what is kept of a window; None if that is nothing."""
        if window >= len(self._start) - 1:
            return None
        return _numbers(self._file, self._start[window], self._start[window + 1] - self._start[window])

    def keep(self, window: int, values: Array) -> None:
        """Keep the int32 numbers of the window that comes next; those of others are not kept."""
        if self._is_full or window != len(self._start) - 1:
            return
        try:
            self._file.seek(_NUMBER * self._start[-1])
            self._file.write(values.data)
            self._file.flush()
        except OSError as error:
            if error.errno not in _FULL:
                raise
            self._is_full = True
            return
        self._start.append(self._start[-1] + values.size)


def _open_unnamed_file(owner: object) -> BufferedRandom:
    """Return a file without a name, which is closed, and so removed, with its owner."""
    file: BufferedRandom = tempfile.TemporaryFile()  # noqa: SIM115
    weakref.finalize(owner, _close, file)
    return file


def _close(file: BufferedRandom) -> None:
    with suppress(OSError):  # what a full disk has not taken was said when it was written
        file.close()


def _numbers(file: BufferedRandom, first: int, n: int) -> Array:
    found = np.empty(n, dtype=np.int32)
    file.seek(_NUMBER * first)
    file.readinto(found.view(np.uint8).data)
    return found


# ---- room on disk -----------------------------------------------------------------------------------


@contextmanager
def _said_if_full() -> Iterator[None]:
    """Turn a full disk into a sentence that says which."""
    try:
        yield
    except OSError as error:
        if isinstance(error, DataError) or error.errno not in _FULL:
            raise
        raise _too_small("the working files do not fit") from None


def _too_small(what: str) -> OSError:
    return OSError(errno.ENOSPC, f"{what}; set TMPDIR to a folder with more room", tempfile.gettempdir())


def working_bytes(files: Iterable[StrPath]) -> int:
    """Return the most that the files of numbers take on disk; the standard input counts nothing."""
    sizes = [_size(path) for path in files if os.fspath(path) != "-"]
    return sum(_NUMBER * (n_bytes // 2 + 2 * n_lines) for n_bytes, n_lines in sizes)


def check_room(n_bytes: int) -> Path:
    """Return the folder for working files, if it has that much room; OSError with a sentence if not."""
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise _too_small(f"working files may take {n_bytes / 1e9:.3g} GB, and {free / 1e9:.3g} GB are free")
    return Path(folder)


def _size(path: StrPath) -> tuple[int, int]:
    """Return bytes and lines of a text file, unpacked; of a damaged archive what can be read."""
    n_bytes = n_lines = 0
    with suppress(OSError, EOFError, zlib.error), open_bytes(path) as stream:
        while piece := stream.read(_PIECE):
            n_bytes += len(piece)
            n_lines += piece.count(b"\n")
    return n_bytes, n_lines + 1
