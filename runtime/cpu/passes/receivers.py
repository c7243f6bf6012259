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
        edges: float64[k], the number of edges in the rows of each class.
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
        """The number of all edges, and a tuple (rows, edges, mean length) for each class with edges.

        The values are Python numbers, because NumPy would take ten times as long for so few values.
        """
        found = [(rows, edges, edges / rows) for rows, edges in zip(self.rows.tolist(), self.edges.tolist()) if edges]
        return float(self.edges.sum()), found

    def expected(self, reached: int) -> tuple[float, float]:
        """The expected number of notified rows, and the expected number of their edges, if `reached` edges notify.

        The notifying edges are assumed to be drawn at random. A row of length d is then not notified with the
        probability (1 - reached / edges)^d.
        """
        total, classes = self._classes
        missed = 1.0 - min(1.0, reached / max(1.0, total))
        rows = edges = 0.0
        for of_class, edges_of_class, mean in classes:
            notified = 1.0 - missed**mean
            rows += of_class * notified
            edges += edges_of_class * notified
        return rows, edges
