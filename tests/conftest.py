"""Puts this folder on the path (for `brute`), and sets up Hypothesis."""

import gc

import pytest
from hypothesis import HealthCheck, settings

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


def pytest_collection_finish():
    """Thousands of tests stay until the end: no search for garbage goes through them."""
    gc.freeze()
