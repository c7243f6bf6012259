"""Values of edges that the graph derives from its adjacency lists. Kernels read these values like edge fields.

If a gather contains `common(self, u)` for the ends self and u of an edge, a run does not intersect adjacency lists.
Instead, the graph stores the number of common neighbours of each edge (vlang.runtime.graph.topology.neighbours). The
pass reads these numbers like an edge field. Another derived column has the ordinal of each edge among its parallel
edges. Ordinals are keys of random numbers. In a graph without parallel edges, all ordinals are 0, and the column is
left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from vlang.ir.forms import forms as f
from vlang.ir.stages import Stage
from vlang.runtime.plan.derived import COMMON, OPPOSITE, ORDINAL, PLACE
from vlang.types import U32

__all__ = ["with_derived"]


def with_derived(stage: Stage, present: Mapping[str, str]) -> tuple[Stage, Mapping[str, str]]:
    """Replace derived values by reads of columns; return the new stage and the edge columns, including derived columns.

    Args:
        present: for each edge column that the graph has, its name and its stored type. `present` has ORDINAL and PLACE
            only if the run needs ordinals of parallel edges.
    """
    if any(e.opposite for g in stage.gathers for e in f.walk(g.reduce) if isinstance(e, f.EdgeState)):
        present = {**present, OPPOSITE: "u32"}
    gathers = tuple(replace(g, reduce=_reduce(g.reduce, present)) if _asks(g.reduce) else g for g in stage.gathers)
    if gathers == stage.gathers:
        return stage, present
    counts = any(_of_ends(e) for g in stage.gathers for e in f.walk(g.reduce))
    return replace(stage, gathers=gathers), {**present, COMMON: "u32"} if counts else present


def _asks(expr: f.Expr) -> bool:
    return any(_of_ends(e) or _ordinal(e) for e in f.walk(expr))


def _of_ends(expr: f.Expr) -> bool:
    """Return whether an expression is `common` of self and the neighbour, in either order."""
    if not isinstance(expr, f.Op) or expr.op != "common":
        return False
    ends = [arg.of for arg in expr.args if isinstance(arg, f.Vertex)]
    return sorted(end for end in ends if isinstance(end, str)) == ["other", "self"]


def _ordinal(expr: f.Expr) -> str | None:
    """Return the name of the column of ordinals that an expression reads; None if the expression is not an ordinal."""
    if not isinstance(expr, f.Op) or expr.op != "ordinal":
        return None
    return PLACE if expr.data == "place" else ORDINAL


def _reduce(reduce: f.Reduce, present: Mapping[str, str]) -> f.Reduce:
    result = _replaced(reduce, present)
    assert isinstance(result, f.Reduce)
    return result


def _replaced(expr: f.Expr, present: Mapping[str, str]) -> f.Expr:
    ordinal = _ordinal(expr)
    if ordinal is not None and ordinal not in present:
        return f.Const(expr.type, 0)
    if ordinal is not None or _of_ends(expr):
        return f.Op(expr.type, "cast", (f.EdgeValue(U32, ordinal or COMMON),))
    return f.rebuild(expr, tuple(_replaced(child, present) for child in f.children(expr)))
