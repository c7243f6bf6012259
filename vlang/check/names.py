"""Resolves names, `self` and `v.f`, and checks whether they may be read in their context."""

from __future__ import annotations

from collections.abc import Iterator

from vlang.check.advice.proposals import as_field, moved_up, part_named
from vlang.check.advice.unknown_names import unknown_field, unknown_list
from vlang.check.edge_states import not_yet_known, read_state
from vlang.check.foreign.foreign_names import COLUMNS, NEIGHBOURS, foreign_name, undeclared_column
from vlang.check.reductions.over_groups import compared_with_own
from vlang.check.reductions.own_values import beside_member, own_value
from vlang.check.tables.checked import Symbol
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import EDGE, GRAPH, VERTEX_LEVEL, Sight, Value
from vlang.check.tables.typing import as_read, zero
from vlang.reductions import REDUCTIONS
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.syntax.keywords import RESERVED, VALUES
from vlang.syntax.needs import NEEDS
from vlang.syntax.problems import nearest
from vlang.types import CATEGORY, VERTEX, Scalar, Type

__all__ = ["SPOKEN", "applied_symbol", "field_symbol", "read_member", "read_name", "read_self", "unknown"]

SPOKEN = {
    "parameter": "a parameter", "edge": "an edge field", "state": "an edge state",
    "field": "a vertex field", "global": "a global",
    "let": "a `let`", "accumulator": "an accumulator", "loop": "a loop variable", "function": "a function",
    "reduction": "a reduction", "neighbour": "a neighbour", "member": "a vertex", "argument": "an argument",
    "builtin": "predefined", "group": "the key of a group",
}
_GRAPH_KINDS = frozenset({"parameter", "global", "let", "loop", "argument"})


def read_name(run: Run, node: t.Name, at: Sight) -> Value:
    """The type and level of a name that is an expression by itself."""
    symbol = at.scope.find(node.name) or run.builtins.get(node.name)
    if symbol is None:
        return unknown(run, node, node.name, node.span, at)
    run.symbols[node] = symbol
    kind, type_ = symbol.kind, as_read(symbol.type)
    if kind == "builtin":
        return _builtin(run, node, symbol, at)
    if at.place in ("edge", "param") and kind not in ("parameter", "argument"):
        return not_yet_known(run, node, SPOKEN[kind], at)
    if kind in _GRAPH_KINDS:
        return Value(type_)
    if kind == "edge":
        return _edge_field(run, node, symbol, at)
    if kind == "state":
        return read_state(run, node, symbol, at)
    if kind in ("group", "member", "neighbour"):
        return Value(type_ if kind == "group" else VERTEX, EDGE if kind == "neighbour" else VERTEX_LEVEL, node)
    if kind in ("function", "reduction"):
        run.report(Code.WRONG_TYPE, f"`{node.name}` is {SPOKEN[kind]}, not a value", node.span,
                   help=f"call it: `{node.name}(...)`" if kind == "function" else
                   f"call it, or reduce by it: `{node.name}(... for u -> self)`")
        return Value(None)
    return _own(run, node, symbol, type_, at)


def _builtin(run: Run, node: t.Name, symbol: Symbol, at: Sight) -> Value:
    name = node.name
    if at.place in ("edge", "param") and (at.place == "param" or name not in ("N", "M")):
        return not_yet_known(run, node, "", at)
    if name == "iteration":
        if at.loop is None:
            run.report(Code.UNKNOWN_NAME, "`iteration` counts the supersteps of a `repeat`, and there is none here",
                       node.span)
            return Value(None)
        return Value(symbol.type)
    return Value(symbol.type) if name in ("N", "M") else _own(run, node, symbol, symbol.type, at)


def read_self(run: Run, node: t.Self, at: Sight) -> Value:
    """The type and level of `self`."""
    if at.inside == "vertices":
        help_, write, replaces = own_value(run, node, at.here or _member_name(at), at)
        run.report(Code.NO_VERTEX, "`self` has no meaning here", node.span, _no_vertex(at), help=help_, write=write,
                   replaces=replaces)
        return Value(None)
    return _placed(run, node, "self", VERTEX, at)


def _own(run: Run, node: t.Name, symbol: Symbol, type_: Type | None, at: Sight) -> Value:
    """The type and level of a field, accumulator or degree of "this vertex"."""
    name = node.name
    if at.inside == "vertices":
        member = _member_name(at)
        if at.here:
            run.report(Code.NO_VERTEX, f"`{name}` of this vertex cannot be read for each vertex that points here",
                       node.span, f"`{member}.{name}` is that of the other one",
                       notes=run.note(symbol, "declared here"),
                       help=f"use `{name}` after the gather, in an `apply`",
                       write=() if beside_member(node, at) else f"{member}.{name}")
        elif symbol.kind == "accumulator":
            field, declared = as_field(run, symbol)
            run.report(Code.MISPLACED_ACCUMULATOR, f"`{name}` is private to its vertex", node.span,
                       _no_vertex(at), notes=run.note(symbol, "gathered here"),
                       help=f"{'keep' if field else 'apply'} it {'in' if field else 'to'} a field and read that field",
                       write=field or (), replaces=declared)
        else:
            help_, write, place = compared_with_own(run, node, at) if f"{member}.{name}" in _compared(run, node, at) \
                else own_value(run, node, f"{member}.{name}", at)
            run.report(Code.NO_VERTEX, f"`{name}` needs a vertex", node.span, _no_vertex(at), help=help_, write=write,
                       replaces=place)
        return Value(None)
    return _placed(run, node, name, type_, at, symbol)


def _compared(run: Run, node: t.Name, at: Sight) -> Iterator[str]:
    """The texts of the expressions with which a statement compares a name."""
    for part in rewrite.inside(at.item):
        if isinstance(part, t.Compare) and part.op == "==" and node in (part.left, part.right):
            yield run.text(part.right if node is part.left else part.left)


def _placed(run: Run, node: t.Expr, name: str, type_: Type | None, at: Sight, symbol: Symbol | None = None) -> Value:
    """The type and level of a value of "this vertex". Reports an error in places without a "this vertex"."""
    if at.place in ("fn", "reduction"):
        run.report(Code.UNKNOWN_NAME, f"`{name}` cannot be seen inside `{at.place}`", node.span,
                   "there is no \"this vertex\" here", help="pass it as an argument")
        return Value(None)
    if at.place in ("edge", "param"):
        run.report(Code.MANY_VALUES, "a default is one value, but this is one value per vertex", node.span,
                   "one value per vertex")
        return Value(None)
    if at.place == "require" and symbol is not None and symbol.kind == "field" and not _is_input(symbol):
        run.report(Code.MANY_VALUES, f"`require` is checked before the program runs, but `{name}` is computed by it",
                   node.span, "not known yet", notes=run.note(symbol, "computed here"),
                   help="a contract is about parameters, edge fields, and vertex fields without a start value")
        return Value(None)
    return Value(type_, VERTEX_LEVEL, node)


def _is_input(symbol: Symbol) -> bool:
    return isinstance(symbol.decl, t.VertexField) and symbol.decl.init is None


def _no_vertex(at: Sight) -> str:
    symbol = next((s for s in at.scope.visible() if s.kind == "member"), None)
    domain = symbol.decl if symbol is not None else None
    group = domain.set_name if isinstance(domain, t.Domain) and domain.set_name else "vertices"
    return f"in `for {_member_name(at)} in {group}` there is no \"this vertex\""


def _member_name(at: Sight) -> str:
    return next((s.name for s in at.scope.visible() if s.kind == "member"), "v")


def _edge_field(run: Run, node: t.Name, symbol: Symbol, at: Sight) -> Value:
    if at.inside == "edges" or at.place == "require":
        return Value(as_read(symbol.type), EDGE, node)
    if node.name in run.clashed:
        return Value(None)
    if at.inside == "groups" and at.grouping is not None:
        u = at.grouping.domain.name
        call = next((one for one in rewrite.inside(at.grouping.body) if isinstance(one, t.Call) and
                     one.args == (node,) and one.name in REDUCTIONS), None)
        run.report(Code.NO_EDGE, f"a group has several `{node.name}`", node.span, "of which edge?",
                   notes=run.note(symbol, "declared as an edge field here"),
                   help="values of edges are reduced over the group, for example",
                   write=f"max({node.name} for {u})" if call is None else f"{call.name}({node.name} for {u})",
                   replaces=None if call is None else call.span)
        return Value(None)
    name = run.fresh("total")
    reduce = f"{_reduction(symbol.type)[0]}({node.name} for {run.variable(at.scope, 'u')} -> self" \
             f"{_reduction(symbol.type)[1]})"
    run.report(
        Code.NO_EDGE, f"`{node.name}` belongs to edges, and no edge is in sight here", node.span, "which edge?",
        notes=run.note(symbol, "declared as an edge field here"),
        help=f"an edge field can be read inside a gather, as in `gather {name} = {reduce}`",
    )
    return Value(None)


def _reduction(type_: Type | None) -> tuple[str, str]:
    """Return a reduction to propose for values of a type, and the text to write after the domain of the reduction."""
    if type_ == CATEGORY:
        return "mode", f", default = {zero(type_)}"
    if isinstance(type_, Scalar) and type_.kind == "time":
        return "min", ""
    return ("sum" if isinstance(type_, Scalar) and type_.numeric else "any"), ""


def unknown(run: Run, node: t.Expr, name: str, span: t.Span, at: Sight) -> Value:
    """Report a name that is not visible: an accumulator whose block has ended, or an unknown name.

    Args:
        run: the running check.
        node: the expression.
        name: the name.
        span: the place of the name.
        at: the context of the expression.
    """
    if name in run.broken:
        return Value(None)
    past = at.scope.past(name)
    if past is not None:
        run.report(Code.MISPLACED_ACCUMULATOR, f"`{name}` ends with the block of its gather", span, "no longer there",
                   notes=run.note(past, "gathered here"), help="apply it to a field inside the block")
        return Value(None)
    if name in RESERVED and name not in VALUES:
        run.report(Code.UNKNOWN_NAME, f"`{name}` is a word of the language, not a value", span)
        return Value(None)
    later = next((s for s in run.later if s.name == name), None)
    if later is not None and at.place in ("fn", "reduction") and not isinstance(later.decl, t.GlobalValue):
        run.report(Code.UNKNOWN_NAME, f"`{name}` cannot be seen inside `{at.place}`", span,
                   notes=run.note(later, "declared here"), help="pass it as an argument")
        return Value(None)
    if later is not None:
        _not_yet(run, name, span, later, at)
        return Value(None)
    if at.grouping is not None and name == at.grouping.domain.name:
        run.report(Code.UNKNOWN_NAME, f"a group has several `{name}`", span, "which edge of the group?",
                   help=f"values of edges are reduced over the group, as in `max({name}.x for {name})`")
        return Value(None)
    if name in run.neighbours:
        run.report(Code.UNKNOWN_NAME, f"there is no `{name}` here", span, "known only inside its reduction",
                   help=f"gather what you need of `{name}` first, then apply what was gathered")
        return Value(None)
    if at.place == "require" and name in NEEDS:
        run.report(Code.UNKNOWN_NAME, f"`{name}` stands alone after `require`", span, "part of a condition",
                   help=f"on a line of its own, `require {name}` says that {NEEDS[name]}")
        return Value(None)
    advice = foreign_name(name)
    if advice is not None and ("iteration" not in advice[1] or at.loop is not None):
        run.report(Code.UNKNOWN_NAME, f"unknown name `{name}`", span, help=advice[0] or (), write=advice[1] or ())
        return Value(None)
    whole = isinstance(at.item, t.Contract) and at.item.cond.span == span
    close = nearest(name, {s.name for s in at.scope.visible()} | set(run.builtins) | VALUES | run.broken
                    | (set(NEEDS) if whole else set()))
    if at.inside == "edges" and name in COLUMNS:
        undeclared_column(run, name, span)
        return Value(None)
    run.report(Code.UNKNOWN_NAME, f"unknown name `{name}`", span, f"did you mean `{close}`?" if close else "",
               write=close or ())
    return Value(None)


def _not_yet(run: Run, name: str, span: t.Span, later: Symbol, at: Sight) -> None:
    """Report a name that is declared below the place where it is read."""
    write, replaces = moved_up(run, at.item, later)
    run.report(Code.UNKNOWN_NAME, f"`{name}` is not declared yet", span, "used before its declaration",
               notes=run.note(later, "declared here"), help="a file is executed from top to bottom" +
               (": the declaration comes first" if write else ""), write=write, replaces=replaces)


def applied_symbol(run: Run, name: str, span: t.Span, node: t.Node, at: Sight) -> Symbol | None:
    """Return the symbol of a name to which a statement refers without reading a value, such as S in `for s in S`.

    Reports V101 and returns None if the name is not visible.

    Args:
        run: the running check.
        name: the name.
        span: the place of the name.
        node: the node that uses the name.
        at: the context of the name.
    """
    symbol = at.scope.find(name)
    if symbol is None and name == "V":
        run.report(Code.UNKNOWN_NAME, "all vertices are `vertices`", span,
                   write="vertices" if run.file.text[span.start : span.end] == name else ())
    elif symbol is None and name in ("self", "edges", "E"):
        run.report(Code.UNKNOWN_NAME, f"`{name}` is no set of vertices", span,
                   help="edges are `u -> self`, `self -> u` and `u -- self`; all vertices are `u in vertices`")
    elif symbol is None:
        if isinstance(node, (t.ForVertices, t.Domain)) and name not in run.broken | NEIGHBOURS:
            unknown_list(run, name, span, at)
        else:
            unknown(run, t.Name(span, name), name, span, at)
    else:
        run.symbols[node] = symbol
    return symbol


# ----------------------------------------------------------------- members


def read_member(run: Run, node: t.Member, owner: Value, at: Sight) -> Value:
    """The type and level of `value.name`, a field or degree of a vertex.

    Args:
        run: the running check.
        node: the expression.
        owner: the type and level of the value before the dot.
        at: the context of the expression.
    """
    if owner.type is None:
        return Value(None)
    if owner.type != VERTEX:
        part = part_named(node.name, owner.type)
        text = rewrite.short(run.text(node.value))
        run.report(Code.NOT_A_VERTEX, f"`{text}` is not a vertex", node.span,
                   f"`.{node.name}` reads a field of a vertex",
                   help="the parts of a tuple are read by their places:" if part >= 0 else (),
                   write=f"{rewrite.one_line(run.text(node.value))}[{part}]" if part >= 0 else ())
        return Value(None)
    symbol = field_symbol(run, node, at)
    if symbol is None:
        return Value(None)
    type_ = as_read(symbol.type)
    base = run.symbols.get(node.value)
    if base is not None and base.kind in ("neighbour", "member"):
        return Value(type_, EDGE if base.kind == "neighbour" else VERTEX_LEVEL, node)
    if isinstance(node.value, t.Self):
        return Value(type_, VERTEX_LEVEL, node)
    return _distant(run, node, owner, type_, at, base)


def _distant(run: Run, node: t.Member, owner: Value, type_: Type | None, at: Sight, base: Symbol | None) -> Value:
    """Return the type and level of a field of an arbitrary vertex. Reports reads in places where distant vertices may
    not be read.

    Args:
        run: the running check.
        node: the expression.
        owner: the type and level of the value before the dot.
        type_: the type of the field.
        at: the context of the expression.
        base: the symbol of the value before the dot; None if it is no name.
    """
    text = rewrite.short(run.text(node.value))
    if at.place in ("require", "fn", "reduction", "edge", "param"):
        run.report(Code.NOT_A_VERTEX, f"`{text}.{node.name}` cannot be read here", node.span, "a field of a vertex")
        return Value(None)
    if owner.level == GRAPH:
        return Value(type_)
    if base is not None and base.kind == "group":
        return Value(type_, VERTEX_LEVEL, node)
    if at.inside is not None:
        run.report(Code.NOT_A_VERTEX,
                   f"`{text}` need not be a neighbour: its fields cannot be read inside a reduction", node.span,
                   help=f"read `{text}.{node.name}` with `apply` into a field first, and reduce that field")
        return Value(None)
    return Value(type_, owner.level, owner.cause or node)


def field_symbol(run: Run, node: t.Member, at: Sight) -> Symbol | None:
    """The symbol of the field or degree that `v.name` reads. Reports any other name, and then returns None."""
    name = node.name
    symbol = run.builtins.get(name) if name.endswith("degree") else at.scope.find(name)
    owner = rewrite.short(run.text(node.value))
    if symbol is not None and symbol.kind in ("field", "builtin"):
        run.symbols[node] = symbol
        return symbol
    if symbol is not None:
        if name not in run.clashed:
            _no_field(run, node, symbol, owner)
        return None
    if name in run.broken:
        return None
    past = at.scope.past(name)
    if past is not None:
        run.report(Code.MISPLACED_ACCUMULATOR, f"`{name}` is private to its vertex: `{owner}` has none", node.name_span,
                   notes=run.note(past, "gathered here"))
        return None
    later = next((s for s in run.later if s.name == name), None)
    if later is not None:
        _not_yet(run, name, node.name_span, later, at)
        return None
    unknown_field(run, node, at)
    return None


def _no_field(run: Run, node: t.Member, symbol: Symbol, owner: str) -> None:
    name = node.name
    if symbol.kind == "accumulator":
        write, declared = as_field(run, symbol, in_loops=True)
        run.report(Code.MISPLACED_ACCUMULATOR, f"`{name}` is private to its vertex: `{owner}` has none", node.name_span,
                   notes=run.note(symbol, "gathered here"),
                   help="a field can be read of other vertices:" if write else
                   "apply it to a field: a later gather can read that field of its neighbours",
                   write=write or (), replaces=declared)
    elif symbol.kind == "edge":
        run.report(Code.NO_EDGE, f"`{name}` belongs to the edge, not to `{owner}`", node.span,
                   notes=run.note(symbol, "declared as an edge field here"), write=name)
    else:
        run.report(Code.UNKNOWN_NAME, f"no vertex has a field `{name}`", node.name_span,
                   f"`{name}` is {SPOKEN[symbol.kind]}", write=name if symbol.kind in _GRAPH_KINDS else (),
                   replaces=node.span)


