"""Puts this folder on the path (for `brute`), sets up Hypothesis, and shares tests out to workers."""

import gc

import pytest
from hypothesis import HealthCheck, settings

from brute import STRUCTURES

# The first example of a property may compile for seconds: no deadlines.
settings.register_profile(
    "structlearn", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("structlearn")


@pytest.fixture
def write(tmp_path):
    """Write a small file byte for byte and return its path."""

    def write_file(content, name="file.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups in the same hook
def pytest_collection_modifyitems(items):
    """Tests of one kind of structure share compiled code: one worker runs them; others go by their file."""
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        family = STRUCTURES.get(parameters.get("name")) if isinstance(parameters.get("name"), str) else None
        group = item.path.stem if family is None else type(family.structure.record).__name__
        item.add_marker(pytest.mark.xdist_group(group))


def pytest_collection_finish():
    """Thousands of tests stay until the end: no search for garbage goes through them."""
    gc.freeze()
