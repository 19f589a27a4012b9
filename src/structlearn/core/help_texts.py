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


def sentences(documented: object) -> dict[str, str]:
    """Return what the help text of a class or a function says of each parameter, on one line."""
    found = {}
    for names, entry in entries(cleandoc(documented.__doc__ or "")).items():
        text = " ".join(entry.partition("\n")[2].split())
        found.update({name.strip(): text for name in names.split(",")})
    return found
