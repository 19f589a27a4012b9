import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("plot_*.py"))
CHAPTERS = sorted((ROOT / "docs" / "course").glob("plot_*.py"))
#: Those that every run of the tests tries; `make docs` runs all of them.
QUICK = (
    *("plot_digit_chain", "plot_matching", "plot_multilabel_pairs", "plot_segmentation"),
    *(
        "plot_01_linear_models",
        "plot_03_duality",
        "plot_05_softmax",
        "plot_06_sparsemax",
        "plot_07_fenchel_young",
    ),
)
#: The other chapters of the course, which `make torture` runs.
LATER = [pytest.param(path.stem, marks=pytest.mark.long) for path in CHAPTERS if path.stem not in QUICK]


@pytest.mark.parametrize("name", [*QUICK, *LATER])
def test_an_example_draws_a_figure_and_writes_nothing(name, tmp_path, monkeypatch):
    (script,) = (path for path in EXAMPLES + CHAPTERS if path.stem == name)
    monkeypatch.chdir(tmp_path)
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.extend(map(plt.figure, plt.get_fignums())))
    with plt.rc_context({"backend": "agg"}):
        runpy.run_path(str(script), run_name="__main__")
        assert shown
        for figure in shown:
            figure.canvas.draw()
            pixels = np.asarray(figure.canvas.buffer_rgba())
            assert min(pixels.shape[:2]) > 150
            assert pixels[..., :3].std() > 2
    plt.close("all")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_explains_itself_briefly(script):
    source = script.read_text()
    title, line, blank, *_ = source.removeprefix('"""\n').splitlines()
    assert (set(line), len(line), blank) == ({"="}, len(title), "")
    assert len(source.split('"""')[1].split()) > 30
    assert len(source.splitlines()) < 90


@pytest.mark.parametrize("script", CHAPTERS, ids=lambda path: path.stem)
def test_each_chapter_has_exercises_with_solutions_that_run(script):
    exercises, solutions = script.read_text().split("# Exercises\n")[1].split("# Solutions\n")
    assert "# 1. " in exercises
    assert "assert" in solutions
