"""Arrays of .npz files, and files that say they are what they are not."""

import io
import zipfile
from contextlib import suppress

import numpy as np
import pytest

from structlearn.data import DataError
from structlearn.data.archives import read_arrays


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return path


def npy(array, old=b"", new=b""):
    """An .npy file, its header changed."""
    content = io.BytesIO()
    np.save(content, array)
    return content.getvalue().replace(old, new.ljust(len(old)), 1)


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_as_numpy_reads_them(tmp_path, save):
    rng = np.random.default_rng(0)
    table = rng.normal(size=(300, 7))
    arrays = {
        "a": table,
        "b": np.asfortranarray(table),
        "c": np.arange(5, dtype=">i4"),
        "d": np.empty((0, 3)),
    }
    arrays |= {"e": np.array(3.0), "f": table > 0, "g": table.astype(np.float32)}
    save(tmp_path / "some.npz", **arrays)
    found = read_arrays(tmp_path / "some.npz", [*arrays, "x"])
    assert found.keys() == arrays.keys()
    with np.load(tmp_path / "some.npz") as known:
        for name, array in found.items():
            np.testing.assert_array_equal(array, known[name])
            assert (array.dtype, array.shape) == (known[name].dtype, known[name].shape)
            assert array.flags.writeable


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (npy(np.ones((3, 2)), b"(3, 2)", b"(9, 2)"), "not as long as its shape says"),
        (npy(np.ones((1000, 2)), b"(1000, 2)", b"(9**9,2)"), "damaged"),
        (npy(np.ones((1000, 2)), b"(1000, 2)", b"(9999999)"), "damaged"),
        (npy(np.ones((3, 20)), b"(3, 20)", b"(-3,-20)"), "damaged"),
        (npy(np.ones(3), b"<f8", b"|O"), "damaged"),
        (npy(np.array(["a"])), "holds no numbers"),
        (npy(np.ones(3, dtype=complex)), "holds no numbers"),
        (npy(np.zeros(1 << 22)), "unpacks to more than 250 times its size"),
        (b"\x93NUMPY", "damaged"),
        (b"", "damaged"),
    ],
)
def test_an_array_that_is_none(tmp_path, content, message):
    with pytest.raises(DataError, match=message):
        read_arrays(archive(tmp_path / "odd.npz", a=content), ["a"])


def test_whatever_byte_is_changed_there_is_an_answer_or_a_sentence(tmp_path):
    path = archive(tmp_path / "odd.npz", a=npy(np.random.default_rng(0).normal(size=99)))
    whole = path.read_bytes()
    for at in range(0, len(whole), 7):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        with suppress(DataError):
            read_arrays(path, ["a"])


def test_a_folder_is_no_archive(tmp_path):
    with pytest.raises(DataError, match="does not exist"):
        read_arrays(tmp_path, ["a"])
