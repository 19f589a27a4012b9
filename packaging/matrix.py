"""The tests with the oldest and the newest libraries, and with every Python that is installed.

python packaging/matrix.py [--pythons python3.11 ...] [--libraries oldest newest] [--tests tests/cli ...]

Each combination gets an environment of its own in a temporary folder; pythons that are not there are
passed over and named. "oldest" pins the lower bounds of pyproject.toml where a wheel exists for that Python.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("python3.11", "python3.12", "python3.13", "python3.14")


def lower_bounds() -> list[str]:
    """The dependencies, each at its lower bound."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [*project["dependencies"], *project["optional-dependencies"]["shell"]]
    return [re.sub(r">=", "==", one) for one in asked if ">=" in one]


def oldest(inside: str) -> list[str]:
    """The lower bounds that have a wheel for this Python; the others are named, and left to pip."""
    ask = [inside, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--dry-run", "--no-deps"]
    pins = lower_bounds()
    has_wheel = [
        subprocess.run([*ask, "--only-binary=:all:", one], capture_output=True, check=False).returncode == 0
        for one in pins
    ]
    if free := [one for one, has in zip(pins, has_wheel) if not has]:
        print(f"No wheel for this Python, so not the oldest: {', '.join(free)}", flush=True)
    return [one for one, has in zip(pins, has_wheel) if has]


def run(python: str, libraries: str, tests: list[str]) -> bool:
    """Install and test one combination: the smoke test first, then the tests."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([python, "-m", "venv", folder], check=True)
        inside = str(Path(folder) / "bin" / "python")
        wanted = [f"{ROOT}[test]", *(oldest(inside) if libraries == "oldest" else [])]
        install = [inside, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", *wanted]
        if subprocess.run(install, check=False).returncode:
            return False
        # What an old library uses of a new one may be deprecated there; that is not ours to mend.
        warnings = ["-W", "ignore::DeprecationWarning"] if libraries == "oldest" else []
        pytest = ["-m", "pytest", "-q", "-n", "2", "--dist", "loadfile", *warnings, *tests]
        commands = (["packaging/smoke.py"], pytest)
        return not any(subprocess.run([inside, *one], cwd=ROOT, check=False).returncode for one in commands)


def main() -> None:
    """All combinations; exit 1 if one fails."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--pythons", nargs="+", default=PYTHONS)
    parser.add_argument("--libraries", nargs="+", default=("oldest", "newest"), choices=("oldest", "newest"))
    parser.add_argument("--tests", nargs="+", default=[], help="files or folders of tests; all unless given")
    asked = parser.parse_args()
    failed = []
    for python in asked.pythons:
        if not shutil.which(python):
            print(f"{python}: not installed, passed over", flush=True)
            continue
        for libraries in asked.libraries:
            passed = run(python, libraries, asked.tests)
            print(f"{python}, {libraries} libraries: {'passed' if passed else 'FAILED'}", flush=True)
            failed += [] if passed else [(python, libraries)]
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
