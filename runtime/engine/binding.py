"""Stores the values that the caller passes in the slots of a machine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.engine.machine import Machine
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import Plan

__all__ = ["bind_values"]


def bind_values(plan: Plan, graph: Graph, machine: Machine, scalars: Mapping[str, Any],
                fields: Mapping[str, NDArray[Any]]) -> Mapping[str, NDArray[Any]]:
    """Store parameters, defaults and given fields in their slots; returns the parameters that are sets of vertices.

    Args:
        plan: the program.
        graph: the graph.
        machine: receives the values.
        scalars: the given parameters, by name.
        fields: the given arrays of vertex fields, by name.
    """
    machine.set_scalar("N", graph.n)
    machine.set_scalar("M", graph.m)
    for name, value in scalars.items():
        machine.set_scalar(name, value)
    for name, spec in plan.defaults.items():
        if name not in scalars:
            machine.evaluate(spec)
    for name, array in fields.items():
        machine.give(name, array if graph.order is None else graph.order.inward(array))
    return {name: value for name, value in scalars.items() if isinstance(value, np.ndarray)}
