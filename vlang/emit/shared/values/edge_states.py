"""Code of the values of edge states, which kernels read and store at edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlang.emit.shared.values.dialect import stored_as
from vlang.ir.forms import forms as f
from vlang.runtime.plan.derived import OPPOSITE
from vlang.types import Type

if TYPE_CHECKING:
    from vlang.emit.shared.values.frame import Scope

__all__ = ["kept", "state"]


def state(scope: Scope, expr: f.EdgeState) -> str:
    """Return code of an edge state before the pass: at the current edge, at its opposite edge, or at an edge of the
    common neighbour.

    An edge a -> b of the common neighbour is an entry in the list of b. The graph is simple and undirected, so the
    lists of distinct neighbours are the rows. The loop over both lists gives the places of edges from the common
    neighbour. The places of edges to the common neighbour are read from an array.
    """
    if expr.ends:
        tail, tip = (end.of for end in expr.ends if isinstance(end, f.Vertex))
        pair = scope.pair
        assert pair is not None
        index = pair.mine if "self" in (tail, tip) else pair.theirs
        if tip == "third":
            index = f"{scope.env.pointer('near:opposite', 'u32')}[{index}]"
        return scope.env.dialect.load(expr.type, _of_edge(scope, "edges", expr.name, expr.type, index))
    index = _entry(scope)
    if expr.opposite:
        index = f"{scope.env.dialect.column(scope.columns.index(OPPOSITE), OPPOSITE)}[{scope.edge_index}]"
    return scope.env.dialect.load(expr.type, _of_edge(scope, "edges", expr.name, expr.type, index))


def kept(scope: Scope, expr: f.Keep) -> str:
    """Code of the array element that stores the new value of an edge state at the current edge."""
    return _of_edge(scope, "kept", expr.name, expr.value.type, _entry(scope))


def _entry(scope: Scope) -> str:
    """Return code of the index of the current edge among all edges."""
    return scope.env.dialect.edge_place(scope.edge_index, len(scope.columns))


def _of_edge(scope: Scope, kind: str, name: str, type_: Type, index: str) -> str:
    """Return code of an entry of the old values (`kind` is "edges") or of the new values ("kept") of an edge state."""
    dtype = stored_as(type_)
    for slot in (f"edges:{name}", f"kept:{name}"):
        scope.env.frame.array(slot, dtype, "edges", type_=str(type_))
    return scope.env.dialect.element(scope.env.pointer(f"{kind}:{name}", dtype), index, 1, 0)
