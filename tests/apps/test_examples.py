import runpy
from pathlib import Path

import pytest
from matplotlib.image import imread

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("plot_*.py"))


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_draws_one_figure_where_it_is_told(script, tmp_path, monkeypatch):
    here, out = tmp_path / "here", tmp_path / "out"
    here.mkdir()
    out.mkdir()
    monkeypatch.chdir(here)
    names = runpy.run_path(str(script))
    assert not list(here.iterdir())  # importing draws nothing
    names["main"](out)
    assert not list(here.iterdir())
    (picture,) = out.iterdir()
    assert picture.name == f"{script.stem.removeprefix('plot_')}.png"
    pixels = imread(picture)
    assert min(pixels.shape[:2]) > 300
    assert pixels[..., :3].std() > 0.01


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.stem)
def test_each_example_explains_itself_briefly(script):
    source = script.read_text()
    assert source.startswith('"""')
    assert len(source.split('"""')[1].split()) > 30
    assert len(source.splitlines()) < 90


def test_there_are_examples():
    assert len(EXAMPLES) >= 3
