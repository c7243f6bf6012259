"""Checks grouped gathers: `R(E for u -- self if P by c = K if G)`, and `mode` with weights (language.md, section 5)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vlang.check.tables.scope import Scope, Sight, Value
from vlang.check.tables.typing import a, numeric
from vlang.reductions import REDUCTIONS
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import BOOL, VERTEX, Scalar, Type

if TYPE_CHECKING:
    from vlang.check.expressions import Expressions

__all__ = ["group_parts", "of_group", "weighed"]


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
        run.report(Code.WRONG_TYPE, "edges are grouped by an integer, a vertex or a bool", group.key.span,
                   f"this is {a(type_)}", help="a float is made an integer by `floor(x)` or `round(x)`"
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
    """Whether values of a type can be keys."""
    return isinstance(type_, Scalar) and (type_.integral or type_ in (BOOL, VERTEX))


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
    """The text of a reduction without its weight, after edits."""
    assert node.weight is not None
    begin = text.rindex(",", node.body.span.end, node.weight.span.start)
    span = t.Span(begin, node.weight.span.end, node.weight.span.line, 1)
    return rewrite.edited(text, node.span, [*edits, (span, "")])
