"""Reductions over edges and over vertices (language.md sections 7 and 8)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vlang.check.advice.computed import with_default
from vlang.check.foreign.foreign_names import foreign_reduction
from vlang.check.foreign.mathematics import is_misspelled
from vlang.check.names import SPOKEN, applied_symbol
from vlang.check.reductions.grouped import group_parts, of_group, of_pair, weighed
from vlang.check.reductions.keyed import picked, picks, unkeyed
from vlang.check.reductions.over_groups import grouped_vertices, no_pointer
from vlang.check.reductions.pointing import refused
from vlang.check.tables.checked import Symbol
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import VERTEX_LEVEL, Level, Scope, Sight, Value, joined
from vlang.check.tables.typing import a, holds, item, kind_of, kinds_spoken, spoken, with_item, zero
from vlang.reductions import REDUCTIONS, ReductionRule
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.syntax.pointing import pointing
from vlang.syntax.problems import nearest
from vlang.types import BOOL, CATEGORY, F64, I64, U64, VERTEX, VERTICES, Scalar, Type, Vector

if TYPE_CHECKING:
    from vlang.check.expressions import Expressions

__all__ = ["at_vertices", "over_edges", "reduced", "reduction", "word_for"]

_WORDS = {"sum": "total", "min": "least", "max": "greatest", "any": "some", "all": "every", "count": "number",
          "mean": "average", "mode": "popular", "median": "middle", "prod": "product"}
_VERTEX_PLACES = {"apply": "`apply`", "where": "`where`", "activate": "`activate when`"}


_OF_ONE = frozenset({"field", "edge", "accumulator", "neighbour", "member"})  # symbols with one value per member


def over_edges(domain: t.Domain) -> bool:
    """Return whether a reduction with this domain ranges over edges."""
    return domain.kind in ("in", "out", "both", "group", "common")


def at_vertices(node: t.Reduce) -> bool:
    """Return whether a reduction has one value per vertex: a reduction over edges, or over the vertices that point to
    this vertex.
    """
    return over_edges(node.domain) or pointing(node) is not None


def word_for(reduction_name: str) -> str:
    """A name to propose for the result of a reduction."""
    return _WORDS.get(reduction_name, "found")


def reduction(x: Expressions, node: t.Reduce, at: Sight) -> Value:
    """The type and level of a reduction. Reports a reduction that is in a forbidden place."""
    run = x.run
    if node.domain.kind == "group":
        around = of_group(x, node, at)
        return Value(None) if around is None else reduced(x, node, around)
    if node.domain.kind == "common":
        around = of_pair(x, node, at)
        return Value(None) if around is None else reduced(x, node, around)
    if at.inside is not None:
        run.report(Code.NESTED_REDUCTION, "a reduction inside a reduction", node.span, "the inner one",
                   help=_outside(x, node, at))
        return Value(None)
    edges = at_vertices(node)
    if at.place in _VERTEX_PLACES:
        _unnamed(x, node, at, edges)
        return Value(None)
    if at.place in ("require", "fn", "reduction", "edge", "param"):
        place = {"edge": "a default", "param": "a default"}.get(at.place, f"`{at.place}`")
        run.report(Code.MISPLACED_REDUCTION, f"a reduction inside {place}", node.span, "not possible here")
        return Value(None)
    if at.place == "init" and refused(run, node, at):
        return Value(None)
    value = reduced(x, node, at)
    if edges and at.place == "init":
        first = run.initial.setdefault(at.item, node)
        if first is not node:
            _second(x, node, first, at, value.type)
    return value


def _outside(x: Expressions, node: t.Reduce, at: Sight) -> str:
    """The help text for a reduction inside another reduction."""
    if over_edges(node.domain):
        return "apply the inner one to a field first"
    bound = {s.name for s in at.scope.visible() if s.kind in ("neighbour", "member")}
    read = {part.name for part in rewrite.inside(node) if isinstance(part, t.Name)} & bound
    if not read:
        return "name the inner one with `let` first"
    name = min(read)
    return f"it depends on `{name}`: collect it with `gather` from neighbours, apply it to a field, and read that field"


def _unnamed(x: Expressions, node: t.Reduce, at: Sight, edges: bool) -> None:
    """Report a reduction in a place that allows only named values.

    If the body of the reduction is correct, propose a statement that names the reduction.
    """
    run, word, before = x.run, x.run.fresh(word_for(node.name)), len(x.run.problems)
    reduced(x, node, replace(at, place="gather" if edges else "let"))
    right = len(run.problems) == before
    place, text = _VERTEX_PLACES[at.place], rewrite.one_line(x.run.text(node))
    head = _head(run.file.text, at.item)
    edited = rewrite.edited(run.file.text, head, [(node.span, word)])
    if isinstance(at.item, t.Apply) and not at.item.keyword:
        edited = f"apply {edited}"
    first = f"gather {word} = {text}" if edges else f"let {word} = {text}"
    write = (first, edited)
    where = "collected from the neighbours" if edges else "one value for the whole graph"
    run.report(Code.MISPLACED_REDUCTION,
               f"a reduction over {'edges' if edges else 'vertices'} inside {place} needs a name", node.span,
               where, write=write if right else (), replaces=head,
               help=f"collect first, then {'apply what was collected' if at.place == 'apply' else 'use it'}:" if right
               else "`gather` collects from neighbours; `let` names one value for the whole graph")


def _head(text: str, item_: t.Node) -> t.Span:
    """The span of a statement. The span of a `where` ends before the colon in its first line."""
    if isinstance(item_, t.Where):
        end = text.index(":", item_.cond.span.end) + 1
        return t.Span(item_.span.start, end, item_.span.line, item_.span.column)
    return item_.span


def _second(x: Expressions, node: t.Reduce, first: t.Reduce, at: Sight, type_: Type | None) -> None:
    run, word = x.run, x.run.fresh(word_for(node.name))
    text = rewrite.one_line(run.text(node))
    write: tuple[str, ...] = ()
    if type_ is not None:
        rest = rewrite.edited(run.file.text, at.item.span, [(node.span, word)])
        write = (f"vertex {word}: {spoken(type_)} = {text}", rest)
    run.report(Code.MISPLACED_REDUCTION, "a second reduction over edges in one start value needs a name", node.span,
               "the second one",
               notes=((first.span, "the first one"),), help="keep it in a field of its own:", write=write,
               replaces=at.item.span)


# ------------------------------------------------------------------ its value


def reduced(x: Expressions, node: t.Reduce, at: Sight) -> Value:
    """The type and level of a reduction that is allowed in this place."""
    run, domain = x.run, node.domain
    edges, points = over_edges(domain), pointing(node)
    group = None
    if domain.set_name is not None:
        group = applied_symbol(run, domain.set_name, domain.set_span or domain.span, domain, at)
        if group is not None and group.type is not None and group.type != VERTICES:
            run.report(Code.WRONG_TYPE, f"`{domain.set_name}` is no list of vertices", domain.span,
                       f"this is {SPOKEN[group.kind]}", write=f"{domain.name} in vertices")
    inner = Scope(at.scope)
    kind = "neighbour" if edges else "member"
    inner.names[domain.name] = run.declare(inner, domain, kind, domain.name, domain.name_span, VERTEX)
    here = run.text(points.pointer) if points is not None else ""
    within = replace(at, scope=inner, inside="edges" if edges else "vertices", here=here)
    body = x.value(node.body, within) if node.group is None else Value(None)
    if points is not None:
        pointer = x.value(points.pointer, within).type
        if pointer is not None and pointer != VERTEX:
            no_pointer(run, node, points, pointer, at.item)
        for part in points.rest:
            x.condition(part, within, "`if`")
    elif node.cond is not None:
        x.condition(node.cond, within, "`if`")
    if node.group is not None and node.weight is None:
        within = replace(within, grouping=node)
        if edges:
            body = group_parts(x, node, node.group, within, at)
        else:
            grouped_vertices(run, node, node.group, at.item)
            return Value(None)
    if picks(run, node):
        result = picked(x, node, within, body.type)
        edges = True
    else:
        unkeyed(x, node)
        if node.weight is not None:
            weighed(x, node, within)
        edges = edges or points is not None
        result = _result(x, node, body.type, at)
    result = x.concrete(result)
    default = _default(x, node, at, result)
    level = Level.EDGE if domain.kind == "common" else VERTEX_LEVEL if edges else Level.GRAPH
    return joined(result, Value(None, level, node), *([default] if default is not None else []))


def _result(x: Expressions, node: t.Reduce, body: Type | None, at: Sight) -> Type | None:
    run = x.run
    symbol = run.root.find(node.name)
    if symbol is not None and symbol.kind == "reduction":
        symbol = x.declared(node)
        if symbol is None:
            return None
        run.used_on.setdefault(symbol, []).append(node)
        good = x.fit(node.body, body, symbol.type, f"`{node.name}`")
        return symbol.type if good else None
    rule = REDUCTIONS.get(node.name)
    if rule is None:
        _unknown(x, node, symbol)
        return None
    if not over_edges(node.domain) and rule.holistic:
        run.report(Code.UNKNOWN_REDUCTION, f"`{node.name}` works on the neighbours of a vertex, not over vertices",
                   node.name_span, "needs edges")
        return None
    if node.default is None and (not rule.has_identity or _nameless(rule, body)):
        _valueless(x, node, body, at_vertices(node))
    return None if body is None else _typed(x, node, rule, body, at)


def _nameless(rule: ReductionRule, body: Type | None) -> bool:
    """Return whether a reduction is a `min` or `max` of categories, which has no value without contributions."""
    return rule.operator in ("min", "max") and holds(body, CATEGORY)


def _unknown(x: Expressions, node: t.Reduce, symbol: Symbol | None) -> None:
    run = x.run
    if node.name in run.broken:
        return
    if symbol is not None:
        run.report(Code.UNKNOWN_REDUCTION, f"`{node.name}` is {SPOKEN[symbol.kind]}, not a reduction", node.name_span,
                   notes=run.note(symbol, "declared here"))
        return
    advice = foreign_reduction(run, node)
    if advice is not None:
        help_, write = advice
        run.report(Code.UNKNOWN_REDUCTION, f"there is no reduction `{node.name}`", node.name_span, help=help_,
                   write=write or (), replaces=_with_index(run, node) if write else None)
        return
    declared = {s.name for s in run.root.names.values() if s.kind == "reduction"}
    close = nearest(node.name, declared | set(REDUCTIONS))
    close = close if close and is_misspelled(node.name, close) else None
    run.report(Code.UNKNOWN_REDUCTION, f"unknown reduction `{node.name}`", node.name_span,
               f"did you mean `{close}`?" if close else "",
               help=() if close else "there are: " + ", ".join(REDUCTIONS), write=close or ())


def _with_index(run: Run, node: t.Reduce) -> t.Span:
    """The span of a reduction, with the index after it: `sorted(...)[0]`."""
    text = run.file.text
    size = next((len(index) for index in ("[0]", "[-1]") if text.startswith(index, node.span.end)), 0)
    return t.Span(node.span.start, node.span.end + size, node.span.line, node.span.column)


def _valueless(x: Expressions, node: t.Reduce, body: Type | None, edges: bool) -> None:
    if node.keys:  # the report on keys says more
        return
    text = rewrite.one_line(x.run.text(node))
    near = over_edges(node.domain)
    label = "a vertex may have no edges here" if near else "there may be no such vertex"
    default = _own_value(x, node) or (0 if node.name == "mean" else zero(body) if body is not None else "")
    known = body is not None or node.name == "mean"
    gets = "what an isolated vertex gets" if near else "what a vertex then gets" if edges else "what it is then"
    x.run.report(Code.EMPTY_REDUCTION, f"`{node.name}` of no {'neighbours' if near else 'vertices'} has no value",
                 node.span, label,
                 help=f"say {gets}, for example:" if known else f"say {gets}: `default = VALUE`",
                 write=f"{text.rstrip()[:-1]}, default = {default})" if known else ())


def _own_value(x: Expressions, node: t.Reduce) -> str:
    """The field of which a `mode` or `median` over edges takes the neighbours' values: a vertex without neighbours
    keeps its own. "" for other reductions.
    """
    body, symbol = node.body, x.run.symbols.get(node.body)
    kept = node.name in ("mode", "median") and over_edges(node.domain) and isinstance(body, t.Member) and \
        isinstance(body.value, t.Name) and body.value.name == node.domain.name
    return body.name if kept and isinstance(body, t.Member) and symbol is not None and symbol.kind == "field" else ""


def _typed(x: Expressions, node: t.Reduce, rule: ReductionRule, body: Type, at: Sight) -> Type | None:
    """Return the result type of a built-in reduction over values of type `body`; None if a problem was reported."""
    scalar, edges = item(body), over_edges(node.domain) or pointing(node) is not None
    kinds = {kind_of(body)} | ({kind_of(scalar)} if isinstance(body, Vector) and scalar is not None else set())
    if not kinds <= rule.accepts:
        _refused(x, node, rule, body, at)
        return None
    if rule.result == "int":
        return x.run.int if edges else I64
    if rule.result == "float":
        return F64 if body == F64 else x.run.float
    if not edges and rule.operator in ("+", "*") and scalar is not None and scalar.integral:
        return with_item(body, U64 if scalar.kind == "uint" else I64)
    return body


def _refused(x: Expressions, node: t.Reduce, rule: ReductionRule, body: Type, at: Sight) -> None:
    help_, write, text = "", "", rewrite.one_line(x.run.text(node))
    if body == BOOL and rule.name in ("sum", "prod", "min", "max", "mean"):
        other = {"sum": "count", "min": "all", "max": "any", "prod": "all"}.get(rule.name)
        if other is not None:
            help_, write = f"for bools there is `{other}`:", other + text[len(node.name):]
        else:
            help_ = "as a number, a bool is 0 or 1:"
            write = rewrite.edited(x.run.file.text, node.span, [(node.body.span, f"float({x.run.text(node.body)})")])
    elif rule.name in ("sum", "mean") and isinstance(body, Scalar) and body.kind == "time":
        help_ = "a time is a number only as the difference to another one:"
        number = f'({x.run.text(node.body)}) - "1970-01-01"'
        write = rewrite.edited(x.run.file.text, node.span, [(node.body.span, number)])
    elif rule.name == "count" and body == VERTEX:
        help_ = "of all that the domain has:"
        write = rewrite.edited(x.run.file.text, node.span, [(node.body.span, "true")])
    elif rule.name == "mean" and isinstance(body, Vector) and over_edges(node.domain) and node.cond is None:
        degree = {"in": "indegree", "out": "outdegree"}.get(node.domain.kind, "degree")
        domain = rewrite.one_line(x.run.file.text[node.body.span.end : node.domain.span.end])
        help_ = "vectors are summed component by component; the number of edges divides each of them:"
        write = f"sum({rewrite.one_line(x.run.text(node.body))} / max({degree}, 1){domain})"
        if node.default is not None and x.run.text(node.default) not in ("0", "0.0"):
            _vectors_with_default(x, node, at, help_, write, degree)
            return
    elif rule.name in ("any", "all", "count") and item(body) is not None:
        help_ = "compare it with something"
    x.run.report(Code.WRONG_TYPE, f"`{rule.name}` takes {kinds_spoken(rule.accepts)}", node.body.span,
                 f"this is {a(body)}", help=help_ or (), write=write or (), replaces=node.span if write else None)


def _vectors_with_default(x: Expressions, node: t.Reduce, at: Sight, help_: str, total: str, degree: str) -> None:
    """Report the `mean` of vectors with a `default`.

    Args:
        x: the checker of expressions.
        node: the reduction.
        at: its context.
        help_: what is written instead.
        total: the text of the sum that replaces the mean.
        degree: the name of the number of edges.
    """
    default, item_ = node.default, at.item
    assert default is not None
    write: tuple[str, ...] = (f"({total} if {degree} > 0 else {rewrite.one_line(x.run.text(default))})",)
    replaces = node.span
    if isinstance(item_, t.Gather):
        write, replaces = with_default(x.run, item_, total, f"{degree} > 0", default) or ((), node.span)
    x.run.report(Code.WRONG_TYPE, "`mean` takes integers or floats", node.body.span, "this is a vector", help=help_,
                 write=write, replaces=replaces if write else None)


def _default(x: Expressions, node: t.Reduce, at: Sight, result: Type | None) -> Value | None:
    if node.default is None:
        return None
    return x.fitting(node.default, at, result, "`default`")

