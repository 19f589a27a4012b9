import base64
import re
from urllib.parse import unquote

import pytest
from jinja2 import UndefinedError
from matplotlib.figure import Figure

from html_reader import Reader
from structlearn.reports import Page
from structlearn.reports.templates import render

HOSTILE = "<script>alert(1)</script>\"'&"
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg=="
)


@pytest.fixture
def picture(tmp_path):
    path = tmp_path / "picture.png"
    path.write_bytes(PIXEL)
    return path


@pytest.fixture
def hostile_page(picture):
    page = Page(HOSTILE, HOSTILE).section(HOSTILE).text(HOSTILE).code(HOSTILE)
    page.table([HOSTILE], [[HOSTILE], [HOSTILE]], HOSTILE).definitions({HOSTILE: HOSTILE})
    page.part(HOSTILE).cards({HOSTILE: HOSTILE}).links({HOSTILE: HOSTILE})
    return page.figure(picture, HOSTILE, alt=HOSTILE, narrow=picture)


def test_everything_is_escaped(hostile_page):
    html = hostile_page.html()
    assert "<script" not in html
    reader = Reader(html)
    # title, h1, lead, h2, h3, p, code, column, two rows, two figcaptions, and three lists with dt and dd
    assert reader.texts.count(HOSTILE) == 12 + 6
    assert reader.attributes("alt") == [HOSTILE]


def test_nothing_is_fetched_and_nothing_runs(hostile_page):
    reader = Reader(hostile_page.html())
    pictures = [link for name in ("src", "srcset") for link in reader.attributes(name)]
    assert [link[:22] for link in pictures] == ["data:image/png;base64,"] * 2
    (link,) = reader.attributes("href")  # to a file beside the page, whatever it is called
    assert unquote(link) == HOSTILE
    assert not re.search(r"[<>:\"' ]", link)
    assert not any(name.startswith("on") for _, attributes in reader.elements for name in attributes)
    assert not re.search(r"@import|url\(", hostile_page.html())
    policies = [a["content"] for tag, a in reader.elements if "http-equiv" in a]
    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'")


def test_braces_in_data_are_only_braces():
    assert "{title} {0} {}" in Page("{title} {0} {}").text("{style}").html()


def test_the_picture_is_inside(picture):
    html = Page("t").figure(picture, "caption", alt="what it shows").html()
    (data,) = re.findall(r'src="data:image/png;base64,([^"]+)"', html)
    assert base64.b64decode(data) == PIXEL


def test_other_files_are_no_pictures(tmp_path):
    with pytest.raises(ValueError, match=r"\.png and \.svg pictures; got notes\.txt"):
        Page("t").figure(tmp_path / "notes.txt", "caption", alt="")


def test_tables_keep_their_order():
    reader = Reader(Page("t").table(["a", "b"], [[1, 2.5], ["x", None]]).html())
    cells = [text for text in reader.texts if text.strip()][2:]
    assert cells[-6:] == ["a", "b", "1", "2.5", "x", "None"]
    assert reader.attributes("scope") == ["col", "col", "row", "row"]


def test_long_tables_are_cut_and_say_so():
    reader = Reader(Page("t").table(["n"], ([k] for k in range(1000)), "Numbers.").html())
    assert reader.attributes("scope").count("row") == 200
    assert "Numbers. The first 200 of 1000 rows are shown." in reader.texts
    assert "199" in reader.texts
    assert "200" not in reader.texts


def test_narrow_screens_have_a_picture_of_their_own(picture):
    figure = Figure()
    figure.subplots().plot([1, 2])
    html = Page("t").figure(picture, "caption", alt="what it shows", narrow=figure).html()
    ((media, address),) = ((a["media"], a["srcset"]) for tag, a in Reader(html).elements if tag == "source")
    assert media == "(max-width: 48rem)"
    kind, data = address.split(",")
    assert kind == "data:image/svg+xml;base64"
    assert b"<svg" in base64.b64decode(data)


def test_written_as_utf8(tmp_path):
    Page("naïve Σ 数").write(tmp_path / "page.html")
    html = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<h1>naïve Σ 数</h1>" in html
    assert '<meta charset="utf-8">' in html
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_templates_escape_and_miss_nothing():
    box = {"words": HOSTILE, "tag": HOSTILE, "wrong": True, "hue": HOSTILE, "whys": []}
    html = render("tagged_text.html", boxes=[box])
    reader = Reader(html)
    assert [tag for tag, _ in reader.elements] == ["p", "span", "small"]
    assert reader.texts.count(HOSTILE) == 2
    with pytest.raises(UndefinedError, match="boxes"):
        render("tagged_text.html")
    with pytest.raises(UndefinedError, match="hue"):
        render("tagged_text.html", boxes=[{name: box[name] for name in box if name != "hue"}])
