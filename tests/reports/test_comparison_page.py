"""The report, read as text and in a real browser."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from html.parser import HTMLParser

import numpy as np
import pytest
from matplotlib.image import imread
from sklearn.preprocessing import StandardScaler

from structlearn.reports import Comparison, Run
from structlearn.solvers import Certificate, History, Row

HOSTILE = "</script><script>document.title='run'</script><img src=x onerror=alert(1)> & $x_{1"
BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "chrome"))), None
)
browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")


def made_up(name, rate, n, dual=0.3, tested=True):
    gaps = [rate**i for i in range(n)]
    rows = [
        Row(i, float(i), 60 * i, 0.01 * i, dual + gap, dual - gap / 10, 1.1 * gap)
        for i, gap in enumerate(gaps)
    ]
    last = rows[-1]
    certificate = Certificate(last.primal, last.dual, last.gap, n - 1, 60 * n - 60, last.seconds, "Done.")
    return Run(
        name, History(rows), certificate, [0.5 * rate**i for i in range(n)] if tested else [], 1_500_000
    )


def write(out, names, **options):
    runs = [made_up(name, 0.6 + 0.1 * k, 12 + 5 * k) for k, name in enumerate(names)]
    parameters = {"regularization": 0.01, "cost": HOSTILE, "separate": False}
    found = Comparison(runs, tol=1e-3, parameters=parameters)
    return found, found.write(out, title=HOSTILE, about={HOSTILE: HOSTILE}, **options)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return write(tmp_path_factory.mktemp("report") / "new" / "folder", ["bcfw", HOSTILE, "fw"])


def test_the_setting_says_what_was_chosen(tmp_path):
    runs = [made_up("fw", 0.6, 5)]
    parameters = {"row_transformer": StandardScaler(), "memory": None, "penalty": "l2"}
    page = Comparison(runs, tol=1e-3, parameters=parameters).write(tmp_path).read_text()
    assert "<dt>row_transformer</dt><dd>StandardScaler</dd>" in page.replace("\n", "")
    assert "<dt>penalty</dt>" in page
    assert "<dt>memory</dt>" not in page


class Elements(HTMLParser):
    """All elements of a page with their attributes, and the text outside of scripts and styles."""

    def __init__(self, html):
        super().__init__()
        self.elements, self.text, self.inside = [], "", []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self.inside.append(tag)

    def handle_endtag(self, tag):
        while self.inside and self.inside.pop() != tag:
            pass

    def handle_data(self, data):
        if not {"script", "style"} & set(self.inside):
            self.text += data

    def count(self, tag, **wanted):
        wanted = {name.replace("_", "-"): value for name, value in wanted.items()}
        return sum(tag == name and wanted.items() <= found.items() for name, found in self.elements)


# ---- files -----------------------------------------------------------------------------------------


def test_all_files_are_there(report):
    _, page = report
    figures = {f"{name}.{kind}" for name in ("gap", "values", "error") for kind in ("png", "svg")}
    assert {path.name for path in page.parent.iterdir()} == {
        "index.html",
        "curves.csv",
        "table.csv",
        *figures,
    }
    for path in page.parent.glob("*.png"):
        assert imread(path)[..., :3].std() > 0.01
    for path in page.parent.glob("*.svg"):
        assert "<svg" in path.read_text()


def test_without_a_test_there_is_no_error_figure(tmp_path):
    runs = [made_up("fw", 0.5, 5, tested=False)]
    Comparison(runs, tol=1e-3, parameters={}).write(tmp_path)
    assert not list(tmp_path.glob("error.*"))
    assert '"errorName":""' in (tmp_path / "index.html").read_text()


def test_a_run_that_is_optimal_at_once(tmp_path):
    row = Row(0, 1.0, 1, 0.0, 0.5, 0.5, 0.0)
    certificate = Certificate(0.5, 0.5, 0.0, 1.0, 1, 0.0, "Solved directly.")
    run = Run("direct", History([row]), certificate, [float("nan")], None)
    Comparison([run], tol=0.0, parameters={}).write(tmp_path)
    assert '"error":[null]' in (tmp_path / "index.html").read_text()


# ---- the page as text ------------------------------------------------------------------------------


def test_data_is_text_and_nothing_is_fetched(report):
    _, page = report
    html = page.read_text(encoding="utf-8")
    reader = Elements(html)
    assert "<img src=x" not in html
    assert reader.count("script") == 2
    assert reader.text.count(HOSTILE) >= 5  # title, heading, two tables, status, about, parameter
    links = [found[name] for _, found in reader.elements for name in ("src", "href") if name in found]
    assert links
    assert all(link.startswith("data:image/svg+xml;base64,") for link in links)
    assert not any(name.startswith("on") for _, found in reader.elements for name in found)


def test_only_our_script_may_run(report):
    html = report[1].read_text(encoding="utf-8")
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy.startswith("default-src 'none'")
    (code,) = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy.replace("&#x27;", "'")


def test_the_numbers_are_inside(report):
    found, page = report
    (text,) = re.findall(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    data = json.loads(text)
    assert [run["name"] for run in data["runs"]] == list(found)
    for run, expected in zip(data["runs"], found.values(), strict=True):
        np.testing.assert_array_equal(run["columns"]["gap"], expected.history.gap)
        np.testing.assert_array_equal(run["columns"]["error"], expected.errors)
        np.testing.assert_allclose(run["columns"]["above"], expected.history.primal - found.best_dual)


def test_the_tables_say_what_it_took(report):
    found, page = report
    html = page.read_text(encoding="utf-8")
    took = found.reached("bcfw", 0.1)
    assert f'<th scope="row">bcfw</th><td>{took["passes"]:.0f}</td><td>{took["oracle_calls"]}</td>' in html
    assert "<td>1.5 MB</td>" in html


# ---- the page in a browser -------------------------------------------------------------------------


def dumped(address, profile):
    """The document after its scripts ran."""
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    command += ["--virtual-time-budget=5000", "--dump-dom", address]
    return Elements(subprocess.run(command, capture_output=True, text=True, check=True, timeout=600).stdout)


@browser
def test_curves_are_drawn_and_names_stay_text(report, tmp_path):
    reader = dumped(report[1].as_uri(), tmp_path)
    # three runs: gap, above, error, and primal with dual
    for curve in ("gap", "above", "error", "primal", "dual"):
        assert reader.count("path", data_curve=curve) == 3
    assert all(found["d"].count("L") >= 10 for tag, found in reader.elements if tag == "path")
    assert reader.count("button", aria_pressed="true") == 1 + 3
    assert reader.count("img", src="x") == 0
    assert reader.count("script") == 2
    assert reader.text.count(HOSTILE) >= 6  # now also in the legend
    assert "passes over the data" in reader.text


@browser
def test_the_address_hides_a_solver_and_chooses_the_axis(report, tmp_path):
    reader = dumped(f"{report[1].as_uri()}#x=seconds&hide=bcfw", tmp_path)
    assert reader.count("path", data_run="0") == 0
    assert reader.count("path", data_curve="gap") == 2
    assert "seconds (without compilation)" in reader.text
    assert "passes over the data" not in reader.text.replace("Passes over the data", "")


@browser
def test_pressing_hides_and_pointing_tells(report, tmp_path):
    """A copy of the page without its policy, so that a script of the test can press and point."""
    act = """<script>addEventListener('load', () => setTimeout(() => {
      document.querySelector('.legend button[data-run="0"]').click();
      document.querySelector('button[data-x="oracle_calls"]').click();
      const svg = document.querySelector('svg'), frame = svg.getBoundingClientRect();
      const path = document.querySelector('path[data-run="2"]').getAttribute('d');
      const [, x, y] = path.match(/^M([^ ]+) ([^L]+)L/);
      svg.dispatchEvent(new PointerEvent('pointermove',
        {clientX: frame.left + Number(x), clientY: frame.top + Number(y), bubbles: true}));
    }, 500));</script>"""
    html = re.sub(r"<meta http-equiv[^>]*>", "", report[1].read_text(encoding="utf-8"))
    copy = tmp_path / "copy.html"
    copy.write_text(html.replace("</body>", f"{act}</body>"), encoding="utf-8")
    reader = dumped(copy.as_uri(), tmp_path / "profile")
    assert reader.count("path", data_run="0") == 0
    assert reader.count("path", data_run="1") == 5
    assert reader.count("button", data_run="0", aria_pressed="false") == 1
    assert reader.count("circle", visibility="visible") == 1
    tip = reader.text[reader.text.index("gap1.1") - 200 :]
    assert "oracle calls0" in tip
    assert "gap1.1" in tip


@browser
def test_nothing_is_shown_if_all_are_hidden(tmp_path):
    _, page = write(tmp_path / "one", ["fw"])
    reader = dumped(f"{page.as_uri()}#hide=fw", tmp_path / "profile")
    assert reader.count("path") == 0
    assert "No solver is shown." in reader.text
