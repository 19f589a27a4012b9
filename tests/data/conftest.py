import os
from pathlib import Path

import pytest


@pytest.fixture
def shared_file():
    """Look up a file of the shared real data; skip the test where it is absent."""

    def find(*parts):
        beside = Path(__file__).resolve().parents[3] / "shared" / "data"
        path = Path(os.environ.get("STRUCTLEARN_SHARED_DATA", beside)).joinpath(*parts)
        if not path.exists():
            pytest.skip(f"{'/'.join(parts)} is not here")
        return path

    return find
