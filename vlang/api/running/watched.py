"""The values that a call tests for infinities. A value is tested unless the inputs of the call rule out infinities."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from vlang.ir.float_bounds import FloatBounds, may_overflow
from vlang.ir.forms.ranges import sizes_of
from vlang.ir.overflow_watch import Risky, watch_of
from vlang.runtime.plan.plan import Watch

if TYPE_CHECKING:
    from vlang.api.calls import Call
    from vlang.api.program import Program

__all__ = ["watched"]

_MOST_KEPT = 64
_PART = 1 << 16  # values that are tested at a time, so that temporary arrays are small


def watched(program: Program, call: Call) -> tuple[Watch, Risky]:
    """Return the values that a call tests for infinities, and the operations that may overflow in the call.

    A run that continues from an earlier state tests all values that depend on such operations.
    """
    stages = program.stages(call.precision)
    if not stages.watch.infinities or call.starts:
        return stages.watch, may_overflow
    inputs = _inputs(program, call)
    sizes = sizes_of(call.graph.n, call.graph.m)
    key = (sizes, *inputs.items())
    known = stages.watches.get(key)
    if known is None:
        if len(stages.watches) >= _MOST_KEPT:
            stages.watches.clear()
        risky = FloatBounds(stages.program, inputs, sizes).may_overflow
        known = stages.watches[key] = watch_of(stages.program, risky), risky
    return known


def _inputs(program: Program, call: Call) -> dict[str, float]:
    """Return upper bounds (powers of two) on the absolute values of edge fields, parameters and given fields, by name.
    """
    ir, graph = program.stages(call.precision).program, call.graph
    found = {decl.name: _size(*graph.column_range(decl.name)) for decl in ir.edges if decl.name in graph.columns}
    for param in ir.params:
        value = call.scalars.get(param.name)
        if isinstance(value, (float, np.floating)):
            found[param.name] = _size(float(value), float(value))
    for name, array in (*call.fields.items(), *call.old.items()):
        found[name] = _largest(array)
    return found


def _size(low: float, high: float) -> float:
    """Return a power of two that is larger than all values in a range; infinity if no float is that large."""
    most = max(abs(float(low)), abs(float(high)))
    return float(2.0 ** math.frexp(most)[1]) if most < 2.0**1023 else math.inf


def _largest(array: Any) -> float:
    """Return a power of two that is larger than all finite values of a field; infinity if the field is on a device."""
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        return math.inf
    ends = [0.0]
    values = array.reshape(-1)
    for first in range(0, len(values), _PART):
        some = values[first : first + _PART]
        found = float(some.min()), float(some.max())
        if not (math.isfinite(found[0]) and math.isfinite(found[1])):  # seldom, and the copy takes longer than both
            some = some[np.isfinite(some)]
            found = (float(some.min()), float(some.max())) if some.size else (0.0, 0.0)
        ends += found
    return _size(min(ends), max(ends))
