"""Column files written back as they were, but for one column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from structlearn.core.wording import quote
from structlearn.data.text import content
from structlearn.data.token_lines import is_document
from structlearn.data.tokens import CELLS, FileLayout, Tokens
from structlearn.storage.errors import DataError

_EMPTY = "_"
#: Behind all columns.
_LAST = 1 << 30


def filled(
    tokens: Tokens,
    column: str,
    values: Iterable[str],
    *,
    place: int | None = None,
    confidences: Iterable[float] | None = None,
) -> Iterator[str]:
    """Yield the lines of a file, with their ends, after one column has been filled.

    Parameters
    ----------
    tokens : Tokens
        Read with ``text=True``.
    column : str
        What to replace. Where the file lacks it, it is put in at `place`.
    values : iterable of str, one a token
    confidences : iterable of float, one a token, optional
        Written to one more column or, in CoNLL-U, to MISC.
    """
    missing = column not in tokens.layout.names
    at = place if missing and place is not None else tokens.layout.place(column)
    cells, shares = iter(values), None if confidences is None else iter(confidences)
    numbers = iter(tokens.lines.tolist())
    next_token = next(numbers, 0)
    for number, line in enumerate(tokens.text, 1):
        mark, body, end = _parts(line, number)
        if number != next_token:
            new = [*([at] if missing else []), *([_LAST] if shares is not None else [])]
            yield f"{mark}{_as_wide(body, tokens.layout, new)}{end}" if is_document(body) else line
            continue
        next_token = next(numbers, 0)
        value = next(cells)
        if tokens.layout.separator == " " and " " in value:
            has = f"the label {quote(value)} has a space, as there is between the cells of this file"
            raise DataError.at(tokens.path, number, f"{has}; use tabs.")
        body = _put(body, tokens.layout.separator, at, value, insert=missing)
        if shares is not None:
            body = _with_confidence(body, tokens.layout, next(shares))
        yield f"{mark}{body}{end}"


def _parts(line: str, number: int) -> tuple[str, str, str]:
    """Return a byte order mark, the content of a line, and its end."""
    body = content(line, number)
    mark = "\ufeff" if number == 1 and line[:1] == "\ufeff" else ""
    return mark, body, line[len(mark) + len(body) :]


def _as_wide(line: str, layout: FileLayout, places: Iterable[int]) -> str:
    """Return the mark of a document with empty cells in new columns, so that all lines have as many."""
    for place in [] if layout.conllu else places:
        line = _put(line, layout.separator, place, _EMPTY, insert=True)
    return line


def _put(line: str, separator: str, place: int, value: str, *, insert: bool) -> str:
    """Return a line with one cell replaced, or put in before the cell at `place`; all other bytes stay."""
    spans = _spans(line, separator)
    if not insert:
        begin, end = spans[place]
        return f"{line[:begin]}{value}{line[end:]}"
    if place < len(spans):
        begin = spans[place][0]
        return f"{line[:begin]}{value}{separator}{line[begin:]}"
    end = spans[-1][1]
    return f"{line[:end]}{separator}{value}{line[end:]}"


def _spans(line: str, separator: str) -> list[tuple[int, int]]:
    """Return where the cells of a line begin and end."""
    return [match.span() for match in CELLS[separator].finditer(line)]


def _with_confidence(line: str, layout: FileLayout, share: float) -> str:
    written = f"{share + 0.0:.4f}"  # adding 0.0 makes 0 of -0
    if not layout.conllu:
        return _put(line, layout.separator, len(_spans(line, layout.separator)), written, insert=True)
    place = layout.place("misc")
    begin, end = _spans(line, "\t")[place]
    before = "" if line[begin:end] == _EMPTY else f"{line[begin:end]}|"
    return _put(line, "\t", place, f"{before}Confidence={written}", insert=False)
