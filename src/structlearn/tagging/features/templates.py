"""Feature templates: which cells around a token make a feature.

The notation, by example. Templates are separated by spaces or line ends:

    word             the word itself
    pos[-1]          the tag of the token before
    word.suffix3     the last three letters (also lower, norm, shape, pattern, prefixN)
    word.before      the nearest word before that is not capitalised (also after, first, last, place)
    pos[-1]&pos      both together, one feature for each pair
    word[-2..2]      five templates: offsets -2 to 2
    word.suffix1..4  four templates: suffix1 to suffix4

Columns go by their names or numbers. Templates may also be patterns of CRF++ or Wapiti, which have a % in
them (`tagging.patterns.reading`), and they may stand in a file of either notation.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from structlearn.data.text import open_text
from structlearn.tagging.features.views import check_view
from structlearn.tagging.patterns.reading import Pattern, is_patterns, parse_patterns

_ATOM = re.compile(
    r"(?P<column>\w+?)(?:\.(?P<view>[a-z]+)(?P<size>\d+)?(?:\.\.(?P<last_size>\d+))?)?"
    r"(?:\[(?P<offset>-?\d+)(?:\.\.(?P<last>-?\d+))?\])?"
)
_FARTHEST = 100
#: identity and lower case with neighbours and pairs of neighbours, affixes, shape
_WORD = (
    "{0}[-2..2] {0}.lower[-1..1] {0}.prefix1..4 {0}.suffix1..4 {0}.shape[-1..1] "
    "{0}.lower[-1]&{0}.lower {0}.lower&{0}.lower[1]"
)
#: a tag of the word: itself, its neighbours, and two and three in a row
_OTHER = (
    "{0}[-2..2] {0}[-2]&{0}[-1] {0}[-1]&{0} {0}&{0}[1] {0}[1]&{0}[2] "
    "{0}[-2]&{0}[-1]&{0} {0}[-1]&{0}&{0}[1] {0}&{0}[1]&{0}[2]"
)

#: the task of names; its defaults were chosen inside the training file of CoNLL-2002 (benchmarks/names.py)
NAMES = "ner"
_NAME_WORD = (
    "{0}[-2..2] {0}.lower[-4..-3] {0}.lower[-1..1] {0}.lower[3..4] {0}.prefix1..4 {0}.suffix1..4 "
    "{0}.pattern[-2..2] {0}.pattern[-1]&{0}.pattern {0}.pattern&{0}.pattern[1] "
    "{0}.pattern[-1]&{0}.pattern&{0}.pattern[1] {0}.before {0}.after {0}.first {0}.last {0}.place "
    "{0}.place&{0}.shape {0}.place&{0}.lower[-1] {0}.place&{0}.lower[1] {0}.first&{0}.last "
    "{0}.place&{0}.before {0}.place&{0}.after {0}.quoted[-1..1] {0}.quoted&{0}.shape "
    "{0}.suffix3[-1] {0}.suffix3[1] {0}.prefix3[-1] {0}.prefix3[1] {0}.lower[-1]&{0}.lower "
    "{0}.lower&{0}.lower[1] {0}.lower[-2]&{0}.lower[-1] {0}.lower[1]&{0}.lower[2]"
)
_NAME_OTHER = "{0}[-2..2] {0}[-1]&{0} {0}&{0}[1] {0}[-1]&{0}&{0}[1] {0}&{1}.place"
_NAME_USUAL = "{0} {0}.suffix4 {0}.lower {0}.before"
_NAME_CONTEXT = 20


@dataclass(frozen=True)
class Atom:
    """A view of one column, some tokens away.

    column : name or number of a column
    view : "same" or one of `structlearn.tagging.features.views`
    offset : tokens to the right (negative: to the left); outside the sentence the value says how far outside
    """

    column: str
    view: str = "same"
    offset: int = 0

    def __post_init__(self) -> None:
        check_view(self.view)

    def __str__(self) -> str:
        view = "" if self.view == "same" else f".{self.view}"
        return f"{self.column}{view}[{self.offset}]" if self.offset else f"{self.column}{view}"


@dataclass(frozen=True)
class Template:
    """A conjunction of atoms: one feature for each combination of their values."""

    atoms: tuple[Atom, ...]

    def __str__(self) -> str:
        return "&".join(map(str, self.atoms))


#: Notation, or what it stands for, or the file that has it.
Templates = str | os.PathLike[str] | Template | Pattern | Iterable[str | Template | Pattern]


def parse_templates(templates: Templates) -> tuple[Template | Pattern, ...]:
    """Parse templates from their notation (see the module), or from objects, or both; each once."""
    if isinstance(templates, os.PathLike):
        return _of_file(os.fspath(templates))
    if isinstance(templates, str | Template | Pattern):
        templates = [templates]
    templates = list(templates)
    if any(is_patterns(str(one)) for one in templates):
        return _patterns(templates)
    found: dict[Template, None] = {}
    for one in templates:
        if isinstance(one, Template):
            found[one] = None
        elif isinstance(one, str):
            found.update(dict.fromkeys(made for text in one.split() for made in _expand(text)))
    if not found:
        raise ValueError("There are no templates; give at least one, such as 'word[-1..1]'.")
    return tuple(found)


def own_templates(templates: Templates) -> tuple[Template, ...]:
    """Parse templates of the notation of this module alone."""
    found = [one for one in parse_templates(templates) if isinstance(one, Template)]
    if not found:
        raise ValueError("Patterns of CRF++ and Wapiti make features alone; write word[-1] here.")
    return tuple(found)


def spell_templates(templates: Iterable[Template | Pattern]) -> str:
    """Return the notation of templates: separated by spaces or, of patterns, by line ends."""
    given = list(templates)
    return ("\n" if any(isinstance(one, Pattern) for one in given) else " ").join(map(str, given))


def _of_file(path: str) -> tuple[Template | Pattern, ...]:
    """Read templates from a file of either notation; lines that begin with # are comments."""
    text = [line for _, line in open_text(path)]
    if any(is_patterns(line) for line in text if line[:1] != "#"):
        return parse_patterns("\n".join(text), os.path.basename(path))
    return parse_templates([line for line in text if line[:1] != "#"])


def _patterns(templates: Sequence[str | Template | Pattern]) -> tuple[Pattern, ...]:
    """Return patterns of CRF++ and Wapiti, which do not go with other templates."""
    given = [one for one in templates if isinstance(one, Pattern)]
    if len(given) == len(templates):
        return tuple(given)
    if given or any(isinstance(one, Template) for one in templates):
        raise ValueError("Patterns of CRF++ and Wapiti do not go with other templates; use one notation.")
    return parse_patterns("\n".join(map(str, templates)))


def default_templates(columns: Sequence[str] = ("word",), task: str = "tag") -> str:
    """Return templates for columns of which the first holds words, the others tags; others for "ner".

    >>> default_templates(["word", "pos"]).split()[-1]
    'pos&pos[1]&pos[2]'
    """
    word, *others = columns
    of_word, of_other = (_NAME_WORD, _NAME_OTHER) if task == NAMES else (_WORD, _OTHER)
    return " ".join([of_word.format(word), *(of_other.format(other, word) for other in others)])


def default_usual(word: str = "word", task: str = "tag") -> str | None:
    """Return the default templates for usual-label columns: a few for task="ner", none otherwise."""
    return _NAME_USUAL.format(word) if task == NAMES else None


def default_context(task: str = "tag") -> int:
    """Return how many sentences to either side are searched for the same word: 20 for names, else 0."""
    return _NAME_CONTEXT if task == NAMES else 0


def _expand(text: str) -> Iterator[Template]:
    """All templates that one piece of notation stands for."""
    return map(Template, product(*(_atoms(atom, text) for atom in text.split("&"))))


def _atoms(atom: str, template: str) -> Iterator[Atom]:
    match = _ATOM.fullmatch(atom)
    if match is None:
        raise ValueError(f"Template {template!r} cannot be read at {atom!r}; write it as word.suffix3[-1].")
    for size in _range(match["size"], match["last_size"], template):
        for offset in _range(match["offset"], match["last"], template):
            yield Atom(match["column"], f"{match['view'] or 'same'}{size}", int(offset or 0))


def _range(first: str | None, last: str | None, template: str) -> list[str]:
    if first is None and last is not None:
        raise ValueError(f"Template {template!r} has a range without its first number.")
    if first is None or last is None:
        return [first or ""]
    if not -_FARTHEST <= int(first) <= int(last) <= _FARTHEST:
        raise ValueError(f"Template {template!r} has a range from {first} to {last}; put the smaller first.")
    return [str(k) for k in range(int(first), int(last) + 1)]
