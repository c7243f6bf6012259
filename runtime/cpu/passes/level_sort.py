"""Vertices sorted by level, for sweeps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cpu.crew.launch import Cpu
from vlang.runtime.graph.topology.pages import vertex_tasks
from vlang.runtime.kernels import level_kernels

__all__ = ["sort_by_level"]

Sorted = tuple[NDArray[Any], NDArray[np.uint32], NDArray[np.int64]]

_LARGE = 1 << 16  # below this number of vertices NumPy sorts in less time than it takes to load the kernels
_TASK = 1 << 14  # vertices of a task
_NARROW = 1 << 16  # NumPy sorts 16-bit integers by radix sort, which is faster than by comparisons


def sort_by_level(values: NDArray[Any], chosen: NDArray[np.bool_], cpu: Cpu) -> Sorted:
    """Sort the chosen vertices by their values, and vertices of the same value by number.

    Args:
        values: array[n], the level of each vertex.
        chosen: bool[n].
        cpu: its threads sort, if there are many vertices and few levels.

    Returns:
        The distinct values in increasing order, array[k]; the vertices in order, uint32; and for each value the index
        of its first vertex, followed by the number of vertices, int64[k + 1].
    """
    n = len(values)
    if n < _LARGE or values.dtype.kind != "i":
        return _by_numpy(values, chosen)
    kernels, tasks = level_kernels(f"i{8 * values.itemsize}"), vertex_tasks(n, _TASK)
    given = (values, chosen.view(np.uint8))
    ends = np.iinfo(np.int64)
    found = np.tile(np.array([ends.max, ends.min]), len(tasks))
    cpu.launch(kernels["bounds"], given, tasks, len(tasks), n, (found,))
    least, levels = int(found[::2].min()), int(found[1::2].max()) - int(found[::2].min()) + 1
    if not 0 < 4 * levels * len(tasks) <= n:  # the counts take less memory than the lists
        return _by_numpy(values, chosen)
    wanted = (*given, least, levels)
    sizes = np.zeros((len(tasks), levels), np.int64)
    cpu.launch(kernels["sizes"], wanted, tasks, len(tasks), n, (sizes.ravel(),))
    ends_of = np.cumsum(sizes.T).reshape(levels, len(tasks))
    places = np.ascontiguousarray(ends_of.T) - sizes
    order = np.empty(int(ends_of[-1, -1]), np.uint32)
    cpu.launch(kernels["place"], wanted, tasks, len(tasks), n, (places.ravel(), order))
    full = np.flatnonzero(sizes.any(axis=0))
    return (full + least).astype(values.dtype), order, np.append(0, ends_of[full, -1])


def _by_numpy(values: NDArray[Any], chosen: NDArray[np.bool_]) -> Sorted:
    vertices = np.flatnonzero(chosen).astype(np.uint32)
    found = values[vertices]
    least = int(found.min()) if len(found) else 0
    if len(found) and int(found.max()) - least < _NARROW:
        order = np.argsort((found - found.dtype.type(least)).astype(np.uint16), kind="stable")
    else:
        order = np.argsort(found, kind="stable")
    ordered = found[order]
    first = np.concatenate([np.ones(min(1, len(ordered)), np.bool_), ordered[1:] != ordered[:-1]])
    begins = np.flatnonzero(first)
    return ordered[begins], vertices[order], np.append(begins, len(ordered)).astype(np.int64)
