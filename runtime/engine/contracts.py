"""Contracts (`require`): checked when a program runs on a graph."""

from __future__ import annotations

import operator
from collections.abc import Sequence

import numpy as np

from vlang.errors import GraphError
from vlang.runtime.engine.machine import Machine
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.graph.graph import Graph
from vlang.runtime.plan.plan import Bound, Contract, Step

__all__ = ["check_contract", "open_checks"]

_NONE = 0xFFFFFFFF
_COMPARE = {"lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge}


def open_checks(steps: Sequence[Step], graph: Graph) -> list[Step]:
    """`steps` without the contracts that the ranges of the graph's columns prove, and without their passes."""
    left: list[Step] = []
    for step in steps:
        if isinstance(step, Contract) and step.bounds and all(_in_range(bound, graph) for bound in step.bounds):
            left.pop()  # the pass over all edges that precedes its contract
        else:
            left.append(step)
    return left


def _in_range(bound: Bound, graph: Graph) -> bool:
    """Whether the range of a column proves a bound.

    Both ends are rounded like values, which keeps their order; NaN proves nothing.
    """
    dtype = DTYPES[bound.dtype]
    with np.errstate(over="ignore"):
        ends = np.array(graph.column_range(bound.column), np.float64).astype(dtype)
    return bool(_COMPARE[bound.op](ends, dtype.type(bound.value)).all())


def check_contract(contract: Contract, graph: Graph, machine: Machine) -> None:
    """Raise GraphError where a `require` does not hold, naming the first edge or vertex."""
    head = f"line {contract.line}: `require {contract.text}` does not hold"
    if contract.kind == "graph":
        if not machine.scalar(contract.name):
            raise GraphError(head)
        return
    slot, good = f"field:{contract.name}", 1 if contract.kind == "vertex" else _NONE
    if not machine.others(slot, good):
        return
    found = machine.array(slot)
    bad = np.flatnonzero(found != good)
    v = int(bad[0])
    v = v if graph.order is None else int(graph.order.dense[v])
    where = f" for vertex {graph.label(v)}" + (f" and {len(bad) - 1:,} more" if len(bad) > 1 else "")
    if contract.kind == "edge":
        u = int(found[bad[0]])
        tail, tip = (v, u) if contract.domain == "out" else (u, v)
        where = f" on the edge {graph.label(tail)} -> {graph.label(tip)}"
    raise GraphError(head + where)
