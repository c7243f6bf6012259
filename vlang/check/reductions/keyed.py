"""Checks the keys of random choices: `pick(e for u -> self, seed, key, ...)`, and `edge` as a key of `random`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vlang.check.tables.scope import EDGE, Sight, Value
from vlang.check.tables.typing import a, numeric, zero
from vlang.reductions import REDUCTIONS
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import BOOL, U64, VERTEX, Scalar, Type

if TYPE_CHECKING:
    from vlang.check.expressions import Expressions
    from vlang.check.tables.checking import Run

__all__ = ["PICK", "edge_key", "misplaced_edge", "picked", "picks", "unkeyed"]

PICK = "pick"
"""The name of the reduction that chooses one of the edges at random."""


def edge_key(x: Expressions, node: t.EdgeKey, at: Sight) -> Value:
    """The type and level of `edge` as a key of `random`. Reports a key outside of a reduction over edges."""
    if at.inside == "edges":
        return Value(U64, EDGE, node)
    x.run.report(Code.NO_EDGE, "`edge` is a key for each edge, and no edge is in sight here", node.span, "which edge?",
                 help="it is a key inside a reduction over edges, as in "
                      "`any(u.sick for u -> self if random(seed, edge) < 0.1)`")
    return Value(None)


def misplaced_edge(x: Expressions, node: t.Call) -> bool:
    """Report an argument `edge` of a call, except as a key of `random`. Returns whether a misplaced `edge` was
    reported.
    """
    symbol = x.run.root.find(node.name)
    keys = node.args[1:] if node.name == "random" and symbol is None else ()
    wrong = next((arg for arg in node.args if isinstance(arg, t.EdgeKey) and arg not in keys), None)
    if wrong is None:
        return False
    first = node.name == "random" and symbol is None
    x.run.report(Code.WRONG_TYPE, "`edge` is a key of `random`, and comes after its seed", wrong.span,
                 "not a value", write="1, edge" if first else ())
    return True


def picks(run: Run, node: t.Reduce) -> bool:
    """Return whether a reduction is the built-in `pick`, and not a declared reduction of that name."""
    symbol = run.root.find(PICK)
    return node.name == PICK and (symbol is None or symbol.kind not in ("reduction", "function"))


def picked(x: Expressions, node: t.Reduce, edge: Sight, body: Type | None) -> Type | None:
    """Return the type of `pick(e for D if c, seed, key, ..., weight = w, default = d)`; None if a problem was reported.

    Args:
        x: the checker of expressions.
        node: the reduction.
        edge: the context of an expression at an edge.
        body: the type of e; None if it is wrong and has been reported.
    """
    run, text = x.run, rewrite.one_line(x.run.text(node))
    if edge.inside != "edges" or node.domain.kind in ("group", "common"):
        run.report(Code.UNKNOWN_REDUCTION, "`pick` chooses an edge of a vertex", node.name_span, "needs edges",
                   help="for example `pick(u for u -> self, seed)`")
        return None
    if node.group is not None:
        run.report(Code.NESTED_REDUCTION, "`pick` chooses an edge, and has no groups", node.group.span, "grouped here",
                   help="to choose a group, weigh it: `pick(u.label for u -> self, seed)` gives each label the chance "
                        "of its number of edges")
        return None
    good = _keys(x, node, edge)
    if node.weight is not None:
        weight = x.value(node.weight, edge)
        if weight.type is not None and not (isinstance(weight.type, Scalar) and numeric(weight.type)):
            run.report(Code.WRONG_TYPE, "a weight is a number", node.weight.span, f"this is {a(weight.type)}")
            good = False
    if body is not None and not (isinstance(body, Scalar) and (numeric(body) or body in (BOOL, VERTEX) or
                                                              body.kind in ("time", "category"))):
        run.report(Code.WRONG_TYPE, "`pick` takes one number, bool, vertex, category or time of each edge",
                   node.body.span, f"this is {a(body)}",
                   help="two picks with the same seed and keys choose the same edge")
        good = False
    elif good and body is not None and node.default is None and body != VERTEX:
        run.report(Code.EMPTY_REDUCTION, "`pick` of no neighbours has no value", node.span,
                   "a vertex may have no edges here", help="say what an isolated vertex gets, for example:",
                   write=f"{text[:-1].rstrip()}, default = {zero(body)})")
        good = False
    return body if good else None


def _keys(x: Expressions, node: t.Reduce, edge: Sight) -> bool:
    """Return whether the seed and the keys of a `pick` are integers or vertices that are the same for all edges."""
    if not node.keys:
        after = node.cond or node.domain
        end = t.Span(after.span.end, after.span.end, after.span.line, after.span.column)
        x.run.report(Code.WRONG_TYPE, "`pick` needs a seed", node.span, "chooses how?",
                     help="a seed, and any further keys, such as `iteration`:",
                     write=rewrite.edited(x.run.file.text, node.span, [(end, ", 1")]))
        return False
    good = True
    for index, key in enumerate(node.keys):
        value = x.value(key, edge)
        if value.type is None:
            good = False
        elif value.level == EDGE:
            x.run.report(Code.WRONG_TYPE, "a key of `pick` is the same for all edges of a vertex", key.span,
                         "one value per edge", help="each edge has a key of its own without that; a chance for each "
                                                    "edge is a weight: `weight = w`")
            good = False
        elif not (isinstance(value.type, Scalar) and value.type.integral) and (index == 0 or value.type != VERTEX):
            need = "vertices and integers as keys" if index else "an integer as seed"
            x.run.report(Code.WRONG_TYPE, f"`pick` needs {need}", key.span, f"this is {a(value.type)}")
            good = False
    return good


def unkeyed(x: Expressions, node: t.Reduce) -> None:
    """Report keys in a reduction other than `pick`."""
    symbol = x.run.root.find(node.name)
    if not node.keys or (node.name not in REDUCTIONS and (symbol is None or symbol.kind != "reduction")):
        return
    run, (first, *more) = x.run, node.keys
    alone = not more and node.default is None and node.weight is None
    write = rewrite.edited(run.file.text, node.span, [(first.span, f"default = {rewrite.one_line(run.text(first))}")])
    run.report(Code.WRONG_TYPE, f"`{node.name}` has no keys; only `pick` has", first.span, "after the domain",
               help="a value for vertices without contributions is named:" if alone else (),
               write=write if alone else (), replaces=node.span if alone else None)
