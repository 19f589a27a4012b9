"""One HTML file that needs nothing else: no network, pictures inside, no scripts but the library's own.

Whatever comes from data is escaped; the only markup is ours.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from typing import Any

from structlearn.storage.atomic import atomic_write

_KINDS = {".png": "image/png", ".svg": "image/svg+xml"}

# No scripts but those whose hashes follow, and no request to anyone.
_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
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
</main>{scripts}
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
        self._style = _STYLE + style
        self._scripts = [script] if script else []
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

    def table(
        self,
        header: Sequence[Any],
        rows: Iterable[Sequence[Any]],
        caption: str = "",
        *,
        groups: Sequence[tuple[Any, int]] = (),
    ) -> Page:
        """A table; its first column names the rows. `groups` are headings above so many columns each."""
        above = "".join(_element("th", name, f'scope="colgroup" colspan="{span}"') for name, span in groups)
        head = "".join(_element("th", name, 'scope="col"') for name in header)
        head = f"<tr>{above}</tr>\n<tr>{head}</tr>" if groups else f"<tr>{head}</tr>"
        body = "\n".join(f"<tr>{''.join(_element('td', cell) for cell in row)}</tr>" for row in rows)
        table = f"<table>\n<thead>{head}</thead>\n<tbody>\n{body}\n</tbody></table>"
        return self._add_figure(f'<div class="wide">{table}</div>', caption)

    def definitions(self, terms: Mapping[Any, Any]) -> Page:
        """Names and what they stand for."""
        pairs = "\n".join(_element("dt", name) + _element("dd", value) for name, value in terms.items())
        return self._add(f"<dl>\n{pairs}\n</dl>")

    def figure(self, image: str | Path, caption: str, *, alt: str, fallback: bool = False) -> Page:
        """A picture from a PNG or SVG file, stored inside the page.

        Parameters
        ----------
        image : str or Path
            The file, read now.
        caption : str
            How to read the picture.
        alt : str
            What it shows, for those who cannot see it.
        fallback : bool
            Whether it is shown only where scripts do not run.

        """
        image = Path(image)
        kind = _KINDS.get(image.suffix.lower())
        if kind is None:
            raise ValueError(f"A page can hold {' and '.join(_KINDS)} pictures; got {image.name}.")
        data = b64encode(image.read_bytes()).decode("ascii")
        picture = f'<img src="data:{kind};base64,{data}" alt="{escape(alt)}">'
        return self._add_figure(picture, caption, "noscript" if fallback else "")

    def script(self, code: str, data: Any) -> Page:
        """A script of the library, which fills the element `stage` from the JSON in the element `data`."""
        self._scripts.append(code)
        stage = '<div id="stage"></div>'
        held = f'<script type="application/json" id="data">{_json(data)}</script>'
        return self._add(f"{stage}\n{held}")

    def markup(self, block: str) -> Page:
        """HTML as it is: whoever makes it has escaped what comes from data."""
        return self._add(block)

    def html(self) -> str:
        """The whole page."""
        allowed = " ".join(map(_permission, self._scripts))
        policy = f"{_POLICY}; script-src {allowed}" if allowed else _POLICY
        return _FRAME.format(
            title=escape(self.title),
            policy=policy,
            style=self._style,
            body="\n".join(self._blocks),
            scripts="".join(f"\n<script>{code}</script>" for code in self._scripts),
        )

    def write(self, path: str | Path) -> None:
        """Write the page, whole or not at all."""
        with atomic_write(path) as aside:
            aside.write_text(self.html(), encoding="utf-8")

    def _add_figure(self, content: str, caption: str, around: str = "") -> Page:
        below = _element("figcaption", caption) if caption else ""
        figure = f"<figure>\n{content}\n{below}\n</figure>"
        return self._add(f"<{around}>{figure}</{around}>" if around else figure)

    def _add(self, block: str) -> Page:
        self._blocks.append(block)
        return self


def _permission(script: str) -> str:
    """What the policy says of a script: this one may run."""
    digest = b64encode(sha256(script.encode("utf-8")).digest()).decode("ascii")
    return f"'sha256-{digest}'"


def _element(tag: str, content: Any, attributes: str = "") -> str:
    """An element around escaped content. `tag` and `attributes` are ours, never data."""
    return f"<{tag}{' ' * bool(attributes)}{attributes}>{escape(str(content))}</{tag}>"


def _json(data: Any) -> str:
    """JSON that ends no element: it holds none of the characters that mean something to HTML."""
    text = json.dumps(data, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
