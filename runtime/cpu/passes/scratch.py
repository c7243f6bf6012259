"""Scratch memory for passes that need all contributions of a vertex at once. Each worker has one set of structures."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.topology.pages import PageCuts
from vlang.runtime.plan.layouts.pass_words import GROUPS_WORDS, SCRATCH_MEMORY, SCRATCH_OWNERS, SCRATCH_WORDS
from vlang.runtime.storage.room import out_of_memory

__all__ = ["Scratch", "whole_tasks", "words_of"]

DIRECT = 1 << 20
"""The largest number of vertices of a graph whose groups by vertex are found by a table with an entry per vertex."""


def words_of(structures: Iterable[str], degree: int, vertices: int) -> int:
    """Return the size, in 64-bit words, of the structures of a worker, for a vertex with `degree` edges.

    See vlang/emit/cpu/skeletons/counting.py. `vertices` is the number of vertices, or 0 for no direct tables.
    """
    table = 1 << max(1, (2 * degree - 1).bit_length())
    sizes = {"mode32": table, "mode64": 2 * table, "mex": (degree >> 6) + 1, "hindex": degree + 1,
             "median32": degree + 1, "median64": degree + 1}
    total = 0
    for name in structures:
        kind, *numbers = name.split(":")
        total += 1 + (grouped_words(degree, *numbers[:2]) if kind == "grouped" else sizes[name])
    return total + sum(_direct_words(structures, vertices))


def grouped_words(degree: int, words: str, keys: str) -> int:
    """The number of 64-bit words in the table that holds the groups of a vertex (vlang/emit/cpu/skeletons/groups.py).

    `words` is the number of words of a group. `keys` is the largest number of groups, or "0" or "vertices" for the
    number of edges.
    """
    most = min(degree, int(keys)) if keys not in ("0", "vertices") else degree
    slots = 1 << max(4, (2 * most - 1).bit_length())
    return GROUPS_WORDS + slots + (most + 1) * int(words)


def _direct_words(structures: Iterable[str], vertices: int) -> list[int]:
    """The size of the direct table of each structure; 0 for structures without one."""
    words = -(-vertices // 16) * 8 if vertices <= DIRECT else 0  # whole cache lines
    return [words if ":vertices:" in name else 0 for name in structures]


class Scratch:
    """Scratch memory for `workers` workers, each with space for the vertex with the longest row.

    Shorter rows do not touch the rest of the space, so the rest takes no physical memory. Raises OutOfMemory.

    Args:
        structures: the structures that the pass needs for a vertex.
        pages: the pages of the pass.
        longest: the number of edges of the longest row.
        vertices: the number of vertices of a graph in memory; 0 if edges are streamed, for no direct tables.
        workers: the number of workers.

    Attributes:
        header: the array whose address kernels find in the slot SLOT_SCRATCH.
    """

    def __init__(
        self, structures: tuple[str, ...], pages: PageCuts, longest: int, vertices: int, workers: int
    ) -> None:
        words = -(-words_of(structures, longest, vertices) // 8) * 8  # whole cache lines
        try:
            self._memory = np.empty(workers * words, dtype=np.uint64)
        except MemoryError:
            raise out_of_memory(f"{workers} workers (threads) need {8 * words:,} bytes each for the {longest:,} "
                                "contributions of one vertex") from None
        self._direct(structures, words, vertices)
        self._owners = np.ascontiguousarray(pages.segment_pages)
        self.header = np.zeros(3, dtype=np.uint64)
        self.header[SCRATCH_WORDS] = words
        self.header[SCRATCH_OWNERS] = self._owners.ctypes.data
        self.header[SCRATCH_MEMORY] = self._memory.ctypes.data

    def _direct(self, structures: tuple[str, ...], words: int, vertices: int) -> None:
        """Write the offset of the direct table of each structure. The direct tables are the last words of a worker."""
        sizes = _direct_words(structures, vertices)
        for first in range(0, len(self._memory), words):
            at = first + words - sum(sizes)
            for number, size in enumerate(sizes):
                self._memory[first + number] = at if size else 0
                at += size


def whole_tasks(pages: PageCuts, longs: NDArray[np.int64], rest: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return tasks over whole vertices: first the long vertices, in decreasing order of length, then the tasks `rest`.

    `longs` has the indices of the long vertices.
    """
    segments = pages.longs[longs, 2] - pages.longs[longs, 1]
    chosen = longs[np.argsort(-segments, kind="stable")]
    first = np.stack([np.full_like(chosen, -1), chosen, chosen + 1], axis=1)
    return np.ascontiguousarray(np.concatenate([first, rest]))
