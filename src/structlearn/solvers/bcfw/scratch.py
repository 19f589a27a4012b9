"""Scratch memory whose address does not matter: the same run gives the same bits."""

from __future__ import annotations

import numpy as np

from structlearn.core.contract import Array
from structlearn.core.kernels import kernel

#: Numbers between two vectors, more than a vectorised loop takes at a time.
APART = 64


@kernel
def three_apart(size: int) -> tuple[Array, Array, Array]:
    """Allocate three vectors, far from each other and from whatever else there is.

    A vectorised loop over two vectors is left for the plain one where their addresses are close, and the two
    add up in different orders. Small vectors of one's own lie close to each other in some processes, and not
    in others.
    """
    room = size + APART
    rows = np.empty(3 * room + APART)
    return rows[APART:room], rows[room + APART : 2 * room], rows[2 * room + APART : 3 * room]
