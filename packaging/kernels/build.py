"""Build the wheel structlearn-kernels for Linux on x86-64-v3: CPUs with AVX2 and FMA, as Haswell and Zen.

python packaging/kernels/build.py [TASK ...] [--out dist]

`structlearn warm` compiles the kernels of the tasks (all, if none is named) into an empty cache, for that CPU
in place of this one. It may take minutes.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from tempfile import TemporaryDirectory

from structlearn.core.kernel_cache.shipped import KERNELS, MANIFEST, MODULE, Manifest, target_features

HERE = Path(__file__).resolve().parent
CPU = "x86-64-v3"
#: Of that CPU, as LLVM names them.
FEATURES = [
    *("64bit", "avx", "avx2", "bmi", "bmi2", "cmov", "crc32", "cx16", "cx8", "f16c", "fma", "fxsr", "lzcnt"),
    *("mmx", "movbe", "popcnt", "sahf", "sse", "sse2", "sse3", "sse4.1", "sse4.2", "ssse3", "xsave"),
]
NEWEST_WITHOUT_WHEELS = 70  # setuptools, which made them by another package until then


def build(tasks: list[str], out: Path) -> None:
    """Compile, and write the wheel into the folder `out`."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        sys.exit("The kernels of structlearn-kernels are built on Linux, x86_64.")
    with TemporaryDirectory() as folder:
        project = Path(folder)
        package = project / MODULE
        package.mkdir()
        compile_kernels(tasks, package)
        Manifest.here(CPU, FEATURES, package / KERNELS).write(package / MANIFEST)
        (package / "__init__.py").write_text('"""Compiled kernels of structlearn: see manifest.json."""\n')
        for name in ("pyproject.toml", "setup.py"):
            shutil.copy(HERE / name, project)
        options = ["--no-deps", "--quiet", "--disable-pip-version-check", "--wheel-dir", str(out)]
        if can_build_here():
            options.append("--no-build-isolation")
        subprocess.run([sys.executable, "-m", "pip", "wheel", *options, folder], check=True)


def compile_kernels(tasks: list[str], cache: Path) -> None:
    """Fill the cache for CPU in place of the host's."""
    target = {
        "NUMBA_CPU_NAME": CPU,
        "NUMBA_CPU_FEATURES": target_features(FEATURES),
        "NUMBA_DISABLE_INTEL_SVML": "1",  # a library that others may not have
        "STRUCTLEARN_CACHE": str(cache),
    }
    command = [sys.executable, "-c", "from structlearn.cli import main; main()", "warm", *tasks]
    subprocess.run(command, env={**os.environ, **target}, check=True)


def can_build_here() -> bool:
    """Whether this environment has what pip would fetch."""
    try:
        return int(version("setuptools").split(".")[0]) > NEWEST_WITHOUT_WHEELS
    except PackageNotFoundError:
        return False


if __name__ == "__main__":
    reader = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    reader.add_argument("tasks", nargs="*", metavar="TASK")
    reader.add_argument("--out", type=Path, default=Path("dist"))
    chosen = reader.parse_args()
    build(chosen.tasks, chosen.out)
    print(*sorted(chosen.out.glob("structlearn_kernels-*.whl")), sep="\n")
