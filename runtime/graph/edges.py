"""A list of edges with dense vertex numbers, and the ids under which the user knows the vertices."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["EdgeList", "VertexIds"]


class VertexIds:
    """The user's ids in increasing order: the id of dense vertex i is `ids[i]`.

    Dense numbers are ranks, so they compare as the user's ids do. `values` is an int64 or uint64 array, or an
    object array of str; consecutive integers from `base` are not stored until asked for.
    """

    def __init__(self, values: NDArray[Any] | None = None, *, base: int = 0, count: int = 0) -> None:
        self._values = values
        self.base = base
        self.count = count if values is None else len(values)

    @property
    def consecutive(self) -> bool:
        """Whether the ids are base, base + 1, ..."""
        return self._values is None

    @property
    def values(self) -> NDArray[Any]:
        """The ids, shape [count]; int64, uint64 or object (str)."""
        if self._values is None:
            return np.arange(self.base, self.base + self.count, dtype=np.int64)
        return self._values

    def __len__(self) -> int:
        return self.count


@dataclass
class EdgeList:
    """Edges as read, before any orientation is built.

    src, dst: uint32[E], dense vertex numbers. columns: name -> array[E]. directed: False when every edge stands
    for both directions but is listed once. notes: what the reader did, a sentence each.
    """

    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    ids: VertexIds
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    directed: bool = True
    notes: list[str] = field(default_factory=list)
