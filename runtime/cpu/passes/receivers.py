"""An estimate, before the notification, of the rows and edges that a pass over notified vertices reads."""

from __future__ import annotations

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

    def expected(self, reached: int) -> tuple[float, float]:
        """The expected numbers of rows that are notified, and of their edges, if `reached` edges notify.

        The edges are assumed to be drawn at random, so a row of length d is not notified with the probability
        (1 - reached / edges)^d.
        """
        share = min(1.0, reached / max(1.0, float(self.edges.sum())))
        mean = self.edges / np.maximum(1.0, self.rows)
        notified = 1.0 - (1.0 - share) ** mean
        return float((self.rows * notified).sum()), float((self.edges * notified).sum())
