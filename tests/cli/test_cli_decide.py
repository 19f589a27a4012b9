"""The task `decide`: the same models as in Python, figures by hand, answers, pages, and what is refused."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from cli_cases import values
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import KFold

from structlearn import DecisionPredictor, load
from structlearn.data import make_knapsacks, make_shortest_paths, read_decisions, write_decisions
from structlearn.estimators.decisions import two_stage
from structlearn.estimators.files.persistence import Bundle, load_bundle, save_bundle
from structlearn.solvers import clock
from structlearn.structures import ShortestPath, TopK

N_TRAIN = 40


def problem():
    return make_shortest_paths(60, 3, rows=3, columns=3, degree=4, noise=0.5, random_state=0)


def all_paths(structure):
    """Every path of a 3 x 3 grid as a row of 0 and 1: two steps down among four."""
    numbers = {tuple(edge): e for e, edge in enumerate(structure.edges.tolist())}
    found = []
    for steps in range(16):
        down = [steps >> k & 1 for k in range(4)]
        if sum(down) == 2:
            z, at = np.zeros(12, dtype=int), 0
            for one in down:
                to = at + (3 if one else 1)
                z[numbers[at, to]] = 1
                at = to
            found.append(z)
    return np.array(found)


@pytest.fixture
def files(tmp_path):
    X, costs, paths = problem()
    for name, some in (("train", slice(0, N_TRAIN)), ("test", slice(N_TRAIN, None))):
        write_decisions(tmp_path / f"{name}.npz", X[some], costs[some], paths)
    return tmp_path / "train.npz", tmp_path / "test.npz"


@pytest.fixture
def model(run, files, tmp_path):
    run("train", "decide", files[0], "--out", tmp_path / "model.st")
    return tmp_path / "model.st"


def python_model(**parameters):
    X, costs, paths = problem()
    return DecisionPredictor(paths, random_state=0, **parameters).fit(X[:N_TRAIN], costs[:N_TRAIN])


@pytest.mark.parametrize(
    ("flags", "parameters"),
    [
        ((), {}),
        (("--alpha", "1.5", "--regularization", "0.1"), {"alpha": 1.5, "regularization": 0.1}),
        (
            ("--loss", "perturbed", "--n-samples", "3", "--noise", "0.5"),
            {"loss": "perturbed", "n_samples": 3, "noise": 0.5},
        ),
        (
            ("--early-stopping", "--validation-fraction", "0.3", "--no-intercept"),
            {"early_stopping": True, "validation_fraction": 0.3, "fit_intercept": False},
        ),
        (("--positive", "--sense", "max"), {"positive": True, "sense": "max"}),
    ],
)
def test_files_are_those_of_python_to_the_byte(run, files, tmp_path, monkeypatch, flags, parameters):
    still = SimpleNamespace(perf_counter=lambda: 0.0)  # seconds are part of model files
    monkeypatch.setattr(clock, "time", still)
    monkeypatch.setattr(two_stage, "time", still)
    run("train", "decide", files[0], "--out", tmp_path / "shell", *flags)
    found = python_model(**parameters)
    same = {name: parameters[name] for name in {"fit_intercept", "positive", "sense"} & {*parameters}}
    baseline = python_model(loss="two-stage", **same)
    notes = {"task": "decide", "format": "npz"}
    save_bundle(Bundle(found, notes, arrays={"two_stage": baseline.weights_}), tmp_path / "python")
    assert (tmp_path / "shell").read_bytes() == (tmp_path / "python").read_bytes()


def test_weights_of_costs_are_not_negative(run, files, tmp_path):
    run("train", "decide", files[0], "--out", tmp_path / "model.st", "--positive")
    model = load(tmp_path / "model.st")
    assert python_model().weights_.min() < 0 <= model.weights_.min()
    assert model.positive


def test_figures_by_hand(run, files, model):
    X, costs, paths = (one[N_TRAIN:] if isinstance(one, np.ndarray) else one for one in problem())
    every = all_paths(paths)
    best = (costs @ every.T).min(axis=1)
    shown = json.loads(run("evaluate", model, files[1], "--json").stdout)
    for name, loss in (("", "spo+"), ("two_stage_", "two-stage")):
        predicted = python_model(loss=loss).predict_costs(X)
        decided = every[(predicted @ every.T).argmin(axis=1)]
        cost = (costs * decided).sum(axis=1)
        assert shown[f"{name}cost"] == pytest.approx(cost.mean())
        assert shown[f"{name}regret"] == pytest.approx((cost - best).sum() / best.sum())
        if not name:
            assert shown["best_decisions"] == pytest.approx(np.mean(cost <= best + 1e-9))
    assert shown["best_cost"] == pytest.approx(best.mean())
    assert shown["examples"] == 20
    assert shown["regret"] == pytest.approx(-load(model).score(X, costs))
    text = values(run("evaluate", model, files[1]).stdout)
    assert [*text] == [*shown]


def test_answers(run, files, model, tmp_path):
    X, _, paths = problem()
    decided = load(model).predict(X[N_TRAIN:])
    lines = run("predict", model, files[1]).stdout.splitlines()
    assert_array_equal([list(map(int, line.split())) for line in lines], decided)
    objects = map(json.loads, run("predict", model, files[1], "--json").stdout.splitlines())
    assert_array_equal([one["decision"] for one in objects], decided)
    run("predict", model, files[1], "--out", tmp_path / "out.npz")
    with np.load(tmp_path / "out.npz") as found:
        assert_array_equal(found["decisions"], decided)
        assert_allclose(found["predicted_costs"], load(model).predict_costs(X[N_TRAIN:]))
        assert_array_equal(found["edges"], paths.edges)
    # neither costs nor a structure are needed to decide
    write_decisions(tmp_path / "bare.npz", X[N_TRAIN:])
    assert run("predict", model, tmp_path / "bare.npz").stdout.splitlines() == lines
    told = run("evaluate", model, tmp_path / "bare.npz", code=2).stderr
    assert "has no labels to compare with" in told


def test_a_file_may_bring_another_structure(run, model, tmp_path):
    X, costs, paths = problem()
    closed = paths.without([0])  # the first step must be down
    write_decisions(tmp_path / "closed.npz", X, costs, closed)
    lines = run("predict", model, tmp_path / "closed.npz").stdout.splitlines()
    assert all(line.startswith("0 0 1 ") for line in lines)
    every = all_paths(paths)
    every = every[every[:, 0] == 0]
    shown = json.loads(run("evaluate", model, tmp_path / "closed.npz", "--json").stdout)
    assert shown["best_cost"] == pytest.approx((costs @ every.T).min(axis=1).mean())


def test_known_costs_and_values(run, tmp_path):
    X, values_, packs = make_knapsacks(40, 3, n_items=6, random_state=0, capacity=1500)
    known = np.arange(6.0) * np.ones((40, 1))
    write_decisions(tmp_path / "x.npz", X, values_ + known, packs, known_costs=known, sense="max")
    run("train", "decide", tmp_path / "x.npz", "--out", tmp_path / "m.st")
    expected = DecisionPredictor(packs, sense="max", random_state=0)
    expected.fit(X, values_ + known, known_costs=known)
    assert_array_equal(load(tmp_path / "m.st").weights_, expected.weights_)
    shown = json.loads(run("evaluate", tmp_path / "m.st", tmp_path / "x.npz", "--json").stdout)
    assert shown["regret"] == pytest.approx(-expected.score(X, values_ + known, known_costs=known))
    assert shown["cost"] <= shown["best_cost"]
    run(
        "train",
        "decide",
        tmp_path / "x.npz",
        "--sense",
        "max",
        "--loss",
        "two-stage",
        "--out",
        tmp_path / "t.st",
    )
    found = load_bundle(tmp_path / "t.st")
    assert found.arrays == {}
    shown = json.loads(run("evaluate", tmp_path / "t.st", tmp_path / "x.npz", "--json").stdout)
    assert shown["regret"] == shown["two_stage_regret"]


def test_features_of_parts(run, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 5, 3))
    costs = 10 + X @ [1.0, -2.0, 0.0]
    write_decisions(tmp_path / "x.npz", X, costs, TopK(5, 2))
    run("train", "decide", tmp_path / "x.npz", "--out", tmp_path / "m.st")
    shown = json.loads(run("evaluate", tmp_path / "m.st", tmp_path / "x.npz", "--json").stdout)
    assert shown["two_stage_regret"] == pytest.approx(0, abs=1e-9)
    assert shown["best_cost"] == pytest.approx(np.sort(costs, axis=1)[:, :2].sum(axis=1).mean())
    write_decisions(tmp_path / "flat.npz", X[:, 0], costs)
    told = run("predict", tmp_path / "m.st", tmp_path / "flat.npz", code=2).stderr
    assert "trained with features of one row per part; got 2 axes" in told


def test_programs(run, tmp_path):
    X, costs, paths = problem()
    flow = np.zeros((9, 12))
    for e, (one, other) in enumerate(paths.edges.tolist()):
        flow[one, e], flow[other, e] = -1, 1
    ends = np.zeros(9)
    ends[[0, 8]] = -1, 1
    np.savez(tmp_path / "flow.npz", features=X, costs=costs, A_eq=flow, b_eq=ends)
    write_decisions(tmp_path / "paths.npz", X, costs, paths)
    shown = []
    for name in ("flow", "paths"):
        model = tmp_path / f"{name}.st"
        run("train", "decide", tmp_path / f"{name}.npz", "--out", model, "--tol", "1e-6")
        shown.append(json.loads(run("evaluate", model, tmp_path / f"{name}.npz", "--json").stdout))
    assert shown[0] == pytest.approx(shown[1])
    assert "A_eq=(array of shape (24,), " in run("info", tmp_path / "flow.st").stdout
    np.savez(tmp_path / "bare.npz", features=X, A_eq=flow, b_eq=-ends)  # the other way round
    told = run("predict", tmp_path / "flow.st", tmp_path / "bare.npz", code=2).stderr
    assert "bare.npz: The program is infeasible" in told


def test_tuning(run, files, tmp_path):
    given = ("--alpha", "1,2", "--regularization", "1,0.1", "--folds", "2", "--json")
    found = json.loads(run("tune", "decide", files[0], "--out", tmp_path / "m.st", *given).stdout)
    means = {(one["alpha"], one["regularization"]): one["mean"] for one in found["results"]}
    assert len(means) == 4
    assert found["metric"] == "regret"
    chosen = (found["chosen"]["alpha"], found["chosen"]["regularization"])
    assert means[chosen] == min(means.values())
    assert_array_equal(
        load(tmp_path / "m.st").weights_, python_model(alpha=chosen[0], regularization=chosen[1]).weights_
    )
    both = ("--loss", "two-stage,spo+", "--folds", "2", "--json")
    found = json.loads(run("tune", "decide", files[0], "--out", tmp_path / "m.st", *both).stdout)
    assert {one["loss"] for one in found["results"]} == {"two-stage", "spo+"}


def test_known_costs_are_known_in_every_fold(run, tmp_path):
    X, costs, paths = problem()
    known = costs + 0.1 * np.random.default_rng(0).normal(size=costs.shape)  # nearly all there is to know
    write_decisions(tmp_path / "x.npz", X, costs, paths, known_costs=known)
    given = ("--regularization", "0.1", "--folds", "3", "--json", "--out", tmp_path / "m.st")
    (found,) = json.loads(run("tune", "decide", tmp_path / "x.npz", *given).stdout)["results"]
    folds = KFold(3, shuffle=True, random_state=0).split(X)
    for score, (training, held_out) in zip(found["scores"], folds, strict=True):
        model = DecisionPredictor(paths, regularization=0.1, random_state=0)
        model.fit(X[training], costs[training], known_costs=known[training])
        assert score == pytest.approx(-model.score(X[held_out], costs[held_out], known_costs=known[held_out]))


def test_the_page(run, files, model, tmp_path):
    run("show", model, files[1], "--out", tmp_path / "page.html", "--limit", "4")
    page = (tmp_path / "page.html").read_text()
    shown = json.loads(run("evaluate", model, files[1], "--json").stdout)
    assert "4 of 20 examples are shown, the worst first." in page
    assert page.count("<svg") == 8
    assert f"{100 * shown['regret']:.2f}%" in page
    assert f"{100 * shown['two_stage_regret']:.2f}%" in page


@pytest.mark.parametrize(
    ("flags", "problem_"),
    [
        (("--noise", "2"), "--noise goes with --loss perturbed."),
        (("--n-samples", "2"), "--n-samples goes with --loss perturbed."),
        (("--validation-fraction", "0.5"), "--validation-fraction goes with --early-stopping."),
        (("--loss", "hinge"), "Unknown loss 'hinge'"),
        (("--sense", "up"), "Unknown sense 'up'"),
        (("--alpha", "0"), "--alpha must be above 0; got 0.0."),
        (("--positive", "--solver", "bcfw"), "with --positive; use one of 'stochastic-extragradient'."),
        (("--positive", "--regularization", "0"), "with --positive needs --regularization > 0; raise it."),
        (("--target", "costs"), "--target goes with tables"),
    ],
)
def test_wrong_options(run, files, tmp_path, flags, problem_):
    assert problem_ in run("train", "decide", files[0], "--out", tmp_path / "m.st", *flags, code=2).stderr
    assert not (tmp_path / "m.st").exists()


def test_files_that_do_not_fit(refused, files, model, tmp_path):
    X, costs, paths = problem()
    out = ("--out", tmp_path / "m2.st")
    write_decisions(tmp_path / "x.npz", X, None, paths)
    assert "x.npz has no array costs to learn from." in refused("train", "decide", tmp_path / "x.npz", *out)
    write_decisions(tmp_path / "x.npz", X, costs)
    assert "does not say what is decided" in refused("train", "decide", tmp_path / "x.npz", *out)
    write_decisions(tmp_path / "x.npz", X[:, :2], costs, paths)
    told = refused("predict", model, tmp_path / "x.npz")
    assert "has 2 features, but the model was trained with 3" in told
    write_decisions(tmp_path / "x.npz", X, costs[:, :7])
    assert "costs of 7 parts, but the model was trained with 12" in refused(
        "evaluate", model, tmp_path / "x.npz"
    )
    write_decisions(tmp_path / "x.npz", X, None, ShortestPath.grid(2, 2))
    told = refused("predict", model, tmp_path / "x.npz")
    assert "There are 12 costs per example, but 4 parts by edges, source, target." in told
    write_decisions(tmp_path / "x.npz", X)
    assert "has no array costs" in refused("show", model, tmp_path / "x.npz", "--out", tmp_path / "p.html")
    assert "has no probabilities" in refused("predict", model, files[1], "--marginals")
    assert "is not packed" in refused("data", "pack", "decide", files[0], "--out", tmp_path / "packed")


def test_a_baseline_of_another_size_is_damage(refused, files, model, tmp_path):
    bundle = load_bundle(model)
    save_bundle(Bundle(bundle.estimator, bundle.notes, arrays={"two_stage": np.ones(3)}), tmp_path / "odd.st")
    assert "the array two_stage must have the shape (48,)" in refused(
        "evaluate", tmp_path / "odd.st", files[1]
    )


def test_files_that_are_written_are_those_that_are_read(files):
    found = read_decisions(files[0])
    assert_array_equal(found.costs, problem().costs[:N_TRAIN])
