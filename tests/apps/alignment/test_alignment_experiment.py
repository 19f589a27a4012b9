"""The experiment with the links of the unsupervised aligner as labels."""

from structlearn.apps.alignment.experiment import alignment_experiment


def test_the_embedded_experiment_is_learned():
    model, X, y = alignment_experiment(n=40)
    assert len(X) == len(y) == 40
    model.set_params(tol=0.1).fit(X, y)
    assert model.score(X, y) > 0.9


def test_pairs_without_words_are_left_out():
    model, X, _ = alignment_experiment([(["a", "b"], ["A"]), ([], ["A"])])
    assert [x.shape[:2] for x in X] == [(2, 1)]
    assert model.regularization == 0.01
