"""What tests of clusters share."""

import gc

import pytest


@pytest.fixture(autouse=True)
def no_garbage():
    """A client that failed is closed here, not while the next one starts, which would wait for it for ever."""
    yield
    gc.collect()
