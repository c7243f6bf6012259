"""Positions for the vertices of a small graph, by forces between them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["force_layout"]

_STEPS = 200
_PULL = 0.05  # the force towards the middle, which keeps components together


def force_layout(n: int, source: NDArray[Any], target: NDArray[Any]) -> NDArray[np.float64]:
    """Positions of the vertices in the unit square, float64[n, 2]. The positions depend only on the graph.

    All vertices repel each other, and edges pull their ends together (Fruchterman and Reingold, Graph drawing by
    force-directed placement, 1991). The initial positions are eigenvectors of the Laplacian, which unfold the graph.
    Takes O(n^2) memory and time per step.

    Args:
        n: the number of vertices.
        source: the first end of each edge, int[m], from 0 to n - 1.
        target: the other end, int[m].
    """
    if n == 0:
        return np.zeros((0, 2))
    joined = np.zeros((n, n))
    joined[source, target] = joined[target, source] = 1.0
    np.fill_diagonal(joined, 0.0)
    where = _spectral(joined)
    ideal, heat = 1.0 / np.sqrt(n), 0.1
    for step in range(_STEPS):
        apart = where[:, None, :] - where[None, :, :]
        distance = np.maximum(np.sqrt((apart**2).sum(axis=2)), 1e-4)
        force = ideal**2 / distance**2 - joined * distance / ideal
        move = (apart * force[:, :, None]).sum(axis=1) - _PULL * (where - where.mean(axis=0)) / ideal
        length = np.maximum(np.sqrt((move**2).sum(axis=1)), 1e-9)
        limit = heat * (1 - step / _STEPS)
        where = where + move * (np.minimum(length, limit) / length)[:, None]
    return _unit(where)


def _spectral(joined: NDArray[np.float64]) -> NDArray[np.float64]:
    """The second and third eigenvector of the normalised Laplacian, disturbed so that no two positions are equal."""
    n = len(joined)
    degree = np.maximum(joined.sum(axis=1), 1.0)
    scale = 1.0 / np.sqrt(degree)
    _, vectors = np.linalg.eigh(np.eye(n) - joined * scale[:, None] * scale[None, :])
    start = np.zeros((n, 2))
    for column in range(min(2, n - 1)):
        vector = vectors[:, column + 1] * scale
        start[:, column] = vector * np.sign(vector[np.argmax(np.abs(vector))])  # eigenvectors have no sign
    return _unit(start) + np.random.default_rng(n).normal(0, 0.02, (n, 2))


def _unit(where: NDArray[np.float64]) -> NDArray[np.float64]:
    """The positions, moved and scaled into the unit square."""
    low, high = where.min(axis=0), where.max(axis=0)
    scaled: NDArray[np.float64] = (where - low) / np.maximum((high - low).max(), 1e-9)
    return scaled
