"""`structlearn tune`: what is chosen, how folds are made, and that nothing of them leaks."""

import json
from pathlib import Path

import numpy as np
import pytest
from cli_cases import columns, rows, sentences, values
from sklearn.model_selection import StratifiedKFold, cross_val_score

from structlearn import MulticlassClassifier, load
from structlearn.cli.commands.folds import ReadExamples, TrainingFile, folds
from structlearn.cli.commands.search import Metric, Tried, TunedSetting, best_of
from structlearn.cli.support.groups import Several
from structlearn.cli.tasks.options import ProblemOptions
from structlearn.cli.tasks.registry import TASKS
from structlearn.cli.tasks.rehearsals import REHEARSALS, _write
from structlearn.cli.tasks.tag_options import TagOptions
from structlearn.cli.tasks.task import Training
from structlearn.estimators.files.persistence import Bundle, load_bundle

FEW = ("--folds", "2", "--regularization", "1,0.1")


@pytest.mark.filterwarnings("ignore::structlearn.NothingLearnedWarning")  # a tiny problem of links
@pytest.mark.parametrize("task", TASKS)
def test_every_task_is_tuned_by_figures_of_its_own(run, tmp_path, task):
    rehearsal = REHEARSALS[task][0]
    _write(rehearsal.data, tmp_path)
    data, model = tmp_path / rehearsal.data, tmp_path / "model.st"
    flags = {"multilabel": ["--target", "p,q,r", "--edges", "none"], "grid": ["--max-passes", "2"]}.get(
        task, []
    )
    metric = TASKS[task].metrics[-1]
    shown = run("tune", task, data, "--out", model, *FEW, *flags, "--metric", metric, "--json").stdout
    found = json.loads(shown)
    assert [one["regularization"] for one in found["results"]] == [1.0, 0.1]
    (chosen,) = [one for one in found["results"] if one["chosen"]]
    better = min if metric in ("hamming_loss", "rmse", "mae", "log_loss") else max
    assert chosen["mean"] == better(one["mean"] for one in found["results"])
    assert load_bundle(model).estimator.regularization == chosen["regularization"]
    assert found["certificate"]["gap"] >= 0
    assert {*TASKS[task].metrics} - {"auc"} <= json.loads(
        run("evaluate", model, data, "--json").stdout
    ).keys()


def test_figures_are_those_of_scikit_learns_cross_validation(run, libsvm, tmp_path):
    out = run(
        *("tune", "classify", libsvm, "--regularization", "0.01,1,0.1", "--tol", "1e-7", "--seed", "3"),
        *("--json", "--out", tmp_path / "model.st"),
    )
    X, y = rows()
    cv = StratifiedKFold(5, shuffle=True, random_state=3)
    for one in json.loads(out.stdout)["results"]:
        model = MulticlassClassifier(regularization=one["regularization"], tol=1e-7, random_state=0)
        scores = cross_val_score(model, X, y, cv=cv)
        assert one["scores"] == pytest.approx(scores.tolist())
        assert one["mean"] == pytest.approx(scores.mean())
        assert one["standard_error"] == pytest.approx(scores.std(ddof=1) / np.sqrt(5))


def test_the_model_is_the_one_that_train_gives(run, tags, tmp_path):
    tuned, trained = tmp_path / "tuned.st", tmp_path / "trained.st"
    shown = run("tune", "tag", tags, "--out", tuned, "--folds", "3", "--loss", "hinge,softmax").stdout
    table, gains, chosen = shown.split("\n\n")
    head, *lines = table.splitlines()
    assert head.split() == ["loss", "regularization", "accuracy", "standard", "error"]
    (star,) = [line.split() for line in lines if line.startswith("*")]
    assert star[1:3] == [values(chosen)["loss"], values(chosen)["regularization"]]
    run("train", "tag", tags, "--out", trained, "--loss", star[1], "--regularization", star[2])
    np.testing.assert_array_equal(load(tuned).weights_, load(trained).weights_)
    assert len({line.lstrip("* ").split()[0] for line in lines}) == 2
    assert [line.split()[0] for line in gains.splitlines()] == ["loss", "hinge", "softmax"]
    # values chosen by the data go from strong to weak, and are enough to see the score fall or stay
    own = [float(line.lstrip("* ").split()[1]) for line in lines if star[1] in line]
    assert own == sorted(own, reverse=True)
    assert len(own) >= 7


def named(name, **options):
    """A task with options."""
    return TASKS[name].with_options(TASKS[name].options_class(**options))


def laid_out(task, training):
    """What a task's estimator is trained on in the end."""
    model = task.adapt(task.model(ProblemOptions()), training, ProblemOptions())
    return task.laid_out(model, training)[1]


# ---- folds ------------------------------------------------------------------------------------------------


def part(numbers):
    return np.array(numbers)


def sentence_file(task, path, folder, target=None):
    return task.examples(TrainingFile(path, target), folder)


def test_held_out_sentences_are_new_to_a_model(tmp_path):
    """Neither words nor spans of theirs are learned, and they are read as a file of their own would be."""
    path = tmp_path / "chunks.txt"
    path.write_text("Ann B-N\nruns O\n\nBob B-N\nLee I-N\nsees O\n\nZoe B-N\nsleeps O\n")
    task = named("chunk", span_lexicon=True)
    (tmp_path / "folds").mkdir()
    examples = sentence_file(task, path, tmp_path / "folds")
    whole, training = (laid_out(task, one) for one in (examples.whole, examples.training(part([0, 2]))))
    assert "Bob" in str(whole.texts)
    assert "Bob" not in str(training.texts)
    assert training.X.rows.shape[1] < whole.X.rows.shape[1]
    assert [one.tolist() for one in training.y] == [["B-N", "O"]] * 2
    bundle = Bundle(None, training.notes, training.texts, training.arrays)
    held_out = examples.held_out(part([1]), bundle)
    assert [one.tolist() for one in held_out.y] == [["B-N", "I-N", "O"]]
    alone = tmp_path / "alone.txt"
    alone.write_text("Bob B-N\nLee I-N\nsees O\n")
    expected = task.inputs(alone, bundle, labels=True)
    assert (held_out.X.rows != expected.X.rows).nnz == 0


def test_documents_stay_whole(tmp_path):
    documents = [columns(sentences(4, seed), 3) for seed in range(6)]
    path = tmp_path / "documents.txt"
    path.write_text("\n".join("-DOCSTART- x O\n\n" + one for one in documents))
    examples = sentence_file(TASKS["tag"].task, path, tmp_path)
    assert examples.groups.tolist() == [k for k in range(1, 7) for _ in range(4)]
    for fold in folds(examples, 3, 0, of_classes=False):
        assert not set(examples.groups[fold.training]) & set(examples.groups[fold.held_out])
    path = tmp_path / "documents.conllu"
    block = "# newdoc\n# text = a\n1\ta\ta\tX\tX\t_\t0\troot\t_\t_\n\n"
    path.write_text("# only a comment\n\n" + block * 3)
    assert sentence_file(TASKS["parse"].task, path, tmp_path).groups.tolist() == [1, 2, 3]


def test_near_sentences_stay_together_where_a_model_looks_at_them(tmp_path):
    path = tmp_path / "names.txt"
    path.write_text("Ann B-N\nruns O\n\n" * 50)
    assert sentence_file(named("ner", context=5), path, tmp_path).groups.tolist() == [
        i // 10 for i in range(50)
    ]
    assert sentence_file(named("ner", context=0), path, tmp_path).groups is None


def test_a_sign_alone_is_a_sentence(tmp_path):
    path = tmp_path / "signs.txt"
    path.write_text("# O\n\na B\n\n# O\n")
    examples = sentence_file(TASKS["tag"].task, path, tmp_path)
    assert [one.tolist() for one in examples.training(part([0, 1])).y] == [["O"], ["B"]]


def test_classes_have_equal_shares_in_all_folds():
    y = np.repeat(["a", "b", "c"], [50, 20, 1])  # c has fewer members than there are folds
    examples = ReadExamples(Training(np.zeros((71, 1)), y, {}, {}, ""))
    parts = folds(examples, 5, 0, of_classes=True)
    assert sorted(np.concatenate([one.held_out for one in parts])) == list(range(71))
    for one in parts:
        assert not set(one.training) & set(one.held_out)
        assert [np.sum(y[one.held_out] == name) for name in "ab"] == [10, 4]
    again = folds(examples, 5, 0, of_classes=True)
    assert all((a.held_out == b.held_out).all() for a, b in zip(parts, again))
    other = folds(examples, 5, 1, of_classes=True)
    assert any((a.held_out != b.held_out).any() for a, b in zip(parts, other))


def test_a_class_of_one_example_is_told_before_training(refused, tmp_path):
    path = tmp_path / "rare.csv"
    path.write_text("a,y\n" + "".join(f"{k},{'rare' if k == 3 else 'usual'}\n" for k in range(12)))
    said = refused("tune", "classify", path, "--out", tmp_path / "m.st")
    assert 'only the class "usual" is left to train on' in said
    assert "lambda" not in said


def test_groups_of_columns_follow_what_each_fold_makes_of_them(run, tmp_path):
    """One row has no size: without it there is no column that says where sizes are missing."""
    path = tmp_path / "prices.csv"
    sizes = ["" if k == 5 else f"{k % 7}.5" for k in range(40)]
    path.write_text("city,size,price\n" + "".join(f"c{k % 3},{s},{k % 7}\n" for k, s in enumerate(sizes)))
    shown = run(
        *("tune", "regress", path, "--out", tmp_path / "m.st", "--penalty", "group", "--groups", "a,b"),
        *("--regularization", "0.1,0.01", "--json"),
    ).stdout
    assert [len(one["scores"]) for one in json.loads(shown)["results"]] == [5, 5]
    assert load(tmp_path / "m.st").groups == ["a", "a", "a", "b", "b"]


# ---- the choice -------------------------------------------------------------------------------------------


def setting(*means, metric="accuracy"):
    tried = [Tried(10.0**-k, [mean - 0.02, mean + 0.02]) for k, mean in enumerate(means)]
    return TunedSetting({}, TASKS["classify"].task, None, ProblemOptions(), None, tried)


def test_the_best_of_equals_is_the_strongest():
    one = setting(0.5, 0.8, 0.9, 0.9, 0.7)
    assert best_of([one], Metric("accuracy"), one_error=False)[1] is one.tried[2]
    # the standard error is 0.02: 0.88 is within it, 0.8 is not
    one = setting(0.5, 0.8, 0.885, 0.9, 0.7)
    assert best_of([one], Metric("accuracy"), one_error=True)[1] is one.tried[2]
    assert best_of([setting(0.1), one], Metric("accuracy"), one_error=False) == (one, one.tried[3])
    assert best_of([one], Metric("rmse"), one_error=False)[1] is one.tried[0]


def test_several_values_are_told_apart(refused, libsvm, tags, tmp_path):
    to = ("--out", tmp_path / "model.st")
    assert "perceptron has no lambda" in refused("tune", "classify", libsvm, *to, "--loss", "perceptron")
    assert "Unknown loss 'hing'" in refused("tune", "classify", libsvm, *to, "--loss", "softmax,hing")
    assert "must be above 0" in refused("tune", "classify", libsvm, *to, "--regularization", "1,0")
    assert "Did you mean 'macro_f1'" in refused("tune", "classify", libsvm, *to, "--metric", "macro-f1")
    assert "--folds 70 needs as many examples; DATA has 60" in refused(
        "tune", "classify", libsvm, *to, "--folds", 70
    )
    assert "tune splits a file" in refused("tune", "tag", tmp_path, *to)
    assert "--edges does not go with the task tag" in refused("tune", "tag", tags, *to, "--edges", "all,tree")
    assert not Path(to[1]).exists()


def test_a_word_where_numbers_are_expected(run, libsvm, tmp_path):
    shown = run(
        "tune", "classify", libsvm, "--out", tmp_path / "m.st", "--regularization", "1,few", code=2
    ).stderr
    assert "--regularization must be numbers with commas between them; got '1,few'." in shown


def test_the_help_of_a_task(run):
    shown = " ".join(run("tune", "chunk", "--help").stdout.split())
    assert "--loss L[,L...]" in shown
    assert "--regularization X[,X...] Values of lambda" in shown
    assert "f1, precision, recall, accuracy or exact_match. [default: the first]" in shown
    assert "structlearn tune chunk train.txt --out chunker.safetensors" in shown
    assert "--continue" not in shown
    assert "--checkpoint" not in shown


def test_each_combination_is_a_setting():
    from structlearn.cli.support.groups import combinations

    chosen = TagOptions(loss=Several(["hinge", "softmax"]), l1_ratio=Several([0.1, 0.5]))
    found = [(one.loss, one.l1_ratio, two.solver) for one, two in combinations(chosen, ProblemOptions())]
    assert found == [(loss, ratio, "auto") for loss in ("hinge", "softmax") for ratio in (0.1, 0.5)]


def test_advice_on_early_ends_and_on_weaker_values(run, libsvm, tmp_path):
    said = run(
        *("tune", "classify", libsvm, "--out", tmp_path / "m.st", "--regularization", "100,0.001"),
        *("--loss", "hinge", "--max-passes", "2", "--tol", "1e-9"),
    ).stderr
    assert "of 10 fits ended before --tol was reached; raise --max-passes or --tol" in said
    assert "Note: the weakest lambda tried is the best; try weaker ones: --regularization 0.001," in said


def test_pairs_of_labels_are_tried_and_what_they_brought_is_said(run, sets, tmp_path):
    out = tmp_path / "model.st"
    result = run("tune", "multilabel", sets, "--out", out, *FEW, "--json")
    found = json.loads(result.stdout)
    assert "Fold" not in result.stderr
    assert [one["value"] for one in found["gains"]] == ["none", "tree", "all"]
    first, *others = found["gains"]
    assert first["gain"] == 0
    for one in others:
        best = {
            value: max(
                (row for row in found["results"] if row["edges"] == value), key=lambda row: row["mean"]
            )
            for value in ("none", one["value"])
        }
        difference = np.subtract(best[one["value"]]["scores"], best["none"]["scores"])
        assert one["gain"] == pytest.approx(difference.mean())
        assert one["standard_error"] == pytest.approx(difference.std(ddof=1) / np.sqrt(len(difference)))
        assert one["figures"]["micro_f1"] == pytest.approx(best[one["value"]]["mean"])
    assert load_bundle(out).estimator.edges == found["chosen"]["edges"]
    shown = run("tune", "multilabel", sets, "--out", out, *FEW, "--edges", "tree", "--verbose")
    assert "gain" not in shown.stdout
    assert "Fold 1 of" in shown.stderr
