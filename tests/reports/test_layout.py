"""Every kind of page in a real browser: no wider than a narrow window, and legible, also at night."""

import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from structlearn.alignment.links import Links
from structlearn.alignment.uses.page import AlignedPair, alignment_page
from structlearn.parsing.page import ParsedSentence, tree_page
from structlearn.reports import Comparison, Page, Run
from structlearn.reports.graph_page import DrawnGraph, graph_page
from structlearn.reports.image_page import LabelledImage, image_page
from structlearn.reports.summaries import Summary
from structlearn.reports.tagged_text import TaggedText, Why, tagged_page
from structlearn.solvers import Certificate, History, Row

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")

NARROW = 500
LONG = "Donaudampfschifffahrtsgesellschaft" * 12
#: Rows of a table that is wider than the window, with names that are longer than it.
ROWS = [[LONG, *(["0.1234"] * 6)], *([[f"label {k}", *(["0.1234"] * 6)] for k in range(300)])]
SUMMARY = Summary("labels", "tokens", "0.5000", 10, ROWS, [[LONG, LONG, 1, "100%"]])

#: Frames of the narrow width, a page each; how wide its document is, and the least contrast of its text.
HARNESS = """<!DOCTYPE html><body>%s<pre id="found"></pre><script>
const light = (c) => [0, 1, 2].reduce((sum, k) => {
  const x = c[k] / 255;
  return sum + [.2126, .7152, .0722][k] * (x <= .04045 ? x / 12.92 : ((x + .055) / 1.055) ** 2.4);
}, 0);
const parts = (colour) => colour.match(/[0-9.]+/g).map(Number);
const opaque = (c) => c.length < 4 || c[3] > .5;
function behind(element) {
  for (let e = element; e; e = e.parentElement) {
    const own = parts(getComputedStyle(e).backgroundColor);
    if (opaque(own)) return own;
    const drawn = e.tagName === "g" && e.querySelector("circle");
    if (drawn) return parts(getComputedStyle(drawn).fill);
  }
  return [255, 255, 255];
}
function contrast(element) {
  const style = getComputedStyle(element), text = parts(element.closest("svg") ? style.fill : style.color);
  const both = [light(text), light(behind(element))].sort((a, b) => b - a);
  return (both[0] + .05) / (both[1] + .05);
}
addEventListener("load", () => setTimeout(() => {
  const found = [...document.querySelectorAll("iframe")].map((frame) => {
    const page = frame.contentDocument;
    const texts = [...page.querySelectorAll("main *")].filter((e) =>
      [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()) && e.tagName !== "SCRIPT"
      && e.tagName !== "title");
    const least = texts.map((e) => [contrast(e), e.outerHTML.slice(0, 90)]).sort((a, b) => a[0] - b[0])[0];
    const ground = light(parts(frame.contentWindow.getComputedStyle(page.body).backgroundColor));
    const root = page.documentElement;
    return { wider: root.scrollWidth - root.clientWidth, least, ground, texts: texts.length };
  });
  document.getElementById("found").textContent = JSON.stringify(found);
}, 500));
</script>"""


def comparison(out):
    rows = [Row(i, float(i), 60 * i, 0.01 * i, 1 + 0.5**i, 1 - 0.5**i, 2 * 0.5**i) for i in range(9)]
    made = Certificate(*rows[-1][4:], 8, 480, 0.08, "Done.")
    runs = [Run(name, History(rows), made, [], 10**6) for name in ("bcfw", LONG, "fw")]
    return Comparison(runs, tol=1e-3, parameters={"cost": LONG}).write(out, title=LONG)


def blocks(out):
    page = (
        Page(LONG, LONG).section(LONG).part(LONG).text(LONG).code(LONG).table(["name", *"abcdef"], ROWS, LONG)
    )
    return (
        page.definitions({LONG: LONG, "a": LONG}).cards({LONG: LONG, "b": "2"}).links({f"{LONG}.png": LONG})
    )


def tagged(out):
    why = [Why("A", LONG, "1.00", [(LONG, "+1.00")]), None, None]
    texts = [TaggedText([LONG, "b", "שלום"], ["B-A", f"B-{LONG}", "O"], ["O", "O", "O"], why)]
    texts += [TaggedText([f"w{k}"], [f"L{k}"]) for k in range(100)]
    return tagged_page(texts, summary=SUMMARY)


def trees(out):
    words = [LONG, *"abcdefghijklmnopqrstuvw"]
    heads, labels = list(range(len(words))), [LONG] * len(words)
    return tree_page([ParsedSentence(words, words, (heads, labels), (heads[::-1], labels))])


def alignment(out):
    words = [LONG, *"abcdefghijklmnopqrstuvw"]
    gold = Links.of({(0, 0), (1, 2)}, {(3, 3), (4, 4)})
    pair = AlignedPair(words, words, {(0, 0), (3, 3), (5, 6)}, gold, np.full((24, 24), 0.3))
    return alignment_page([pair] * 12, title=LONG)


def graphs(out):
    edges = [(k, (k + 1) % 60) for k in range(60)]
    drawn = [DrawnGraph(60, edges, np.arange(60) % 7, np.arange(60) % 5), DrawnGraph(1, [], np.zeros(1, int))]
    return graph_page(drawn, summary=SUMMARY)


def images(out):
    labels = np.arange(300).reshape(3, 100) % 90
    return image_page([LabelledImage(LONG, np.ones((3, 100, 3)), labels, labels[:, ::-1])], summary=SUMMARY)


KINDS = (blocks, tagged, trees, alignment, graphs, images, comparison)


@pytest.fixture(scope="module")
def harness(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    frames = ""
    for k, make in enumerate(KINDS):
        made = make(folder / str(k))
        if isinstance(made, Page):
            made.write(folder / f"{k}.html")
            made = folder / f"{k}.html"
        frames += f'<iframe src="{made.as_uri()}" width="{NARROW}" height="800"></iframe>'
    (folder / "harness.html").write_text(HARNESS % frames, encoding="utf-8")
    return folder / "harness.html"


@pytest.mark.parametrize("dark", [False, True])
def test_pages_fit_and_can_be_read(dark, harness, tmp_path):
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}"]
    command += ["--allow-file-access-from-files", "--virtual-time-budget=10000"]
    command += ["--blink-settings=preferredColorScheme=0"] * dark
    dumped = subprocess.run(
        [*command, "--dump-dom", harness.as_uri()], capture_output=True, text=True, check=True, timeout=600
    ).stdout
    (text,) = re.findall(r'<pre id="found">(.*?)</pre>', dumped, re.DOTALL)
    found = dict(zip((make.__name__ for make in KINDS), json.loads(text), strict=True))
    assert {name: one["wider"] for name, one in found.items()} == dict.fromkeys(found, 0)
    for name, one in found.items():
        assert one["texts"] > 5, name
        assert (one["ground"] < 0.1) == dark, name
        assert one["least"][0] >= 4.5, (name, one["least"])  # WCAG AA
