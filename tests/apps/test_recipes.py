"""The recipes' data, from folders of the test's own, from the real files where they are, and embedded."""

import os
from pathlib import Path

import numpy as np
import pytest

from structlearn.apps.recipes import RECIPES
from structlearn.data import DataError

SHARED = Path(os.environ.get("STRUCTLEARN_DATA", Path(__file__).resolve().parents[3] / "shared" / "data"))


@pytest.fixture(autouse=True)
def nothing_here(monkeypatch, tmp_path):
    monkeypatch.setenv("STRUCTLEARN_DATA", str(tmp_path / "nothing"))


@pytest.mark.parametrize("name", ["scene", "letters"])
def test_without_data(name, tmp_path):
    with pytest.raises(
        DataError, match=f"not on this machine: run `structlearn data fetch {name}`.*--data DIR"
    ):
        RECIPES[name].problem()
    with pytest.raises(DataError, match="does not exist"):
        RECIPES[name].problem(tmp_path / "absent")
    with pytest.raises(DataError, match=f"The data set {name} is not in "):
        RECIPES[name].problem(tmp_path)


def test_triplets_of_digits_are_embedded(capsys, tmp_path):
    problem = RECIPES["triplets"].problem()
    assert "handwritten digits" in capsys.readouterr().err
    assert len(problem.X) == len(problem.y) == 1000
    assert problem.X[0].shape == (3, 64)
    with pytest.raises(DataError, match="not in"):  # a folder that was named is meant
        RECIPES["triplets"].problem(tmp_path)


def test_scene(tmp_path):
    for name in ("scene_train", "scene_test"):
        (tmp_path / name).write_text("0,4 1:0.5 294:1\n5 2:0.5\n")
    problem = RECIPES["scene"].problem(tmp_path)
    assert problem.X.shape == (2, 294)
    assert problem.y == [(0, 4), (5,)]

    class Answers:
        def indicator(self, y):
            return np.array([[label in one for label in (0, 4, 5)] for one in y])

        def predict(self, X):
            return [(0,), (5,)]

    assert problem.error(Answers()) == pytest.approx(1 / 6)


def test_letters_of_fold_zero_or_of_the_others(tmp_path):
    pixels = "\t".join(["0"] * 128)
    lines = [f"{i}\ta\t-1\t{i}\t1\t{fold}\t{pixels}\t\n" for i, fold in enumerate([0, 1, 1, 2])]
    (tmp_path / "letter.data").write_text("".join(lines))
    assert len(RECIPES["letters"].problem(tmp_path).X) == 1
    assert len(RECIPES["letters"].problem(tmp_path, full=True).X) == 3
    (tmp_path / "letter.data").write_text(lines[0])
    with pytest.raises(DataError, match="words in fold 0 and in others"):
        RECIPES["letters"].problem(tmp_path)


@pytest.mark.skipif(not (SHARED / "triplets").exists(), reason="the data is not here")
def test_the_real_data():
    scene = RECIPES["scene"].problem(SHARED)
    assert scene.X.shape == (1211, 294)
    assert scene.summary == "1211 images to train on, 1196 to test"
    shoes = RECIPES["triplets"].problem(SHARED)
    assert shoes.X[0].shape == (3, 4096)
    assert set(shoes.y) == {0, 1, 2}


@pytest.mark.parametrize("recipe", RECIPES.values(), ids=RECIPES)
def test_estimators_take_the_parameters(recipe):
    recipe.estimator(**recipe.parameters).check_parameters()
