"""Checks reductions inside a gather: over groups of edges, and over common neighbours (language.md, section 5).

Grouped gathers have the form `R(E for u -- self if P by c = K if G)`, or are a `mode` with weights. Reductions over
common neighbours have the form `R(e for w in common(self, u))`. In e, `weight(u, w)` is an edge field between two
vertices.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vlang.check.tables.checked import Symbol
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import EDGE, Scope, Sight, Value
from vlang.check.tables.typing import a, as_read, numeric
from vlang.reductions import REDUCTIONS
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import BOOL, CATEGORY, F16, VERTEX, Scalar, Type

if TYPE_CHECKING:
    from vlang.check.expressions import Expressions

__all__ = ["are_ends", "between", "count_between", "group_parts", "of_group", "of_pair", "weighed"]

_EXAMPLE = "as in `sum(count(true for w in common(self, u)) for u -- self)`"


def group_parts(x: Expressions, node: t.Reduce, group: t.Grouping, edge: Sight, at: Sight) -> Value:
    """Check the key, the condition and the body of a grouped gather; returns the type and level of the body.

    Args:
        x: the checker of expressions.
        node: the reduction.
        group: its grouping.
        edge: the context of an expression at an edge.
        at: the context of the reduction.
    """
    run = x.run
    key = x.value(group.key, edge)
    type_ = x.concrete(key.type)
    if type_ is not None and not _groups(type_):
        run.report(Code.WRONG_TYPE, "edges are grouped by an integer, a vertex, a bool, a category or a time",
                   group.key.span, f"this is {a(type_)}", help="a float is made an integer by `floor(x)` or `round(x)`"
                   if numeric(type_) and isinstance(type_, Scalar) else ())
        type_ = None
    inner = Scope(at.scope)
    run.declare(inner, group, "group", group.name, group.name_span, type_)
    within = replace(at, scope=inner, inside="groups", grouping=node)
    if group.cond is not None:
        x.condition(group.cond, within, "`if`")
    rule = REDUCTIONS.get(node.name)
    if rule is not None and rule.holistic and run.root.find(node.name) is None:
        run.report(Code.UNKNOWN_REDUCTION, f"`{node.name}` works on the neighbours of a vertex, not on groups",
                   node.name_span, "needs edges")
        x.value(node.body, within)
        return Value(None)
    return x.value(node.body, within)


def _groups(type_: Type) -> bool:
    """Return whether values of a type can be keys."""
    return isinstance(type_, Scalar) and (type_.integral or type_ in (BOOL, VERTEX, CATEGORY) or type_.kind == "time")


def of_group(x: Expressions, node: t.Reduce, at: Sight) -> Sight | None:
    """The context of e in `r(e for u)`, which reduces a group.

    Outside of a grouped gather, reports the reduction and returns None.
    """
    run, outer = x.run, at.grouping
    if at.inside == "groups" and outer is not None and outer.domain.name == node.domain.name:
        rule = REDUCTIONS.get(node.name)
        if rule is None or not rule.holistic or run.root.find(node.name) is not None:
            return replace(at, inside=None)
        run.report(Code.UNKNOWN_REDUCTION, f"`{node.name}` works on the neighbours of a vertex, not on groups",
                   node.name_span, "needs edges")
        return None
    u = node.domain.name
    if at.inside == "groups" and outer is not None:
        run.report(Code.UNKNOWN_NAME, f"`for {u}` names no edge of the group", node.domain.span,
                   f"the gather is over `{outer.domain.name}`", write=outer.domain.name, replaces=node.domain.span)
    elif at.inside is None:
        run.report(Code.UNKNOWN_NAME, f"`for {u}` says not which edges or vertices these are", node.domain.span,
                   "alone, it stands inside a grouped gather",
                   help="in-edges: `u -> self`; out-edges: `self -> u`; both:",
                   write=f"{u} -- self", replaces=node.domain.span)
    else:
        run.report(Code.NESTED_REDUCTION, "a reduction inside a reduction", node.span, "the inner one",
                   help="`for u` alone stands inside a grouped gather, as in `max((sum(weight for u), c) for u -- self "
                        "by c = u.label)`")
    return None


def weighed(x: Expressions, node: t.Reduce, edge: Sight) -> None:
    """Check the `weight` of a reduction: only `mode` over edges may have a weight.

    Args:
        edge: the context of an expression at an edge.
    """
    run, weight = x.run, node.weight
    assert weight is not None
    value = x.value(weight, edge)
    if node.name != "mode" or run.root.find("mode") is not None or edge.inside != "edges":
        text = rewrite.one_line(run.text(weight))
        write: str | tuple[str, ...] = ()
        if node.name in ("sum", "mean") and edge.inside == "edges" and node.name == "sum":
            edits = [(node.body.span, f"({text}) * ({rewrite.one_line(run.text(node.body))})")]
            write = _without_weight(run.file.text, node, edits)
        run.report(Code.UNKNOWN_REDUCTION, f"`{node.name}` has no weights; only `mode` and `pick` over edges have",
                   weight.span, "counts how much?", write=write, replaces=node.span if write else None)
    elif value.type is not None and not (isinstance(value.type, Scalar) and numeric(value.type)):
        run.report(Code.WRONG_TYPE, "a weight is a number", weight.span, f"this is {a(value.type)}")
    elif node.group is not None:
        run.report(Code.NESTED_REDUCTION, "`mode` with weights groups by itself", node.group.span, "grouped again",
                   help="it is short for `min((-sum(w for u), c) for u -- self by c = e)[1]`")


def _without_weight(text: str, node: t.Reduce, edits: list[tuple[t.Span, str]]) -> str:
    """Return the text of a reduction after edits, without the weight of the reduction."""
    assert node.weight is not None
    begin = text.rindex(",", node.body.span.end, node.weight.span.start)
    span = t.Span(begin, node.weight.span.end, node.weight.span.line, 1)
    return rewrite.edited(text, node.span, [*edits, (span, "")])


# ------------------------------------------------------------- common neighbours


_HOPS = frozenset({"neighborhood", "neighbourhood", "neighbors", "neighbours", "ego", "k_hop", "khop"})


def of_pair(x: Expressions, node: t.Reduce, at: Sight) -> Sight | None:
    """The context of e in `r(e for w in common(self, u))`.

    Outside of a reduction over edges, reports the reduction and returns None.
    """
    run, domain = x.run, node.domain
    if domain.called in _HOPS and at.inside is None:
        steps = domain.ends[-1] if len(domain.ends) == 2 and isinstance(domain.ends[1], (t.Literal, t.Name)) else None
        lines = _within(run, node, steps, at) if steps is not None else ()
        write = lines or (f"{domain.name} -- self",) if lines or steps is None else ()
        run.report(Code.UNKNOWN_NAME, f"there is no `{domain.called}`: a reduction takes one step along edges",
                   domain.span, help="the vertices within these steps, and the vertex itself, by one search for every "
                   "vertex (N searches):" if lines else
                   "the neighbours; each further step needs a field and a reduction of its own" + ":" * bool(write),
                   write=write, replaces=(at.item.span if lines else domain.span) if write else None)
    elif domain.called != "common":
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


def _within(run: Run, node: t.Reduce, steps: t.Expr, at: Sight) -> tuple[str, ...]:
    """The lines for `vertex n: int = count(true for u in neighborhood(self, k))`; () for other places."""
    item, counts = at.item, node.name == "count" and isinstance(node.body, t.Literal) and node.body.value is True
    if not isinstance(item, t.VertexField) or item.init is not node or at.scope is not run.root or not counts or \
            node.cond is not None or node.group is not None or len(item.names) != 1:
        return ()
    s, hops, near, u, k = *(run.fresh(name) for name in ("s", "hops", "near")), node.domain.name, run.text(steps)
    head = run.file.text[item.span.start : item.init.span.start]
    return (f"{rewrite.one_line(head)} 0".replace("  ", " "), f"for {s} in vertices:",
            f"    vertex {hops}: int = 0 if self == {s} else inf", f"    repeat {k} times:",
            f"        gather {near} = min({u}.{hops} + 1 for {u} -- self)",
            f"        apply {hops} = min({hops}, {near})", f"    where {hops} <= {k}: apply {item.names[0]} += 1")


def _of_ends(x: Expressions, node: t.Reduce, at: Sight) -> bool:
    """Return whether the vertices of `common` are `self` and the neighbour of the enclosing reduction, in either order.
    """
    names = [end for end in node.domain.ends if isinstance(end, t.Name)]
    selves = [end for end in node.domain.ends if isinstance(end, t.Self)]
    if len(names) != 1 or len(selves) != 1:
        return False
    symbol = at.scope.find(names[0].name)
    return symbol is not None and symbol.kind == "neighbour"


def _whole(x: Expressions, node: t.Reduce) -> bool:
    """Return whether a reduction needs all contributions of a vertex at the same time."""
    rule, symbol = REDUCTIONS.get(node.name), x.run.root.find(node.name)
    return rule is not None and rule.holistic and (symbol is None or symbol.kind != "reduction")


def are_ends(node: t.Call, at: Sight) -> bool:
    """Return whether a call inside a reduction has two arguments among `self`, the neighbour and the common neighbour.
    """
    known = {"self", *(s.name for s in at.scope.visible() if s.kind == "neighbour")}
    names = {"self" if isinstance(arg, t.Self) else arg.name if isinstance(arg, t.Name) else "" for arg in node.args}
    return at.inside == "edges" and at.grouping is None and len(node.args) == len(names) == 2 and names <= known


def between(x: Expressions, node: t.Call, symbol: Symbol, at: Sight) -> Value:
    """The type and level of `weight(u, w)`: the sum of an edge field over the edges from u to w.

    Args:
        x: the checker of expressions.
        node: the call, for which `are_ends` is true.
        symbol: the edge field.
        at: the context of the call.
    """
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
