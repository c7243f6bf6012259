"""The warning after a run in which an operation on finite integers gave an infinity, with the statement and a vertex.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.ir.forms import forms as f
from vlang.ir.forms.range_arithmetic import whole
from vlang.ir.forms.ranges import Ranges
from vlang.ir.integer_watch import Leaving, leaving, noting_integers
from vlang.ir.notes import endless

if TYPE_CHECKING:
    from vlang.api.calls import Call, Stages
    from vlang.runtime.engine.machine import Values

__all__ = ["integer_warnings"]


def integer_warnings(
    stages: Stages, ranges: Ranges, found: Leaving, call: Call, values: Values, given: frozenset[str],
    run: Callable[[f.Program], Mapping[str, Any]],
) -> tuple[str, ...]:
    """One warning, or () if no integer became infinite from finite operands.

    Args:
        stages: The stages of the program.
        ranges: The values that the integers of the program may have on graphs of this size.
        found: The outputs that may have become infinite from finite operands.
        call: The bound call.
        values: The outputs of the run.
        given: The names of the fields that the caller passed.
        run: Runs the program with notes, and returns its fields. A note marks the vertices where an operation became
            infinite.
    """
    fields, ends = values.fields, {g.name: whole(g.type) for g in stages.program.globals}
    arrays = {name: fields[name] for name in found.fields if isinstance(fields.get(name), np.ndarray)}
    graph = any(name in values.globals and values.globals[name] in (kind.low, kind.high)
                for name, kind in ends.items() if name in found.globals and kind is not None and kind.up)
    if not graph and not any(map(_infinite, arrays.values())):
        return ()
    actual = _actual(stages.program, call, fields) if found.bounded else {}
    left = leaving(stages.program, stages.facts, ranges, actual) if actual else found
    if not left.fields and not left.globals:
        return ()
    far = frozenset(decl.name for decl in stages.program.edges if decl.name in call.graph.columns
                    and endless(decl.type, call.graph.column_range(decl.name)))
    program, places = noting_integers(stages.program, given, ranges, far)
    notes = run(program)
    for place in places:
        at = np.flatnonzero(np.asarray(notes[place.note]))
        if at.size:
            where = f" for vertex {call.graph.label(int(at[0]))}" if place.vertices else ""
            return (f"line {place.span.line}: `{place.what}` is infinite{where}, although its operands are finite: "
                    f"the value does not fit {place.type}",)
    return ()


def _infinite(array: NDArray[Any]) -> bool:
    """Return whether an array of signed integers holds an infinity."""
    ends = np.iinfo(array.dtype)
    return bool(array.size) and ends.min < 0 and (array.max() == ends.max or array.min() == ends.min)


def _actual(program: f.Program, call: Call, fields: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """The least and largest finite value of each output field and edge field of signed integers."""
    found: dict[str, tuple[int, int]] = {}
    for decl in program.edges:
        if decl.type.kind == "int" and decl.name in call.graph.columns:
            low, high = call.graph.column_range(decl.name)
            found[decl.name] = int(low), min(int(high), decl.type.highest - 1)
    for name, array in fields.items():
        values = np.asarray(array)
        if values.dtype.kind == "i" and values.size:
            ends = np.iinfo(values.dtype)
            finite = values[(values > ends.min) & (values < ends.max)]
            found[name] = (int(finite.min()), int(finite.max())) if finite.size else (0, 0)
    return found
