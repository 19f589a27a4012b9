"""More data later: the same optimum, from a start that is nearer."""

import numpy as np
import pytest
from typer.testing import CliRunner

from structlearn import ChainClassifier
from structlearn.cli import app
from structlearn.solvers import Solution
from structlearn.tagging import Tagger

KINDS = {"D": ["the", "a"], "N": ["dog", "cat", "Rome"], "V": ["runs", "sees"], "J": ["red", "old"]}


def text(n, kinds, seed=0):
    rng = np.random.default_rng(seed)
    labels = [rng.choice(list(kinds), size=rng.integers(2, 7)).tolist() for _ in range(n)]
    return [[str(rng.choice(KINDS[k])) for k in one] for one in labels], labels


OPTIONS = {"random_state": 0, "tol": 1e-3, "regularization": 0.02}


@pytest.mark.parametrize("loss", ["softmax", "hinge"])
def test_the_same_data_and_more(loss):
    X, y = text(40, "DNV")
    more_X, more_y = text(60, "DNVJ", seed=1)
    tagger = Tagger(loss=loss, warm_start=True, **OPTIONS).fit(X, y)
    first = tagger.certificate_
    tagger.fit(X, y)
    assert tagger.certificate_.passes <= first.passes
    assert abs(tagger.certificate_.primal - first.primal) <= 2e-3
    tagger.fit(more_X, more_y)
    cold = Tagger(loss=loss, **OPTIONS).fit(more_X, more_y)
    assert tagger.classes_.tolist() == ["D", "J", "N", "V"]
    assert tagger.certificate_.converged
    assert abs(tagger.certificate_.primal - cold.certificate_.primal) <= 2e-3
    assert tagger.chain_.weights_.shape == cold.chain_.weights_.shape


def test_weights_are_carried_by_name():
    X = [[{"w": "a"}, {"w": "b"}]] * 3
    model = ChainClassifier(loss="softmax", warm_start=True, random_state=0, start=True, **{"tol": 1e-4})
    model.fit(X, [["A", "B"]] * 3)
    before = model.coef_.copy(), model.transition_coef_.copy(), model.start_coef_.copy(), model.classes_
    model.set_params(max_passes=1, tol=1e9, solver="lbfgs")
    model.fit([[{"w": "new"}, {"w": "b"}, {"w": "a"}]] * 2, [["C", "B", "A"]] * 2)
    assert model.features_.names_ == ["w:new", "w:b", "w:a"]
    assert model.classes_.tolist() == ["A", "B", "C"]
    coef, steps = np.zeros((3, 3)), np.zeros((3, 3))
    coef[:2, [2, 1]], steps[:2, :2] = before[0], before[1]
    np.testing.assert_array_equal(model.coef_, coef)
    np.testing.assert_array_equal(model.transition_coef_, steps)
    np.testing.assert_array_equal(model.start_coef_, [*before[2], 0])


def test_other_features_are_refused():
    X, y = text(10, "DNV")
    tagger = Tagger(warm_start=True, templates="word", **OPTIONS).fit(X, y)
    with pytest.raises(ValueError, match="has other templates; go on with the same templates"):
        tagger.set_params(templates="word word[-1]").fit(X, y)
    tagger = Tagger(warm_start=True, **OPTIONS).fit(X, y)
    with pytest.raises(ValueError, match="features of another kind"):
        tagger.fit([[{"w": word} for word in one] for one in X], y)


@pytest.mark.filterwarnings("ignore:The labels .* mark no spans")
def test_from_the_shell(tmp_path):
    def shell(*arguments, code=0):
        result = CliRunner().invoke(app, [str(one) for one in arguments])
        assert result.exit_code == code, result.output
        return result

    for name, kinds in (("a", "DNV"), ("b", "DNJ")):
        rows = ("\n".join(map(" ".join, zip(*one))) for one in zip(*text(40, kinds)))
        (tmp_path / f"{name}.txt").write_text("\n\n".join(rows) + "\n")
    a, b, model = tmp_path / "a.txt", tmp_path / "b.txt", tmp_path / "a.st"

    def passes(result):
        return float(result.stdout.split("passes: ")[1].split()[0])

    cold = shell("train", "tag", a, "--out", model, "--tol", "0.001")
    again = shell("train", "tag", a, "--continue", model, "--out", tmp_path / "again.st", "--tol", "0.001")
    assert passes(again) <= passes(cold)
    result = shell("train", "tag", b, "--continue", model, "--out", tmp_path / "b.st")
    assert "lacks labels of the model before, which are forgotten: V." in result.stderr
    refused = shell("train", "ner", a, "--continue", model, "--out", tmp_path / "x", code=2)
    assert "it is a model of the task tag, not of this one" in refused.stderr
    other = ["--templates", "word", "--continue", model]
    assert "other templates" in shell("train", "tag", a, *other, "--out", tmp_path / "x", code=2).stderr
    refused = shell("train", "classify", a, "--continue", model, "--out", tmp_path / "x", code=2)
    assert "--continue does not go with the task classify" in refused.stderr


def test_a_model_of_probabilities_goes_on_from_the_predictions_at_its_weights(monkeypatch):
    """They are a dual point of the new problem, whatever words and labels are new in it."""
    tagger = Tagger(loss="softmax", warm_start=True, **OPTIONS).fit(*text(40, "DNV"))
    started = []
    start_for = Solution.start_for
    monkeypatch.setattr(
        Solution, "start_for", lambda self, problem: started.append(start_for(self, problem)) or started[-1]
    )
    tagger.fit(*text(60, "DNVJ", seed=1))
    assert started[-1].point is not None
