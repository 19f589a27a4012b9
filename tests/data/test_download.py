"""Downloads from a server of the test's own: what is right is kept, what is wrong leaves nothing."""

import bz2
import gzip
import hashlib
import io
import tarfile
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from structlearn.data import DATA_SETS, DataError, data_folder, fetch, located
from structlearn.data.download import unpack
from structlearn.data.registry import DataSet, Source

TEXT = b"1 1:0.5\n2 2:0.5\n"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


@pytest.fixture
def server(tmp_path):
    """A folder that is served, and its address."""
    folder = tmp_path / "served"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


@pytest.fixture
def offer(server, monkeypatch):
    """Serve files under a data set `tiny` of given sources (name, content, hash, file)."""
    folder, address = server

    def make(*sources, files=("rows.txt",)):
        for name, content, _, _ in sources:
            (folder / name).write_bytes(content)
        listed = tuple(Source(f"{address}/{name}", digest, file) for name, _, digest, file in sources)
        monkeypatch.setitem(DATA_SETS, "tiny", DataSet("rows", 16, "none", files, listed))

    return make


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def contents(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.parametrize(
    ("name", "content"),
    [("rows.txt", TEXT), ("rows.txt.gz", gzip.compress(TEXT)), ("rows.bz2", bz2.compress(TEXT))],
    ids=["plain", "gz", "bz2"],
)
def test_the_hash_is_that_of_the_content(offer, tmp_path, name, content):
    offer((name, content, sha256(TEXT), "rows.txt"))
    place = fetch("tiny", tmp_path / "data")
    assert place == tmp_path / "data" / "tiny"
    assert (place / "rows.txt").read_bytes() == TEXT
    assert contents(tmp_path / "data") == ["tiny", "tiny/rows.txt"]
    assert located("tiny", tmp_path / "data") == place


def test_a_wrong_hash_leaves_nothing(offer, tmp_path):
    right, wrong = ("a.txt", TEXT, sha256(TEXT), "a.txt"), ("b.txt", b"other", sha256(TEXT), "b.txt")
    offer(right, wrong, files=("a.txt", "b.txt"))
    with pytest.raises(DataError, match=f"b.txt gave a file with the SHA-256 hash {sha256(b'other')}"):
        fetch("tiny", tmp_path / "data")
    assert contents(tmp_path / "data") == []


def test_a_damaged_file_leaves_nothing(offer, tmp_path):
    offer(("rows.gz", gzip.compress(TEXT)[:-6], sha256(TEXT), "rows.txt"))
    with pytest.raises(DataError, match="damaged"):
        fetch("tiny", tmp_path / "data")
    assert contents(tmp_path / "data") == []


def test_what_is_not_served(offer, server, tmp_path):
    offer(("rows.txt", TEXT, sha256(TEXT), "rows.txt"))
    (server[0] / "rows.txt").unlink()
    with pytest.raises(ConnectionError, match=r"rows.txt cannot be downloaded \(status 404\)"):
        fetch("tiny", tmp_path / "data")
    assert contents(tmp_path / "data") == []


def test_what_is_here_is_not_fetched_again(offer, server, tmp_path):
    offer(("rows.txt", TEXT, sha256(TEXT), "rows.txt"))
    place = fetch("tiny", tmp_path / "data")
    (server[0] / "rows.txt").unlink()
    assert fetch("tiny", tmp_path / "data") == place


def test_no_hash_no_download(offer, tmp_path):
    offer(("rows.txt", TEXT, "", "rows.txt"))
    with pytest.raises(DataError, match=r"No checked hash of tiny is known.*rows.txt, unpack to rows.txt"):
        fetch("tiny", tmp_path / "data")
    assert not (tmp_path / "data").exists()


def test_no_source(tmp_path):
    with pytest.raises(DataError, match=r"No public download of triplets.*put zappos.npz into"):
        fetch("triplets", tmp_path)
    with pytest.raises(DataError, match="Unknown data set 'shoes'; known are letters"):
        fetch("shoes", tmp_path)


def test_the_folder(monkeypatch, tmp_path):
    assert data_folder(tmp_path / "given") == tmp_path / "given"
    monkeypatch.setenv("STRUCTLEARN_DATA", str(tmp_path / "named"))
    assert data_folder() == tmp_path / "named"
    monkeypatch.delenv("STRUCTLEARN_DATA")
    assert data_folder().name == "structlearn"


def test_located_in_either_place(tmp_path):
    assert located("letters", tmp_path) is None
    own = tmp_path / "own"
    own.mkdir()
    (own / "letter.data.gz").write_bytes(b"")
    assert located("letters", own) == own
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "letter.data").write_bytes(b"")
    assert located("letters", tmp_path) == tmp_path / "letters"


@pytest.mark.parametrize("name", ["rows.txt", "rows.txt.gz", "rows.txt.bz2"])
def test_a_file_that_is_far_too_large_is_given_up(offer, tmp_path, name):
    """Whatever it is packed to: of 16 bytes that are expected, a megabyte is allowed."""
    bomb = bytes(50 << 20)
    packed = {"gz": gzip.compress, "bz2": bz2.compress}.get(name.split(".")[-1], bytes)(bomb)
    offer((name, packed, sha256(bomb), "rows.txt"))
    with pytest.raises(DataError, match=f"{name} gave more than 1048608 bytes, .*; nothing was kept"):
        fetch("tiny", tmp_path / "data")
    assert contents(tmp_path / "data") == []


# ---- archives --------------------------------------------------------------------------------------


def tar(name="rows.txt", kind=tarfile.REGTYPE, target=""):
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        entry = tarfile.TarInfo(name)
        entry.type, entry.linkname = kind, target
        entry.size = len(TEXT) if kind == tarfile.REGTYPE else 0
        archive.addfile(entry, io.BytesIO(TEXT))
    return made.getvalue()


def zipped(name="rows.txt", mode=0o100644):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = mode << 16
        archive.writestr(entry, TEXT)
    return made.getvalue()


@pytest.mark.parametrize(
    ("name", "content"), [("rows.tar.gz", tar()), ("rows.zip", zipped())], ids=["tar", "zip"]
)
def test_archives_are_unpacked(offer, tmp_path, name, content):
    offer((name, content, sha256(content), ""))
    assert (fetch("tiny", tmp_path / "data") / "rows.txt").read_bytes() == TEXT


@pytest.mark.parametrize(
    "content",
    [
        tar("../rows.txt"),
        tar("/tmp/rows.txt"),  # noqa: S108
        tar("link", tarfile.SYMTYPE, "/etc/passwd"),
        tar("link", tarfile.LNKTYPE, "rows.txt"),
        zipped("../rows.txt"),
        zipped("/rows.txt"),
        zipped("a\\..\\..\\rows.txt"),
        zipped("link", 0o120777),
    ],
    ids=["up", "root", "link", "hard link", "zip up", "zip root", "zip backslash", "zip link"],
)
def test_archives_that_lead_elsewhere_are_refused(tmp_path, content):
    archive, folder = tmp_path / "archive", tmp_path / "folder"
    archive.write_bytes(content)
    folder.mkdir()
    with pytest.raises(DataError, match="a link or a path elsewhere"):
        unpack(archive, folder)
    assert contents(folder) == []
    assert contents(tmp_path) == ["archive", "folder"]


def bomb_tar():
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:gz") as archive:
        for name in ("rows.txt", "more.txt"):
            entry = tarfile.TarInfo(name)
            entry.size = 3 << 20
            archive.addfile(entry, io.BytesIO(bytes(3 << 20)))
    return made.getvalue()


def bomb_zip():
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.txt", bytes(3 << 20))
        archive.writestr("more.txt", bytes(3 << 20))
    return made.getvalue()


@pytest.mark.parametrize("content", [bomb_tar(), bomb_zip()], ids=["tar", "zip"])
def test_archives_that_hold_far_too_much_are_not_unpacked(offer, tmp_path, content):
    assert len(content) < 1 << 20
    offer(("rows.archive", content, sha256(content), ""))
    with pytest.raises(DataError, match="gave more than 1048608 bytes"):
        fetch("tiny", tmp_path / "data")
    assert contents(tmp_path / "data") == []
