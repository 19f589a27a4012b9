"""What the columns of a table are, as their cells tell; and which of them there is nothing to learn from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import isfinite
from typing import NamedTuple

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.progress import counted
from structlearn.core.sentences import Statement
from structlearn.core.wording import count_of, list_names, quote
from structlearn.tables.dates import order_of, parse_dates
from structlearn.tables.frame import Column, Frame, TextColumn
from structlearn.tables.list_map import find_separator
from structlearn.tables.readings import KINDS, ColumnProblem, ColumnReading, odd_cell
from structlearn.tables.spelling import (
    UNKNOWN,
    are_flags,
    decimal_commas,
    parse_numbers,
    parse_times,
)
from structlearn.tables.units import common_unit, strip_unit

#: Among this many cells that can be read per cell that cannot, such a cell is a mistake.
READABLE_TO_ONE = 9
#: More columns that are left out for one reason share a sentence.
_MANY = 3
#: Tables of fewer rows are taken as they are.
FEW_ROWS = 20
#: Free text has at least this many words on average, and more distinct texts than a share of the rows.
_WORDS, _DISTINCT = 3.0, 0.5
#: A level of text that fewer rows have is rare, unless that is more than one in so many rows.
USUAL_MIN_FREQUENCY = 5
_ONE_IN = 20
#: From this share of numbers on, a column of categories may be meant otherwise.
_MANY_NUMBERS = 0.5
#: What columns are called that number the rows.
_ROW_NUMBERS = {"id", "index", "row", "row_id", "rowid", "nr", "no", "number", "#", "unnamed: 0"}
#: Squares of larger numbers are infinite.
LARGEST = 1e150


def usual_min_frequency(n_rows: int) -> int:
    """Return from how many rows on a level is not rare, given the number of rows of a table."""
    return max(1, min(USUAL_MIN_FREQUENCY, n_rows // _ONE_IN))


@dataclass(frozen=True)
class Wishes:
    """What a user says of columns, by their names.

    text, category, number : columns that are taken as such
    day_first : whether the day comes first in dates that can be read both ways; None if nothing was said
    min_frequency : from how many rows on a level is not rare
    """

    text: frozenset[str] = frozenset()
    category: frozenset[str] = frozenset()
    number: frozenset[str] = frozenset()
    day_first: bool | None = None
    min_frequency: int = USUAL_MIN_FREQUENCY


class Verdict(NamedTuple):
    """What was found out about a column.

    reading : how it is read; None if it is left out, or cannot be read
    problem : what keeps it from being read
    remarks : what a user should know of it
    useless : why it is left out, as the end of a sentence
    """

    reading: ColumnReading | None
    problem: ColumnProblem | None = None
    remarks: tuple[str, ...] = ()
    useless: str = ""


def detect(frame: Frame, wishes: Wishes) -> list[Verdict]:
    """Find out what each column of a table is."""
    pairs = list(zip(frame.names, frame.columns))
    return [
        _detect(name, column, wishes, comma=frame.decimal_comma)
        for name, column in counted(pairs, "looking at columns", len(pairs))
    ]


def _detect(name: str, column: Column, wishes: Wishes, *, comma: bool) -> Verdict:
    for kind in ("text", "category"):
        if name in getattr(wishes, kind):
            return Verdict(ColumnReading(kind))
    if not isinstance(column, TextColumn):
        return _of_numbers(name, column)
    column = column.seen()
    if name in wishes.number:
        own = decimal_commas(column.levels.tolist(), usual=comma)
        return Verdict(ColumnReading("number", comma=own, lenient=True))
    if not len(column.levels):
        return _left_out(name, "it is empty")
    if len(column.levels) == 1 and not column.n_missing and len(column) > 1:
        return _left_out(name, "it is the same in all rows")
    return _of_cells(name, column, wishes, comma)


def _left_out(name: str, why: str) -> Verdict:
    return Verdict(None, remarks=(f"Column {quote(name)} is left out: {why}.",), useless=why)


def all_remarks(names: Sequence[str], verdicts: Sequence[Verdict]) -> tuple[str, ...]:
    """Return what a user should know of columns; many that are useless for one reason share a sentence."""
    groups: dict[str, list[str]] = {}
    for name, one in zip(names, verdicts):
        if one.useless:
            groups.setdefault(one.useless, []).append(name)
    many = {why: own for why, own in groups.items() if len(own) > _MANY}
    single = [remark for one in verdicts if one.useless not in many for remark in one.remarks]
    return (*single, *(_left_out_together(why, own) for why, own in many.items()))


def _left_out_together(why: str, names: Sequence[str]) -> str:
    return f"{len(names)} columns are left out, each because {why}: {list_names(names)}."


# ---- numbers -----------------------------------------------------------------------------------------


def _of_numbers(name: str, column: Array) -> Verdict:
    known = column[~np.isnan(column)]
    if not known.size:
        return _left_out(name, "it is empty")
    low, high = known.min(), known.max()
    if low == high and known.size == column.size > 1:
        return _left_out(name, "it is the same in all rows")
    if max(-low, high) > LARGEST:
        return Verdict(None, _too_large(name, column))
    remarks: tuple[str, ...] = ()
    if len(column) >= FEW_ROWS and bool((np.diff(column) == 1).all()):
        if name.lower() in _ROW_NUMBERS:
            return _left_out(name, "it counts the rows")
        advice = "Column {name} counts the rows; if it is only their number, leave it out ({ignore=})."
        remarks = (Statement(advice, name=quote(name), ignore=name),)
    return Verdict(ColumnReading("number"), remarks=remarks)


def _too_large(name: str, column: Array) -> ColumnProblem:
    row = int(np.argmax(np.abs(column) > LARGEST))
    if not isfinite(column[row]):
        return ColumnProblem(name, row, f'holds "{column[row]:g}", which is not finite')
    what = f"holds {column[row]:g}, which is too large to be squared"
    return ColumnProblem(name, row, what, ("ignore",))


# ---- cells -------------------------------------------------------------------------------------------


def _of_cells(name: str, column: TextColumn, wishes: Wishes, comma: bool) -> Verdict:
    """Try flags, numbers, times, dates and numbers with a unit, in this order; all else is text."""
    levels = column.levels.tolist()
    if are_flags(levels):
        return Verdict(ColumnReading("flag"))
    for attempt in (_try_numbers, _try_times, _try_dates, _try_units):
        found = attempt(name, column, levels, wishes, comma)
        if found is not None:
            return found
    return _of_text(name, column, levels, wishes)


def _try_numbers(
    name: str, column: TextColumn, levels: list[str], wishes: Wishes, comma: bool
) -> Verdict | None:
    own = decimal_commas(levels, usual=comma)
    found = parse_numbers(levels, comma=bool(own))
    if column.is_text and found.signs <= {""} and not _have_groups(levels):
        return None  # codes such as 01234
    verdict = _if_most(name, column, levels, found.odd, ColumnReading("number", comma=own))
    if verdict is None or verdict.problem is not None:
        return verdict
    mixed = mixed_spelling(levels, found.signs, bool(own))
    if mixed is not None:
        row = int(np.argmax(column.codes == mixed.level))
        return Verdict(None, ColumnProblem(name, row, mixed.what, ("category", "ignore")))
    values = column.spread(found.values)
    if np.nanmax(np.abs(values), initial=0.0) > LARGEST:
        return Verdict(None, _too_large(name, values))
    plain = _of_numbers(name, values)
    return (
        plain if plain.reading is None else Verdict(verdict.reading, remarks=verdict.remarks + plain.remarks)
    )


def _have_groups(levels: Sequence[str]) -> bool:
    return any("," in one for one in levels)


class Mixed(NamedTuple):
    """Two ways of writing numbers in one column: a level that shows one, and the end of a sentence."""

    level: int
    what: str


def mixed_spelling(levels: Sequence[str], signs: frozenset[str], comma: bool) -> Mixed | None:
    """Find out which ways of writing numbers stand beside each other that cannot be compared."""
    if len(signs - {""}) > 1 or ("%" in signs and "" in signs and not _all_zero(levels)):
        two = [next(k for k, one in enumerate(levels) if _has(one, unit)) for unit in sorted(signs)[-2:]]
        shown = " and ".join(quote(levels[k]) for k in sorted(two))
        return Mixed(max(two), f"mixes units that cannot be compared, {shown}")
    points = [k for k, one in enumerate(levels) if "." in one and "," not in one]
    if comma and points and any("," in one for one in levels):
        return Mixed(points[0], "has numbers with a decimal comma and with a point; use one")
    return None


def _all_zero(levels: Sequence[str]) -> bool:
    return all("%" in one or one in ("0", "0.0") or one.lower() in UNKNOWN for one in levels)


def _has(cell: str, unit: str) -> bool:
    return parse_numbers([cell]).signs == {unit} or parse_numbers([cell], comma=True).signs == {unit}


def _try_times(
    name: str, column: TextColumn, levels: list[str], wishes: Wishes, comma: bool
) -> Verdict | None:
    return _if_most(name, column, levels, parse_times(levels).odd, ColumnReading("time"))


def _try_dates(
    name: str, column: TextColumn, levels: list[str], wishes: Wishes, comma: bool
) -> Verdict | None:
    order = order_of(levels)
    first = order.day >= 0 or (order.month < 0 and (order.points or bool(wishes.day_first)))
    odd = parse_dates(levels, day_first=first).odd
    both = order.day >= 0 and order.month >= 0
    if both:
        odd = sorted({*odd} & {*parse_dates(levels, day_first=False).odd})
    verdict = _if_most(name, column, levels, odd, ColumnReading("date", day_first=first))
    if both and verdict is not None:
        shown = f"{quote(levels[order.day])} and {quote(levels[order.month])}"
        what = f"mixes dates with the day first and with the month first, such as {shown}"
        row = int(np.argmax(column.codes == order.month))
        return Verdict(None, ColumnProblem(name, row, what, ("category", "ignore")))
    doubtful = order.either >= 0 > max(order.day, order.month) and not order.points
    if verdict is None or verdict.reading is None or not doubtful or wishes.day_first is not None:
        return verdict
    advice = (
        "In column {name}, dates such as {shown} are read as month/day/year; if the day comes first, "
        "say so ({day_first=True})."
    )
    remark = Statement(advice, name=quote(name), shown=quote(levels[order.either]))
    return Verdict(verdict.reading, remarks=(*verdict.remarks, remark))


def _try_units(
    name: str, column: TextColumn, levels: list[str], wishes: Wishes, comma: bool
) -> Verdict | None:
    unit = common_unit(levels)
    if not unit:
        return None
    bare = strip_unit(levels, unit)
    found = _try_numbers(name, TextColumn(column.codes, column.levels), bare, wishes, comma)
    if found is None or found.reading is None:
        return None if found is None or found.problem is not None else found
    remark = f"Column {quote(name)} is read as numbers, without {quote(unit)} behind them."
    return Verdict(replace(found.reading, unit=unit), remarks=(remark, *found.remarks))


def _if_most(
    name: str, column: TextColumn, levels: list[str], odd: list[int], reading: ColumnReading
) -> Verdict | None:
    """Return the verdict if nearly all cells can be read so; then one that cannot is a mistake."""
    counts = column.counts
    unknown = [k for k, one in enumerate(levels) if one.lower() in UNKNOWN]
    n_odd, n_unknown = int(counts[odd].sum()), int(counts[unknown].sum())
    n_good = int(counts.sum()) - n_odd - n_unknown
    if not n_good or n_good < READABLE_TO_ONE * n_odd:
        infinite = [k for k in odd if reading.kind == "number" and _is_infinite(levels[k])]
        if infinite and n_good + len(infinite):
            return Verdict(None, odd_cell(name, column, infinite[0], "is not finite"))
        return None
    if odd:
        why = "is not finite" if _is_infinite(levels[odd[0]]) else f"is not {KINDS[reading.kind].noun}"
        settled = ("number", "category", "ignore") if reading.kind == "number" else ("category", "ignore")
        return Verdict(None, odd_cell(name, column, odd[0], why, settled_by=settled))
    if not unknown:
        return Verdict(reading)
    plural, shown = KINDS[reading.kind].plural, quote(levels[unknown[0]])
    remark = f"In column {quote(name)} of {plural}, {shown} ({count_of(n_unknown, 'row')}) counts as missing."
    return Verdict(reading, remarks=(remark,))


def _half_numbers(name: str, column: TextColumn, levels: list[str]) -> tuple[str, ...]:
    """Return a remark on a column of text of which at least half the cells are numbers."""
    if column.is_text:
        return ()
    n, counts = int(column.counts.sum()), column.counts
    n_numbers = n - int(
        counts[parse_numbers(levels, comma=bool(decimal_commas(levels, usual=False))).odd].sum()
    )
    if n_numbers < _MANY_NUMBERS * n:
        return ()
    advice = (
        "Column {name} is taken as categories, although {share} of its {n} cells are numbers (to take it as "
        "numbers, all others as missing: {number=})."
    )
    return (Statement(advice, name=quote(name), share=n_numbers, n=n, number=name),)


def _is_infinite(cell: str) -> bool:
    try:
        return cell.isascii() and not isfinite(float(cell))
    except ValueError:
        return False


# ---- text --------------------------------------------------------------------------------------------


def _of_text(name: str, column: TextColumn, levels: list[str], wishes: Wishes) -> Verdict:
    counts = column.counts
    n, most = len(column), int(counts.max())
    if n < FEW_ROWS:
        return Verdict(ColumnReading("category"))
    words = float(np.dot(counts, [len(one.split()) for one in levels])) / int(counts.sum())
    if len(levels) > _DISTINCT * counts.sum() and words >= _WORDS:
        advice = "Column {name} is read as free text, word by word ({category=} for whole values)."
        return Verdict(ColumnReading("text"), remarks=(Statement(advice, name=quote(name), category=name),))
    least = max(2, wishes.min_frequency)
    if find_separator(levels, counts, least):
        return Verdict(ColumnReading("list"))
    if most >= least:
        return Verdict(ColumnReading("category"), remarks=_half_numbers(name, column, levels))
    why = "its text is different in every row, as an identifier is"
    if most > 1:
        why = f"no {wishes.min_frequency} rows share a text of it"
    advice = "Column {name} is left out: {why} (to learn from its words: {text=})."
    return Verdict(None, remarks=(Statement(advice, name=quote(name), why=why, text=name),))
