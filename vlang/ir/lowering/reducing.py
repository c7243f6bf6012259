"""Lowers reductions of the tree to reductions of the IR. `vlang.ir.lowering.express` lowers the expressions in a
reduction.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from vlang.check.tables.checked import Checked, Symbol
from vlang.ir.forms import forms as f
from vlang.ir.lowering.conversions import computing, fit, float_of
from vlang.ir.lowering.functions import hashed
from vlang.ir.lowering.naming import Names
from vlang.reductions import REDUCTIONS
from vlang.syntax import tree as t
from vlang.syntax.pointing import pointing
from vlang.types import BOOL, F64, I64, U64, VERTEX, Scalar, Tuple, Type, Vector, scalar_named

__all__ = ["Reductions"]


class Reductions(ABC):
    """Lowers reductions. The subclass lowers expressions."""

    names: Names
    precision: int
    _checked: Checked
    _reducing: bool  # inside the body or the condition of a reduction
    _pointing: bool  # inside a reduction over the vertices that point to this vertex
    _ends: str  # the kind of the edges of the innermost reduction over edges: "in", "out" or "both"

    @abstractmethod
    def typed(self, node: t.Expr, place: Type | None = None) -> f.Expr:
        """Lower an expression and convert it to `place`."""

    @abstractmethod
    def concrete(self, expr: f.Expr, place: Type | None = None) -> f.Expr:
        """Convert a lowered expression to type `place`, or to its own final type."""

    @abstractmethod
    def symbol_type(self, symbol: Symbol) -> Type:
        """The final type of a symbol in the IR."""

    @abstractmethod
    def _expr(self, node: t.Expr) -> f.Expr:
        """Lower an expression, whose type may be weak."""

    def reduce(self, node: t.Reduce) -> f.Reduce:
        """Lower a reduction of the tree to a reduction with a final type."""
        if node.group is not None:
            return self._grouped(node, node.group)
        if node.weight is not None and not node.keys:
            return self._weighted_mode(node, node.weight)
        if node.domain.kind == "group":
            return self._of_group(node)
        if node.domain.kind == "common":
            return self._of_pair(node)
        if node.keys:
            return self._picked(node)
        points = pointing(node)
        self._ends = node.domain.kind
        domain = f.Domain("pointing" if points else node.domain.kind, self._set_name(node.domain))
        self._reducing, self._pointing = True, points is not None  # reductions do not nest
        key = None if points is None else self._expr(points.pointer)
        cond = self._all(points.rest) if points else None if node.cond is None else self._expr(node.cond)
        symbol = self._checked.symbols.get(node)
        user = symbol is not None and symbol.kind == "reduction"
        if user and symbol is not None:
            type_ = computing(self.symbol_type(symbol))
            name, body = self.names.unique[symbol], self.typed(node.body, type_)
        else:
            name = node.name
            type_, body = self._reduced(name, self._expr(node.body), domain.edges)
        self._reducing = self._pointing = False
        default = None if node.default is None else self.typed(node.default, type_)
        return f.Reduce(type_, name, body, domain, cond, default, user, key, span=node.span)

    def _of_group(self, node: t.Reduce) -> f.Reduce:
        """Lower a reduction over the edges of a group. `_reducing` is already set, and stays set."""
        cond = None if node.cond is None else self._expr(node.cond)
        type_, name, body, user = self._folded(node, True)
        default = None if node.default is None else self.typed(node.default, type_)
        return f.Reduce(type_, name, body, f.Domain("group"), cond, default, user, span=node.span)

    def _of_pair(self, node: t.Reduce) -> f.Reduce:
        """Lower a reduction over the common neighbours of the two ends of an edge. `_reducing` is already set."""
        cond = None if node.cond is None else self._expr(node.cond)
        type_, name, body, user = self._folded(node, True)
        default = None if node.default is None else self.typed(node.default, type_)
        ends = f.Vertex(VERTEX, "self"), f.Vertex(VERTEX, "other")
        key = f.Op(Tuple((VERTEX, VERTEX)), "tuple", ends)
        return f.Reduce(type_, name, body, f.Domain("common"), cond, default, user, key, span=node.span)

    def _folded(self, node: t.Reduce, edges: bool) -> tuple[Type, str, f.Expr, bool]:
        """Return the type, the name and the body of a reduction, and whether the program declares the reduction."""
        symbol = self._checked.symbols.get(node)
        if symbol is not None and symbol.kind == "reduction":
            type_ = computing(self.symbol_type(symbol))
            return type_, self.names.unique[symbol], self.typed(node.body, type_), True
        return *self._reduced_as(node.name, self._expr(node.body), edges), False

    def _reduced_as(self, name: str, body: f.Expr, edges: bool) -> tuple[Type, str, f.Expr]:
        type_, body = self._reduced(name, body, edges)
        return type_, name, body

    def _grouped(self, node: t.Reduce, group: t.Grouping) -> f.Reduce:
        """A grouped gather."""
        self._reducing, self._ends = True, node.domain.kind
        cond = None if node.cond is None else self._expr(node.cond)
        key = self.typed(group.key)
        having = None if group.cond is None else self._expr(group.cond)
        type_, name, body, user = self._folded(node, True)
        self._reducing = False
        default = None if node.default is None else self.typed(node.default, type_)
        return f.Reduce(type_, name, body, f.Domain(node.domain.kind), cond, default, user, key, group.name, having,
                        span=node.span)

    def _weighted_mode(self, node: t.Reduce, weight: t.Expr) -> f.Reduce:
        """Lower `mode(e for D, weight = w)` to component 1 of `min((-sum(w for u), c) for D by c = e)`.

        The weights are summed in 64 bits, because two infinite sums would be equal.
        """
        self._reducing, self._ends = True, node.domain.kind
        cond = None if node.cond is None else self._expr(node.cond)
        key, each = self.typed(node.body), self.typed(weight)
        assert isinstance(each.type, Scalar)
        each = fit(each, F64 if each.type.floating else I64)
        type_, each = self._reduced("sum", each, True)
        self._reducing = False
        total = f.Reduce(type_, "sum", each, f.Domain("group"), None, None, span=weight.span)
        name = f"{node.domain.name}'s value"
        first: f.Expr = f.Op(type_, "neg", (total,), span=weight.span)
        assert isinstance(type_, Scalar)
        assert isinstance(key.type, Scalar)
        pair = Tuple((type_, key.type))
        body = f.Op(pair, "tuple", (first, f.GroupKey(key.type, name)))
        default = None
        if node.default is not None:
            zero = f.Const(type_, 0.0 if type_.floating else 0)
            default = f.Op(pair, "tuple", (zero, self.typed(node.default, key.type)))
        return f.Reduce(key.type, "min", body, f.Domain(node.domain.kind), cond, default, False, key, name, None, 1,
                        span=node.span)

    def picks_edge(self, node: t.Expr) -> bool:
        """Return whether an expression is a `pick`."""
        return isinstance(node, t.Reduce) and bool(node.keys)

    def chosen(self, pair: f.Expr) -> f.Expr:
        """Return the value of a pick, which is an item of the tuple from `_picked`."""
        assert isinstance(pair.type, Tuple)
        return f.Op(pair.type.items[1], "item", (pair,), 1)

    def edge_keys(self) -> tuple[f.Expr, ...]:
        """The keys for which `edge` stands: the numbers of the tail and the head, and the ordinal of parallel edges.

        In `u -- self`, edges have no direction, so the smaller of the two numbers is the first key.
        """
        u, self_ = f.Vertex(VERTEX, "other"), f.Vertex(VERTEX, "self")
        ordinal = f.Op(U64, "ordinal", (u, self_))
        if self._ends == "both":
            return f.Op(VERTEX, "min", (u, self_)), f.Op(VERTEX, "max", (u, self_)), ordinal
        return (u, self_, ordinal) if self._ends == "in" else (self_, u, ordinal)

    def _picked(self, node: t.Reduce) -> f.Reduce:
        """Lower `pick(e for D if c, seed, key, ...)` to `min((hash, e) for D if c)`, a tuple with the chosen value as
        item 1.

        Without weights, `hash` is computed from the seed, the keys, `self`, the neighbour and the position among edges
        to this neighbour. With weights, `hash` is the exponentially distributed time of an event at the rate w. The
        edge with the first event is chosen (Efraimidis, Spirakis: Weighted random sampling with a reservoir, IPL 97,
        2006).
        """
        self._reducing, self._ends = True, node.domain.kind
        cond = None if node.cond is None else self._expr(node.cond)
        value = self.typed(node.body)
        keys = tuple(map(self._expr, node.keys))
        u, self_ = f.Vertex(VERTEX, "other"), f.Vertex(VERTEX, "self")
        place = f.Op(U64, "ordinal", (u, self_), "place" if node.domain.kind == "both" else None)
        args = (*keys, self_, u, place)
        if node.weight is None:  # the largest u64 would be no contribution
            first: f.Expr = f.Op(U64, "bitand", (hashed(args, U64, "mix"), f.Const(U64, (1 << 63) - 1)))
        else:
            first = f.Op(F64, "waiting", (hashed(args, U64, "mix"), fit(self._expr(node.weight), F64)))
        self._reducing = False
        assert isinstance(first.type, Scalar)
        assert isinstance(value.type, Scalar)
        pair = Tuple((first.type, value.type))
        default = None
        if node.default is not None:
            zero = f.Const(first.type, 0.0 if first.type.floating else 0)
            default = f.Op(pair, "tuple", (zero, self.typed(node.default, value.type)))
        return f.Reduce(pair, "min", f.Op(pair, "tuple", (first, value)), f.Domain(node.domain.kind), cond, default,
                        span=node.span)

    def _all(self, parts: tuple[t.Expr, ...]) -> f.Expr | None:
        """The `and` of some conditions; None if there are no conditions."""
        result: f.Expr | None = None
        for part in map(self._expr, parts):
            result = part if result is None else f.Op(BOOL, "and", (result, part))
        return result

    def _set_name(self, domain: t.Domain) -> str | None:
        if domain.set_name is None:
            return None
        return self.names.unique[self._checked.symbols[domain]]

    def _reduced(self, name: str, body: f.Expr, edges: bool) -> tuple[Type, f.Expr]:
        """Return the type of a built-in reduction, and the body of the reduction converted to the type of the
        accumulator.
        """
        rule = REDUCTIONS[name]
        body = self.concrete(body)
        if rule.result == "int":
            return (scalar_named("int", self.precision) if edges else I64), body
        if rule.result == "float":
            return float_of(body.type, self.precision), fit(body, F64)
        item = body.type.item if isinstance(body.type, Vector) else body.type
        if not edges and rule.operator in ("+", "*") and isinstance(item, Scalar) and item.integral:
            wide = U64 if item.kind == "uint" else I64
            body = fit(body, Vector(wide, body.type.size) if isinstance(body.type, Vector) else wide)
        return body.type, body
