"""Checks calls of built-in functions and of functions that the program declares (language.md section 8)."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from vlang.check import names
from vlang.check.advice.proposals import without_domain
from vlang.check.changes import change, changed, old
from vlang.check.edge_states import reversed_state, state_between
from vlang.check.foreign.foreign_calls import foreign_call
from vlang.check.foreign.foreign_names import NEIGHBOURS
from vlang.check.foreign.mathematics import drawn, is_misspelled, turns
from vlang.check.numbers import NUMBERS, Rule, types_of, wrong
from vlang.check.reductions.grouped import are_ends, between, count_between
from vlang.check.reductions.keyed import misplaced_edge
from vlang.check.tables.checked import Symbol
from vlang.check.tables.scope import GRAPH, VERTEX_LEVEL, Sight, Value, joined
from vlang.check.tables.typing import a, as_read, comparable, item, numeric, spoken, unified
from vlang.reductions import REDUCTIONS
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.syntax.problems import nearest
from vlang.types import BOOL, CONVERSIONS, U8, U64, VERTEX, VERTICES, Scalar, Type, Vector, common

if TYPE_CHECKING:
    from vlang.check.expressions import Expressions

__all__ = ["FUNCTIONS", "SPECIAL", "call"]

_FOREIGN_TOO = frozenset({*CONVERSIONS, "argmax", "round", "argmin", "dot"})
"""Functions that other languages have with other arguments."""


def call(x: Expressions, node: t.Call, at: Sight) -> Value:
    """The type and level of `name(args)`."""
    if node.name == t.CONTAINED:
        return _contained(x, node, at)
    if misplaced_edge(x, node):
        return Value(None)
    opposite = reversed_state(x.run, node, at)
    if opposite is not None:
        return opposite
    if node.name in SPECIAL:
        return SPECIAL[node.name](x, node, at)
    field = at.scope.find(node.name)
    if field is not None and field.kind == "edge" and are_ends(node, at):
        return between(x, node, field, at)
    if field is not None and field.kind == "state" and are_ends(node, at):
        return state_between(x, node, field, at)
    symbol = x.run.root.find(node.name)
    own = symbol is not None and symbol.kind in ("function", "reduction")
    own = own or (node.name in FUNCTIONS and node.name not in _FOREIGN_TOO)
    if not own and node.name not in x.run.broken and foreign_call(x.run, node, at):
        return Value(None)
    args = [x.value(arg, at) for arg in node.args]
    known = all(v.type is not None for v in args)
    if symbol is not None and symbol.kind in ("function", "reduction"):
        symbol = x.declared(node)
        return joined(None if symbol is None else _declared(x, node, symbol, args), *args)
    rule, least, most = FUNCTIONS.get(node.name, (None, 0, 0))
    if rule is None:
        _unknown(x, node, args, at)
        return joined(None, *args)
    if not _counted(x, node, least, most, at):
        return joined(None, *args)
    return joined(rule(x, node, args, at) if known else None, *args)


def _unknown(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> None:
    name, run = node.name, x.run
    if name in run.broken:
        return
    symbol = at.scope.find(name)
    if symbol is not None and symbol.kind in ("edge", "state") and len(args) == 2:
        run.report(Code.NO_EDGE, f"`{rewrite.one_line(run.text(node))}` is the value of an edge between two of `self`, "
                                 "a neighbour and a common neighbour", node.span,
                   help=f"inside a reduction over edges, as in `sum({name}(u, w) for w in common(self, u))`")
        return
    if symbol is not None:
        run.report(Code.WRONG_TYPE, f"`{name}` is {names.SPOKEN[symbol.kind]}, not a function", node.name_span,
                   help=f"for a product write `{name} * (...)`" if symbol.type and numeric(symbol.type) else ())
        return
    if name in REDUCTIONS:
        without_domain(x.run, node, at, Code.UNKNOWN_NAME, f"`{name}` is a reduction: it needs a domain",
                       "no `for` here")
        return
    declared = {s.name for s in run.root.names.values() if s.kind in ("function", "reduction")}
    close = nearest(name, declared | (set(FUNCTIONS) - CONVERSIONS) | set(SPECIAL))
    close = close if close and is_misspelled(name, close) else None
    known = ", ".join(sorted({*declared, *FUNCTIONS, *SPECIAL} - CONVERSIONS))
    help_ = f"there are: {known}, and the types of numbers, as `int(x)`"
    run.report(Code.UNKNOWN_NAME, f"unknown function `{name}`", node.name_span,
               f"did you mean `{close}`?" if close else "", help=() if close else help_,
               write=close if close and _takes(x, close, args, node, at) else ())


def _takes(x: Expressions, name: str, args: list[Value], node: t.Call, at: Sight) -> bool:
    """Return whether a function takes these arguments, without a report of problems.

    The number of arguments is checked. For a built-in function, the types of the arguments are checked as well.
    """
    symbol = x.run.root.find(name)
    if symbol is not None and isinstance(symbol.decl, t.Function):
        return x.run.least_arguments(symbol) <= len(args) <= len(symbol.decl.params)
    rule, least, most = FUNCTIONS.get(name, (None, 0, 0))
    if rule is None or not least <= len(args) <= most or any(v.type is None for v in args):
        return False
    before = len(x.run.problems)
    fits = rule(x, node, args, at) is not None
    del x.run.problems[before:]  # the message of the rule would name a function that the program does not call
    return fits


def _counted(x: Expressions, node: t.Call, least: int, most: int, at: Sight) -> bool:
    count = len(node.args)
    if least <= count <= most:
        return True
    need = f"{least} argument{'s' if least != 1 else ''}" if least == most else f"at least {least} arguments"
    draws = node.name == "random" and (at.highest > GRAPH or at.inside is not None)
    seed = rewrite.one_line(x.run.text(node.args[0])) if node.args else ""
    x.run.report(Code.WRONG_TYPE, f"`{node.name}` takes {need}, not {count}", node.span,
                 help="a number in [0, 1) that depends on a seed and on keys alone:" if draws else (),
                 write=drawn(x.run, at, seed) if draws else (), replaces=node.span if draws else None)
    return False


def _declared(x: Expressions, node: t.Call, symbol: Symbol, args: list[Value]) -> Type | None:
    """The result type of a `fn`, or of a reduction called as a function. Reports arguments that do not fit."""
    run = x.run
    goals = run.argument_types(symbol)
    least = run.least_arguments(symbol)
    if not least <= len(args) <= len(goals):
        need = str(len(goals)) if least == len(goals) else f"{least} to {len(goals)}"
        run.report(Code.WRONG_TYPE, f"`{node.name}` takes {need} argument{'s' if need != '1' else ''}, not {len(args)}",
                   node.span, notes=run.note(symbol, "declared here"))
        return None
    good = True
    for arg, value, goal in zip(node.args, args, goals, strict=False):
        good = x.fit(arg, value.type, goal, f"this argument of `{node.name}`") and good
    return as_read(symbol.type) if good else None


# --------------------------------------------------------- rules of the language


def _over_all(x: Expressions, node: t.Call, type_: Type | None, at: Sight) -> bool:
    """Report the `max` or `min` of a value that every vertex has, where one value of the graph is needed.

    Returns whether this is the mistake.
    """
    run = x.run
    if not isinstance(at.item, (t.GlobalValue, t.Let)) or at.scope is not run.root or type_ is None:
        return False
    field, v = run.fresh(f"{at.item.name}_here"), run.variable(at.scope, "v")
    edited = rewrite.edited(run.file.text, at.item.span, [(node.span, f"{node.name}({v}.{field} for {v} in vertices)")])
    run.report(Code.MANY_VALUES, f"`{node.name}` of one value per vertex ranges over the vertices", node.span,
               "one value per vertex", help="first a field, then the reduction:",
               write=(f"vertex {field}: {spoken(type_)} = {rewrite.one_line(run.text(node.args[0]))}", edited),
               replaces=at.item.span)
    return True


def _least_greatest(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> Type | None:
    types = types_of(args)
    if len(types) == 1:
        if isinstance(types[0], Vector) and numeric(types[0]):
            return types[0].item
        if args[0].level != VERTEX_LEVEL or not _over_all(x, node, types[0], at):
            without_domain(x.run, node, at, Code.WRONG_TYPE, f"`{node.name}` needs several arguments, or one vector",
                           f"this is {a(types[0])}")
        return None
    result: Type | None = types[0]
    for index, type_ in enumerate(types):
        both = unified(result, type_) if result is not None else None
        ordered = both is not None and (isinstance(both, Vector) or comparable(both, both, True))
        if not ordered or both is None or item(both) == BOOL:
            need = "numbers (for bools: `and`, `or`)" if type_ == BOOL else "values of one ordered type"
            wrong(x, node, index, need, type_)
            return None
        result = both
    if result is None:
        return None
    good = [x.fit(arg, type_, result, f"`{node.name}` here") for arg, type_ in zip(node.args, types, strict=True)]
    return result if all(good) else None


def _total(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> Type | None:
    type_ = types_of(args)[0]
    if isinstance(type_, Vector) and numeric(type_):
        return type_.item
    _no_vector(x, node, type_, at)
    return None


def _no_vector(x: Expressions, node: t.Call, type_: Type, at: Sight) -> None:
    """Report an argument that is not a vector of numbers. The user may mean the reduction with the name of the
    function.
    """
    name = node.name
    if name not in REDUCTIONS:
        wrong(x, node, 0, "a vector of numbers", type_)
        return
    without_domain(x.run, node, at, Code.WRONG_TYPE,
                   f"`{name}` folds the components of a vector, or is a reduction with `for`",
                   f"this is {a(type_)}")


def _folds(name: str) -> Rule:
    """Return the rule of `mean(x)`, `argmin(x)` or `argmax(x)` for a vector x of numbers."""

    def rule(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> Type | None:
        type_ = types_of(args)[0]
        if not (isinstance(type_, Vector) and numeric(type_)):
            _no_vector(x, node, type_, at)
            return None
        if name != "mean":
            return x.run.int
        return type_.item if type_.item.floating and not type_.item.weak else x.run.float

    return rule


def _dot(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> Type | None:
    types = types_of(args)
    for index, type_ in enumerate(types):
        if not (isinstance(type_, Vector) and numeric(type_)):
            wrong(x, node, index, "two vectors of numbers", type_)
            return None
    both = common(types[0], types[1])
    if not isinstance(both, Vector):
        x.run.report(Code.WRONG_TYPE, "`dot` needs vectors of one length", node.span,
                     f"{spoken(types[0])} and {spoken(types[1])}")
        return None
    return both.item


def _reverse(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> Type | None:
    type_ = types_of(args)[0]
    if isinstance(type_, Vector):
        return type_
    wrong(x, node, 0, "a vector", type_)
    return None


def _wraps(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> Type | None:
    type_ = types_of(args)[0]
    scalar = item(type_)
    if scalar is not None and scalar.integral:
        return type_
    wrong(x, node, 0, "an integer", type_)
    return None


def _expects(*needs: str, gives: Type | None = None) -> Rule:
    """A rule for a function with arguments of fixed kinds: "integer", "vertex" or "counter" (`u8[64]`).

    Args:
        gives: the type of the result; None for an int (`common`) or a float (`hll_size`).
    """
    def rule(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> Type | None:
        good = True
        for index, (need, type_) in enumerate(zip(needs, types_of(args), strict=True)):
            fits = (type_ == VERTEX if need == "vertex" else type_ == Vector(U8, 64) if need == "counter"
                    else isinstance(type_, Scalar) and type_.integral)
            if not fits:
                good = False
                wrong(x, node, index, {"vertex": "a vertex", "counter": "a `u8[64]`"}.get(need, "an integer"), type_)
        if not good:
            return None
        return gives or (x.run.int if node.name == "common" else x.run.float)

    return rule


def _random(x: Expressions, node: t.Call, args: list[Value], at: Sight) -> Type | None:
    """Check `random(seed, key, ...)`: the seed is an integer, and the keys are vertices, integers or `edge`."""
    good = True
    for index, type_ in enumerate(types_of(args)):
        if not (isinstance(type_, Scalar) and type_.integral) and (index == 0 or type_ != VERTEX):
            wrong(x, node, index, "an integer" if index == 0 else "a vertex, an integer or `edge`", type_)
            good = False
    over = {None: ("vertex", "vertices", "self"), "edges": ("edge", "edges", "edge")}.get(at.inside)
    if good and at.highest > GRAPH and over is not None and all(v.level == GRAPH for v in args):
        text = rewrite.one_line(x.run.text(node))
        turn = "".join(f", {key}" for key in turns(x.run, at) if not re.search(rf"\b{key}\b", text))
        x.run.report(Code.SHARED_RANDOM, f"this random number is the same for every {over[0]}", node.span,
                     f"no argument differs between {over[1]}", help=f"with the {over[0]} as a further key:",
                     write=f"{text[:-1]}, {over[2]}{turn})", replaces=node.span)
    return x.run.float if good else None


def _position(x: Expressions, node: t.Call, at: Sight) -> Value:
    """The type and level of `position(v, S)`, where S names a parameter of type `vertices`."""
    if not _counted(x, node, 2, 2, at):
        return Value(None)
    vertex, group = x.fitting(node.args[0], at, VERTEX, "`position`"), _listed(x, node, node.args[1], "-1", at)
    known = vertex.type is not None and group.type is not None
    return joined(x.run.int if known else None, vertex)


def _listed(x: Expressions, node: t.Call, arg: t.Expr, everywhere: str, at: Sight) -> Value:
    """The type and level of an argument that must be a parameter of type `vertices`; reports any other argument.

    Args:
        x: the checker of expressions.
        node: the call.
        arg: its argument.
        everywhere: the text to propose in place of the call if the argument is the word `vertices`.
        at: the context of the call.
    """
    name = "in" if node.name == t.CONTAINED else node.name
    if isinstance(arg, t.Name) and arg.name == "vertices":
        x.run.report(Code.WRONG_TYPE, f"`{name}` needs a parameter of type `vertices`", arg.span,
                     "this is all vertices", write=everywhere, replaces=node.span if everywhere else None)
        return Value(None)
    if isinstance(arg, t.Name) and arg.name in NEIGHBOURS and node.name == "len" and at.scope.find(arg.name) is None:
        x.run.report(Code.UNKNOWN_NAME, f"unknown name `{arg.name}`", arg.span, help="the number of neighbours:",
                     write="degree", replaces=node.span)
        return Value(None)
    group = x.value(arg, at)
    if group.type is None or group.type == VERTICES:
        return group
    symbol = x.run.symbols.get(arg)
    compared = group.type == VERTEX and node.name == t.CONTAINED
    equals = f"{rewrite.one_line(x.run.text(node.args[0]))} {'!=' if _excluded(x, node) else '=='}" if compared else ""
    x.run.report(Code.WRONG_TYPE, f"`{name}` needs a parameter of type `vertices`", arg.span,
                 f"this is {a(group.type)}", notes=x.run.note(symbol, "declared here") if symbol is not None else (),
                 help="one vertex is compared:" if compared else
                 "a list of vertices is declared in the header: `program p(S: vertices)`",
                 write=f"{equals} {rewrite.one_line(x.run.text(arg))}" if compared else (),
                 replaces=node.span if compared else None)
    return Value(None)


def _excluded(x: Expressions, node: t.Call) -> bool:
    """Return whether a call of `in` is written `not in`."""
    between = x.run.file.text[node.args[0].span.end : node.args[1].span.start]
    return "not" in between.split()


def _contained(x: Expressions, node: t.Call, at: Sight) -> Value:
    """Check `v in S`."""
    text = rewrite.one_line(x.run.text(node.args[0]))
    vertex, group = x.value(node.args[0], at), _listed(
        x, node, node.args[1], f"{text} {'==' if _excluded(x, node) else '!='} none", at)
    if vertex.type is not None and vertex.type != VERTEX:
        x.run.report(Code.WRONG_TYPE, "`in` asks whether a vertex is in a list of vertices", node.args[0].span,
                     f"this is {a(vertex.type)}", help="for example `self in S`, or `u in S` of a neighbour")
        return joined(None, vertex)
    known = vertex.type is not None and group.type is not None
    return joined(BOOL if known else None, vertex)


def _length(x: Expressions, node: t.Call, at: Sight) -> Value:
    """Check `len(S)`, the number of vertices in a parameter."""
    if not _counted(x, node, 1, 1, at):
        return Value(None)
    group = _listed(x, node, node.args[0], "N", at)
    return Value(x.run.int if group.type is not None else None)


_MANY = 255

# Functions with an argument that is not an ordinary value, such as the name of a field.
SPECIAL: dict[str, Callable[[Expressions, t.Call, Sight], Value]] = {
    "old": old, "change": change, "changed": changed, "position": _position, "len": _length,
    "edges": count_between,
}
FUNCTIONS: dict[str, tuple[Rule, int, int]] = {
    "min": (_least_greatest, 1, _MANY), "max": (_least_greatest, 1, _MANY), "sum": (_total, 1, 1),
    **{name: (_folds(name), 1, 1) for name in ("mean", "argmin", "argmax")},
    **NUMBERS, "wrap": (_wraps, 1, 1), "dot": (_dot, 2, 2), "reverse": (_reverse, 1, 1),
    "bit": (_expects("integer", gives=U64), 1, 1),
    "random": (_random, 2, _MANY),
    "common": (_expects("vertex", "vertex"), 2, 2),
    "hll_unit": (_expects("integer", "vertex", gives=Vector(U8, 64)), 2, 2),
    "hll_size": (_expects("counter"), 1, 1),
}
