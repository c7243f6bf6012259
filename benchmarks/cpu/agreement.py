"""Compare the results of vlang with the results of a peer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["same_distances", "same_parts", "same_ranks", "same_reach", "same_scores"]

Array = NDArray[Any]
FAR = 1e30


def same_distances(ours: Array, other: Array) -> None:
    """Compare distances or hops. Like all functions of this module, this function raises AssertionError if the results
    differ. For an unreachable vertex, `ours` has infinity or the largest integer, and `other` has a huge or negative
    number.
    """
    reached = _reached(ours)
    found = (np.asarray(other) >= 0) & (np.asarray(other) < FAR)
    assert (reached == found).all(), f"{int((reached != found).sum())} vertices are reached by only one of the two"
    np.testing.assert_allclose(np.asarray(ours)[reached], np.asarray(other)[reached], rtol=1e-6)


def same_reach(ours: Array, other: Array) -> None:
    """Compare the sets of reached vertices.

    Args:
        other: vertex numbers, in any order.
    """
    assert np.array_equal(np.flatnonzero(_reached(ours)), np.sort(other)), "the vertices reached differ"


def same_parts(ours: Array, other: Array) -> None:
    """Compare two labellings of components; the labels themselves may differ."""
    for a, b in ((ours, other), (other, ours)):
        _, first, inverse = np.unique(a, return_index=True, return_inverse=True)
        assert (np.asarray(b) == np.asarray(b)[first][inverse]).all(), "the components differ"


def same_ranks(ours: Array, other: Array) -> None:
    """Compare PageRanks of two runs that ended after different numbers of sweeps."""
    other = np.asarray(other, dtype=np.float64) / np.sum(other)
    np.testing.assert_allclose(ours, other, rtol=0.05, atol=1e-3 / len(other))


def same_scores(ours: Array, other: Array) -> None:
    """Compare betweenness computed in 32 bits with betweenness in 64 bits."""
    np.testing.assert_allclose(ours, other, rtol=1e-3, atol=1e-3 * float(np.max(other)) / len(other))


def _reached(ours: Array) -> NDArray[np.bool_]:
    ours = np.asarray(ours)
    return ours < np.iinfo(ours.dtype).max if ours.dtype.kind in "iu" else np.isfinite(ours)
