"""Contracts (`require`), which are checked before a program runs on a graph."""

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
    """Remove from `steps` the contracts that the ranges of the graph's columns prove, and the passes of these
    contracts.
    """
    left: list[Step] = []
    for step in steps:
        if isinstance(step, Contract) and step.bounds and all(_in_range(bound, graph) for bound in step.bounds):
            left.pop()  # the pass over all edges that precedes its contract
        else:
            left.append(step)
    return left


def _in_range(bound: Bound, graph: Graph) -> bool:
    """Return whether the range of a column proves a bound.

    Both ends of the range are rounded to the type of the bound, as a pass rounds the values. The proof is valid because
    rounding is monotone. If an end is NaN, the range proves nothing.
    """
    dtype = DTYPES[bound.dtype]
    with np.errstate(over="ignore"):
        ends = np.array(graph.column_range(bound.column), np.float64).astype(dtype)
    return bool(_COMPARE[bound.op](ends, dtype.type(bound.value)).all())


def check_contract(contract: Contract, graph: Graph, machine: Machine) -> None:
    """Raise GraphError if a `require` does not hold. The message names the first edge or vertex that violates it."""
    if contract.kind == "needs":
        _check_needs(frozenset(contract.text.split()), contract.line, graph)
        return
    head = f"line {contract.line}: `require {contract.text}` does not hold"
    if contract.kind in ("graph", "later"):
        if not machine.scalar(contract.name):
            values = [f"{shown} is {machine.scalar(name):,}" for shown, name in contract.reads]
            raise GraphError(head + ("; " + ", ".join(values) if values else ""))
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


_FLAGS = {"undirected": ("--undirected", "directed=False"), "loops": ("--self-loops drop", 'self_loops="drop"'),
          "parallel": ("--parallel drop", 'parallel="drop"')}  # fmt: skip


def _check_needs(words: frozenset[str], line: int, graph: Graph) -> None:
    """Raise GraphError if the graph lacks a property in `words`: "undirected", "simple" or "loopless".

    The message lists options for reading the graph that ensure these properties.
    """
    turned = "undirected" in words and graph.directed
    loops, parallel = graph.in_memory.excess() if words & {"simple", "loopless"} else (0, 0)
    parallel = parallel if "simple" in words else 0
    if not (turned or loops or parallel):
        return
    wrong = [word for word in ("undirected", "simple", "loopless") if word in words and
             (turned if word == "undirected" else loops or (parallel and word == "simple"))]  # fmt: skip
    counts = [f"{count:,} {name}{'s' * (count != 1)}"
              for count, name in ((loops, "self-loop"), (parallel, "parallel edge")) if count]  # fmt: skip
    found = ["is directed"] * turned + [f"has {' and '.join(counts)}"] * bool(counts)
    # If a graph with both directions of an edge is read as undirected, the two become parallel edges.
    again = parallel or (turned and "simple" in words)
    flags = ["undirected"] * turned + ["loops"] * bool(loops) + ["parallel"] * bool(again)
    command, python = (" ".join(_FLAGS[flag][i] for flag in flags) for i in (0, 1))
    needs = " and ".join(f"`require {word}`" for word in wrong)
    raise GraphError(f"line {line}: {needs} {'does' if len(wrong) == 1 else 'do'} not hold: {graph.name} "
                     f"{' and '.join(found)}. Read it with {command} ({python.replace(' ', ', ')})")
