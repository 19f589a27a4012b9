"""The parameters that a help text documents (numpydoc's section), so that each is described once."""

from __future__ import annotations

import re
from inspect import cleandoc

SECTION = re.compile(
    r"^Parameters\n-{10}\n(?P<entries>.*?)(?=\n\n[A-Z]\w+\n-{3,}\n|\Z)", re.MULTILINE | re.DOTALL
)
ENTRY = re.compile(r"^\S.*(?:\n(?:[ ]+.*|(?=\n[ ])))*", re.MULTILINE)


def entries(text: str) -> dict[str, str]:
    """Return the documented parameters by their names, with commas where several share an entry."""
    found = SECTION.search(text)
    return {one.split(" :")[0]: one for one in ENTRY.findall(found["entries"])} if found else {}


def parameter_sentences(documented: object) -> dict[str, str]:
    """Return what the help text of a class or a function says of each parameter, on one line."""
    found = {}
    for names, entry in entries(cleandoc(documented.__doc__ or "")).items():
        text = " ".join(entry.partition("\n")[2].split())
        found.update({name.strip(): text for name in names.split(",")})
    return found


def names(known: dict[str, str]) -> set[str]:
    """Return all single names of entries."""
    return {name.strip() for key in known for name in key.split(",")}


def with_inherited(cls: type) -> str | None:
    """Return the help text of a class with the parameters of its bases behind its own."""
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
