"""Checks edge states: declarations, reads, and writes by `apply ... for u -> self` (V103, V107, V114)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from vlang.check.tables.checked import Symbol
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import EDGE, Scope, Sight, Value
from vlang.check.tables.typing import as_read, zero
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.syntax.needs import need_of
from vlang.types import VERTEX, Type

if TYPE_CHECKING:
    from vlang.check.expressions import Expressions

__all__ = [
    "at_edges", "read_state", "refused_domain", "reversed_state", "start_of", "state_between", "unreduced",
    "without_edges",
]


def start_of(scope: Scope, item: t.EdgeState) -> Sight:
    """The context of the start value of an edge state: an edge and its receiver, without a name for the sender."""
    return Sight(scope, "apply", item, inside="edges")


def at_edges(run: Run, item: t.Apply, at: Sight) -> Sight:
    """The context of the value of an edge state: one edge of the domain of the statement."""
    domain = item.domain
    assert domain is not None
    inner = Scope(at.scope)
    inner.names[domain.name] = run.declare(inner, domain, "neighbour", domain.name, domain.name_span, VERTEX)
    return replace(at, scope=inner, inside="edges")


def unreduced(run: Run, item: t.Node, node: t.Expr) -> bool:
    """Return true if an expression at edge level contains no reduction over edges or vertices. Otherwise, report the
    first reduction and return false.

    A reduction over the common neighbours of the two ends of the edge is allowed.
    """
    for part in rewrite.inside(node):
        if isinstance(part, t.Reduce) and part.domain.kind != "common":
            word, text = run.fresh("total"), rewrite.one_line(run.text(part))
            edges = part.domain.kind in ("in", "out", "both")
            write = (f"{'gather' if edges else 'let'} {word} = {text}",
                     rewrite.edited(run.file.text, item.span, [(part.span, word)]))
            run.report(Code.MISPLACED_REDUCTION, "the value of an edge has no reduction in it", part.span,
                       "a reduction", help="reduce before, then compute the value of the edge:",
                       write=write if isinstance(item, t.Apply) else (), replaces=item.span)
            return False
    return True


def refused_domain(run: Run, item: t.Apply, where: t.Where | None, sweep: t.Sweep | None) -> bool:
    """Report a statement that writes an edge state over other edges than `u -> self`, or inside `where` or `sweep`.

    Args:
        run: the running check.
        item: the statement.
        where: the innermost `where` around it; None if there is none.
        sweep: the innermost `sweep` around it; None if there is none.
    """
    domain = item.domain
    assert domain is not None
    name, text = item.target.names[0], run.file.text
    if domain.kind != "in":
        edges = domain.kind in ("out", "both")
        run.report(Code.EDGE_WRITE, f"`{name}` is written for the in-edges of a vertex", domain.span,
                   "the receiver of an edge writes its value", write=f"{domain.name} -> self" if edges else (),
                   help="from here, the other end is `u`, and the entry of the opposite edge `reverse(...)`:" if edges
                   else f"one value for each edge: `apply {name} = ... for u -> self`",
                   replaces=domain.span if edges else None)
        return True
    if where is not None:
        conds = [where.cond, *([item.cond] if item.cond is not None else [])]
        both = " and ".join(f"({rewrite.one_line(run.text(one))})" if len(conds) > 1 else
                            rewrite.one_line(run.text(one)) for one in conds)
        head = rewrite.one_line(text[item.span.start : domain.span.end])
        run.report(Code.EDGE_WRITE, f"`{name}` cannot be written inside `where`", item.span, "rows are left out here",
                   help="the condition of a vertex or an edge stands behind the edges, outside of `where`: "
                        f"`{head} if {both}`")
        return True
    if sweep is not None:
        run.report(Code.EDGE_WRITE, f"`{name}` cannot be written inside `sweep`", item.span,
                   "only the vertices of one level run", help="write it in a `repeat`, with a condition on the level")
        return True
    return False


def without_edges(run: Run, item: t.Apply, symbol: Symbol, span: t.Span) -> None:
    """Report an `apply` of an edge state without the edges that it writes.

    Args:
        run: the running check.
        item: the statement.
        symbol: the edge state.
        span: the place of its name.
    """
    text = rewrite.one_line(run.text(item))
    if item.domain is not None:
        run.report(Code.EDGE_WRITE, f"`{symbol.name}` is an edge state: one `apply` writes one edge state", span,
                   notes=run.note(symbol, "declared as an edge state here"))
        return
    run.report(Code.EDGE_WRITE, f"`{symbol.name}` has a value for each edge: which edges are written?", span,
               "no edge here", notes=run.note(symbol, "declared as an edge state here"),
               help="the receiver writes the values of its in-edges:",
               write=f"{text} for u -> self" if item.target.owner is None and not item.target.many else (),
               replaces=item.span)


def read_state(run: Run, node: t.Name, symbol: Symbol, at: Sight) -> Value:
    """The type and level of an edge state that is named in an expression.

    Args:
        run: the running check.
        node: the name.
        symbol: the edge state.
        at: the context of the expression.
    """
    if at.place == "require":
        run.report(Code.MANY_VALUES, f"`require` is checked before the program runs, but `{node.name}` is computed by "
                   "it", node.span, "not known yet", notes=run.note(symbol, "declared as an edge state here"))
        return Value(None)
    domain = _edges_around(at)
    if at.inside == "edges" and (domain is None or domain.kind == "in"):
        return Value(as_read(symbol.type), EDGE, node)
    notes = run.note(symbol, "declared as an edge state here")
    if at.inside == "edges" and domain is not None:
        proposal, replaces = _over_in_edges(run, node, domain, at)
        run.report(Code.NO_EDGE, f"`{node.name}` is read over `u -> self`", node.span,
                   "the receiver keeps the value of an edge", notes=notes, write=proposal, replaces=replaces,
                   help=f"over in-edges, `reverse({node.name})` is the value of the opposite edge"
                   f"{':' if proposal else ''}")
        return Value(None)
    word, u = run.fresh("total"), run.variable(at.scope, "u")
    reduce = f"sum({node.name} for {u} -> self)" if _summable(symbol.type) else f"any({node.name} for {u} -> self)"
    write: tuple[str, ...] = ()
    if at.place == "apply" and at.inside is None and isinstance(at.item, t.Apply):
        write = (f"gather {word} = {reduce}", rewrite.edited(run.file.text, at.item.span, [(node.span, word)]))
    run.report(Code.NO_EDGE, f"`{node.name}` belongs to edges, and no edge is in sight here", node.span, "which edge?",
               notes=notes, help="an edge state can be read inside a gather over `u -> self`"
               + (", for example" if write else ""), write=write, replaces=at.item.span if write else node.span)
    return Value(None)


def _over_in_edges(run: Run, node: t.Name, domain: t.Domain, at: Sight) -> tuple[str | tuple[()], t.Span | None]:
    """Return a text that reads an edge state over in-edges, and the part of the program that it replaces.

    Over out-edges the state becomes `reverse(f)`. No text is returned if the reduction also reads edge fields, because
    these would then belong to the opposite edge.
    """
    if domain.kind != "out":
        return f"{domain.name} -> self", domain.span
    around = next((part for part in rewrite.inside(at.item)
                   if isinstance(part, (t.Reduce, t.Apply)) and part.domain is domain), None)
    names = [part for part in rewrite.inside(around) if isinstance(part, t.Name)] if around is not None else []
    others = {part.name for part in names} - {node.name}
    kinds = {symbol.kind for name in others if (symbol := at.scope.find(name)) is not None}
    if around is None or isinstance(around, t.Apply) or "edge" in kinds or "state" in kinds:
        return (), None
    edits = [(part.span, f"reverse({part.name})") for part in names if part.name == node.name]
    return rewrite.edited(run.file.text, around.span, [*edits, (domain.span, f"{domain.name} -> self")]), around.span


def _edges_around(at: Sight) -> t.Domain | None:
    """Return the domain of edges of the gather or `apply` around an expression; None in the start value of an edge
    state.
    """
    around = (s.decl for s in at.scope.visible() if s.kind == "neighbour")
    return next((decl for decl in around if isinstance(decl, t.Domain) and decl.kind not in ("common", "group")), None)


def state_between(x: Expressions, node: t.Call, symbol: Symbol, at: Sight) -> Value:
    """The type and level of `state(a, b)`: the value of the edge from a to b, where a and b are two of `self`, u and w.

    Args:
        x: the checker of expressions.
        node: the call, for which `are_ends` is true.
        symbol: the edge state.
        at: the context of the call.
    """
    run = x.run
    for arg in node.args:
        x.value(arg, at)
    items = [item for item in run.file.items if isinstance(item, t.Contract)]
    missing = [word for word in ("undirected", "simple") if word not in {need_of(run.file, item) for item in items}]
    if missing:
        assert symbol.decl is not None
        if any(problem.replaces == symbol.decl.span for problem in run.problems):
            return Value(None)
        run.report(Code.NO_EDGE, f"`{rewrite.one_line(run.text(node))}` is the value of one edge, in a graph that has "
                                 "each edge once in both directions", node.span,
                   notes=run.note(symbol, "declared as an edge state here"), help="require it of the graph:",
                   write=(*(f"require {word}" for word in missing), rewrite.one_line(run.text(symbol.decl))),
                   replaces=symbol.decl.span)
        return Value(None)
    run.symbols[node] = symbol
    if t.Self in map(type, node.args) and not _reads_third(node, at):
        return read_state(run, t.Name(node.span, node.name), symbol, at)
    return Value(as_read(symbol.type), EDGE, node)


def _reads_third(node: t.Call, at: Sight) -> bool:
    """Return whether an argument is the common neighbour."""
    found = (at.scope.find(arg.name) for arg in node.args if isinstance(arg, t.Name))
    return any(s is not None and isinstance(s.decl, t.Domain) and s.decl.kind == "common" for s in found)


def _summable(type_: Type | None) -> bool:
    return zero(type_) == "0"


def reversed_state(run: Run, node: t.Call, at: Sight) -> Value | None:
    """The type and level of `reverse(state)`; None if the call has another argument."""
    arg = node.args[0] if node.name == "reverse" and len(node.args) == 1 else None
    symbol = at.scope.find(arg.name) if isinstance(arg, t.Name) else None
    if symbol is None or symbol.kind != "state" or not isinstance(arg, t.Name):
        return None
    run.symbols[arg] = run.symbols[node] = symbol
    if isinstance(at.item, t.EdgeState):
        run.report(Code.MANY_VALUES, "a start value cannot read the opposite edge, which has no value yet", node.span)
        return Value(None)
    return read_state(run, arg, symbol, at)


def not_yet_known(run: Run, node: t.Name, label: str, at: Sight) -> Value:
    """Report a name in a default that has no value yet when the default is needed (V105). An edge state may have it.

    Args:
        run: the running check.
        node: the name.
        label: the text shown beside it.
        at: its context.
    """
    item = at.item
    write: tuple[str, ...] = ()
    if isinstance(item, t.EdgeField) and len(item.names) == 1:
        write = (f"edge state {rewrite.one_line(run.text(item)).removeprefix('edge').strip()}",)
    run.report(Code.MANY_VALUES, f"`{node.name}` is not known yet when a default is needed", node.span, label,
               help="a default may use constants and parameters declared before it" +
               ("; an edge state, which the program computes at the target of the edges, may use more:" * bool(write)),
               write=write, replaces=item.span if write else None)
    return Value(None)
