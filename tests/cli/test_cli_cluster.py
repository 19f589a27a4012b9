"""`train --cluster` and `data split`. What runs on real processes is tested in tests/distributed."""

import pytest
from cli_cases import rows

from structlearn.data import open_packed, pack, write_libsvm
from structlearn.distributed import open_partitions


@pytest.fixture
def packed(tmp_path):
    pack(tmp_path / "packed", "classes", *rows())
    return tmp_path / "packed"


def test_a_split_keeps_what_the_file_was(run, refused, tmp_path):
    write_libsvm(tmp_path / "data.txt", *rows())
    parts, seed = tmp_path / "parts", ("--seed", "5")
    result = run("data", "split", "classify", tmp_path / "data.txt", "--parts", 3, "--out", parts, *seed)
    assert "Split 60 examples with 4 features into 3 partitions" in result.stderr
    opened = [open_packed(path) for path in open_partitions(parts).paths]
    assert [len(one) for one in opened] == [20, 20, 20]
    assert all(one.notes["format"] == "libsvm" for one in opened)
    assert "it exists already" in refused(
        "data", "split", "classify", tmp_path / "data.txt", "--parts", 3, "--out", parts
    )
    assert "train on them with --cluster" in refused("train", "classify", parts, "--out", tmp_path / "m")
    assert "holds packed data of the kind 'classes'" in refused(
        "train", "tag", parts, "--out", tmp_path / "m"
    )


def test_a_split_into_too_many_parts_leaves_nothing(refused, packed, tmp_path):
    out = tmp_path / "parts"
    assert "1 to 60 parts" in refused("data", "split", "classify", packed, "--parts", 61, "--out", out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("classify", "--cluster", "here"), "A cluster is an address such as tcp://scheduler:8786"),
        (
            ("regress", "--cluster", "local:2"),
            "--cluster does not go with the task regress (it goes with classify, tag, chunk",
        ),
        (("classify", "--cluster", "local:0"), "A cluster is an address such as tcp://scheduler:8786"),
        (
            ("classify", "--cluster", "local:99999999999"),
            "local:K starts K processes on this machine, at most",
        ),
        (("classify", "--cluster", f"local:{'9' * 5000}"), "at most"),
    ],
)
def test_refusals(refused, packed, tmp_path, arguments, sentence):
    task, *options = arguments
    assert sentence in refused("train", task, packed, "--out", tmp_path / "model", *options)


def test_a_scheduler_that_does_not_answer(refused, packed, tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("structlearn.distributed.connection.TIMEOUT", 1.0)
    model = tmp_path / "model"
    line = refused("train", "classify", packed, "--out", model, "--cluster", "tcp://127.0.0.1:9")
    assert "No scheduler answers at tcp://127.0.0.1:9" in line
    assert not model.exists()
