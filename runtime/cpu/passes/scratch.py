"""Scratch memory of passes that need all contributions of a vertex at once: each worker holds one set of structures."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.topology.pages import Pages
from vlang.runtime.plan.layouts.pass_words import SCRATCH_MEMORY, SCRATCH_OWNERS, SCRATCH_WORDS
from vlang.runtime.storage.room import out_of_memory

__all__ = ["Scratch", "whole_tasks", "words_of"]


def words_of(structures: Iterable[str], degree: int) -> int:
    """The size of structures for a vertex with `degree` edges, in u64 (see vlang/emit/cpu/skeletons/counting.py)."""
    table = 1 << max(1, (2 * degree - 1).bit_length())
    sizes = {"mode32": table, "mode64": 2 * table, "mex": (degree >> 6) + 1, "hindex": degree + 1,
             "median32": degree + 1, "median64": degree + 1}
    return sum(sizes[name] for name in structures)


class Scratch:
    """Memory for `workers` workers, each part as large as the longest vertex needs.

    Shorter vertices leave the rest untouched, so that it takes no physical memory. header: the array to which
    SLOT_SCRATCH points. Raises OutOfMemory.
    """

    def __init__(self, structures: tuple[str, ...], pages: Pages, workers: int) -> None:
        degrees = np.diff(pages.adjacency.offsets)
        longest = int(degrees.max()) if len(degrees) else 0
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


def whole_tasks(pages: Pages, longs: NDArray[np.uint32] | None, rest: NDArray[np.int64]) -> NDArray[np.int64]:
    """Tasks of a pass by whole vertices: long vertices (all, or `longs` by index) by falling length, then the rest."""
    chosen = np.arange(len(pages.longs)) if longs is None else longs.astype(np.int64)
    segments = pages.longs[chosen, 2] - pages.longs[chosen, 1]
    chosen = chosen[np.argsort(-segments, kind="stable")]
    first = np.stack([np.full_like(chosen, -1), chosen, chosen + 1], axis=1)
    return np.ascontiguousarray(np.concatenate([first, rest]))
