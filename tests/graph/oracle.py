"""A reference implementation of adjacency lists, in NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Drawn", "draw", "lists"]


@dataclass(frozen=True, eq=False)
class Drawn:
    """A random multigraph with self-loops, which is equal only to itself.

    Attributes:
        n: the number of vertices.
        src, dst: uint32[E].
        weight: an edge column, [E].
    """

    n: int
    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    weight: NDArray[Any]


def draw(rng: np.random.Generator, n: int, edges: int) -> Drawn:
    """Return random edges between few vertices, so that many edges are parallel or loops. Weights distinguish the
    edges.
    """
    spread = max(1, n // int(rng.integers(1, 8)))
    src, dst = (rng.integers(0, spread, edges).astype(np.uint32) for _ in range(2))
    dst[rng.random(edges) < 0.1] = n - 1
    loops = rng.random(edges) < 0.1
    dst[loops] = src[loops]
    return Drawn(n, src, dst, rng.permutation(edges).astype(np.int32))


def lists(drawn: Drawn, kind: str, directed: bool) -> tuple[Any, Any, Any]:
    """Return the offsets, targets and weights of adjacency lists.

    Args:
        kind: the adjacency direction.
    """
    edge = np.arange(len(drawn.src))
    if not directed:
        other = drawn.src != drawn.dst
        row, target = np.append(drawn.dst, drawn.src[other]), np.append(drawn.src, drawn.dst[other])
        edge, side = np.append(edge, edge[other]), np.zeros(len(row))
    elif kind == "both":
        row, target = np.append(drawn.dst, drawn.src), np.append(drawn.src, drawn.dst)
        edge, side = np.append(edge, edge), np.repeat([0, 1], len(edge))
    else:
        row, target = (drawn.dst, drawn.src) if kind == "in" else (drawn.src, drawn.dst)
        side = np.zeros(len(row))
    order = np.lexsort((edge, side, target, row))
    offsets = np.append(0, np.cumsum(np.bincount(row, minlength=drawn.n)))
    return offsets, target[order], drawn.weight[edge[order]]
