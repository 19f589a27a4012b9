"""Training on real Dask processes, on the loopback interface alone: faults, the command line, refusals."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import joblib
import numpy as np
import pytest
from problems import assert_brackets, data, estimator, optimum
from sklearn.model_selection import GridSearchCV, KFold
from typer.testing import CliRunner

import structlearn
from structlearn import ChainClassifier, DecisionPredictor
from structlearn.cli import app
from structlearn.data import make_chains, make_shortest_paths, pack, write_decisions, write_libsvm
from structlearn.distributed import connected
from structlearn.solvers import Checkpoint

pytest.importorskip("distributed")
import cloudpickle
import psutil
import sabotage

cloudpickle.register_pickle_by_value(sabotage)
WORKERS = 3
NAME = "multiclass"  # it needs few rounds


@pytest.fixture(scope="module")
def cluster():
    with connected(f"local:{WORKERS}") as client:
        yield client


@pytest.fixture
def client(cluster):
    """All workers there again: nannies start those anew that a test has killed, or the cluster does."""
    cluster.cluster.scale(WORKERS)
    cluster.wait_for_workers(WORKERS, timeout=600)
    wait_for(lambda: len(cluster.run(int, on_error="ignore")) == WORKERS)  # a dead one may still be listed
    return cluster


def addresses(client):
    return sorted(client.scheduler_info(n_workers=-1)["workers"])


def train(client, tmp_path, sabotaging, at=2):
    """Train; at the evaluation number `at`, `sabotaging(client)`."""

    def callback(row):
        if row.iteration == at:
            sabotaging(client)

    checkpoint = Checkpoint(tmp_path / "run", seconds=0.0)
    found = estimator(NAME, checkpoint=checkpoint, callback=callback).fit(*data(NAME), client=client)
    assert found.certificate_.converged
    assert len(found.history_) > at + 1
    assert_brackets(found.history_, optimum(NAME))
    assert abs(found.certificate_.dual - optimum(NAME)) <= 1e-6
    return found


def kill(client, number):
    """SIGKILL for so many workers, which stand idle."""
    for pid in list(client.run(sabotage.process, workers=addresses(client)[:number]).values()):
        os.kill(pid, signal.SIGKILL)


@pytest.mark.parametrize("name", ["multiclass", "matching"])
def test_the_optimum_is_that_of_one_machine(client, name):
    found = estimator(name).fit(*data(name), client=client)
    assert abs(found.certificate_.dual - optimum(name)) <= 1e-6


def test_the_shell_trains_decisions_there(client, tmp_path):
    """On the processes of this cluster, by its address: the objective is that of one machine."""
    problem = make_shortest_paths(24, 3, rows=3, columns=3, degree=3, random_state=0)
    write_decisions(tmp_path / "ways.npz", *problem)
    command = ["train", "decide", tmp_path / "ways.npz", "--out", tmp_path / "model", "--tol", "1e-5"]
    address = client.scheduler_info()["address"]
    told = CliRunner().invoke(app, [*map(str, command), "--json", "--cluster", address])
    assert told.exit_code == 0, told.output
    found = json.loads(told.stdout)
    here = DecisionPredictor(problem.structure, tol=1e-5, random_state=0).fit(*problem[:2]).certificate_
    assert found["converged"]
    assert max(found["dual"], here.dual) <= min(found["primal"], here.primal)
    assert structlearn.load(tmp_path / "model").predict(problem.X).sum(axis=1).tolist() == [4] * 24


def test_the_shell_tunes_there(client, tmp_path):
    """Folds are tried by these processes: the figures are those of one job."""
    write_libsvm(tmp_path / "rows.txt", *data(NAME))
    command = ["tune", "classify", tmp_path / "rows.txt", "--out", tmp_path / "model", "--folds", "3"]
    command = [*map(str, command), "--regularization", "1,0.1", "--tol", "1e-6", "--json"]
    address = client.scheduler_info()["address"]
    told = [CliRunner().invoke(app, [*command, *more]) for more in ((), ("--cluster", address))]
    assert not any(one.exit_code for one in told), told[1].output
    here, there = (json.loads(one.stdout)["results"] for one in told)
    assert [one["scores"] for one in there] == [one["scores"] for one in here]
    assert len({one["mean"] for one in here}) == 2


def test_grid_searches_of_scikit_learn_run_there(client):
    """Through joblib: the figures are those of one process."""
    X, y = make_chains(20, 4, 3, 4, random_state=0)
    search = GridSearchCV(ChainClassifier(random_state=0), {"regularization": [1.0, 0.1]}, cv=KFold(2))
    here = search.fit(X, y).cv_results_["mean_test_score"]
    with joblib.parallel_config("dask", client=client):
        there = search.fit(X, y).cv_results_["mean_test_score"]
    np.testing.assert_allclose(there, here)


@pytest.mark.parametrize("number", [2, pytest.param(1, marks=pytest.mark.long)])
def test_workers_killed_while_idle(client, tmp_path, number):
    train(client, tmp_path, lambda client: kill(client, number))


@pytest.mark.parametrize("moment", [sabotage.in_the_next_round, sabotage.in_the_next_checkpoint])
def test_a_worker_killed_at_work(client, tmp_path, moment):
    victim = addresses(client)[1]
    train(client, tmp_path, lambda client: client.run(moment, workers=[victim]))
    assert victim not in addresses(client)


def test_the_driver_killed_and_resumed(client, tmp_path):
    pack(tmp_path / "packed", "classes", *data(NAME))
    folder, model, history = tmp_path / "run", tmp_path / "model", tmp_path / "history.csv"
    command = [sys.executable, "-c", "from structlearn.cli import main; main()"]
    command += [
        "train",
        "classify",
        str(tmp_path / "packed"),
        "--out",
        str(model),
        "--tol",
        "0",
        "--loss",
        "hinge",
    ]
    command += ["--cluster", client.scheduler.address, "--checkpoint", str(folder)]
    command += ["--regularization", "1.0", "--checkpoint-seconds", "0", "--max-passes", "1000000"]
    with open(tmp_path / "talk", "w") as talk:
        driver = subprocess.Popen(command, stderr=talk)
        try:
            wait_for(lambda: (folder / "checkpoint.safetensors").exists() or driver.poll() is not None)
        finally:
            driver.kill()
            driver.wait()
    assert driver.returncode == -signal.SIGKILL, (tmp_path / "talk").read_text()
    again = [*command[:-1], "80", "--resume", "--history", str(history)]  # passes; it needs some thirty
    done = subprocess.run(again, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr
    found = np.genfromtxt(history, delimiter=",", names=True)
    assert_brackets(found, optimum(NAME))
    assert abs(found["dual"][-1] - optimum(NAME)) <= 1e-6
    assert model.exists()


def wait_for(happened, seconds=600):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("after", [0.0, pytest.param(0.1, marks=pytest.mark.long)])
def test_a_worker_killed_while_the_cluster_starts(tmp_path, after):
    pack(tmp_path / "packed", "classes", *data(NAME))
    command = [sys.executable, "-c", "from structlearn.cli import main; main()"]
    command += ["train", "classify", str(tmp_path / "packed"), "--out", str(tmp_path / "model")]
    pipe = subprocess.PIPE
    with subprocess.Popen([*command, "--cluster", "local:2"], stdout=pipe, stderr=pipe, text=True) as driver:
        wait_for(lambda: driver.poll() is not None or workers_of(driver.pid))
        time.sleep(after)
        workers_of(driver.pid)[0].kill()
        _, stderr = driver.communicate(timeout=600)
    assert "Traceback" not in stderr
    assert driver.returncode == 1, stderr
    (sentence,) = [line for line in stderr.splitlines() if line.startswith("Error: ")]
    assert "a process of local:2 ended while it started" in sentence
    assert not (tmp_path / "model").exists()


def workers_of(pid):
    """Worker processes of a driver: it has no others that are made by spawning."""
    found = []
    for one in psutil.Process(pid).children(recursive=True):
        with suppress(psutil.NoSuchProcess):  # it has ended since
            found += [one] if "spawn_main" in " ".join(one.cmdline()) else []
    return found


def test_workers_without_the_package_or_with_another_version():
    from structlearn.distributed.connection import check_versions

    check_versions({"tcp://a": structlearn.__version__})
    with pytest.raises(ValueError, match="tcp://b has no structlearn; install"):
        check_versions({"tcp://a": structlearn.__version__, "tcp://b": None})
    with pytest.raises(ValueError, match=r"tcp://a has structlearn 0\.0\.1, this is"):
        check_versions({"tcp://a": "0.0.1"})


def test_no_scheduler_and_no_workers(monkeypatch):
    import distributed

    monkeypatch.setattr("structlearn.distributed.connection.TIMEOUT", 1.0)
    with (
        pytest.raises(ConnectionError, match="No scheduler answers at tcp:"),
        connected("tcp://127.0.0.1:9"),
    ):
        pass
    with pytest.raises(ValueError, match="A cluster is an address such as"), connected("nonsense"):
        pass
    with (
        distributed.LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as empty,
        pytest.raises(ConnectionError, match="has no workers"),
        connected(empty.scheduler_address),
    ):
        pass
