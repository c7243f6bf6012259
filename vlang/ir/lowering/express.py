"""Lowers expressions of the tree to the IR: resolves names, inlines functions, and makes conversions explicit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from vlang.check.tables.checked import Checked, Symbol
from vlang.check.tables.typing import concrete
from vlang.ir.forms import forms as f
from vlang.ir.lowering.conversions import computing, fit, float_of, fold, meet, weak
from vlang.ir.lowering.functions import FUNCTIONS
from vlang.ir.lowering.naming import Names
from vlang.ir.lowering.reducing import Reductions
from vlang.syntax import tree as t
from vlang.types import (
    BOOL,
    I64,
    INTEGER,
    NUMBER,
    TEXT,
    U32,
    VERTEX,
    Matrix,
    Scalar,
    Tuple,
    Type,
    Vector,
    scalar_named,
)

__all__ = ["Expressions"]

_BINARY = {"+": "add", "-": "sub", "*": "mul", "/": "div", "//": "floordiv", "%": "mod", "**": "pow", "<<": "shl",
           ">>": "shr", "|": "bitor", "&": "bitand", "^": "bitxor"}
_COMPARE = {"==": "eq", "!=": "ne", "<": "lt", "<=": "le", ">": "gt", ">=": "ge"}
_DEGREES = {"degree": "all", "indegree": "in", "outdegree": "out"}
_TIMES = {"old": "old", "changed": "old", "change": "change"}


class Expressions(Reductions):
    """Lowers expressions. Methods with a leading underscore may return weak types, and `typed` makes the types final.
    """

    def __init__(self, checked: Checked, names: Names) -> None:
        self._checked = checked
        self.precision = checked.precision
        self.names = names
        self._arguments: dict[Symbol, f.Expr] = {}
        self._reducing = False  # inside the body or the condition of a reduction
        self._pointing = False  # inside a reduction over the vertices that point to this vertex
        self._ends = ""  # the kind of the edges of the innermost reduction over edges: "in", "out" or "both"
        self.picks: set[Symbol] = set()  # the accumulators of picks, which are tuples of a hash and the chosen value
        self.ahead: dict[f.Expr, f.GraphValue] = {}  # values of one vertex that a reduction reads, by their names
        self._mode = ""  # mode of integer arithmetic: "wrap" inside `wrap(...)`, "exact" in the body of a reduction
        self._by_class: dict[type, Callable[[Any], f.Expr]] = {
            t.Literal: self._literal, t.Self: self._self, t.Name: self._name, t.Member: self._member,
            t.Index: self._index, t.Unary: self._unary, t.Binary: self._binary, t.Compare: self._compare,
            t.Logical: self._logical, t.Conditional: self._conditional, t.Call: self._call, t.TupleExpr: self._tuple,
            t.VectorExpr: self._vector, t.Reduce: self._reduction,
        }  # fmt: skip

    def typed(self, node: t.Expr, place: Type | None = None) -> f.Expr:
        """Lower an expression and convert it to `place`; without `place`, weak types become `int` and `float`."""
        return self.concrete(self._expr(node), place)

    def concrete(self, expr: f.Expr, place: Type | None = None) -> f.Expr:
        """Convert a lowered expression to `place` or, without `place`, to its own final type."""
        return fit(expr, concrete(expr.type, self.precision) if place is None else place)

    def updated(self, op: str, target: f.Expr, node: t.Expr, place: Type) -> f.Expr:
        """The value that `target op= node` writes.

        Args:
            op: The operator as written, without `=`.
            target: The read of the field's present value.
            node: The right side.
            place: The type of the field.
        """
        return fit(self.operate(op, target, self._expr(node)), place)

    def own(self, symbol: Symbol) -> f.Expr:
        """A read of the present value of a field of the vertex itself."""
        return self._field(symbol, "self")

    def symbol_type(self, symbol: Symbol) -> Type:
        """The final type of a symbol in the IR."""
        type_ = self.names.types.get(symbol, symbol.type)
        assert type_ is not None, symbol
        return concrete(type_.flat if isinstance(type_, Matrix) else type_, self.precision)

    @contextmanager
    def bound(self, arguments: dict[Symbol, f.Expr]) -> Iterator[None]:
        """Return a context manager. Inside the context, these expressions replace the parameters of a function."""
        outer = self._arguments
        self._arguments = outer | arguments
        try:
            yield
        finally:
            self._arguments = outer

    @contextmanager
    def computing(self, mode: str) -> Iterator[None]:
        """Set the mode of integer arithmetic inside the context: "" saturates, "wrap" wraps, "exact" is exact."""
        outer, self._mode = self._mode, mode
        try:
            yield
        finally:
            self._mode = outer

    def argument_symbols(self, node: t.Node) -> list[Symbol]:
        """The symbols of the parameters of a `fn` or `reduction`, in order."""
        places: tuple[t.Node, ...] = (node, *node.params) if isinstance(node, t.Function) else (node,)
        found = [s for place in places for s in self._checked.declared.get(place, ()) if s.kind == "argument"]
        return list(dict.fromkeys(found))

    def _expr(self, node: t.Expr) -> f.Expr:
        expr = self._by_class[type(node)](node)
        return expr if expr.span is not None or isinstance(expr, f.Const) else replace(expr, span=node.span)

    # ------------------------------------------------------------------ leaves

    def _literal(self, node: t.Literal) -> f.Expr:
        if isinstance(node.value, bool):
            return f.Const(BOOL, node.value)
        if node.value is None:
            return f.Const(VERTEX, None)
        if isinstance(node.value, str):
            return f.Text(TEXT, node.value, span=node.span)
        whole = isinstance(node.value, int) or node.text == "inf"
        return f.Const(INTEGER if whole else NUMBER, node.value)

    def _self(self, node: t.Self) -> f.Expr:
        return f.Vertex(VERTEX, "self")

    def _name(self, node: t.Name) -> f.Expr:
        symbol = self._checked.symbols[node]
        kind = symbol.kind
        if kind == "group":
            return f.GroupKey(self.symbol_type(symbol), symbol.name)
        if kind == "argument":
            return self._arguments[symbol]
        if kind == "neighbour" and isinstance(symbol.decl, t.Domain) and symbol.decl.kind == "common":
            return f.THIRD
        if kind in ("neighbour", "member"):
            return f.Vertex(VERTEX, "other" if kind == "neighbour" or self._pointing else "self")
        if kind == "builtin":
            return self._builtin(symbol)
        if kind == "field":
            return self.own(symbol)
        name, type_ = self.names.unique[symbol], self.symbol_type(symbol)
        if kind == "edge":
            assert isinstance(type_, Scalar)
            return self._read(f.EdgeValue(type_, name))
        if kind == "state":
            assert isinstance(type_, Scalar)
            return f.EdgeState(type_, name)
        if kind == "accumulator":
            return self.chosen(f.Accumulator(type_, name)) if symbol in self.picks else f.Accumulator(type_, name)
        if kind == "loop" and type_ != VERTEX:
            return f.GraphValue(INTEGER, name, kind)
        return f.GraphValue(type_, name, kind)

    def _builtin(self, symbol: Symbol) -> f.Expr:
        if symbol.name in _DEGREES:
            return f.Degree(self.symbol_type(symbol), _DEGREES[symbol.name], "self")
        return f.GraphValue(INTEGER, symbol.name, "builtin")

    def _member(self, node: t.Member) -> f.Expr:
        owner = self._expr(node.value)
        of: str | f.Expr = owner.of if isinstance(owner, f.Vertex) and owner != f.THIRD else owner
        symbol = self._checked.symbols[node]
        if symbol.kind == "builtin":
            read: f.Expr = f.Degree(self.symbol_type(symbol), _DEGREES[symbol.name], of)
        else:
            read = self._field(symbol, of)
        if self._reducing and isinstance(of, f.Expr) and not isinstance(of, f.GroupKey) and of != f.THIRD:
            return self._read_ahead(node, read)
        return read

    def _read_ahead(self, node: t.Member, read: f.Expr) -> f.Expr:
        """Turn a read of a field of one fixed vertex inside a reduction into a `let` before the statement."""
        known = self.ahead.get(read)
        if known is None:
            text = self._checked.file.text[node.span.start : node.span.end]
            name = self.names.declare(Symbol("let", text, read.type, node), read.type, f"one_{node.name}")
            known = f.GraphValue(read.type, name, "let")
            self.ahead[replace(read, span=node.span)] = known
        return known

    def _field(self, symbol: Symbol, of: str | f.Expr, time: str = "now") -> f.Expr:
        return self._read(f.Field(self.symbol_type(symbol), self.names.unique[symbol], of, time))

    @staticmethod
    def _read(expr: f.Expr) -> f.Expr:
        """Convert a read of a stored value to the type for arithmetic: an f16 becomes an f32."""
        return fit(expr, computing(expr.type))

    # --------------------------------------------------------------- operators

    def _index(self, node: t.Index) -> f.Expr:
        value = self._expr(node.value)
        if isinstance(value.type, Tuple):
            assert isinstance(node.index, t.Literal)
            assert isinstance(node.index.value, int)
            return f.Op(value.type.items[node.index.value], "item", (value,), node.index.value)
        value = self.concrete(value)
        assert isinstance(value.type, Vector)
        return f.Op(value.type.item, "component", (value, self.typed(node.index)))

    def _unary(self, node: t.Unary) -> f.Expr:
        value = self._expr(node.value)
        if node.op == "not":
            return f.Op(BOOL, "not", (value,))
        if isinstance(value, f.Const) and value.value is not None and weak(value.type):
            return replace(value, value=-value.value)
        return f.Op(value.type, self._named("neg", value.type), (value,))

    def _named(self, op: str, type_: Type) -> str:
        """Return the IR operator for `op`. Integer arithmetic has other names in the modes "wrap" and "exact"."""
        item = type_.item if isinstance(type_, Vector) else type_
        whole = isinstance(item, Scalar) and item.integral
        return f"{self._mode}{op}" if whole and op in ("add", "sub", "mul", "pow", "neg") else op

    def _binary(self, node: t.Binary) -> f.Expr:
        if node.op == "@":
            return self._product(node)
        return self.operate(node.op, self._expr(node.left), self._expr(node.right))

    def operate(self, symbol: str, left: f.Expr, right: f.Expr) -> f.Expr:
        """`left symbol right` for an arithmetic or bit operator as written."""
        op = _BINARY[symbol]
        time = next((one for one in (left.type, right.type) if isinstance(one, Scalar) and one.kind == "time"), None)
        if time is not None:
            return self._moved(symbol, left, right, time)
        folded = None if self._mode == "wrap" else fold(op, left, right)
        if folded is not None:
            return folded
        if op == "pow" and isinstance(right, f.Const) and isinstance(right.value, int) and abs(right.value) <= 64:
            return f.Op(left.type, self._named(op, left.type), (left, fit(right, I64)))
        if op in ("shl", "shr") and not weak(left.type):
            return f.Op(left.type, op, (left, self._beside(right, left.type)))
        type_ = meet(left.type, right.type)
        if op == "div":
            type_ = float_of(type_, self.precision)
        if weak(type_) and isinstance(type_, Scalar):
            return f.Op(type_, self._named(op, type_), (left, right))
        type_ = concrete(type_, self.precision)
        return f.Op(type_, self._named(op, type_), (fit(left, type_), fit(right, type_)))

    def _product(self, node: t.Binary) -> f.Expr:
        """A matrix times a vector: the inner product of each row with the vector."""
        shape = self._checked.types[node.left]
        assert isinstance(shape, Matrix)
        matrix, vector = self.concrete(self._expr(node.left)), self.concrete(self._expr(node.right))
        type_ = concrete(meet(Vector(_item(matrix), shape.columns), vector.type), self.precision)
        assert isinstance(type_, Vector)
        rows = (f.Op(Vector(_item(matrix), shape.columns), "part", (matrix,), row * shape.columns)
                for row in range(shape.rows))
        vector = fit(vector, type_)
        return f.Op(Vector(type_.item, shape.rows), "vector",
                    tuple(f.Op(type_.item, "dot", (fit(row, type_), vector)) for row in rows))

    def _moved(self, symbol: str, left: f.Expr, right: f.Expr, time: Scalar) -> f.Expr:
        """Lower `left symbol right` for times: the difference of two times, or a time plus or minus a number."""
        sides = [fit(side, time) if side.type == TEXT else side for side in (left, right)]
        moved = self.operate(symbol, *(fit(side, I64) for side in sides))
        return moved if all(side.type == time for side in sides) else fit(moved, time)

    def _beside(self, expr: f.Expr, type_: Type) -> f.Expr:
        """Lower the distance of a shift. A literal or counter takes the type of the shifted value."""
        if isinstance(type_, Vector):
            return fit(self.concrete(expr, type_.item if weak(expr.type) else None), Vector(type_.item, type_.size))
        return self.concrete(expr, type_ if weak(expr.type) else None)

    def _compare(self, node: t.Compare) -> f.Expr:
        left, right = self._expr(node.left), self._expr(node.right)
        type_ = meet(left.type, right.type)
        type_ = I64 if type_ == INTEGER else concrete(type_, self.precision)
        return f.Op(BOOL, _COMPARE[node.op], (fit(left, type_), fit(right, type_)))

    def _logical(self, node: t.Logical) -> f.Expr:
        return f.Op(BOOL, node.op, (self._expr(node.left), self._expr(node.right)))

    def _conditional(self, node: t.Conditional) -> f.Expr:
        yes, test, no = self._expr(node.yes), self._expr(node.test), self._expr(node.no)
        type_ = meet(yes.type, no.type)
        if weak(type_):
            return f.Op(type_, "select", (test, yes, no))
        return f.Op(type_, "select", (test, fit(yes, type_), fit(no, type_)))

    def _tuple(self, node: t.TupleExpr) -> f.Expr:
        items = tuple(self._expr(item) for item in node.items)
        return f.Op(Tuple(tuple(i.type for i in items if isinstance(i.type, Scalar))), "tuple", items)

    def _vector(self, node: t.VectorExpr) -> f.Expr:
        items = tuple(self._expr(item) for item in node.items)
        type_ = items[0].type
        for item in items[1:]:
            type_ = meet(type_, item.type)
        if isinstance(type_, Vector):  # the rows of a matrix, one after the other
            items = tuple(part for item in items for part in _components(item))
            type_ = type_.item
        assert isinstance(type_, Scalar)
        if not type_.weak:
            items = tuple(fit(item, type_) for item in items)
        return f.Op(Vector(type_, len(items)), "vector", items)

    # ------------------------------------------------------------ calls, reductions

    def _reduction(self, node: t.Reduce) -> f.Expr:
        reduce = self.reduce(node)
        return self.chosen(reduce) if self.picks_edge(node) else reduce

    def _state_of(self, node: t.Call, type_: Type, name: str) -> f.Expr:
        """An edge state that is read by a call: `reverse(state)`, or `state(a, b)` between two ends."""
        ends = tuple(self._expr(arg) for arg in node.args) if len(node.args) == 2 else ()
        if f.THIRD in ends:
            return f.EdgeState(type_, name, ends=ends)
        return f.EdgeState(type_, name, opposite=not ends or ends[0] == f.Vertex(VERTEX, "self"))

    def _call(self, node: t.Call) -> f.Expr:
        if node.name in _TIMES:
            return self._in_time(node)
        if node.name == "wrap":
            with self.computing("wrap"):
                return self._expr(node.args[0])
        symbol = self._checked.symbols.get(node)
        if symbol is not None and symbol.kind == "edge":
            ends = tuple(self._expr(arg) for arg in node.args)
            return f.Op(self.symbol_type(symbol), "between", ends, self.names.unique[symbol])
        if symbol is not None and symbol.kind == "state":
            return self._state_of(node, self.symbol_type(symbol), self.names.unique[symbol])
        if node.name == "edges":
            count = f.Op(U32, "between", tuple(self._expr(arg) for arg in node.args), "")
            return f.Op(scalar_named("int", self.precision), "cast", (count,))
        args = tuple(part for arg in node.args
                     for part in (self.edge_keys() if isinstance(arg, t.EdgeKey) else (self._expr(arg),)))
        if symbol is not None and symbol.kind == "function":
            return self._inlined(symbol, args)
        if symbol is not None and symbol.kind == "reduction":
            type_ = self.symbol_type(symbol)
            values = tuple(fit(arg, computing(type_)) for arg in args)
            return f.Op(computing(type_), "user", values, self.names.unique[symbol])
        if node.name == t.CONTAINED:
            place = FUNCTIONS["position"]("position", args, self.precision)
            return f.Op(BOOL, "ge", (place, fit(f.Const(INTEGER, 0), place.type)))
        if node.name == "pow":
            return self.operate("**", *args)
        return FUNCTIONS[node.name](node.name, args, self.precision)

    def _in_time(self, node: t.Call) -> f.Expr:
        (arg,) = node.args
        now = self._expr(arg)
        then = _at(now, _TIMES[node.name])
        return f.Op(BOOL, "differs", (now, then)) if node.name == "changed" else then

    def _inlined(self, symbol: Symbol, args: tuple[f.Expr, ...]) -> f.Expr:
        node = symbol.decl
        assert isinstance(node, t.Function)
        bound: dict[Symbol, f.Expr] = {}
        for k, (param, argument) in enumerate(zip(node.params, self.argument_symbols(node), strict=True)):
            type_ = computing(self.symbol_type(argument))
            if k < len(args):
                bound[argument] = fit(args[k], type_)
            else:
                assert param.default is not None
                with self.computing(""):
                    bound[argument] = self.typed(param.default, type_)
        with self.bound(bound), self.computing(""):
            value = self._expr(node.value)
        if symbol.type is None or (node.type is None and weak(symbol.type)):
            return value
        return fit(value, computing(concrete(symbol.type, self.precision)))


def _item(expr: f.Expr) -> Scalar:
    """The type of the components of a vector."""
    assert isinstance(expr.type, Vector)
    return expr.type.item


def _components(vector: f.Expr) -> tuple[f.Expr, ...]:
    """The components of a vector."""
    if isinstance(vector, f.Op) and vector.op == "vector":
        return vector.args
    assert isinstance(vector.type, Vector)
    return tuple(f.Op(vector.type.item, "component", (vector, f.Const(I64, k))) for k in range(vector.type.size))


def _at(expr: f.Expr, time: str) -> f.Expr:
    """A read of a field at another time: "old" or "change"."""
    if isinstance(expr, f.Field):
        return replace(expr, time=time)
    assert isinstance(expr, f.Op), expr
    return replace(expr, args=(_at(expr.args[0], time),))


