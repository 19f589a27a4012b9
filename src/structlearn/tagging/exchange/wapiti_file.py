r"""Wapiti's model files: text with patterns, labels, observations and the weights that are not zero.

    #mdl#2#10936             a CRF, and how many weights follow
    #rdr#12/1/0              patterns, the highest column that they look at, and whether data lacks prefixes
    14:u:w-1=%x[-1,0],       strings have their length in bytes before them
    #qrk#19                  labels, in the order of their numbers
    #qrk#15391               observations, likewise
    292036=0x1.b73cp+0       a weight by its number

Observation by observation, those that begin with u have K weights, those with b have K * K (from, to), and
those with * have K and then K * K.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from structlearn.core.contract import Array
from structlearn.tagging.exchange.tables import MOST_WEIGHTS, check_names
from structlearn.tagging.patterns.reading import BOTH, LABELS, PAIRS, Pattern, parse_patterns

MAGIC = b"#mdl#"
#: A conditional random field, of the three kinds of models.
_CRF = 2
_HEADER = re.compile(rb"#mdl#(\d{1,3})#(\d{1,12})\n#rdr#(\d{1,9})/(\d{1,9})/(\d{1,3})\n")
_STRINGS = re.compile(rb"#qrk#(\d{1,9})\n")
_LENGTH = re.compile(rb"(\d{1,9}):")
_WEIGHT = re.compile(rb"(\d{1,15})=(-?0x[01](?:\.[0-9a-f]{1,13})?p[-+]\d{1,4})\n")


@dataclass(frozen=True)
class WapitiModel:
    """The contents of a file; weights in the order of their numbers, those that are zero, too."""

    patterns: list[str]
    labels: list[str]
    observations: list[str]
    weights: Array

    def layout(self) -> tuple[Array, Array]:
        """Return where the weights of each observation for labels and for pairs begin; -1 if it has none."""
        k = len(self.labels)
        of_labels = np.array([name[:1] in (LABELS, BOTH) for name in self.observations])
        of_pairs = np.array([name[:1] in (PAIRS, BOTH) for name in self.observations])
        sizes = of_labels * k + of_pairs * k * k
        first = np.cumsum(sizes) - sizes
        return np.where(of_labels, first, -1), np.where(of_pairs, first + of_labels * k, -1)

    @property
    def n_weights(self) -> int:
        """How many weights there are; ValueError if they are too many, or an observation is of no kind."""
        k, starts = len(self.labels), [name[:1] for name in self.observations]
        if not set(starts) <= {LABELS, PAIRS, BOTH}:
            raise ValueError("one of its observations begins with none of u, b and *")
        n = sum(one != PAIRS for one in starts) * k + sum(one != LABELS for one in starts) * k * k
        if n > MOST_WEIGHTS:
            raise ValueError(f"it has {n} weights, more than {MOST_WEIGHTS}")
        return n


def parse_lines(lines: Sequence[str]) -> tuple[Pattern, ...]:
    """Return the patterns of a file."""
    found: list[Pattern] = []
    for number, line in enumerate(lines, 1):
        found += parse_patterns(line, f"its patterns ({number})")
        if len(found) != number or found[-1].text != line:
            raise ValueError(f"pattern {number} cannot be read")
    return tuple(found)


# ---- reading -----------------------------------------------------------------------------------------------


def read_model(data: bytes) -> WapitiModel:
    """Read the contents of a file; ValueError if they are not Wapiti's."""
    head = _HEADER.match(data)
    if head is None:
        raise ValueError("it does not begin as a model of Wapiti 1.4 or later")
    kind, n_weights, n_patterns, _, prefixed = map(int, head.groups())
    if kind != _CRF:
        raise ValueError("it is not a conditional random field, of type 2")
    if not n_patterns or prefixed:
        raise ValueError("it has no patterns, and its data would be features; such models are not read")
    patterns, at = _read_strings(data, head.end(), n_patterns)
    labels, at = _read_list(data, at)
    observations, at = _read_list(data, at)
    check_names("labels", labels)
    check_names("observations", observations)
    model = WapitiModel(patterns, labels, observations, np.empty(0))
    return replace(model, weights=_read_weights(data, at, n_weights, model.n_weights))


def _read_list(data: bytes, at: int) -> tuple[list[str], int]:
    head = _STRINGS.match(data, at)
    if head is None:
        raise ValueError("it lacks a list of labels or observations")
    return _read_strings(data, head.end(), int(head[1]))


def _read_strings(data: bytes, at: int, n: int) -> tuple[list[str], int]:
    """Read n strings from a place on; return them, and the place behind them."""
    found = []
    for _ in range(n):
        head = _LENGTH.match(data, at)
        end = -1 if head is None else head.end() + int(head[1])
        if head is None or data[end : end + 2] != b",\n":
            raise ValueError(f"a string at byte {at} is not as long as it says")
        found.append(data[head.end() : end].decode("utf-8", "surrogateescape"))
        at = end + 2
    return found, at


def _read_weights(data: bytes, at: int, n: int, size: int) -> Array:
    weights, n_read = np.zeros(size), 0
    while at < len(data):
        found = _WEIGHT.match(data, at)
        if found is None or int(found[1]) >= size:
            raise ValueError(f"there is no weight of the model at byte {at}")
        weights[int(found[1])] = _number(found[2].decode())
        at, n_read = found.end(), n_read + 1
    if n_read != n:
        raise ValueError(f"it has {n_read} weights, not {n}")
    return weights


def _number(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        raise ValueError(f"the weight {text} is too large") from None


# ---- writing -----------------------------------------------------------------------------------------------


def write_model(model: WapitiModel) -> bytes:
    """Return the contents as Wapiti writes them."""
    columns = (int(cell.column) for one in parse_lines(model.patterns) for cell in one.atoms)
    present = np.flatnonzero(model.weights)
    return b"".join(
        [
            f"#mdl#{_CRF}#{present.size}\n".encode(),
            f"#rdr#{len(model.patterns)}/{max(columns, default=0)}/0\n".encode(),
            *map(_string, model.patterns),
            *_list(model.labels),
            *_list(model.observations),
            *(f"{j}={_hexadecimal(float(model.weights[j]))}\n".encode() for j in present.tolist()),
        ]
    )


def _hexadecimal(value: float) -> str:
    """Return a number as C's %la writes it: without zeros at the end."""
    digits, _, exponent = value.hex().partition("p")
    return f"{digits.rstrip('0').rstrip('.') if '.' in digits else digits}p{exponent}"


def _list(strings: Sequence[str]) -> Iterator[bytes]:
    yield f"#qrk#{len(strings)}\n".encode()
    yield from map(_string, strings)


def _string(text: str) -> bytes:
    data = text.encode("utf-8", "surrogateescape")
    if b"\n" in data or b"\0" in data:
        raise ValueError("Wapiti has no place for names with a line end or a zero byte.")
    return f"{len(data)}:".encode() + data + b",\n"
