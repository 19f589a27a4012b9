"""What is added by its class and one entry is seen everywhere: solver, loss, structure, estimator, task."""

import re
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass, fields
from importlib import util
from pathlib import Path
from typing import Annotated

import numpy as np
import pytest
from sklearn.base import clone
from typer.testing import CliRunner

from model_files import rewrite
from structlearn import (
    BinaryClassifier,
    DecisionPredictor,
    LinearRegressor,
    MulticlassClassifier,
    StructuredPredictor,
    estimators,
    load,
)
from structlearn.cli import app
from structlearn.cli.support.options import switch
from structlearn.cli.tasks.flat import Classify
from structlearn.cli.tasks.registry import TASKS, TaskEntry
from structlearn.cli.tasks.row_options import ClassifyOptions
from structlearn.cli.tasks.task import Inputs, Training
from structlearn.core.kernel_cache import compilation
from structlearn.core.registry import Registry, either
from structlearn.data.file_formats import FILE_FORMATS, FileFormat
from structlearn.estimators import ESTIMATORS, EstimatorEntry
from structlearn.estimators.parts import PartEstimator
from structlearn.estimators.training.fresh_fit import fresh_fit
from structlearn.estimators.training.running import training_of
from structlearn.estimators.weights.top_weights import top_weights
from structlearn.losses import FenchelYoungLoss, Tsallis
from structlearn.problem.registry import CLASSES, LOSSES, LossEntry
from structlearn.reports.comparison import chosen_estimators
from structlearn.solvers import ConstantStep, Subgradient
from structlearn.solvers.needs import NEEDS
from structlearn.solvers.registry import HINGE, PENALTIES, SMOOTH, SOLVERS, SolverEntry
from structlearn.structures import Simplex, TopK
from structlearn.structures.registry import STRUCTURES, StructureEntry, count, stored

DOCS = Path(__file__).parent.parent / "docs"


def docs_tables():
    spec = util.spec_from_file_location("tables", DOCS / "tables.py")
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@contextmanager
def registered(registry, entry):
    registry.register(entry)
    try:
        yield
    finally:
        registry.forget(entry.name)


@pytest.fixture(autouse=True)
def _compiled_before(monkeypatch):
    monkeypatch.setattr(compilation, "_told", ["before"])


@pytest.fixture
def shell():
    """Run `structlearn ARGUMENTS` and give its output, words that a line end has parted together again."""

    def run(*arguments, code=0):
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == code, result.output
        return re.sub(r"-\n +", "-", result.output)

    return run


@pytest.fixture
def classes():
    rng = np.random.default_rng(0)
    y = np.repeat(["a", "b", "c"], 8)
    return rng.normal(size=(24, 4)) + np.repeat(np.eye(3, 4), 8, axis=0), y


# ---- a solver ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Strides(Subgradient):
    """Subgradient steps of a length of its own.

    Parameters
    ----------
    stride : float
        Its length.
    """

    stride: float = 0.1
    not_options = frozenset({"step_rule", "averaging"})

    def __post_init__(self):
        object.__setattr__(self, "step_rule", ConstantStep(self.stride))


STRIDES = SolverEntry(
    name="strides",
    make=Strides,
    trains=(HINGE,),
    when="for a walk",
    step="long ones",
    compared=99,
)


def test_a_solver_in_two_places(shell, classes):
    X, y = classes
    before = shell("train", "classify", "--help")
    with registered(SOLVERS, STRIDES):
        assert "stochastic-subgradient or strides;" in " ".join(shell("train", "classify", "--help").split())
        with pytest.raises(ValueError, match=r"Unknown solver 'stride'; .* 'strides'.* mean 'strides'\?"):
            MulticlassClassifier(solver="stride").check_parameters()
        with pytest.raises(ValueError, match="option of solver 'strides' 'stryde'; valid are 'stride'"):
            MulticlassClassifier(solver="strides", solver_options={"stryde": 1}).check_parameters()
        with pytest.raises(ValueError, match="'strides' cannot train loss='softmax'; use one of 'sdca'"):
            MulticlassClassifier(solver="strides", loss="softmax").check_parameters()
        with pytest.raises(ValueError, match=r"'lbfgs' cannot train loss='hinge'; use one of .*'strides'"):
            MulticlassClassifier(loss="hinge", solver="lbfgs").check_parameters()
        assert [*chosen_estimators(MulticlassClassifier(loss="hinge"), None)][-1] == "strides"
        assert '| `"strides"` | hinge | for a walk | long ones |' in docs_tables().solvers()
        assert "- `strides`:\n  - `stride`: Its length. Default: 0.1.\n" in docs_tables().options()
        model = MulticlassClassifier(
            solver="strides", solver_options={"stride": 0.2}, regularization=0.1, tol=0.1, random_state=0
        ).fit(X, y)
        assert model.certificate_.converged
        with pytest.raises(ValueError, match="There is a solver 'strides' already"):
            SOLVERS.register(STRIDES)
    assert shell("train", "classify", "--help") == before


class OnTheDual(Strides):
    needs = frozenset({"regularization"})


def test_needs_are_declared(classes):
    with registered(SOLVERS, SolverEntry(name="duals", make=OnTheDual, trains=(HINGE,), when="", step="")):
        MulticlassClassifier(solver="duals").check_parameters()
        with pytest.raises(ValueError, match="Solver 'duals' works on the dual and needs regularization > 0"):
            MulticlassClassifier(solver="duals", regularization=0.0).check_parameters()


class Smooth(Strides):
    needs = frozenset({"gradient"})


def test_needs_are_checked_at_one_door(classes):
    X, y = classes
    entry = SolverEntry(name="smooth-strides", make=Smooth, trains=(HINGE,), when="", step="")
    with registered(SOLVERS, entry):
        model = MulticlassClassifier(loss="hinge", solver="smooth-strides")
        with pytest.raises(ValueError, match=r"Solver 'smooth-strides' needs a smooth loss; that of Simplex"):
            model.fit(X, y)
    with pytest.raises(ValueError, match="Solver 'Smooth' needs a smooth loss"):  # which has no entry now
        MulticlassClassifier(loss="hinge", solver=Smooth()).fit(X, y)


def test_entries_say_what_the_classes_need():
    for entry in SOLVERS.values():
        assert entry.needs <= NEEDS.keys()
        assert {*entry.penalties} <= {*PENALTIES}
        if {HINGE, SMOOTH} & {*entry.trains}:
            assert entry.make_solver({}).needs == entry.needs, entry.name
            assert entry.make_solver({}).penalties == entry.penalties, entry.name


def test_options_are_those_of_the_classes():
    spoken = {"form", "geometry", "variant", "memory", "radius", "step", "eta"}
    for entry in SOLVERS.values():
        assert all(entry.options.values()), f"{entry.name} has an option without help"
        if {HINGE, SMOOTH} & {*entry.trains}:
            known = {field.name for field in fields(entry.make_solver({}))}
            assert entry.options.keys() <= known | spoken, entry.name


# ---- a loss -----------------------------------------------------------------------------------------------


ENTMAX = LossEntry(
    name="entmax125", omega=Tsallis(1.25), family="smooth", what="softer than entmax15", outputs=(CLASSES,)
)


def test_a_loss_in_two_places(shell, classes, tmp_path):
    X, y = classes
    with registered(LOSSES, ENTMAX):
        assert "entmax15 or entmax125. All but the first two" in " ".join(
            shell("train", "classify", "--help").split()
        )
        with pytest.raises(ValueError, match=r"Unknown loss 'entmax12'; .* Did you mean 'entmax125'\?"):
            MulticlassClassifier(loss="entmax12").check_parameters()
        with pytest.raises(ValueError, match=r"Unknown loss 'entmax125'; valid are 'auto', .*, 'logistic'"):
            BinaryClassifier(loss="entmax125").check_parameters()
        assert '| `"entmax125"` | softer than entmax15 | several classes |' in docs_tables().losses()
        model = MulticlassClassifier(loss="entmax125", regularization=0.1, random_state=0).fit(X, y)
        assert model.certificate_.converged
        probabilities = model.predict_proba(X)
        expected = FenchelYoungLoss(Simplex(3), Tsallis(1.25)).predict(model.decision_function(X))
        np.testing.assert_allclose(probabilities, expected)
        model.save(tmp_path / "model.st")
        np.testing.assert_array_equal(load(tmp_path / "model.st").predict_proba(X), probabilities)
    with pytest.raises(ValueError, match=r"parameters.loss is none of MulticlassClassifier"):
        load(tmp_path / "model.st")


def test_costs_are_those_of_the_entry(classes):
    X, y = classes
    soft = LossEntry(
        name="soft-margin", omega="structlearn.losses:Shannon", family="smooth", what="", cost_augmented=True
    )
    with registered(LOSSES, soft):
        dear = MulticlassClassifier(loss="soft-margin", random_state=0, fit_intercept=False).fit(X, y)
        plain = MulticlassClassifier(loss="softmax", random_state=0, fit_intercept=False).fit(X, y)
        margins = dear.decision_function(X)[np.arange(24), np.repeat([0, 1, 2], 8)]
    scores = dear.decision_function(X)
    augmented = scores + 1.0 - np.eye(3)[np.repeat([0, 1, 2], 8)]
    loss = np.log(np.exp(augmented).sum(axis=1)) - margins
    primal = 0.01 / 2 * np.sum(dear.weights_**2) + loss.mean()
    assert dear.certificate_.primal == pytest.approx(primal)
    assert dear.certificate_.primal > plain.certificate_.primal


# ---- a structure ------------------------------------------------------------------------------------------


class Ballot(Simplex):
    """One of several names, which have a colour."""

    def __init__(self, n_labels, colour="red"):
        super().__init__(n_labels)
        self.colour = colour


@pytest.fixture
def ballots(tmp_path):
    """A fitted model of ballots and a path."""
    rng = np.random.default_rng(0)
    X = list(rng.normal(size=(12, 3, 2)))
    y = [int(np.argmax(x @ [1.0, -1.0])) for x in X]
    model = StructuredPredictor(Ballot(3, "blue"), regularization=0.1, random_state=0).fit(X, y)
    return model, X, tmp_path / "model.st"


def test_a_structure_in_two_places(ballots):
    model, X, path = ballots
    stored("ballots", {"n_labels": count, "colour": str})(Ballot)
    try:
        model.save(path)
        again = load(path)
        assert type(again.structure) is Ballot
        assert (again.structure.n_labels, again.structure.colour) == (3, "blue")
        assert again.predict(X) == model.predict(X)
        assert "| `Ballot` | ballots | `n_labels`, `colour` |" in docs_tables().known_structures()
        rewrite(path, lambda header, _: header["structure"]["arguments"].update(n_labels=-3))
        with pytest.raises(ValueError, match=r"structure.arguments.n_labels must be a number of at least 0"):
            load(path)
        rewrite(path, lambda header, _: header["structure"]["arguments"].update(n_labels=3, shape=1))
        with pytest.raises(ValueError, match=r"structure.arguments must be of colour, n_labels"):
            load(path)
        model.save(path)
    finally:
        STRUCTURES.forget("Ballot")
    with pytest.raises(ValueError, match="it has a structure 'Ballot', which is unknown"):
        load(path)


def test_structures_that_are_not_registered_are_the_users_own(ballots):
    model, X, path = ballots
    model.save(path)
    with pytest.raises(ValueError, match="structure of the user's own: pass it"):
        load(path)
    assert load(path, structure=Ballot(3)).predict(X) == model.predict(X)


def test_a_name_is_taken_once():
    with pytest.raises(ValueError, match="There is a structure 'Simplex' already"):
        STRUCTURES.register(StructureEntry(Simplex, "again", {}))


FIRST_USE = """
import sys, structlearn.structures
from structlearn.structures.registry import ON_FIRST_USE, STRUCTURES, stored
assert not set(ON_FIRST_USE.values()) & sys.modules.keys()
for name in ON_FIRST_USE:
    try:
        stored("mine", {})(type(name, (structlearn.structures.Simplex,), {}))
    except ValueError as error:
        assert f"There is a structure '{name}' already" in str(error)
    else:
        raise AssertionError(f"{name} was free")
    assert STRUCTURES[name].kind is getattr(structlearn.structures, name)
"""
LISTED = """
from structlearn.structures.registry import ON_FIRST_USE, STRUCTURES
assert set(ON_FIRST_USE) < set(STRUCTURES)
assert len(STRUCTURES) == len(list(STRUCTURES))
"""


@pytest.mark.parametrize("check", [FIRST_USE, LISTED], ids=["by name", "in the list"])
def test_structures_are_known_before_their_modules_are_imported(check):
    """In a process of its own: no other class takes the name, and the class is its module's."""
    subprocess.run([sys.executable, "-c", check], check=True, capture_output=True)


def test_a_model_file_brings_the_module_of_its_structure(tmp_path):
    path, X = tmp_path / "model", np.eye(3)
    model = DecisionPredictor(TopK(3, 1), random_state=0).fit(X, 1 - np.eye(3))
    model.save(path)
    check = (
        "import sys, structlearn, numpy; from structlearn.structures.registry import ON_FIRST_USE; "
        "assert ON_FIRST_USE['TopK'] not in sys.modules; "
        "print(structlearn.load(sys.argv[1]).predict(numpy.eye(3)).tolist())"
    )
    told = subprocess.run(
        [sys.executable, "-c", check, path], check=True, capture_output=True, text=True
    ).stdout
    assert told.strip() == str(model.predict(X).tolist())


# ---- an estimator ------------------------------------------------------------------------------------------


@dataclass(kw_only=True, eq=False, repr=False)
class Chooser(PartEstimator[Simplex]):
    """One of three candidates, each with features of its own."""

    def fit(self, X, y, sample_weight=None):
        with fresh_fit(self):
            training_of(self).run(self._problem(Simplex(3), X, y, sample_weight))
        return self

    def predict(self, X):
        return [self.structure_.decode(vertex) for vertex in self._predict_parts(X)]


def test_an_estimator_in_two_places(tmp_path):
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(3, 2)) for _ in range(30)]
    y = [int(np.argmax(one[:, 0])) for one in X]
    path = tmp_path / "chooser.safetensors"
    with registered(ESTIMATORS, EstimatorEntry("Chooser", Chooser)):
        assert estimators.Chooser is Chooser
        assert "Chooser" in dir(estimators)
        model = Chooser(regularization=1e-3, tol=1e-4, random_state=0).fit(X, y)
        assert model.certificate_.converged
        assert model.predict(X) == y
        (group,) = top_weights(model, 1)
        assert group.weights[0].name == "x0"
        model.save(path)
        again = load(path)
        assert type(again) is Chooser
        assert again.get_params() == model.get_params()
        np.testing.assert_array_equal(again.weights_, model.weights_)
        assert again.predict(X) == y
        assert clone(again).fit(X, y).predict(X) == y
        rewrite(path, lambda header, _: header["parameters"].update(pairs="all"))
        with pytest.raises(ValueError, match=r"parameters\.pairs is none of Chooser"):
            load(path)
        with pytest.raises(ValueError, match="There is a kind of estimator 'Chooser' already"):
            ESTIMATORS.register(EstimatorEntry("Chooser", Chooser))
    assert not hasattr(estimators, "Chooser")
    with pytest.raises(ValueError, match="holds a 'Chooser', which this version of structlearn"):
        load(path)


# ---- a task -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LettersOptions(ClassifyOptions):
    """Those of classify, and one of its own."""

    backwards: Annotated[bool, switch("--backwards", "Take the last letter of a line as its label.")] = False


class Letters(Classify):
    """The first letter of each line is its label, the others are counted."""

    def read(self, path, target):
        X, y = self._lines(path, -1 if self.options.backwards else 0)
        return Training(
            X, y, {"format": "letters", "label": -1 * self.options.backwards}, {}, f"{len(y)} lines"
        )

    def reread(self, path, bundle, *, labels):
        return Inputs(*self._lines(path, bundle.notes["label"]))

    def _lines(self, path, label):
        lines = path.read_text().split()
        X = np.array([[line.count(letter) for letter in "xyz"] for line in lines], dtype=float)
        return X, np.array([line[label] for line in lines])

    def check_notes(self, bundle):
        if bundle.notes["format"] != "letters":
            raise ValueError("notes.format must be letters")


LETTERS = TaskEntry(
    name="letters-of",
    what="a letter",
    made=Letters,
    estimator="MulticlassClassifier",
    formats="lines",
    options=LettersOptions,
    reads="DATA has lines.",
    figures="letters-of: accuracy.",
)


def test_a_task_in_two_places(shell, tmp_path):
    data, model = tmp_path / "data.txt", tmp_path / "model.st"
    data.write_text("axx\nbyy\nczz\naxxx\nbyyy\nczzz\n")
    with registered(TASKS, LETTERS):
        assert "letters-of  a letter (lines)" in " ".join(shell("train", "--help").split("\n"))
        told = " ".join(shell("train", "letters-of", "--help").split())
        assert "DATA has lines." in told
        assert "--backwards Take the last letter of a line as its label." in told
        assert "--backwards" in shell("completion", "bash", "--", "train", "letters-of", "--back")
        assert "letters-of: accuracy." in " ".join(shell("evaluate", "--help").split())
        assert "letters-of  a letter (lines)" in " ".join(shell("compare", "--help").split("\n"))
        assert "Did you mean 'letters-of'?" in shell("train", "letter-of", data, "--out", model, code=2)
        assert "(it goes with classify, regress, tag, chunk, ner, letters-of)" in shell(
            "train", "multilabel", data, "--out", model, "--penalty", "l1", code=2
        )
        shell("train", "letters-of", data, "--out", model)
        assert shell("predict", model, data).split() == [*"abcabc"]
        shell("train", "letters-of", data, "--backwards", "--out", model)
        assert shell("predict", model, data).split() == [*"xyzxyz"]
        assert "does not go with the task classify (it goes with letters-of)" in shell(
            "train", "classify", data, "--backwards", "--out", model, code=2
        )
        shell("train", "letters-of", data, "--out", model)
        assert "accuracy: 1" in shell("evaluate", model, data)
        few = ("--folds", "2", "--regularization", "1,0.1")
        assert "regularization  accuracy" in shell("tune", "letters-of", data, "--out", model, *few)
        report = shell("compare", "letters-of", data, "--solvers", "bcfw,fw", "--out", tmp_path / "report")
        assert re.search(r"^bcfw +\S+.*\n^fw ", report, re.MULTILINE)
        row = "| `letters-of` | a letter | `MulticlassClassifier` | lines |"
        assert row in docs_tables().tasks()
        rewrite(model, lambda header, _: header["notes"].update(format="words"))
        assert "notes.format must be letters" in shell("predict", model, data, code=2)
    assert "does not say how to read data files" in shell("predict", model, data, code=2)


# ---- a file format ----------------------------------------------------------------------------------------


def read_counts(path, *, multilabel, n_features=None):
    """Lines of a label and letters, which are counted."""
    lines = [line.split() for line in path.read_text().splitlines()]
    X = np.array([[text.count(letter) for letter in "xyz"] for _, text in lines], dtype=float)
    return X, np.array([label for label, _ in lines])


COUNTS = FileFormat(name="counts", what="a file of counts", rows=read_counts)


def test_a_file_format_in_two_places(shell, tmp_path):
    data, model = tmp_path / "data.counts", tmp_path / "model.st"
    data.write_text("a xx\nb yy\nc zz\na xxx\nb yyy\nc zzz\n")
    with registered(FILE_FORMATS, COUNTS):
        assert "npz, counts." in " ".join(shell("train", "classify", "--help").split())
        shell("train", "classify", data, "--out", model)
        assert shell("predict", model, data).split() == [*"abcabc"]
        assert "accuracy: 1" in shell("evaluate", model, data)
        other = tmp_path / "data.libsvm"
        other.write_text("a 1:2\n")
        assert "looks like a libsvm file; the model was trained on a file of counts" in shell(
            "predict", model, other, code=2
        )
    assert "notes.format is 'counts', which this version does not read" in shell(
        "predict", model, data, code=2
    )


# ---- docs, help and commands ------------------------------------------------------------------------------


def test_tables_of_the_docs_are_up_to_date():
    tables = docs_tables()
    pages = {path.name: path.read_text() for path in DOCS.glob("*.md")}
    marked = [mark["name"] for text in pages.values() for mark in tables.MARKED.finditer(text)]
    assert sorted(marked) == sorted(tables.TABLES)
    for name, text in pages.items():
        assert tables.updated(text) == text, f"run python docs/tables.py: {name} is out of date"


def test_regression_has_its_own_solvers():
    with pytest.raises(ValueError, match="valid are 'auto', 'direct', 'coordinate-descent', 'proximal'"):
        LinearRegressor(solver="bcfw").check_parameters()
    with pytest.raises(ValueError, match="Unknown solver 'direct'"):
        MulticlassClassifier(solver="direct").check_parameters()


def test_names_in_a_sentence():
    assert [either("a"), either("ab"), either("abc")] == ["a", "a or b", "a, b or c"]
    with pytest.raises(ValueError, match=r"Unknown thing 'x'; valid are ."):
        Registry("thing").entry("x")
