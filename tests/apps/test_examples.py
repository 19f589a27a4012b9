import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("plot_*.py"))
#: Those that are run here; `make docs` runs all of them.
QUICK = ("plot_digit_chain", "plot_matching", "plot_multilabel_pairs", "plot_segmentation")


@pytest.mark.parametrize("name", QUICK)
def test_an_example_draws_a_figure_and_writes_nothing(name, tmp_path, monkeypatch):
    (script,) = (path for path in EXAMPLES if path.stem == name)
    monkeypatch.chdir(tmp_path)
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.extend(map(plt.figure, plt.get_fignums())))
    with plt.rc_context({"backend": "agg"}):
        runpy.run_path(str(script), run_name="__main__")
        assert shown
        for figure in shown:
            figure.canvas.draw()
            pixels = np.asarray(figure.canvas.buffer_rgba())
            assert min(pixels.shape[:2]) > 300
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
