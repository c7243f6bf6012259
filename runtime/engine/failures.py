"""The operations that have failed so far in a run in check mode."""

from __future__ import annotations

import numpy as np

from vlang.runtime.engine.machine import Machine
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import Watch

__all__ = ["failures"]

_NOTHING = (0, (1 << 32) - 1)


def failures(watch: Watch, machine: Machine, graph: Graph) -> tuple[tuple[int, int], ...]:
    """The numbers of the operations that failed, each with the position of its vertex in the ids, or -1 for no vertex.

    Args:
        watch: the names of the fields and graph-level values that have the numbers.
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
