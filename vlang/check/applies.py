"""Checks that `apply` writes only fields of "this vertex", and that types fit (V107, V111, V113, V117, V118, V120)."""

from __future__ import annotations

import re
from dataclasses import replace

from vlang.check.advice.computed import owner_of
from vlang.check.advice.proposals import as_field
from vlang.check.edge_states import at_edges, refused_domain, unreduced, without_edges
from vlang.check.expressions import Expressions
from vlang.check.foreign.foreign_names import COLUMNS
from vlang.check.names import SPOKEN, unknown
from vlang.check.reduce import over_edges, word_for
from vlang.check.tables.checked import Symbol
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import GRAPH, VERTEX_LEVEL, Sight
from vlang.check.tables.typing import a, as_read, spoken, zero
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import BOOL, CATEGORY, F32, F64, VERTEX, Scalar, Tuple, Type, Vector, converts

__all__ = ["apply"]

_UPDATES = {"+=": "sum", "-=": "sum", "*=": "prod", "|=": "bitor", "&=": "bitand", "^=": "bitxor"}


def apply(x: Expressions, item: t.Apply, at: Sight, sweep: t.Sweep | None, where: t.Where | None) -> None:
    """Check an `apply`, or an assignment without the word `apply`.

    Args:
        x: the checker of expressions.
        item: the statement.
        at: the context of its expressions.
        sweep: the innermost sweep around it; None if there is none.
        where: the innermost `where` around it; None if there is none.
    """
    state = at.scope.find(item.target.names[0])
    if state is not None and state.kind == "state" and item.domain is not None and not item.target.many \
            and item.target.owner is None:
        _state(x, item, state, at, refused_domain(x.run, item, where, sweep))
        return
    if item.target.owner is not None:
        _foreign(x, item, at)
        return
    if item.domain is not None:
        symbols = _targets(x, item, at, sweep)
        if symbols is not None:
            _uncombined(x, item, symbols)
        return
    if not item.keyword and not _is_field(item, at):
        _no_apply(x, item, at)
        return
    symbols = _targets(x, item, at, sweep)
    if symbols is not None:
        _keyword(x, item)
    value = x.value(item.value, at)
    if symbols is None:
        return
    _fits(x, item, symbols, value.type, at)
    x.run.targets[item.target] = symbols
    if at.loop is not None:
        for symbol in symbols:
            at.loop.applied.setdefault(symbol, item)


def _keyword(x: Expressions, item: t.Apply) -> None:
    """Report a write without the word `apply`."""
    if not item.keyword:
        named = any(isinstance(part, t.Reduce) for part in rewrite.inside(item.value))  # its message has the word
        x.run.report(Code.MISSING_APPLY, f"only `apply` writes `{item.target.names[0]}`", item.span, "no `apply` here",
                     write=() if named else f"apply {rewrite.one_line(x.run.text(item))}")


def _state(x: Expressions, item: t.Apply, state: Symbol, at: Sight, refused: bool) -> None:
    """Check a write of an edge state.

    Args:
        refused: whether a problem with the edges of the write has been reported.
    """
    if refused or not unreduced(x.run, item, item.value):
        return
    _keyword(x, item)
    inner = at_edges(x.run, item, at)
    value = x.value(item.value, inner)
    if item.cond is not None and unreduced(x.run, item, item.cond):
        x.condition(item.cond, inner, "`if`")
    _fits(x, item, (state,), value.type, inner)
    x.run.targets[item.target] = (state,)
    if at.loop is not None:
        at.loop.applied.setdefault(state, item)


def _is_field(item: t.Apply, at: Sight) -> bool:
    symbols = [at.scope.find(name) for name in item.target.names]
    return all(s is not None and s.kind == "field" for s in symbols)


def _no_apply(x: Expressions, item: t.Apply, at: Sight) -> None:
    """Report an assignment that has no `apply` and whose target is not a field."""
    value = x.value(item.value, replace(at, place="let"))
    name = item.target.names[0]
    if name in x.run.broken:
        return
    symbol = at.scope.find(name)
    text = rewrite.one_line(x.run.text(item))
    if symbol is None and not item.target.many and item.op == "=":
        type_ = x.concrete(value.type)
        declared = isinstance(type_, Scalar) and value.level == VERTEX_LEVEL and \
            not isinstance(owner_of(x.run, item), (t.Where, t.Sweep))
        write = f"let {text}" if value.type is not None and value.level == GRAPH else ""
        if declared and type_ is not None:
            write = f"vertex {name}: {spoken(type_)}{text.removeprefix(name)}" \
                if not isinstance(item.value, t.Reduce) else f"gather {text}"
        x.run.broken |= {name}
        x.run.report(Code.MISSING_APPLY, f"`{name}` is not declared: which kind of value is it?", item.span,
                     "no `apply`, `gather` or `let` here",
                     help="`apply` writes a vertex field; `let` names one value for the whole graph" +
                     (", and `gather` what edges contribute:" if isinstance(item.value, t.Reduce) else
                      ", and `vertex` one for each vertex:" if declared else ""), write=write or ())
    else:
        _targets(x, item, at, None)


def _targets(x: Expressions, item: t.Apply, at: Sight, sweep: t.Sweep | None) -> tuple[Symbol, ...] | None:
    """The fields that the statement writes. Reports targets that are not fields, and then returns None."""
    run, found = x.run, []
    for name, span in zip(item.target.names, item.target.name_spans, strict=True):
        symbol = at.scope.find(name) or run.builtins.get(name)
        if symbol is None:
            unknown(run, t.Name(span, name), name, span, at)
        elif symbol.kind == "edge":
            _edge_write(run, symbol, span, item, at)
        elif symbol.kind == "state":
            without_edges(run, item, symbol, span)
        elif symbol.kind != "field":
            counter = symbol.kind in ("global", "let") and at.loop is not None
            write, declared = as_field(run, symbol) if counter else ("", None)
            run.report(Code.NOT_A_FIELD, f"`{name}` is {SPOKEN[symbol.kind]}: only vertex fields can be applied", span,
                       notes=run.note(symbol, "declared here"),
                       help=_instead(symbol, bool(write)), write=write or (), replaces=declared)
        elif symbol in found:
            run.report(Code.NAME_TAKEN, f"`{name}` is written twice by one `apply`", span)
        else:
            found.append(symbol)
            if sweep is not None and sweep.field == name:
                run.report(Code.SWEEP_ORDER, "a `sweep` must not write the field it goes through", span,
                           f"`{name}` is being swept",
                           notes=((t.Span(sweep.span.start, sweep.field_span.end, sweep.span.line, sweep.span.column),
                                   "in this sweep"),))
    return tuple(found) if len(found) == len(item.target.names) else None


def _edge_write(run: Run, symbol: Symbol, span: t.Span, item: t.Apply, at: Sight) -> None:
    """Report a write to an edge field. Propose an edge state or, if no edge has the value, a vertex field.

    Args:
        run: the running check.
        symbol: the edge field.
        span: the place of its name.
        item: the statement.
        at: its context.
    """
    decl, edges = symbol.decl, item.domain is not None and over_edges(item.domain)
    foreign = at.loop is not None and re.match(r"for\b.*(?:->|--)", run.text(at.loop.node)) is not None
    read = foreign or any(isinstance(part, t.Name) and part.name == symbol.name for node in rewrite.inside(run.file)
                          if isinstance(node, t.Reduce) and over_edges(node.domain) for part in rewrite.inside(node))
    write = ""
    init = run.text(decl.init).strip() if isinstance(decl, t.EdgeField) and decl.init is not None else ""
    column = not init or (symbol.name in COLUMNS and init not in ("0", "0.0", "false", "-1", "none"))
    if isinstance(decl, t.EdgeField) and len(decl.names) == 1 and not column and (edges or not read):
        text = rewrite.one_line(run.text(decl)).strip()
        write = ("edge state " if edges else "vertex ") + text.removeprefix("edge").strip()
    kept = "an edge state keeps a value for each edge" if edges or read else \
        "a vertex field keeps a value for each vertex, and an edge state one for each edge, which " \
        "`apply ... for u -> self` writes"
    begin = "" if write else f", and may begin with the column: `edge state now: float = {symbol.name}`"
    run.report(Code.EDGE_WRITE, f"`{symbol.name}` is an edge field: edge fields are read-only", span,
               notes=run.note(symbol, "declared as an edge field here"),
               help=f"edge fields come with the graph; {kept}{':' if write else begin}",
               write=write or (), replaces=decl.span if write and decl is not None else None)


def _instead(symbol: Symbol, field: bool) -> tuple[str, ...]:
    """What to do with a value that cannot be applied. `field`: whether the message proposes a field in its place."""
    if symbol.kind == "accumulator":
        return ("an accumulator is written by its gather; keep what should stay in a vertex field",)
    if symbol.kind in ("let", "global"):
        return ("it keeps its first value; a counter is a field with the same value at every vertex, and `iteration` "
                "counts supersteps:" if field else "it has the one value that its declaration gives it",)
    return ("it does not change while the program runs",) if symbol.kind == "parameter" else ()


def _fits(x: Expressions, item: t.Apply, symbols: tuple[Symbol, ...], type_: Type | None, at: Sight) -> None:
    """Report a value that does not fit the type of the target."""
    run, names = x.run, item.target.names
    goals = [s.type for s in symbols]
    if type_ is None or None in goals:
        return
    if item.op != "=":
        _updated(x, item, symbols, type_, at)
    elif not item.target.many:
        x.fit(item.value, type_, goals[0], f"`{names[0]}`")
    elif not isinstance(type_, Tuple) or len(type_.items) != len(symbols):
        run.report(Code.WRONG_TYPE, f"the target needs a tuple of {len(symbols)} values", item.value.span,
                   f"this is {a(type_)}")
    elif isinstance(item.value, t.TupleExpr):
        for part, source, goal, name in zip(item.value.items, type_.items, goals, names, strict=True):
            x.fit(part, source, goal, f"`{name}`")
    else:
        for source, goal, name in zip(type_.items, goals, names, strict=True):
            if goal is not None and not converts(source, goal):
                run.report(Code.WRONG_TYPE, f"`{name}` needs {a(goal)}", item.value.span,
                           f"its part of the tuple is {a(source)}")


def _updated(x: Expressions, item: t.Apply, symbols: tuple[Symbol, ...], type_: Type, at: Sight) -> None:
    """Report a wrong type in an update: `apply f op= e` means `apply f = f op (e)`."""
    name, op = item.target.names[0], item.op[:-1]
    if item.target.many:
        x.run.report(Code.WRONG_TYPE, f"`{item.op}` has no meaning for a tuple", item.target.span,
                     help="write it out, for example `apply (a, b) = (a + c, b + d)`")
        return
    goal = as_read(symbols[0].type)
    if goal is None:
        return
    if goal in (BOOL, VERTEX, CATEGORY):
        word = {"|": "or", "&": "and"}.get(op)
        value = rewrite.one_line(x.run.text(item.value))
        write = f"apply {name} = {name} {word} {value}" if word and goal == BOOL and type_ == BOOL else ()
        x.run.report(Code.WRONG_TYPE, f"`{name}` is {a(goal)}; `{item.op}` needs a number", item.target.span,
                     f"this is {a(goal)}", write=write, replaces=item.span)
        return
    target = t.Name(item.target.span, name)
    result = x.combined(item.value, op, (target, goal), (item.value, type_), at)
    if result is not None and not converts(result, symbols[0].type or goal):
        x.fit(item.value, result, symbols[0].type, f"`{name}`")


# ------------------------------------------------------------- writing elsewhere


def _reduction_for(op: str, type_: Type | None) -> tuple[str, bool]:
    """Return a reduction to propose for a target, and whether two operands are joined by a call, as in `min(a, b)`."""
    if op != "=":
        return _UPDATES[op], False
    if type_ == BOOL:
        return "any", False
    if isinstance(type_, Vector):
        return "sum", False
    return "min", True


def _joined(name: str, op: str, reduction: str, word: str) -> str:
    if op != "=":
        return f"apply {name} {op} {word}"
    if reduction == "any":
        return f"apply {name} = {name} or {word}"
    return f"apply {name} = min({name}, {word})" if reduction == "min" else f"apply {name} = {word}"


def _default(type_: Type | None) -> str:
    """The `default` that a proposed reduction of this type needs, as text."""
    return f", default = {zero(type_)}" if type_ == CATEGORY else ""


def _uncombined(x: Expressions, item: t.Apply, symbols: tuple[Symbol, ...]) -> None:
    """Report V113 for `apply x = e for u -> self`."""
    run, domain = x.run, item.domain
    assert domain is not None
    names, type_ = item.target.names, symbols[0].type
    reduction, _ = _reduction_for(item.op, type_)
    word = run.fresh(word_for(reduction))
    body = rewrite.one_line(run.text(item.value))
    cond = f" if {rewrite.one_line(run.text(item.cond))}" if item.cond is not None else ""
    whole = f"{reduction}({body} for {rewrite.one_line(run.text(domain))}{cond}{_default(type_)})"
    write: tuple[str, ...] = ()
    edges = over_edges(domain)
    wide = not edges and reduction in ("sum", "prod") and type_ not in (F32, F64)  # such sums of integers have 64 bits
    if len(names) == 1 and not wide:
        keyword = "gather" if edges else "let"
        write = (f"{keyword} {word} = {whole}", _joined(names[0], item.op, reduction, word))
    many = "one value per edge" if edges else "one value per vertex"
    crowd = "many neighbours" if edges else "many vertices"
    verb = "gather" if edges else "fold"
    run.report(Code.NOT_COMBINED, f"{crowd}, one `{names[0]}`: how are they combined?", item.span, many,
               help=f"{verb} them with a reduction (min, sum, any, ...), then apply:", write=write)


def _foreign(x: Expressions, item: t.Apply, at: Sight) -> None:
    """Report V111 for `apply u.f = e for self -> u`. The proposed lines pull values instead of pushing values."""
    run, name, owner = x.run, item.target.names[0], item.target.owner or ""
    symbol = at.scope.find(name)
    domain = item.domain
    write: tuple[str, ...] = ()
    is_field = symbol is not None and symbol.kind == "field"
    if domain is not None and over_edges(domain) and domain.name == owner and symbol is not None and is_field:
        body, cond = (_turned(x, part, owner, at) for part in (item.value, item.cond))
        reduction, _ = _reduction_for(item.op, symbol.type)
        word = run.fresh({"min": "near"}.get(reduction, word_for(reduction)))
        arrow = {"out": f"{owner} -> self", "in": f"self -> {owner}"}.get(domain.kind, f"{owner} -- self")
        if body is not None:
            whole = f"{reduction}({body} for {arrow}{f' if {cond}' if cond else ''}{_default(symbol.type)})"
            write = (f"gather {word} = {whole}", _joined(name, item.op, reduction, word))
    if domain is None and is_field and symbol is not None and _to_pointed(x, item, symbol, at):
        return
    names = {p.name for p in rewrite.inside(item.value) if isinstance(p, t.Name)}
    kinds = {found.kind for found in map(at.scope.find, names) if found is not None}
    one = at.scope.find(owner)
    if domain is None and is_field and one is not None and "edge" not in kinds and \
            one.kind in ("loop", "parameter", "let", "global") and one.type in (VERTEX, None):
        write = (f"apply {name} {item.op} {rewrite.one_line(run.text(item.value))}",)
        every = isinstance(one.decl, t.ForVertices) and one.decl.set_name == "vertices" and item.op == "=" and \
            owner not in names and not any(isinstance(part, t.Repeat) for part in one.decl.block.items)
        run.report(Code.FOREIGN_WRITE, f"a vertex can write only its own fields, not `{owner}.{name}`",
                   item.target.span, "this writes into another vertex",
                   help="`apply` runs for every vertex by itself:" if every else "`where` chooses the vertex:",
                   write=write if every else (f"where self == {owner}:", f"    {write[0]}"), replaces=item.span)
        return
    help_ = "turn it around: say what `self` receives from its neighbours"
    run.report(Code.FOREIGN_WRITE, "a vertex can write only its own fields", item.target.span,
               "this writes into another vertex",
               help=help_ + (", for example" if write else ""), write=write, replaces=item.span)


def _to_pointed(x: Expressions, item: t.Apply, symbol: Symbol, at: Sight) -> bool:
    """Report `apply c.total += e`, where c is a field of vertices; propose a reduction over the vertices that point to
    this vertex.
    """
    run, owner, name = x.run, item.target.owner or "", item.target.names[0]
    pointer = at.scope.find(owner)
    if pointer is None or pointer.kind != "field" or pointer.type != VERTEX:
        return False
    v = run.variable(at.scope, "v")
    reduction, _ = _reduction_for(item.op, symbol.type)
    body = _turned(x, item.value, v, at)
    word = run.fresh(word_for(reduction))
    write: tuple[str, ...] = ()
    if body is not None and item.cond is None:
        write = (f"gather {word} = {reduction}({body} for {v} in vertices if {v}.{owner} == self"
                 f"{_default(symbol.type)})", _joined(name, item.op, reduction, word))
    run.report(Code.FOREIGN_WRITE, "a vertex can write only its own fields", item.target.span,
               f"this writes into the vertex `{owner}`", help="turn it around: a vertex reduces over the vertices that "
               "point at it" + (", for example" if write else ""), write=write, replaces=item.span)
    return True


def _turned(x: Expressions, node: t.Expr | None, owner: str, at: Sight) -> str | None:
    """The text of an expression with `self` and `owner` exchanged; None if that is not possible.

    Args:
        owner: the name of the other end of the edge.
    """
    if node is None:
        return None
    edits, skip = [], set()
    for part in rewrite.inside(node):
        if isinstance(part, t.Member) and isinstance(part.value, t.Name) and part.value.name == owner:
            edits.append((part.span, part.name))
            skip.add(part.value)
        elif isinstance(part, t.Self):
            edits.append((part.span, owner))
        elif isinstance(part, t.Name) and part not in skip:
            symbol = at.scope.find(part.name) or x.run.builtins.get(part.name)
            if part.name == owner:
                edits.append((part.span, "self"))
            elif symbol is not None and (symbol.kind == "field" or part.name.endswith("degree")):
                edits.append((part.span, f"{owner}.{part.name}"))
            elif symbol is None or symbol.kind == "accumulator":
                return None
    return rewrite.edited(x.run.file.text, node.span, edits)

