"""Puts this folder on the path (for `brute`), sets up Hypothesis, and marks tests that take long."""

import gc
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# The first example of a property may compile for seconds: no deadlines. Examples are the same in every run,
# so that a failure is one of the change at hand; `make torture` looks for new ones.
settings.register_profile(
    "explore", deadline=None, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("structlearn", settings.get_profile("explore"), derandomize=True)
settings.load_profile("structlearn")


#: Tests that take seconds of processor time in a cold run. `make torture` runs them, `make test` like ones.
LONG = {one for one in (Path(__file__).parent / "long_tests.txt").read_text().splitlines() if one[:1] != "#"}


@pytest.hookimpl(tryfirst=True)  # before tests are chosen by their marks
def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.removeprefix("tests/") in LONG:
            item.add_marker(pytest.mark.long)


@pytest.fixture
def write(tmp_path):
    """Write a small file byte for byte and return its path."""

    def write_file(content, name="file.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def pytest_collection_finish(session):
    """Thousands of tests stay until the end: no search for garbage goes through them.

    Their order is random by now; what they draw where nobody gives a seed is not.
    """
    gc.freeze()
    session.config.option.randomly_seed = 0
