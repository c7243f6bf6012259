"""One deque of pages for a pass: the GPU takes pages from the front, and the CPU takes pages from the back."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.gpu.topology.cut import Cut

__all__ = ["PageDeque", "Unit", "units_of"]


@dataclass(frozen=True)
class Unit:
    """Consecutive pages that begin and end between two vertices.

    Attributes:
        first, end: the pages, first to end - 1.
        low, high: the vertices whose edges the pages have, low to high - 1.
        edges: the number of these edges.
    """

    first: int
    end: int
    low: int
    high: int
    edges: int


def units_of(cut: Cut, offsets: NDArray[np.int64]) -> list[Unit]:
    """Return the smallest units of an adjacency direction, in the order of their vertices.

    Args:
        cut: the pages.
        offsets: int64[n + 1], the first edge of each vertex.
    """
    clean = np.flatnonzero(offsets[cut.lows[:-1]] == cut.starts[:-1]).tolist()
    bounds = [*(page for page in clean if page), cut.pages]
    found = []
    for first, end in zip([0, *bounds], bounds):
        found.append(Unit(first, end, int(cut.lows[first]), int(cut.lows[end]),
                          int(cut.starts[end] - cut.starts[first])))
    return found


class PageDeque:
    """The units of a pass that neither device has taken yet. Two threads may use the deque.

    Args:
        units: the units.
        order: all pages, in the order in which the GPU prefers them.
        last: None if the CPU takes units from the back one by one. Otherwise the CPU takes the last `last` units, and
            the GPU takes all other units.

    Attributes:
        for_cpu: the units that the CPU has taken or, if `last` is not None, will take.
    """

    def __init__(self, units: Sequence[Unit], order: Sequence[int], last: int | None) -> None:
        place = {page: at for at, page in enumerate(order)}
        gpu = list(units if last is None else units[: len(units) - last])
        self._left = sorted(gpu, key=lambda unit: min(place[page] for page in range(unit.first, unit.end)))
        self._kept = [] if last is None else list(units[len(units) - last :])
        self._shared, self._lock = last is None, Lock()
        self.for_cpu = list(self._kept)

    def front(self) -> Unit | None:
        """Take a unit for the GPU; returns None if no unit is left."""
        with self._lock:
            return self._left.pop(0) if self._left else None

    def back(self) -> Sequence[Unit]:
        """Take units for the CPU; returns an empty list if no units are left."""
        with self._lock:
            taken, self._kept = self._kept, []
            if self._shared and self._left:
                taken = [self._left.pop()]
                self.for_cpu += taken
            return taken

    def stop(self) -> None:
        """Let neither device take further units."""
        with self._lock:
            self._left.clear()
