"""Files are written whole or not at all."""

import errno
import os

import pytest

from structlearn.storage.atomic import atomic_write, check_writable


def test_a_writable_path_is_given_back_and_nothing_is_left(tmp_path):
    assert check_writable(tmp_path / "new") == tmp_path / "new"
    assert check_writable(str(tmp_path / "new")) == tmp_path / "new"
    assert os.listdir(tmp_path) == []


def test_a_folder_cannot_be_written(tmp_path):
    with pytest.raises(IsADirectoryError, match="it is a folder"):
        check_writable(tmp_path)


def test_a_missing_folder_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=f"the folder {tmp_path / 'no'} does not exist"):
        check_writable(tmp_path / "no" / "file")


def test_a_closed_folder_is_refused(tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("structlearn.storage.atomic.Path.touch", refuse)  # root may write anywhere
    with pytest.raises(PermissionError, match=r"Cannot write .*: Permission denied"):
        check_writable(tmp_path / "file")


def test_what_was_written_aside_takes_the_place(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    with atomic_write(path) as aside:
        aside.write_text("new")
        assert aside.parent == tmp_path
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("error", [OSError, KeyboardInterrupt])
def test_a_failure_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "file"
    path.write_text("old")

    def write():
        with atomic_write(path) as aside:
            aside.write_text("half")
            raise error

    with pytest.raises(error):
        write()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o027, 0o640), (0o077, 0o600)])
def test_permissions_follow_the_umask(tmp_path, mask, mode):
    before = os.umask(mask)
    try:
        with atomic_write(tmp_path / "file") as aside:
            aside.write_text("x")
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def test_writing_never_sets_the_umask(tmp_path, monkeypatch):
    """It is that of the whole process: what other threads write at that moment would be open to all."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail("the umask is set"))
    with atomic_write(tmp_path / "file") as aside:
        aside.write_text("x")
    assert os.listdir(tmp_path) == ["file"]


def test_a_full_disk_is_told_with_the_name_of_the_file(tmp_path):
    def write():
        with atomic_write(tmp_path / "model"):
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left on device") as told:
        write()
    assert (told.value.errno, told.value.filename) == (errno.ENOSPC, str(tmp_path / "model"))


def test_a_link_that_leads_back_to_itself_cannot_be_written(tmp_path):
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="it is a link that leads back to itself"):
        check_writable(tmp_path / "loop")
