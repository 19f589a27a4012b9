"""What tests of clusters share."""

import gc

import pytest


@pytest.fixture(autouse=True)
def no_garbage():
    """A client that failed is closed here, not while the next one starts: each would wait for the other."""
    yield
    gc.collect()
