"""Contracts (`require`): checked when a program meets a graph."""

from __future__ import annotations

import numpy as np

from vlang.runtime.errors import GraphError
from vlang.runtime.graph.graph import Graph
from vlang.runtime.kernelset import Contract
from vlang.runtime.machine import Machine

__all__ = ["check_contract"]

_NONE = 0xFFFFFFFF


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
    where = f" for vertex {graph.label(v)}" + (f" and {len(bad) - 1:,} more" if len(bad) > 1 else "")
    if contract.kind == "edge":
        u = int(found[v])
        tail, tip = (v, u) if contract.domain == "out" else (u, v)
        where = f" on the edge {graph.label(tail)} -> {graph.label(tip)}"
    raise GraphError(head + where)
