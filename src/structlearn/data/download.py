"""Downloads whose hashes are checked: all of a data set is kept, or nothing."""

from __future__ import annotations

import bz2
import errno
import gzip
import hashlib
import io
import lzma
import shutil
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from structlearn.core.wording import quote
from structlearn.data.registry import Source, by_hand, data_folder, data_set, located
from structlearn.storage.atomic import make_folder
from structlearn.storage.errors import DataError

_OPENERS: dict[str, Callable[[Path], io.IOBase]] = {".gz": gzip.GzipFile, ".bz2": bz2.BZ2File}
_DAMAGED = (EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, tarfile.TarError, zipfile.BadZipFile)
_CHUNK = 1 << 20
_SECONDS = 60
#: What an archive may hold where nobody has said how large its data set is.
_LARGEST = 1 << 34


def fetch(name: str, folder: str | Path | None = None) -> Path:
    """Download a data set unless it is here, check it, and give its folder.

    Parameters
    ----------
    name : str
        A name of `DATA_SETS`.
    folder : path, optional
        As for `data_folder`.

    Raises
    ------
    DataError
        A hash that is wrong, or none that is known. Nothing is kept then.
    ConnectionError
        No answer.
    """
    found, here = data_set(name), located(name, folder)
    if here is not None:
        return here
    if not found.sources:
        raise DataError(f"No public download of {name} is known: {by_hand(name, folder)}.")
    if not all(source.sha256 for source in found.sources):
        raise DataError(f"No checked hash of {name} is known; fetch it yourself: {by_hand(name, folder)}.")
    root = make_folder(data_folder(folder))
    with tempfile.TemporaryDirectory(dir=root, prefix=f".{name}.") as aside:
        made = make_folder(Path(aside) / name)
        for source in found.sources:
            _obtain(source, Path(aside), made, 2 * found.n_bytes + _CHUNK)
        place = make_folder(root / name)  # files that are there already stay
        for one in sorted(made.iterdir()):
            if (place / one.name).is_dir():
                shutil.rmtree(place / one.name)
            one.replace(place / one.name)
    return place


class _Meter:
    """Shows no progress, but ends a download that is larger than it may be."""

    def __init__(self, url: str, limit: int) -> None:
        self.url, self.limit = url, limit
        self.total = self.n_bytes = 0

    def update(self, n_bytes: int) -> None:
        self.n_bytes += n_bytes
        if self.n_bytes > self.limit:
            expected = f"more than {self.limit} bytes, far more than are expected"
            raise DataError(f"{self.url} gave {expected}; nothing was kept.")

    def reset(self) -> None:
        self.n_bytes = 0

    def close(self) -> None:
        pass


def _obtain(source: Source, aside: Path, made: Path, limit: int) -> None:
    """Download one source to `aside`, check it, and write what it holds into `made`."""
    raw = _download(source.url, aside, limit)
    try:
        if source.file:
            content = made / source.file
            opener, meter = _OPENERS.get(Path(source.url).suffix, io.FileIO), _Meter(source.url, limit)
            with opener(raw) as stream, open(content, "wb") as file:
                while piece := stream.read(_CHUNK):
                    meter.update(len(piece))
                    file.write(piece)
            _check(content, source)
        else:
            _check(raw, source)
            unpack(raw, made, limit)
    except _DAMAGED as error:
        raise DataError(f"{source.url} gave a damaged file ({error}); nothing was kept.") from None


def _download(url: str, aside: Path, limit: int) -> Path:
    import pooch

    raw = aside / "download"
    meter = _Meter(url, limit)
    try:
        pooch.HTTPDownloader(progressbar=meter, chunk_size=_CHUNK, timeout=_SECONDS)(url, str(raw), None)
    except OSError as error:  # all of requests' errors are
        response = getattr(error, "response", None)
        reason = type(error).__name__ if response is None else f"status {response.status_code}"
        raise ConnectionError(errno.EIO, f"{url} cannot be downloaded ({reason})") from None
    return raw


def _check(path: Path, source: Source) -> None:
    with open(path, "rb") as file:
        got = hashlib.file_digest(file, "sha256").hexdigest()
    if got != source.sha256:
        raise DataError(
            f"{source.url} gave a file with the SHA-256 hash {got}, not {source.sha256}; nothing was kept."
        )


def unpack(archive: Path, folder: Path, limit: int = _LARGEST) -> None:
    """Unpack a .zip or .tar(.gz, .bz2, .xz) archive; DataError for links and paths that lead elsewhere.

    So it is for an archive whose members say that they have more than `limit` bytes.
    """
    meter = _Meter(archive.name, limit)
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as members:
            for member in members.infolist():
                _check_member(member.filename, plain=(member.external_attr >> 28) != 0o12)
                meter.update(member.file_size)
            members.extractall(folder)  # noqa: S202  (checked)
        return
    with tarfile.open(archive) as tar:
        for entry in tar:
            _check_member(entry.name, plain=entry.isfile() or entry.isdir())
            meter.update(entry.size)
        tar.extractall(folder, filter="data")


def _check_member(name: str, *, plain: bool) -> None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or ":" in name or not plain:
        raise DataError(f"The archive holds {quote(name)}, a link or a path elsewhere; nothing was kept.")
