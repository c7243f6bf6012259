"""Checks reductions over common neighbours, `R(e for w in common(self, u))`, and edge fields between two vertices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vlang.check.tables.checked import Symbol
from vlang.check.tables.scope import EDGE, Sight, Value
from vlang.check.tables.typing import a, as_read, numeric
from vlang.reductions import REDUCTIONS
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import F16, Scalar

if TYPE_CHECKING:
    from vlang.check.expressions import Expressions

__all__ = ["are_ends", "between", "count_between", "of_pair"]

_EXAMPLE = "as in `sum(count(true for w in common(self, u)) for u -- self)`"


def of_pair(x: Expressions, node: t.Reduce, at: Sight) -> Sight | None:
    """The context of e in `r(e for w in common(self, u))`.

    Outside of a reduction over edges, reports the reduction and returns None.
    """
    run, domain = x.run, node.domain
    if domain.called != "common":
        run.report(Code.UNKNOWN_NAME, f"`{domain.called}(...)` is no list of vertices", domain.span,
                   help="the common neighbours of the two ends of an edge are `w in common(self, u)`")
    elif at.pair is not None or at.grouping is not None:
        run.report(Code.NESTED_REDUCTION, "a reduction inside a reduction", node.span, "the inner one",
                   help="common neighbours are reduced for each edge of a plain gather, " + _EXAMPLE)
    elif at.inside != "edges":
        run.report(Code.UNKNOWN_NAME, "common neighbours are those of `self` and a neighbour", domain.span,
                   "no neighbour is in sight here", help="inside a reduction over edges, " + _EXAMPLE)
    elif not _of_ends(x, node, at):
        run.report(Code.WRONG_TYPE, "a reduction goes over the common neighbours of `self` and the neighbour",
                   domain.span, "of other vertices", help="`common(a, b)` as a value counts those of any two vertices")
    elif node.group is not None or node.weight is not None:
        part = node.group or node.weight
        assert part is not None
        run.report(Code.NESTED_REDUCTION, "common neighbours have neither groups nor weights", part.span, "not here")
    elif _whole(x, node):
        run.report(Code.UNKNOWN_REDUCTION, f"`{node.name}` works on the neighbours of a vertex, not on common ones",
                   node.name_span, "needs edges")
    else:
        return replace(at, inside=None, pair=node)
    return None


def _of_ends(x: Expressions, node: t.Reduce, at: Sight) -> bool:
    """Whether the vertices of `common` are `self` and the neighbour of the reduction around it, in either order."""
    names = [end for end in node.domain.ends if isinstance(end, t.Name)]
    selves = [end for end in node.domain.ends if isinstance(end, t.Self)]
    if len(names) != 1 or len(selves) != 1:
        return False
    symbol = at.scope.find(names[0].name)
    return symbol is not None and symbol.kind == "neighbour"


def _whole(x: Expressions, node: t.Reduce) -> bool:
    """Whether a reduction needs all contributions at once."""
    rule, symbol = REDUCTIONS.get(node.name), x.run.root.find(node.name)
    return rule is not None and rule.holistic and (symbol is None or symbol.kind != "reduction")


def are_ends(node: t.Call, at: Sight) -> bool:
    """Whether the arguments of a call are two of `self`, the neighbour and the common neighbour, inside a reduction."""
    known = {"self", *(s.name for s in at.scope.visible() if s.kind == "neighbour")}
    names = {"self" if isinstance(arg, t.Self) else arg.name if isinstance(arg, t.Name) else "" for arg in node.args}
    return at.inside == "edges" and at.grouping is None and len(node.args) == len(names) == 2 and names <= known


def between(x: Expressions, node: t.Call, symbol: Symbol, at: Sight) -> Value:
    """The type and level of `weight(u, w)`: the sum of an edge field over the edges from u to w, which `are_ends`."""
    for arg in node.args:
        x.value(arg, at)
    if not (isinstance(symbol.type, Scalar) and numeric(symbol.type)) or symbol.type == F16:
        x.run.report(Code.WRONG_TYPE, f"only numbers are read between two vertices, and `{node.name}` is "
                                      f"{a(symbol.type) if symbol.type else 'wrong'}", node.span,
                     "parallel edges are added up", notes=x.run.note(symbol, "declared here"))
        return Value(None)
    x.run.symbols[node] = symbol
    return Value(as_read(symbol.type), EDGE, node)


def count_between(x: Expressions, node: t.Call, at: Sight) -> Value:
    """The type and level of `edges(u, w)`: the number of edges from u to w."""
    if are_ends(node, at):
        for arg in node.args:
            x.value(arg, at)
        return Value(x.run.int, EDGE, node)
    x.run.report(Code.WRONG_TYPE, "`edges` counts the edges from one vertex to another: two of `self`, the neighbour "
                                  "and a common neighbour", node.span,
                 help="inside a reduction over edges, as in `sum(edges(u, w) for w in common(self, u))`")
    return Value(None)
