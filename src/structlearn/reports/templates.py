"""Pages are made of the templates beside this file, which escape whatever comes from data."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from jinja2 import Environment


def render(name: str, **values: object) -> str:
    """Return the template of that name, filled; an error if a value is missing."""
    return _environment().get_template(name).render(values)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    found = Environment(
        loader=PackageLoader("structlearn.reports"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.policies["json.dumps_kwargs"] = {"allow_nan": False, "separators": (",", ":")}
    found.filters["sha256"] = _digest
    return found


def _digest(script: str) -> str:
    """Return what a page's policy says of a script that may run."""
    return b64encode(sha256(script.encode("utf-8")).digest()).decode("ascii")
