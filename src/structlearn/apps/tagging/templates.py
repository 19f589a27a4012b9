"""Default templates for words and for what is known of them."""

from __future__ import annotations

from collections.abc import Sequence

#: identity and lower case with neighbours and pairs of neighbours, affixes, shape
WORD = (
    "{0}[-2..2] {0}.lower[-1..1] {0}.prefix1..4 {0}.suffix1..4 {0}.shape[-1..1] "
    "{0}.lower[-1]&{0}.lower {0}.lower&{0}.lower[1]"
)
#: a tag of the word: itself, its neighbours, and two and three in a row
OTHER = (
    "{0}[-2..2] {0}[-2]&{0}[-1] {0}[-1]&{0} {0}&{0}[1] {0}[1]&{0}[2] "
    "{0}[-2]&{0}[-1]&{0} {0}[-1]&{0}&{0}[1] {0}&{0}[1]&{0}[2]"
)


def default_templates(columns: Sequence[str] = ("word",)) -> str:
    """Templates for columns of which the first holds words and the others tags.

    >>> default_templates(["word", "pos"]).split()[-1]
    'pos&pos[1]&pos[2]'
    """
    word, *others = columns
    return " ".join([WORD.format(word), *(OTHER.format(other) for other in others)])
