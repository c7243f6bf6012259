"""The order of vertices by degree, in which page files of the layout "degree" number them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["order_by_degree"]


def order_by_degree(degree: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """The vertices in decreasing order of degree, equal ones in increasing order: uint32[n].

    degree: uint32[n], in- plus out-degree.
    """
    return np.argsort(~degree, kind="stable").astype(np.uint32)
