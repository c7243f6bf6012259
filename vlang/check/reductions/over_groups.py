"""Reports reductions over vertices that are meant to have one value for each group of vertices."""

from __future__ import annotations

from vlang.check.reductions.own_values import ONE_VALUE, Advice, own_names, own_value
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import Sight
from vlang.check.tables.typing import a, spoken
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.syntax.mistakes.vertex_groups import Grouped, for_groups, where_named
from vlang.syntax.pointing import Pointing, conjuncts
from vlang.types import Type

__all__ = ["compared_with_own", "grouped_vertices", "no_pointer"]


def grouped_vertices(run: Run, node: t.Reduce, group: t.Grouping, item: t.Node) -> None:
    """Report a reduction over vertices that has a `by` (V109), since only edges can be grouped.

    Args:
        run: the running check.
        node: the reduction.
        group: its groups.
        item: its statement.
    """
    cond = () if node.cond is None else (node.cond,)
    named = any(isinstance(n, t.Name) and n.name == group.name for n in rewrite.inside(node.body))
    plain = group.cond is None and not named
    help_, write = _instead(run, node, item, group.key, node.body, cond) if plain else ((), ())
    run.report(Code.NESTED_REDUCTION, "a reduction over vertices has no groups", group.span, "`by` groups edges",
               help=help_ or where_named(node.domain.name, f"{node.domain.name}.c"), write=write,
               replaces=item.span if write else None)


def compared_with_own(run: Run, node: t.Name, at: Sight) -> Advice:
    """What to write for a condition `v.f == f` of a reduction over the vertices v, or a count of such vertices.

    Args:
        run: the running check.
        node: the name `f`.
        at: its context.
    """
    item = at.item
    help_: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    named = where_named(key=f"v.{node.name}")
    for whole in rewrite.inside(item):
        if not isinstance(whole, t.Reduce):
            continue
        parts = tuple(conjuncts(whole.cond))
        for part in (*parts, whole.body):
            if not isinstance(part, t.Compare) or part.op != "==" or node not in (part.left, part.right):
                continue
            key = part.right if part.left is node else part.left
            named = where_named(whole.domain.name, run.text(key))
            if part is not whole.body:
                rest = tuple(one for one in parts if one is not part)
                help_, write = _instead(run, whole, item, key, whole.body, rest)
            elif whole.name == "count":
                help_, write = _instead(run, whole, item, key, None, parts)
    advice = own_value(run, node, node.name, at)
    if not write and len(advice[1]) > 1:
        return advice
    return (f"{ONE_VALUE}, not one for each group", *(help_ or (named,))), write, item.span


def no_pointer(run: Run, node: t.Reduce, points: Pointing, type_: Type, item: t.Node) -> None:
    """Report a condition `v.f == self` with a field f that is no vertex (V106).

    Args:
        run: the running check.
        node: the reduction.
        points: the parts of its condition.
        type_: the type of the field.
        item: its statement.
    """
    help_, write = _instead(run, node, item, points.pointer, node.body, points.rest)
    run.report(Code.WRONG_TYPE, "what is compared with `self` needs a vertex", points.pointer.span,
               f"this is {a(type_)}",
               help=help_ or f"if it names vertices, declare `vertex {points.pointer.name}: vertex`",
               write=write, replaces=item.span if write else None)


def _instead(run: Run, node: t.Reduce, item: t.Node, key: t.Expr, body: t.Expr | None,
             cond: tuple[t.Expr, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return advice and, if the reduction is the whole initializer of a field, the lines that replace the statement.

    Args:
        run: the running check.
        node: the reduction.
        item: its statement.
        key: the key of a group, such as `v.f`.
        body: the contribution of a vertex; None for `true`.
        cond: the further conditions.
    """
    def text(part: t.Node) -> str:
        return rewrite.one_line(run.text(part))

    whole = isinstance(item, t.VertexField) and item.init is node and len(item.names) == 1 \
        and not node.keys and node.domain.kind == "vertices"
    symbol = run.root.find(key.name) if isinstance(key, t.Member) else None
    if any(own_names(run, part) for part in (*cond, *(() if body is None else (body,)))):
        return (), ()
    if not whole or not isinstance(item, t.VertexField):
        return (), ()
    key_type = spoken(symbol.type) if symbol is not None and symbol.type is not None else ""
    default = "" if node.default is None else f", default = {text(node.default)}"
    help_, write = for_groups(Grouped(item.names[0], text(item.type), node.name, "true" if body is None else text(body),
                                      node.domain.name, text(key), key_type, " and ".join(map(text, cond)), default),
                              run.fresh)
    return (help_, write) if write else ((), ())
