"""Kernels that came with the installation, in the companion package `structlearn-kernels`.

    structlearn_kernels/manifest.json        what the kernels were built for, and a hash of each file
    structlearn_kernels/kernels/HASH/...     files of the cache, as a user's own

They are machine code for the CPU that the manifest names, and used where all that it tells is so here and
this CPU can do what that one can. A file is read only if its hash is the manifest's; none is ever written.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import llvmlite
import llvmlite.binding
import numba

import structlearn
from structlearn.core.kernel_cache.files import read_trusted
from structlearn.core.kernel_cache.source_hash import source_hash

MODULE = "structlearn_kernels"
MANIFEST = "manifest.json"
KERNELS = "kernels"


class Manifest(NamedTuple):
    """What kernels were built for and by."""

    structlearn: str
    #: `source_hash` of what every kernel may contain
    sources: str
    python: str
    numba: str
    llvmlite: str
    #: as LLVM names it
    platform: str
    cpu: str
    #: of the CPU, as LLVM names them
    features: list[str]
    #: SHA-256 of each file, by its path in the folder of kernels
    files: dict[str, str]

    @classmethod
    def here(cls, cpu: str = "", features: Sequence[str] = (), folder: Path | None = None) -> Manifest:
        """Describe kernels that this installation has built into a folder, for a CPU."""
        return cls(
            structlearn.__version__,
            source_hash(),
            "{}.{}".format(*sys.version_info),
            numba.__version__,
            llvmlite.__version__,
            llvmlite.binding.get_process_triple(),
            cpu,
            list(features),
            {} if folder is None else _hashes(folder),
        )

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read a manifest; ValueError if the file is not one, or others may have written it."""
        content = read_trusted(path)
        try:
            found = cls(**json.loads(content or b""))
            words = [*found[:7], *found.features, *found.files, *found.files.values()]
            if all(isinstance(word, str) for word in words):
                return found
        except (ValueError, TypeError, AttributeError):
            pass
        raise ValueError(f"{path} is not a manifest that can be trusted")

    def write(self, path: Path) -> None:
        """Write the manifest as JSON."""
        path.write_text(json.dumps(self._asdict(), indent=1) + "\n")

    def obstacle(self) -> str:
        """Say why its kernels cannot be used here; return an empty text if they can."""
        here = self.here()
        for name in ("python", "numba", "llvmlite", "platform", "structlearn"):
            theirs, ours = getattr(self, name), getattr(here, name)
            if theirs != ours:
                return f"built for {name} {theirs}, here is {ours}"
        if self.sources != here.sources:
            return "built from other sources of structlearn"
        if numba.config.CPU_NAME is not None or numba.config.CPU_FEATURES is not None:
            return "NUMBA_CPU_NAME or NUMBA_CPU_FEATURES asks for a CPU"
        missing = sorted(set(self.features) - _host_features())
        return f"this CPU lacks {', '.join(missing)}" if missing else ""


class ShippedKernels(NamedTuple):
    """An installed folder of kernels."""

    folder: Path
    manifest: Manifest
    #: why they are not used; empty if they are
    obstacle: str

    @property
    def target(self) -> tuple[str, str, str]:
        """What they were built for, as Numba names it in its caches."""
        return self.manifest.platform, self.manifest.cpu, target_features(self.manifest.features)

    def read(self, path: Path) -> bytes | None:
        """Return the content of a file; None if it differs from the manifest, or cannot be trusted."""
        content = read_trusted(path)
        known = self.manifest.files.get(path.relative_to(self.folder).as_posix())
        return content if content is not None and _sha256(content) == known else None

    def damaged_files(self) -> list[str]:
        """Return the names of the files that cannot be used."""
        return [name for name in self.manifest.files if self.read(self.folder / name) is None]


@cache
def shipped_kernels() -> ShippedKernels | None:
    """Return the installed kernels, whether they are used or not."""
    spec = find_spec(MODULE)
    if spec is None or not spec.submodule_search_locations:
        return None
    package = Path(next(iter(spec.submodule_search_locations)))
    try:
        manifest = Manifest.read(package / MANIFEST)
    except ValueError as error:
        return ShippedKernels(package / KERNELS, Manifest.here(), str(error))
    return ShippedKernels(package / KERNELS, manifest, manifest.obstacle())


def target_features(features: Sequence[str]) -> str:
    """Return features in the notation of NUMBA_CPU_FEATURES."""
    return ",".join(f"+{name}" for name in features)


def _host_features() -> set[str]:
    try:
        return {name for name, there in llvmlite.binding.get_host_cpu_features().items() if there}
    except RuntimeError:  # LLVM cannot tell
        return set()


def _hashes(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*.nb[ic]") if path.is_file())
    return {path.relative_to(folder).as_posix(): _sha256(path.read_bytes()) for path in paths}


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
