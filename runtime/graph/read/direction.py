"""Decides whether a file of undirected edges lists each edge once or in both directions.

An undirected EdgeList has every edge once. A file that is undirected, by its header or by an option, may list every
edge once or in both directions. The direction of such a file is determined as follows:

- Every edge is listed in both directions with equal columns: edges with source <= target are kept, as undirected.
- Every edge is listed in both directions, but the columns differ: all edges are kept, as directed.
- Otherwise, all edges are kept, as undirected. Repeated self-loops are kept, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.edges.building.space import Space
from vlang.runtime.graph.read.scan import Scanned

__all__ = ["as_undirected", "both_directions", "imbalance"]

_BLOCK = 1 << 16
_MASK = (1 << 64) - 1


def as_undirected(read: Scanned, space: Space) -> tuple[Scanned, bool, str]:
    """The edges of an undirected file, whether they are now directed, and a clause for the notes that explains why.

    `space` allocates the arrays of edges.
    """
    pairs, values = imbalance(read)
    if pairs != 0 or not len(read.source) or _all_loops(read):
        return read, False, "each edge is taken to be listed once"
    if values != 0:
        return read, True, "both directions of every edge are listed, with different values: kept as directed"
    return _ascending(read, space), False, "both directions of every edge are listed, and one of each is kept"


def both_directions(read: Scanned, sign: int, space: Space) -> Scanned:
    """Add the opposite of each edge that is not a self-loop, with its values multiplied by `sign`."""
    count = len(read.source)
    parts = [slice(first, first + _BLOCK) for first in range(0, count, _BLOCK)]
    more = sum(int((read.source[part] != read.target[part]).sum()) for part in parts)
    ends = [(read.source, read.target, 1), (read.target, read.source, 1)]
    lists = [*ends, *((values, values, sign) for values in read.columns.values())]
    found = []
    for values, transposed, factor in lists:
        both = space.empty(count + more, values.dtype)
        done = count
        for part in parts:
            both[part.start : min(part.stop, count)] = values[part]
            off = transposed[part][read.source[part] != read.target[part]]
            both[done : done + len(off)] = off if factor == 1 else factor * off
            done += len(off)
        found.append(both)
    return replace(read, source=found[0], target=found[1], columns=dict(zip(read.columns, found[2:])))


def _blocks(read: Scanned) -> Iterator[slice]:
    return (slice(first, first + _BLOCK) for first in range(0, len(read.source), _BLOCK))


def _all_loops(read: Scanned) -> bool:
    return all(bool((read.source[part] == read.target[part]).all()) for part in _blocks(read))


def _ascending(read: Scanned, space: Space) -> Scanned:
    """The edges with source <= target."""
    count = sum(int((read.source[part] <= read.target[part]).sum()) for part in _blocks(read))
    old = [read.source, read.target, *read.columns.values()]
    new = [space.empty(count, values.dtype) for values in old]
    done = 0
    for part in _blocks(read):
        keep = read.source[part] <= read.target[part]
        here = int(keep.sum())
        for values, kept in zip(old, new):
            kept[done : done + here] = values[part][keep]
        done += here
    return replace(read, source=new[0], target=new[1], columns=dict(zip(read.columns, new[2:])))


def imbalance(read: Scanned) -> tuple[int, int]:
    """Compare the multiset of edges with source < target, and the multiset of reversed edges with source > target.

    Returns two differences, of (source, target) and of (source, target, columns); each is 0 if the multisets are equal.

    A difference is the sum modulo 2^64 of a 64-bit hash of each edge, added for one multiset and subtracted for the
    other. Different multisets give 0 with probability 2^-64. The sums take one pass and no memory; a sort would need 16
    bytes per edge.
    """
    pairs = values = 0
    for part in _blocks(read):
        source, target = read.source[part].astype(np.uint64), read.target[part].astype(np.uint64)
        code = _mix(np.minimum(source, target) << np.uint64(32) | np.maximum(source, target))
        up, down = source < target, source > target
        pairs += _sum(code, up) - _sum(code, down)
        for column in read.columns.values():
            bits = column[part].astype(np.float64 if column.dtype.kind == "f" else np.int64).view(np.uint64)
            code = _mix(code + bits)
        values += _sum(code, up) - _sum(code, down)
    return pairs & _MASK, values & _MASK


def _sum(code: NDArray[np.uint64], which: NDArray[np.bool_]) -> int:
    return int(code.sum(where=which, dtype=np.uint64))


def _mix(key: NDArray[Any]) -> NDArray[np.uint64]:
    """A 64-bit hash finaliser (SplitMix64)."""
    x = key + np.uint64(0x9E3779B97F4A7C15)
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: NDArray[np.uint64] = x ^ (x >> np.uint64(31))
    return mixed
