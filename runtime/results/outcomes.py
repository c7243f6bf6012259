"""Converts the outcome of a run to a `Result`."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vlang.runtime.engine.run_outcome import Outcome
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.plan.plan import Plan
    from vlang.runtime.results.origin import Origin
    from vlang.runtime.results.result import Result

__all__ = ["result_of"]


def result_of(
    plan: Plan, graph: Graph, outcome: Outcome, falling: frozenset[str], origin: Origin, device: str,
    device_reason: str, shown: Mapping[str, str] = MappingProxyType({}),
) -> Result:
    """Build the result of a run.

    Args:
        plan: the plan that was run.
        graph: the graph that the plan ran on.
        outcome: the values and the history.
        falling: the fields whose smallest values come first in tables.
        origin: the data that `resume` needs to continue.
        device: the device of the run.
        device_reason: why this device was chosen.
        shown: the types of values that are categories or times, by name.
    """
    import numpy as np  # start-up

    from vlang.runtime.results.result import Result  # start-up

    outputs = [spec for spec in plan.fields if spec.output]
    fields: dict[str, Any] = {}
    for spec in outputs:
        array = outcome.values.fields[spec.name]
        array = array.view({"bool": np.bool_, "f16": np.float16}.get(spec.type.partition("[")[0], array.dtype))
        fields[spec.name] = array.reshape(-1, spec.width) if "[" in spec.type else array  # also for vectors of length 1
    values: Mapping[str, Any] = {
        name: bool(value) if type_ == "bool" else value
        for (name, type_), value in zip(plan.globals, outcome.values.globals.values())
    }
    types = {**{spec.name: spec.type for spec in outputs}, **dict(plan.globals)}
    return Result(
        program=plan.name, ids=graph.ids, fields=fields,
        types={name: shown.get(name, type_) for name, type_ in types.items()}, globals=dict(values),
        rounds=outcome.rounds, converged=outcome.converged, reason=outcome.reason, history=outcome.history,
        seconds=outcome.seconds, smallest_first=falling, edges=outcome.history.edges,
        graph_edges=graph.m, device=device, device_reason=device_reason, origin=origin, final=outcome.final,
        interrupted=outcome.interrupted, names=origin.names, moved=outcome.moved,
    )
