"""Names of features that templates make, of which a model keeps hashes alone: "word[-1]=the&pos=NN".

In a text, names are read off the text (`names_in`). A name is also found from its key and the distinct
strings of the training text (`names_of_keys`): keys are mixed one-to-one, so that each value that the last
atom may have is taken off a key, and what is left is looked up among all that the other atoms make.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from structlearn.core.bits import MULTIPLIERS, SHIFTS
from structlearn.core.contract import Array
from structlearn.core.packed_strings import hash_strings
from structlearn.data import Tokens
from structlearn.data.tokens import Column
from structlearn.tagging.features.features import TextFeatures
from structlearn.tagging.features.keys import OUTSIDE
from structlearn.tagging.features.runs import SENTENCE_VIEWS, possible_values
from structlearn.tagging.features.templates import Atom, Template
from structlearn.tagging.features.views import text_hash, view_named
from structlearn.tagging.patterns.features import PatternFeatures

#: Combinations of values of all atoms but the last that are tried at most.
_MOST_COMBINATIONS = 4_000_000
_ONE_TO_64 = 1 << 64


def template_names(features: TextFeatures) -> Callable[[Array], list[str]]:
    """Return the function from columns to names; for a nameless one, the template and the hash."""
    if isinstance(features, PatternFeatures):
        return features.names_at

    def names(places: Array) -> list[str]:
        if features.hash_bits is not None:
            return [f"hash {place}" for place in places.tolist()]
        found = [f"#{key:016x}" for key in features.keys_[places].tolist()]
        if not features.strings_:
            return found
        owners = np.searchsorted(features.starts_, places, side="right") - 1
        for k, template in enumerate(features.templates):
            own = np.flatnonzero(owners == k)
            values = names_of_keys(template, features.keys_[places[own]], features.strings_)
            for j, value in zip(own.tolist(), values):
                found[j] = f"{template}={found[j]}" if value is None else value
        return found

    return names


# ---- names in a text ---------------------------------------------------------------------------------


def names_in(features: TextFeatures, tokens: Tokens) -> dict[int, str]:
    """Return the names of all features of a text, by column; all that share one if hashes collide."""
    if isinstance(features, PatternFeatures):
        return features.names_in(tokens)
    first = np.concatenate([[0], np.cumsum(tokens.lengths)])
    columns = {name: tokens.column(name) for name in features.columns}
    found: dict[int, str] = {}
    for template, places in zip(features.templates, features.places(tokens)):
        distinct, where = np.unique(places, return_index=True)
        for place, t in zip(distinct.tolist(), where.tolist()):
            if place >= 0:
                name = _name_at(template, columns, first, t)
                found[place] = f"{found[place]} or {name}" if place in found else name
    return found


def _name_at(template: Template, columns: Mapping[str, Column], first: Array, t: int) -> str:
    owner = np.searchsorted(first, t, side="right")
    a, b = int(first[owner - 1]), int(first[owner])
    return "&".join(f"{atom}={_value_at(atom, columns[atom.column], a, b, t)}" for atom in template.atoms)


def _value_at(atom: Atom, column: Column, a: int, b: int, t: int) -> str:
    """Return what an atom sees from token t of the sentence a:b."""
    at = t + atom.offset
    if a <= at < b:
        if atom.view in SENTENCE_VIEWS:
            sentence = [column.strings[code] for code in column.codes[a:b].tolist()]
            return str(SENTENCE_VIEWS[atom.view](sentence)[at - a])
        return str(view_named(atom.view)(column.strings[column.codes[at]]))
    return _before(a - at) if at < a else _after(at - b)


def _before(distance: int) -> str:
    return f"<start-{distance - 1}>" if distance > 1 else "<start>"


def _after(distance: int) -> str:
    return f"<end+{distance}>" if distance else "<end>"


# ---- names of keys -----------------------------------------------------------------------------------


def names_of_keys(
    template: Template, keys: Array, strings: Mapping[str, Sequence[str]]
) -> Iterator[str | None]:
    """Yield the name of each key of a template; None where the strings make none, or too many to try."""
    tables = [_table(atom, strings[atom.column]) for atom in template.atoms]
    sizes = [values.size for values, _ in tables]
    n_heads = int(np.prod(sizes[:-1], dtype=np.float64))
    if n_heads > _MOST_COMBINATIONS or not keys.size:
        yield from [None] * keys.size
        return
    heads = np.full(1, text_hash(str(template)), dtype=np.uint64)
    for values, _ in tables[:-1]:
        heads = mix_array((heads[:, None] + values).ravel())
    order = np.argsort(heads)
    known = heads[order]
    for rest in _unmix(keys).reshape(-1, 1):
        wanted = rest - tables[-1][0]
        at = np.minimum(np.searchsorted(known, wanted), known.size - 1)
        hits = np.flatnonzero(known[at] == wanted)
        yield (
            _join_names(template, tables, sizes, int(order[at[hits[0]]]), int(hits[0])) if hits.size else None
        )


def _join_names(
    template: Template, tables: Sequence[tuple[Array, list[str]]], sizes: list[int], head: int, last: int
) -> str:
    """Return the name of a combination of values.

    The number of that of all atoms but the last, and the last.
    """
    picked = [*map(int, np.unravel_index(head, sizes[:-1])), last] if len(sizes) > 1 else [last]
    texts = (texts[k] for (_, texts), k in zip(tables, picked))
    return "&".join(f"{atom}={text}" for atom, text in zip(template.atoms, texts))


def _table(atom: Atom, strings: Sequence[str]) -> tuple[Array, list[str]]:
    """Return the values that an atom may have, as keys are made of them, and as text."""
    if atom.view in SENTENCE_VIEWS:
        seen: Iterable[str | None] = possible_values(atom.view, strings)
    else:
        seen = map(view_named(atom.view), strings)
    texts = list(dict.fromkeys(text for text in seen if text is not None))
    outside = {2 * k: _before(k) for k in range(1, 1 - atom.offset)}
    outside |= {2 * k + 1: _after(k) for k in range(atom.offset)}
    ends = np.array([OUTSIDE * code % _ONE_TO_64 for code in outside], dtype=np.uint64)
    return np.concatenate([hash_strings(texts), ends]), [*texts, *outside.values()]


def mix_array(x: Array) -> Array:
    """Mix the bits of each entry as `mix_bits` does."""
    for shift, multiplier in zip(SHIFTS, MULTIPLIERS):
        x = (x ^ (x >> np.uint64(shift))) * np.uint64(multiplier)
    return x ^ (x >> np.uint64(SHIFTS[-1]))


def _unmix(x: Array) -> Array:
    """Return the inverse of `mix_array`."""
    x = _undo_shift(x, SHIFTS[-1])
    for shift, multiplier in zip(SHIFTS[1::-1], MULTIPLIERS[::-1]):
        x = _undo_shift(x * np.uint64(pow(multiplier, -1, _ONE_TO_64)), shift)
    return x


def _undo_shift(x: Array, shift: int) -> Array:
    """Return the inverse of x ^ (x >> shift)."""
    found = x.copy()
    for k in range(shift, 64, shift):
        found ^= x >> np.uint64(k)
    return found
