"""Answers on tables: penalties, figures beside those of a constant, confusions, probabilities."""

import numpy as np
from cli_cases import rows

from structlearn import MulticlassClassifier, load


def test_an_elastic_net_of_classes_is_the_one_of_python(run, libsvm, tmp_path):
    out = tmp_path / "model.st"
    flags = ["--penalty", "elasticnet", "--l1-ratio", "0.9", "--regularization", "0.1"]
    run("train", "classify", libsvm, "--out", out, *flags)
    same = MulticlassClassifier(penalty="elasticnet", l1_ratio=0.9, regularization=0.1, random_state=0)
    np.testing.assert_allclose(load(out).weights_, same.fit(*rows()).weights_, atol=1e-6)
    assert (load(out).coef_ == 0).any()
