"""Help texts that spell out what a class inherits: a parameter is documented once, where it is declared."""

from __future__ import annotations

from inspect import cleandoc

from structlearn.core.help_texts import SECTION
from structlearn.core.help_texts import entries as entries


def names(known: dict[str, str]) -> set[str]:
    """All single names of entries."""
    return {name.strip() for key in known for name in key.split(",")}


def with_inherited(cls: type) -> str | None:
    """The help text of a class with the parameters of the classes that it is made of, its own first."""
    if not cls.__dict__.get("__doc__"):
        return None
    text = cleandoc(cls.__doc__ or "")
    known = entries(text)
    for base in cls.__mro__[1:]:
        if base.__module__.startswith("structlearn."):
            others = entries(cleandoc(base.__doc__ or ""))
            seen = names(known)
            known |= {key: one for key, one in others.items() if not names({key: one}) & seen}
    section = "Parameters\n----------\n" + "\n".join(known.values())
    if SECTION.search(text):
        return SECTION.sub(lambda _: section, text, count=1)
    before, heading, after = text.partition("\n\nAttributes\n----------\n")
    return f"{before}\n\n{section}{heading}{after}"
