"""The operations that have failed so far in a run in check mode, and infinite values."""

from __future__ import annotations

from typing import Any

import numpy as np

from vlang.runtime.engine.machine import Machine
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import Watch

__all__ = ["failures", "has_infinity"]

_NOTHING = (0, (1 << 32) - 1)
_PART = 1 << 16  # values that are tested at a time, so that temporary arrays are small


def failures(watch: Watch, machine: Machine, graph: Graph) -> tuple[tuple[int, int], ...]:
    """The numbers of the operations that failed, each with the index of the id of its vertex, or -1 for no vertex.

    Args:
        watch: the names of the fields and graph-level values in which kernels store the numbers.
        machine: the machine of the run.
        graph: the graph of the run.
    """
    found = [(int(machine.scalar(name)), int(machine.scalar(who)) if who else -1) for name, who in watch.numbers]
    found = [(number, vertex) for number, vertex in found if number not in _NOTHING]
    notes = np.asarray(machine.array(f"field:{watch.note}"))
    if notes.any():
        notes = notes if graph.order is None else graph.order.outward(notes)
        found += [(int(notes[at]), int(at)) for at in np.flatnonzero(notes)]
    return tuple(found)


def has_infinity(array: Any) -> bool:
    """Whether a vertex array, in host memory or on a device, has an infinite float (f16 is stored as uint16)."""
    floats = array.view(np.float16) if array.dtype == np.uint16 else array
    part = _PART if isinstance(array, np.ndarray) else max(1, len(floats))  # on a device each test has to be waited for
    return any(bool(np.isinf(floats[first : first + part]).any()) for first in range(0, len(floats), part))
