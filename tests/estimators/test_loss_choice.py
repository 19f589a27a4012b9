"""What loss="auto" stands for, by outputs, solver, penalty and costs; and that everything goes by it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from structlearn import (
    BinaryClassifier,
    ChainClassifier,
    CutSegmenter,
    GraphClassifier,
    MatchingClassifier,
    MulticlassClassifier,
    MultiLabelClassifier,
    SegmentClassifier,
    StructuredPredictor,
    Tagger,
    TreeParser,
    load,
    regularization_path,
)
from structlearn.data import make_chains
from structlearn.reports.comparison import chosen_estimators
from structlearn.solvers import LBFGS, ActiveBlocks, BlockFrankWolfe, Extragradient, FrankWolfe, Perceptron
from structlearn.storage.model_file import ModelFile
from structlearn.structures import Simplex

CYCLE = [("a", "b"), ("b", "c"), ("c", "a")]
X, Y = np.random.default_rng(0).normal(size=(40, 3)), np.arange(40) % 3


@pytest.mark.parametrize(
    ("estimator", "loss"),
    [
        *((kind(), "softmax") for kind in (BinaryClassifier, MulticlassClassifier, ChainClassifier)),
        (SegmentClassifier(), "softmax"),
        *((MultiLabelClassifier(edges=edges), "softmax") for edges in ("none", "tree", CYCLE[:2])),
        *((MultiLabelClassifier(edges=edges), "hinge") for edges in ("all", CYCLE, np.array(CYCLE))),
        *((kind(), "hinge") for kind in (TreeParser, MatchingClassifier, CutSegmenter, GraphClassifier)),
        (StructuredPredictor(Simplex(3)), "hinge"),
    ],
)
def test_softmax_where_marginals_are_cheap(estimator, loss):
    assert estimator.loss == "auto"
    assert estimator.chosen_loss() == (loss, "")


@pytest.mark.parametrize(
    ("estimator", "loss", "why"),
    [
        (ChainClassifier(solver="n-slack"), "hinge", "because solver='n-slack' does not train 'softmax'."),
        (ChainClassifier(solver=FrankWolfe()), "hinge", "because the solver FrankWolfe does not train"),
        (ChainClassifier(solver=Extragradient()), "hinge", "because the solver Extragradient does not train"),
        (ChainClassifier(solver=Perceptron()), "perceptron", "because the solver Perceptron"),
        (MulticlassClassifier(solver="perceptron"), "perceptron", "because solver='perceptron'"),
        (MulticlassClassifier(cost=[1, 2, 3]), "hinge", "because cost is given, which 'softmax' ignores."),
        (ChainClassifier(cost="count"), "hinge", "because cost is given"),
        (ChainClassifier(class_weight={0: 2.0}), "hinge", "because class_weight is given"),
        (BinaryClassifier(margin=2.0), "hinge", "because margin is given"),
        (TreeParser(solver="lbfgs"), "softmax", "because solver='lbfgs' does not train 'hinge'."),
        (TreeParser(solver=LBFGS()), "softmax", "because the solver LBFGS does not train 'hinge'."),
        (MultiLabelClassifier(solver="sdca"), "softmax", "because solver='sdca'"),
    ],
)
def test_what_goes_with_another_loss_alone_decides(estimator, loss, why):
    found = estimator.chosen_loss()
    assert found.name == loss
    assert found.why.startswith(f"The loss is {loss!r}, because ")
    assert why in found.why


@pytest.mark.parametrize(
    "solver", ["cutting-plane", "seg", "lbfgs", "sdca", LBFGS(), BlockFrankWolfe(), ActiveBlocks()]
)
def test_solvers_of_both_leave_the_usual_loss(solver):
    assert ChainClassifier(solver=solver).chosen_loss() == ("softmax", "")
    assert MulticlassClassifier(class_weight="balanced", penalty="l1").chosen_loss() == ("softmax", "")
    assert MatchingClassifier(solver=BlockFrankWolfe()).chosen_loss() == ("hinge", "")


def test_the_status_says_why_and_loss_tells_which():
    model = MulticlassClassifier(solver="bcfw", random_state=0, tol=0.1).fit(X, Y)
    assert (model.loss, model.loss_) == ("auto", "hinge")
    assert model.certificate_.status.endswith(
        "The loss is 'hinge', because solver='bcfw' does not train 'softmax'."
    )
    assert not hasattr(model, "predict_proba")
    assert model.set_params(solver="auto").fit(X, Y).loss_ == "softmax"
    assert model.predict_proba(X).shape == (40, 3)
    assert model.certificate_.status.startswith("Converged")
    assert "The loss" not in model.certificate_.status


@pytest.mark.filterwarnings("ignore::structlearn.NothingLearnedWarning")
def test_a_fitted_model_goes_by_the_loss_it_was_trained_with():
    model = MulticlassClassifier(random_state=0).fit(X, Y)
    sure = model.predict_proba(X)
    model.set_params(loss="hinge")
    np.testing.assert_array_equal(model.predict_proba(X), sure)
    assert clone(model).chosen_loss().name == "hinge"
    assert not hasattr(model.fit(X, Y), "predict_proba")


def test_files_hold_the_loss_that_was_trained(tmp_path):
    path = tmp_path / "model.st"
    model = ChainClassifier(solver="bcfw", random_state=0, tol=0.1).fit(
        *make_chains(8, 3, 2, 3, random_state=0)
    )
    model.save(path)
    assert ModelFile(path).header["fitted"]["loss_"] == "hinge"
    again = load(path)
    assert (again.loss, again.loss_) == ("auto", "hinge")
    assert again.get_params() == model.get_params()


def test_searches_try_losses():
    search = GridSearchCV(
        MulticlassClassifier(tol=0.1), {"loss": ["auto", "sparsemax"]}, cv=2, error_score="raise"
    )
    assert search.fit(X, Y).best_estimator_.loss_ in ("softmax", "sparsemax")


def test_a_path_is_of_one_loss():
    models = regularization_path(MulticlassClassifier(random_state=0), X, Y, [1.0, 0.1])
    assert {model.loss_ for model in models} == {"softmax"}


def test_compared_solvers_minimise_one_objective():
    both = chosen_estimators(MulticlassClassifier(), ["bcfw", "seg"])
    assert {one.loss for one in both.values()} == {"hinge"}
    assert {one.loss for one in chosen_estimators(MulticlassClassifier(), ["lbfgs", "seg"]).values()} == {
        "softmax"
    }
    assert {one.loss for one in chosen_estimators(MulticlassClassifier(), None).values()} == {"softmax"}


@pytest.mark.parametrize(
    ("options", "loss", "cost"), [({}, "softmax", "hamming"), ({"solver": "bcfw"}, "hinge", "count")]
)
def test_taggers_count_mistakes_where_mistakes_cost(options, loss, cost):
    tagger = Tagger(random_state=0, chain_options=options).fit(
        [["the", "cat"], ["a", "dog"]], [["D", "N"]] * 2
    )
    assert (tagger.chain_.loss_, tagger.chain_.cost) == (loss, cost)


def test_partial_labels_take_the_loss():
    sequences, labels = make_chains(12, 4, 2, 3, random_state=0)
    labels = [[None, *one[1:]] for one in labels]
    for solver, loss in (("auto", "softmax"), ("bcfw", "hinge")):
        assert ChainClassifier(solver=solver, random_state=0).fit(sequences, labels).loss_ == loss


def test_many_weights_are_trained_example_by_example(monkeypatch):
    from structlearn.estimators import rows

    def solver():
        model = MulticlassClassifier(random_state=0, warm_start=True).fit(X, Y)
        return type(model._solution.state).__name__

    assert solver() == "NewtonState"
    monkeypatch.setattr(rows, "WIDE", 10)
    assert solver() == "BlockState"
