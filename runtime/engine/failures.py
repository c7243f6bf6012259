"""Finds operations that failed in trap mode, infinite values, and results of declared reductions outside their types.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from vlang.errors import RangeError
from vlang.runtime.engine.machine import Machine, Values
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import Plan, Watch

__all__ = ["failures", "has_infinity", "refuse_faults", "unusual_outputs"]

_NOTHING = (0, (1 << 32) - 1)
_PART = 1 << 16  # values that are tested at a time, so that temporary arrays are small


def failures(watch: Watch, machine: Machine, graph: Graph) -> tuple[tuple[int, int], ...]:
    """The numbers of the failed operations. Each number comes with the position, in the list of ids, of the vertex
    where the operation failed; -1 if there is no such vertex.

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
    """Return whether a vertex array, in host memory or on a device, has an infinite float (f16 is stored as uint16)."""
    return _unusual(array)[0]


def _unusual(array: Any) -> tuple[bool, bool]:
    """Return whether a vertex array, in host memory or on a device, has an infinite float, and whether it has a NaN."""
    floats = array.view(np.float16) if array.dtype == np.uint16 else array
    part = _PART if isinstance(array, np.ndarray) else max(1, len(floats))  # on a device each test has to be waited for
    infinite = nan = False
    for first in range(0, len(floats), part):
        some = floats[first : first + part]
        if not bool(np.isfinite(some).all()):
            infinite, nan = infinite or bool(np.isinf(some).any()), nan or bool(np.isnan(some).any())
    return infinite, nan


def unusual_outputs(values: Values, watch: Watch) -> tuple[bool, tuple[str, ...]]:
    """Return whether a watched output is infinite, and the names of the outputs with a NaN."""
    found = {name: _unusual(values.fields[name]) for name in sorted(watch.fields | watch.undefined)
             if name in values.fields}
    found |= {name: (math.isinf(values.globals[name]), math.isnan(values.globals[name]))
              for name in sorted(watch.globals | watch.undefined) if name in values.globals}
    summed = watch.fields | watch.globals
    return any(found[name][0] for name in summed), tuple(name for name, (_, nan) in found.items() if nan)


def refuse_faults(plan: Plan, machine: Machine, graph: Graph) -> None:
    """Raise RangeError if the result of a declared reduction of integers is outside the range of its type."""
    for fault in plan.faults:
        left = np.asarray(machine.array(fault.name) if fault.vertices else machine.scalar(fault.name))
        if left.any():
            order = graph.order
            left = order.outward(left) if order is not None and fault.vertices else left
            where = f", for vertex {graph.label(int(np.argmax(left != 0)))}" if fault.vertices else ""
            raise RangeError(f"line {fault.line}: a value of a declared reduction leaves 64 bits or its type{where}, "
                             "so the result would be wrong; declare a wider type, or limit the values")
