"""An estimate, before the notification, of the rows and edges that a pass over notified vertices reads."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass

__all__ = ["Receivers"]

_MOST = 33  # classes of row lengths: 0, 1, 2 to 3, 4 to 7, ... and 2^31 to 2^32 - 1


@dataclass(frozen=True)
class Receivers:
    """The rows of an adjacency direction, in classes of similar length.

    Attributes:
        rows: float64[k], the number of rows of each class.
        edges: float64[k], the number of edges of these rows.
    """

    rows: NDArray[np.float64]
    edges: NDArray[np.float64]

    @staticmethod
    def of(lengths: NDArray[Any]) -> Receivers:
        """Classify rows by the number of bits of their length."""
        classes = np.frexp(lengths.astype(np.float64))[1]
        rows = np.bincount(classes, minlength=_MOST).astype(np.float64)
        return Receivers(rows, np.bincount(classes, weights=lengths, minlength=_MOST).astype(np.float64))

    @cached_property
    def _classes(self) -> tuple[float, list[tuple[float, float, float]]]:
        """The number of all edges; and for each class with edges, the rows, the edges and the mean length.

        They are Python numbers, because there are so few that calls of NumPy take ten times as long.
        """
        found = [(rows, edges, edges / rows) for rows, edges in zip(self.rows.tolist(), self.edges.tolist()) if edges]
        return float(self.edges.sum()), found

    def expected(self, reached: int) -> tuple[float, float]:
        """The expected numbers of rows that are notified, and of their edges, if `reached` edges notify.

        The edges are assumed to be drawn at random, so a row of length d is not notified with the probability
        (1 - reached / edges)^d.
        """
        total, classes = self._classes
        missed = 1.0 - min(1.0, reached / max(1.0, total))
        rows = edges = 0.0
        for of_class, edges_of_class, mean in classes:
            notified = 1.0 - missed**mean
            rows += of_class * notified
            edges += edges_of_class * notified
        return rows, edges
