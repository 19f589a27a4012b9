"""Labels that are hardly meant as they are given are warned of."""

import numpy as np
import pytest

from structlearn import ChainClassifier, MulticlassClassifier, MultiLabelClassifier, Tagger

X = np.eye(6)
QUICK = {"random_state": 0, "tol": 0.1}


@pytest.mark.parametrize("labels", [["Rose", "rose", "lily"], ["rose ", "rose", "lily"]])
def test_classes_that_differ_in_case_or_blanks_alone(labels):
    doubted = pytest.warns(
        UserWarning, match=r'labels ".ose ?" and "rose ?" differ only in case or in blanks'
    )
    with doubted:
        MulticlassClassifier(**QUICK).fit(X, labels * 2)
    with doubted:
        ChainClassifier(**QUICK).fit([X[:3], X[3:]], [labels, labels])
    with doubted:
        MultiLabelClassifier(**QUICK).fit(X, [{one} for one in labels * 2])


def test_other_classes_are_not_doubted():
    for labels in (["rose", "lily", "rosemary"], [1, 2, 3]):
        MulticlassClassifier(**QUICK).fit(X, labels * 2)


def test_one_class_per_example_is_for_another_classifier():
    classes = np.array([0, 1, 2, 0, 1, 2])
    with pytest.warns(UserWarning, match="one label per example; use MulticlassClassifier"):
        MultiLabelClassifier(**QUICK).fit(X, classes)
    with pytest.raises(ValueError, match="One column of classes is for MulticlassClassifier"):
        MultiLabelClassifier(**QUICK).fit(X, classes[:, None])
    MultiLabelClassifier(**QUICK).fit(X, [{0}, {1}, {2}] * 2)


@pytest.mark.parametrize("task", ["chunk", "ner"])
def test_labels_of_words_mark_no_spans(task):
    words, tags = [["the", "cat"], ["a", "dog"]], [["D", "N"], ["D", "N"]]
    with pytest.warns(UserWarning, match=r"labels \(D, N\) mark no spans"):
        Tagger(task=task, **QUICK).fit(words, tags)
    Tagger(**QUICK).fit(words, tags)
    Tagger(task=task, **QUICK).fit(words, [["O", "N"], ["O", "N"]])


def test_words_that_are_given_as_labels():
    words = [[f"w{k}"] for k in range(1001)]
    with (
        pytest.warns(UserWarning, match="1001 different labels for 1001 words"),
        pytest.raises(ValueError, match="loss"),
    ):
        Tagger(loss="no", **QUICK).fit([["D"]] * 1001, words)
