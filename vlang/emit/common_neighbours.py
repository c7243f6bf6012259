"""Numbers of common neighbours of the two ends of each edge: an edge column, computed once per graph.

For `common(self, u)` in a gather where an edge joins self and u, a run does not intersect adjacency lists. Instead, the
graph keeps the number of common neighbours for each edge (vlang.runtime.graph.topology.neighbours), and the pass reads
these numbers like the values of an edge field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vlang.ir.forms import forms as f
from vlang.ir.stages import Stage
from vlang.types import U32

__all__ = ["COMMON", "with_common"]

COMMON = "common()"  # the column's name in the graph; no edge field of a program can have this name


def with_common(stage: Stage, present: Mapping[str, str]) -> tuple[Stage, Mapping[str, str]]:
    """The stage with reads of the column instead of `common(self, u)`, and the edge columns that the stage then reads.

    present: for each edge column that the graph has, its name and its stored type.
    """
    gathers = tuple(replace(g, reduce=_reduce(g.reduce)) if _asks(g.reduce) else g for g in stage.gathers)
    if gathers == stage.gathers:
        return stage, present
    return replace(stage, gathers=gathers), {**present, COMMON: "u32"}


def _asks(expr: f.Expr) -> bool:
    return any(_of_ends(e) for e in f.walk(expr))


def _of_ends(expr: f.Expr) -> bool:
    """Whether an expression is `common` of self and the neighbour, in either order."""
    if not isinstance(expr, f.Op) or expr.op != "common":
        return False
    ends = [arg.of for arg in expr.args if isinstance(arg, f.Vertex)]
    return sorted(end for end in ends if isinstance(end, str)) == ["other", "self"]


def _reduce(reduce: f.Reduce) -> f.Reduce:
    result = _replaced(reduce)
    assert isinstance(result, f.Reduce)
    return result


def _replaced(expr: f.Expr) -> f.Expr:
    if _of_ends(expr):
        return f.Op(expr.type, "cast", (f.EdgeValue(U32, COMMON),))
    return f.rebuild(expr, tuple(map(_replaced, f.children(expr))))
