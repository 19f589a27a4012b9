"""Views of a word that depend on its sentence: the run of capitalised words around it, and what stands there.

A name is mostly a run of capitalised words. All words of a run see the same words around it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby, product

#: From the words of a sentence to the view of each; None is no view, and so no feature.
SentenceView = Callable[[Sequence[str]], list[str | None]]

#: Runs and places count up to this; quotations of as many words are long.
LONGEST = 5
#: Words that open or close a quotation.
MARKS = frozenset(['"', "''", "``", "'", "\u00ab", "\u00bb", "\u201c", "\u201d"])


def is_capitalised(word: str) -> bool:
    """Whether the first character is an upper-case letter."""
    return word[:1].isupper()


def lower_word_before(words: Sequence[str]) -> list[str | None]:
    """Return the nearest word to the left that is not capitalised, in lower case; "" if there is none."""
    found: list[str | None] = []
    nearest = ""
    for word in words:
        found.append(nearest)
        if not is_capitalised(word):
            nearest = word.lower()
    return found


def after(words: Sequence[str]) -> list[str | None]:
    """Return the nearest word to the right that is not capitalised, in lower case; "" if there is none."""
    return lower_word_before(words[::-1])[::-1]


def first(words: Sequence[str]) -> list[str | None]:
    """Return the first word of the run that a word is in."""
    return [run[0] if run else None for run in _runs(words)]


def last(words: Sequence[str]) -> list[str | None]:
    """Return the last word of the run that a word is in."""
    return [run[-1] if run else None for run in _runs(words)]


def place(words: Sequence[str]) -> list[str | None]:
    """Place in the run and its length: "2/3"; "0" outside. Both count up to 5."""
    found: list[str | None] = []
    for capitalised, run in groupby(words, is_capitalised):
        n = len(list(run))
        places = (f"{min(k, LONGEST)}/{min(n, LONGEST)}" for k in range(1, n + 1))
        found.extend(places if capitalised else ["0"] * n)
    return found


def quotation(words: Sequence[str]) -> list[str | None]:
    """Describe words between quotation marks: how many they are, their letters, and each word's place.

    How: whether its first word is capitalised (X or x) and whether most are. Where: B, I or E, the marks
    themselves a mark. "O" outside.
    """
    found: list[str | None] = ["O"] * len(words)
    marks = [at for at, word in enumerate(words) if word in MARKS]
    for a, b in zip(marks[::2], marks[1::2]):
        inside = words[a + 1 : b]
        kind = _kind(inside)
        places = ["I"] * len(inside)
        places[:1], places[-1:] = ["B"] * len(places[:1]), ["E"] * len(places[-1:])
        found[a : b + 1] = [f"{kind} {place}" for place in ['" ', *places, ' "']]
    return found


def _kind(words: Sequence[str]) -> str:
    """Return the length and the letters of a quotation."""
    n = len(words)
    length = "0" if n == 0 else "1" if n == 1 else "few" if n < LONGEST else "many"
    capitals = sum(map(is_capitalised, words))
    return f"{length} {'X' if n and is_capitalised(words[0]) else 'x'}{'X' if 2 * capitals > n else 'x'}"


def _runs(words: Sequence[str]) -> list[list[str]]:
    """Return the run that each word is in, empty outside."""
    found: list[list[str]] = []
    for capitalised, group in groupby(words, is_capitalised):
        run = list(group)
        found.extend([run if capitalised else []] * len(run))
    return found


SENTENCE_VIEWS: dict[str, SentenceView] = {
    "before": lower_word_before,
    "after": after,
    "first": first,
    "last": last,
    "place": place,
    "quoted": quotation,
}


def possible_values(view: str, words: Sequence[str]) -> list[str]:
    """Return what a view may make of sentences of these words."""
    if view in ("before", "after"):
        return ["", *(word.lower() for word in words if not is_capitalised(word))]
    if view in ("first", "last"):
        return list(filter(is_capitalised, words))
    if view == "place":
        return ["0", *(f"{k}/{n}" for n in range(1, LONGEST + 1) for k in range(1, n + 1))]
    kinds = product(("0", "1", "few", "many"), ("XX", "Xx", "xX", "xx"), ('" ', "B", "I", "E", ' "'))
    return ["O", *map(" ".join, kinds)]
