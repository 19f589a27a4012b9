"""The numbers in cells, read from bytes by compiled code: exactly those that `float` gives, or none."""

from __future__ import annotations

import numpy as np

from structlearn.core.kernels import exact

_SPACE, _PLUS, _MINUS, _POINT, _ZERO, _NINE, _E = b" +-.09e"
#: Powers of ten that are floats.
_POWERS = np.array([float(10**k) for k in range(23)])
_SPLITTER = float(2**27 + 1)
#: Rounds a residue up by more than its own error.
_MORE = 1.0 + 1e-12
_MOST_DIGITS = 18


@exact
def parse_column(
    raw: np.ndarray,
    ends: np.ndarray,
    column: int,
    n_columns: int,
    gaps: bool,
    powers: np.ndarray,
    out: np.ndarray,
) -> int:
    """Write the numbers of a column into `out`; how many rows were read, up to the first that is not plain.

    Plain is a decimal number of at most 18 digits whose value is that of `float` for certain, and, with
    `gaps`, an empty cell, which is NaN.

    raw : bytes of the text
    ends : where each cell ends, row by row
    """
    for row in range(out.size):
        cell = row * n_columns + column
        at, end = (ends[cell - 1] + 1 if cell else 0), ends[cell]
        while at < end and raw[at] == _SPACE:
            at += 1
        while at < end and raw[end - 1] == _SPACE:
            end -= 1
        if at == end:
            if not gaps:
                return row
            out[row] = np.nan
            continue
        negative = raw[at] == _MINUS
        if negative or raw[at] == _PLUS:
            at += 1
        # 1. The number is digits / 10^scale.
        digits, n_digits, n_seen, scale, point = 0, 0, 0, 0, False
        while at < end:
            if _ZERO <= raw[at] <= _NINE:
                digits = 10 * digits + raw[at] - _ZERO
                n_digits += digits > 0
                n_seen += 1
                scale += point
                if n_digits > _MOST_DIGITS:
                    return row
            elif raw[at] == _POINT and not point:
                point = True
            else:
                break
            at += 1
        if n_seen == 0:
            return row
        if at < end and raw[at] | 32 == _E:
            at += 1
            sign = 1
            if at < end and (raw[at] == _MINUS or raw[at] == _PLUS):
                sign = -1 if raw[at] == _MINUS else 1
                at += 1
            if end - at == 0 or end - at > 3:
                return row
            exponent = 0
            while at < end and _ZERO <= raw[at] <= _NINE:
                exponent = 10 * exponent + raw[at] - _ZERO
                at += 1
            scale -= sign * exponent
        if at < end or abs(scale) >= powers.size:
            return row
        # 2. One rounding where both are floats; else the quotient and its residue (Dekker), if these tell.
        high = float(digits)
        low = float(digits - int(high))
        power = powers[abs(scale)]
        if digits <= 1 << 53 or scale == 0:
            value = high / power if scale > 0 else high * power
        elif scale < 0:
            return row
        else:
            quotient = high / power
            split = _SPLITTER * quotient
            q1 = split - (split - quotient)
            q2 = quotient - q1
            split = _SPLITTER * power
            p1 = split - (split - power)
            p2 = power - p1
            product = quotient * power
            error = ((q1 * p1 - product) + q1 * p2 + q2 * p1) + q2 * p2
            rest = ((high - product) - error + low) / power
            value = quotient + rest
            residue = rest - (value - quotient)
            if value + residue * _MORE != value:  # near the middle between two floats
                return row
        out[row] = -value if negative else value
    return out.size


def column_numbers(
    raw: np.ndarray, ends: np.ndarray, column: int, n_columns: int, *, gaps: bool
) -> np.ndarray | None:
    """The numbers of a column, NaN for empty cells if `gaps`; None where a cell is not plain."""
    out = np.empty(len(ends) // n_columns)
    return out if parse_column(raw, ends, column, n_columns, gaps, _POWERS, out) == out.size else None


def rehearse_numbers() -> None:
    """Compile what large tables are read by."""
    column_numbers(np.frombuffer(b"1\n", dtype=np.uint8), np.array([1]), 0, 1, gaps=True)
