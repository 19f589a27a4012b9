"""Where figures were measured."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path

import structlearn

_PACKAGES = ("numpy", "scipy", "numba", "scikit-learn")


def machine() -> dict[str, str]:
    """Describe processor, cores, system and versions."""
    versions = ", ".join(f"{package} {version(package)}" for package in _PACKAGES)
    return {
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release()}",
        "versions": f"structlearn {structlearn.__version__}, Python {platform.python_version()}, {versions}",
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
