"""How many threads the linear algebra library may use: ours are the only ones that share out the work."""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the libraries takes milliseconds: once


def blas_threads(number: int) -> AbstractContextManager[Any]:
    """A context in which BLAS uses at most so many threads."""
    return _controller().limit(limits=number, user_api="blas")
