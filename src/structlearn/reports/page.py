"""One HTML file that needs nothing else: no network, pictures inside, no script but one of ours.

Whatever comes from data is escaped; the only markup is ours.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from structlearn.files import written_aside

_KINDS = {".png": "image/png", ".svg": "image/svg+xml"}

# No request to anyone, and no script but the one with this hash.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'{script}"
_FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>{script}
</body>
</html>
"""

_STYLE = """
:root { color-scheme: light dark; }
:root { --ink: #1d2329; --paper: #ffffff; --faint: #5b6670; --line: #d5dbe1; --tint: #f3f6f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ec; --paper: #15191d; --faint: #a3adb7; --line: #38414a; --tint: #1f252b; }
}
body { margin: 0; color: var(--ink); background: var(--paper); font: 1rem/1.6 system-ui, sans-serif; }
main { max-width: 60rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .5rem; }
h2 { font-size: 1.3rem; margin: 2.5rem 0 .5rem; padding-top: 1rem; border-top: 1px solid var(--line); }
p { max-width: 44rem; }
.lead { font-size: 1.15rem; color: var(--faint); margin-top: 0; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .9rem; text-align: right; white-space: nowrap; }
tr { border-bottom: 1px solid var(--line); }
th:first-child, td:first-child { text-align: left; padding-left: 0; }
thead th { color: var(--faint); font-weight: 600; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .25rem 1.5rem; }
dt { color: var(--faint); }
dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
figure { margin: 1.5rem 0; }
figure img { display: block; max-width: 100%; max-height: 46rem; background: #fff; }
figure img, pre { border: 1px solid var(--line); border-radius: 6px; }
figcaption { max-width: 44rem; color: var(--faint); font-size: .95rem; margin-top: .6rem; }
pre { background: var(--tint); padding: .8rem 1rem; overflow-x: auto; }
"""


class Page:
    """A page, written from top to bottom; each method adds one block and returns the page.

    Parameters
    ----------
    title : str
        The heading, and the name of the browser's tab.
    lead : str
        A sentence under the heading.
    style, script : str
        CSS and JavaScript of our own for `markup` blocks; never data. Pages have no script by default.
    """

    def __init__(self, title: str, lead: str = "", *, style: str = "", script: str = "") -> None:
        self.title = title
        self._style = style
        self._script = script
        self._blocks: list[str] = [_element("h1", title)]
        if lead:
            self._blocks.append(_element("p", lead, 'class="lead"'))

    def section(self, heading: str) -> Page:
        return self._add(_element("h2", heading))

    def text(self, paragraph: str) -> Page:
        return self._add(_element("p", paragraph))

    def code(self, lines: str) -> Page:
        """Text to be typed, as it is."""
        return self._add(_element("pre", lines))

    def table(self, header: Sequence[Any], rows: Iterable[Sequence[Any]], caption: str = "") -> Page:
        """A table; its first column names the rows."""
        head = "".join(_element("th", name, 'scope="col"') for name in header)
        body = "\n".join(f"<tr>{''.join(_element('td', cell) for cell in row)}</tr>" for row in rows)
        table = f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
        return self._add_figure(f'<div class="wide">{table}</div>', caption)

    def definitions(self, terms: Mapping[Any, Any]) -> Page:
        """Names and what they stand for."""
        pairs = "\n".join(_element("dt", name) + _element("dd", value) for name, value in terms.items())
        return self._add(f"<dl>\n{pairs}\n</dl>")

    def figure(self, image: str | Path, caption: str, *, alt: str) -> Page:
        """A picture from a PNG or SVG file, stored inside the page.

        Parameters
        ----------
        image : str or Path
            The file, read now.
        caption : str
            How to read the picture.
        alt : str
            What it shows, for those who cannot see it.

        """
        image = Path(image)
        kind = _KINDS.get(image.suffix.lower())
        if kind is None:
            raise ValueError(f"A page can hold {' and '.join(_KINDS)} pictures; got {image.name}.")
        data = b64encode(image.read_bytes()).decode("ascii")
        return self._add_figure(f'<img src="data:{kind};base64,{data}" alt="{escape(alt)}">', caption)

    def markup(self, block: str) -> Page:
        """HTML as it is: whoever makes it has escaped what comes from data."""
        return self._add(block)

    def html(self) -> str:
        """The whole page."""
        return _FRAME.format(
            title=escape(self.title),
            policy=_POLICY.format(script=_permission(self._script)),
            style=_STYLE + self._style,
            body="\n".join(self._blocks),
            script=f"\n<script>{self._script}</script>" if self._script else "",
        )

    def write(self, path: str | Path) -> None:
        """Write the page, whole or not at all."""
        with written_aside(path) as aside:
            aside.write_text(self.html(), encoding="utf-8")

    def _add_figure(self, content: str, caption: str) -> Page:
        below = _element("figcaption", caption) if caption else ""
        return self._add(f"<figure>\n{content}\n{below}\n</figure>")

    def _add(self, block: str) -> Page:
        self._blocks.append(block)
        return self


def _permission(script: str) -> str:
    """What the policy says of the page's script: this one, and no other, may run."""
    digest = b64encode(sha256(script.encode("utf-8")).digest()).decode("ascii")
    return f"; script-src 'sha256-{digest}'" if script else ""


def _element(tag: str, content: Any, attributes: str = "") -> str:
    """An element around escaped content. `tag` and `attributes` are ours, never data."""
    return f"<{tag}{' ' * bool(attributes)}{attributes}>{escape(str(content))}</{tag}>"
