"""Scratch memory for passes that need all contributions of a vertex at once. Each worker has one set of structures."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.topology.pages import PageCuts
from vlang.runtime.plan.layouts.pass_words import SCRATCH_MEMORY, SCRATCH_OWNERS, SCRATCH_WORDS
from vlang.runtime.storage.room import out_of_memory

__all__ = ["Scratch", "whole_tasks", "words_of"]


def words_of(structures: Iterable[str], degree: int) -> int:
    """Return the size, in 64-bit words, of the structures for a vertex with `degree` edges.

    See vlang/emit/cpu/skeletons/counting.py.
    """
    table = 1 << max(1, (2 * degree - 1).bit_length())
    sizes = {"mode32": table, "mode64": 2 * table, "mex": (degree >> 6) + 1, "hindex": degree + 1,
             "median32": degree + 1, "median64": degree + 1}
    total = 0
    for name in structures:
        kind, *numbers = name.split(":")
        total += grouped_words(degree, *map(int, numbers[:2])) if kind == "grouped" else sizes[name]
    return total


def grouped_words(degree: int, words: int, keys: int) -> int:
    """The size of the table of the groups of a vertex, in 64-bit words (vlang/emit/cpu/skeletons/groups.py).

    `words` is the number of words of an entry. `keys` is the maximum number of groups; 0 for the number of edges.
    """
    most = min(degree, keys) if keys else degree
    slots = 1 << max(4, (2 * most - 1).bit_length())
    return 3 + slots + (most + 1) * words


class Scratch:
    """Scratch memory for `workers` workers, each with space for the vertex with the longest row.

    Shorter rows do not touch the rest of the space, so the rest takes no physical memory. Raises OutOfMemory.

    Args:
        structures: the structures that the pass needs for a vertex.
        pages: the pages of the pass.
        longest: the number of edges of the longest row.
        workers: the number of workers.

    Attributes:
        header: the array whose address kernels find in the slot SLOT_SCRATCH.
    """

    def __init__(self, structures: tuple[str, ...], pages: PageCuts, longest: int, workers: int) -> None:
        words = -(-words_of(structures, longest) // 8) * 8  # whole cache lines
        try:
            self._memory = np.empty(workers * words, dtype=np.uint64)
        except MemoryError:
            raise out_of_memory(f"{workers} workers (threads) need {8 * words:,} bytes each for the {longest:,} "
                                "contributions of one vertex") from None
        self._owners = np.ascontiguousarray(pages.segment_pages)
        self.header = np.zeros(3, dtype=np.uint64)
        self.header[SCRATCH_WORDS] = words
        self.header[SCRATCH_OWNERS] = self._owners.ctypes.data
        self.header[SCRATCH_MEMORY] = self._memory.ctypes.data


def whole_tasks(pages: PageCuts, longs: NDArray[np.int64], rest: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return tasks over whole vertices: first the long vertices, in decreasing order of length, then the tasks `rest`.

    `longs` has the indices of the long vertices.
    """
    segments = pages.longs[longs, 2] - pages.longs[longs, 1]
    chosen = longs[np.argsort(-segments, kind="stable")]
    first = np.stack([np.full_like(chosen, -1), chosen, chosen + 1], axis=1)
    return np.ascontiguousarray(np.concatenate([first, rest]))
