"""`structlearn data`."""

import pytest

from structlearn.data import DATA_SETS


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A data folder that holds the letters."""
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "letter.data").write_text("")
    monkeypatch.setenv("STRUCTLEARN_DATA", str(tmp_path))
    return tmp_path


def test_list(run, folder):
    header, *lines = [line.split("\t") for line in run("data", "list").stdout.splitlines()]
    assert header == ["name", "size", "licence", "where", "what"]
    assert [line[0] for line in lines] == list(DATA_SETS)
    where = {line[0]: line[3] for line in lines}
    assert where["letters"] == str(folder / "letters")
    assert where["scene"] == "not here"


def test_path(run, folder, tmp_path):
    assert run("data", "path", "letters").stdout == f"{folder / 'letters'}\n"
    absent = run("data", "path", "scene", code=1)
    assert absent.stdout == ""
    assert absent.stderr == f"Error: scene is not in {folder}; run `structlearn data fetch scene`.\n"
    assert run("data", "path", "letters", "--data-dir", tmp_path / "x", code=1).stdout == ""


def test_fetch_of_what_is_here(run, folder):
    assert run("data", "fetch", "letters").stdout == f"{folder / 'letters'}\n"


def test_refusals(refused, folder):
    assert "No checked hash of scene is known" in refused("data", "fetch", "scene")
    assert "No public download of triplets" in refused("data", "fetch", "triplets")
    assert "Unknown data set 'lettres'" in refused("data", "fetch", "lettres")
    assert "Unknown data set 'lettres'" in refused("data", "path", "lettres")


def test_a_wrong_hash_exits_with_2_and_no_answer_with_1(refused, run, folder, monkeypatch):
    from structlearn.data import download

    monkeypatch.setattr(download, "_download", lambda url, aside, most: _written(aside / "download"))
    assert "nothing was kept" in refused("data", "fetch", "conll2000")
    monkeypatch.undo()
    monkeypatch.setenv("STRUCTLEARN_DATA", str(folder))
    sources = [one._replace(url="http://127.0.0.1:9/none.gz") for one in DATA_SETS["conll2000"].sources]
    monkeypatch.setitem(DATA_SETS, "conll2000", DATA_SETS["conll2000"]._replace(sources=tuple(sources)))
    failed = run("data", "fetch", "conll2000", code=1)
    assert failed.stderr == "Error: http://127.0.0.1:9/none.gz cannot be downloaded (ConnectionError).\n"
    assert sorted(path.name for path in folder.iterdir()) == ["letters"]


def _written(path):
    import gzip

    path.write_bytes(gzip.compress(b"something else"))
    return path
