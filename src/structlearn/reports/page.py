"""One HTML file that needs nothing else: no network, pictures inside, no scripts but the library's own."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from structlearn.reports.templates import render
from structlearn.storage.atomic import atomic_write

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from structlearn.solvers import Certificate

#: A file, or a figure.
Image: TypeAlias = "str | Path | Figure"
_KINDS = {".png": "image/png", ".svg": "image/svg+xml"}


class HistogramBar(NamedTuple):
    """A bar of a histogram.

    share : its length, as a share of the longest one
    rest : what follows in another pattern, such as what is wrong; None where bars have one colour
    """

    name: str
    share: float
    rest: float | None
    cells: Sequence[object]


class Page:
    """A page, written from top to bottom; each method adds one block and returns the page.

    Parameters
    ----------
    title : str
        The heading, and the name of the browser's tab.
    lead : str
        A sentence under the heading.
    template : str
        A template of the library with a body of its own, which shows `values` instead of blocks.
    """

    def __init__(self, title: str, lead: str = "", template: str = "page.html", **values: object) -> None:
        self.title = title
        self._lead = lead
        self._template = template
        self._values = values
        self._parts: list[tuple[str, dict[str, object]]] = []

    def section(self, heading: str) -> Page:
        return self._add("section", heading=heading)

    def text(self, paragraph: str) -> Page:
        return self._add("text", paragraph=paragraph)

    def code(self, lines: str) -> Page:
        """Add text to be typed, as it is."""
        return self._add("code", lines=lines)

    def table(
        self,
        header: Sequence[object],
        rows: Iterable[Sequence[object]],
        caption: str = "",
        *,
        groups: Sequence[tuple[object, int]] = (),
    ) -> Page:
        """Add a table whose first column names the rows; `groups` are headings above several columns."""
        return self._add("table", header=header, rows=list(rows), caption=caption, groups=groups)

    def histogram(self, header: Sequence[object], bars: Sequence[HistogramBar], caption: str) -> Page:
        """Add bars, one below the other, with words beside them."""
        return self._add("histogram", header=header, bars=bars, caption=caption)

    def definitions(self, terms: Mapping[str, object]) -> Page:
        """Add names and what they stand for."""
        return self._add("definitions", terms=terms)

    def figure(self, image: Image, caption: str, *, alt: str, narrow: Image | None = None) -> Page:
        """Add a plot, stored inside the page.

        Parameters
        ----------
        image : str, Path or matplotlib Figure
            A PNG or SVG file, read now; or a figure.
        caption : str
            How to read the picture.
        alt : str
            What it shows, for those who cannot see it.
        narrow : str, Path or matplotlib Figure, optional
            What narrow screens show instead.

        """
        small = "" if narrow is None else embed(narrow)
        return self._add("figure", picture=embed(image), alt=alt, caption=caption, narrow=small)

    def part(self, heading: str) -> Page:
        """Add a heading inside a section."""
        return self._add("part", heading=heading)

    def certificate(self, found: Certificate) -> Page:
        """Add how far from optimal weights are, line by line as it is printed."""
        return self.definitions(dict(line.split(": ", 1) for line in str(found).splitlines()))

    def cards(self, figures: Mapping[str, object]) -> Page:
        """Add key figures, by name."""
        return self._add("cards", figures=figures)

    def links(self, files: Mapping[str, object]) -> Page:
        """Add links to files beside the page, and what they hold."""
        return self._add("links", files=files)

    def html(self) -> str:
        """Return the whole page."""
        return render(self._template, title=self.title, lead=self._lead, parts=self._parts, **self._values)

    def write(self, path: str | Path) -> None:
        """Write the page, whole or not at all."""
        with atomic_write(path) as aside:
            aside.write_text(self.html(), encoding="utf-8")

    def _add(self, kind: str, **values: object) -> Page:
        self._parts.append((kind, values))
        return self


def embed(image: Image) -> str:
    """Return the address under which a page holds a picture inside itself."""
    if not isinstance(image, str | Path):
        return data_address("image/svg+xml", _draw_svg(image))
    image = Path(image)
    kind = _KINDS.get(image.suffix.lower())
    if kind is None:
        raise ValueError(f"A page can hold {' and '.join(_KINDS)} pictures; got {image.name}.")
    return data_address(kind, image.read_bytes())


def data_address(kind: str, data: bytes) -> str:
    """Return the address that holds data itself."""
    return f"data:{kind};base64,{b64encode(data).decode('ascii')}"


def _draw_svg(figure: Figure) -> bytes:
    stream = BytesIO()
    figure.savefig(stream, format="svg")
    return stream.getvalue()
