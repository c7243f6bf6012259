"""Lowering of the checked tree to the IR (language.md section 4, with the types of section 6)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from vlang.check.tables.checked import Checked, Symbol
from vlang.ir.forms import forms as f
from vlang.ir.forms.erase import erased
from vlang.ir.lowering.ahead import before_loop
from vlang.ir.lowering.conversions import computing, widest
from vlang.ir.lowering.express import Expressions
from vlang.ir.lowering.naming import Names
from vlang.syntax import tree as t
from vlang.syntax.needs import need_of
from vlang.syntax.tree import Span
from vlang.types import BOOL, I64, Matrix, Scalar, Tuple, Type, scalar_named

__all__ = ["lower"]



def lower(checked: Checked) -> f.Program:
    """Lower a correct program to the IR: functions are inlined, names are unique, types are final, and conversions are
    casts.
    """
    return erased(_Lowering(checked).program())


class _Lowering:
    """Lowers declarations and statements, in the order of the text."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        written = frozenset(s.name for symbols in checked.declared.values() for s in symbols)
        self._names = Names(written)
        self._x = Expressions(checked, self._names)
        self._params: list[f.ParamDecl] = []
        self._edges: list[f.EdgeDecl] = []
        self._states: dict[str, f.StateDecl] = {}
        self._fields: list[f.FieldDecl] = []
        self._globals: list[f.GlobalDecl] = []
        self._reductions: list[f.UserReduction] = []
        self._requires: list[f.Require] = []
        self._needs: list[f.Need] = []
        self._later: dict[str, f.Require] = {}
        self._ones: set[str] = set()  # the `let`s of single vertices' values

    def program(self) -> f.Program:
        file = self._checked.file
        for param in file.params:
            self._param(param)
        self._reserve(file.items)
        body = self._block(file.items, top=True)
        return f.Program(
            name=file.name, doc=file.doc, params=tuple(self._params), edges=tuple(self._edges),
            fields=tuple(self._fields), globals=tuple(self._globals), reductions=tuple(self._reductions),
            requires=tuple(self._requires), needs=tuple(self._needs), body=body, source=file.text,
            filename=file.filename, names=self._names.origin, precision=self._checked.precision, later=self._later,
            states=tuple(self._states.values()),
        )  # fmt: skip

    def _reserve(self, items: Iterable[t.Statement]) -> None:
        """Reserve the names of outputs, so that a local name in an earlier loop cannot take the name of an output."""
        for item in items:
            if isinstance(item, (t.VertexField, t.EdgeField, t.EdgeState, t.GlobalValue, t.Reduction)):
                for symbol in self._symbols(item):
                    if symbol.kind != "argument":
                        self._names.declare(symbol)

    def _symbols(self, node: t.Node) -> tuple[Symbol, ...]:
        return self._checked.declared[node]

    def _symbol(self, node: t.Node) -> Symbol:
        return self._symbols(node)[0]

    # ------------------------------------------------------------ declarations

    def _param(self, node: t.Param) -> None:
        symbol = self._symbol(node)
        type_ = self._x.symbol_type(symbol)
        default = None if node.default is None else self._x.typed(node.default, type_)
        shape = (symbol.type.rows, symbol.type.columns) if isinstance(symbol.type, Matrix) else None
        self._params.append(f.ParamDecl(self._names.declare(symbol), type_, default, node.span, shape))

    def _edge_fields(self, node: t.EdgeField) -> None:
        for symbol in self._symbols(node):
            type_ = self._x.symbol_type(symbol)
            assert isinstance(type_, Scalar)
            default = None if node.init is None else self._x.typed(node.init, type_)
            self._edges.append(f.EdgeDecl(self._names.unique[symbol], type_, default, node.span))

    def _edge_states(self, node: t.EdgeState) -> list[f.Statement]:
        """Declare edge states, each with its field `rows`, and compute the start values of all edges."""
        assert node.init is not None
        found: list[f.Statement] = []
        for symbol in self._symbols(node):
            type_, name = self._x.symbol_type(symbol), self._names.unique[symbol]
            assert isinstance(type_, Scalar)
            rows = self._names.declare(Symbol("field", symbol.name, self._int, node), self._int, f"{name}_rows")
            begun = self._names.declare(Symbol("accumulator", symbol.name, self._int, node), self._int, f"{name}_begun")
            self._states[name] = f.StateDecl(name, type_, rows, node.span)
            self._fields.append(f.FieldDecl(rows, self._int, False, False, node.span))
            found.append(f.InitField(node.span, rows, f.Const(self._int, 0)))
            found.append(self._keeping(node.span, begun, name, self._x.typed(node.init, type_)))
        return found

    def _keeping(self, span: Span, gather: str, name: str, value: f.Expr) -> f.Gather:
        """Return the gather that stores a value at each in-edge and counts the values that differ from the old values.
        """
        body = f.Keep(BOOL, name, value, span=span)
        return f.Gather(span, gather, f.Reduce(self._int, "count", body, f.Domain("in"), None, None, span=span))

    @property
    def _int(self) -> Scalar:
        return scalar_named("int", self._checked.precision)

    def _apply_edges(self, node: t.Apply) -> list[f.Statement]:
        """Return a write of an edge state: a gather that stores values, and a write of the field `rows` at vertices
        with a changed value.
        """
        (symbol,) = self._checked.targets[node.target]
        state = self._states[self._names.unique[symbol]]
        old: f.Expr = f.EdgeState(state.type, state.name, span=node.target.span)
        value = self._x.typed(node.value, state.type) if node.op == "=" else \
            self._x.updated(node.op[:-1], old, node.value, state.type)
        if node.cond is not None:
            value = f.Op(state.type, "select", (self._x.typed(node.cond, BOOL), value, old))
        count = Symbol("accumulator", symbol.name, self._int, node)
        gather = self._keeping(node.span, self._names.declare(count, self._int, f"{state.name}_changed"), state.name,
                               value)
        changed = f.Op(BOOL, "ne", (f.Accumulator(self._int, gather.name), f.Const(self._int, 0)))
        rows: f.Expr = f.Field(self._int, state.rows, "self")
        more = f.Op(self._int, "wrapadd", (rows, f.Op(self._int, "cast", (changed,))))
        return [gather, f.Apply(node.span, (state.rows,), more)]

    def _vertex_fields(self, node: t.VertexField, top: bool) -> list[f.Statement]:
        found: list[f.Statement] = []
        for symbol in self._symbols(node):
            type_ = self._x.symbol_type(symbol)
            value = None if node.init is None else self._x.typed(node.init, type_)
            name = self._names.unique[symbol] if top else self._names.declare(symbol)
            self._fields.append(f.FieldDecl(name, type_, top, node.init is None, node.span))
            if value is not None:
                found.append(f.InitField(node.span, name, value))
        return found

    def _global(self, node: t.GlobalValue) -> f.Statement:
        symbol = self._symbol(node)
        declared = None if node.type is None else self._x.symbol_type(symbol)
        value = self._x.typed(node.value, declared)
        self._names.types[symbol] = value.type
        name = self._names.unique[symbol]
        self._globals.append(f.GlobalDecl(name, value.type, node.span))
        return f.InitGlobal(node.span, name, value)

    def _reduction(self, node: t.Reduction) -> None:
        symbol = next(s for s in self._symbols(node) if s.kind == "reduction")
        type_ = computing(self._x.symbol_type(symbol))
        sides = self._x.argument_symbols(node)
        names = [self._names.declare(side) for side in sides]
        reduction = self._of_type(node, type_, type_, names, sides)
        if reduction.exact:
            reduction = self._of_type(node, type_, widest(type_), names, sides)
        self._reductions.append(replace(reduction, name=self._names.unique[symbol]))

    def _of_type(self, node: t.Reduction, type_: Type, wide: Type, names: list[str],
                 sides: list[Symbol]) -> f.UserReduction:
        """A declared reduction.

        Args:
            type_: the type of its operands.
            wide: the type in which the body of the reduction computes.
        """
        bound: dict[Symbol, f.Expr] = {side: f.Accumulator(wide, name) for side, name in zip(sides, names, strict=True)}
        with self._x.bound(bound), self._x.computing("exact"):
            body = self._x.typed(node.value, wide)
        unit = self._x.typed(node.identity, wide)
        return f.UserReduction(node.name, names[0], names[1], type_, wide, body, unit, node.span)

    def _require(self, node: t.Contract) -> list[f.Statement]:
        """Lower a contract; returns the `let` of its condition if the condition reads a `let` or `global`."""
        word = need_of(self._checked.file, node)
        if word is not None:
            self._needs.append(f.Need(word, node.span))
            return []
        text = self._checked.file.text[node.cond.span.start : node.cond.span.end]
        require = f.Require(self._x.typed(node.cond, BOOL), node.span, text)
        if not any(isinstance(one, f.GraphValue) and one.kind in ("let", "global") for one in f.walk(require.cond)):
            self._requires.append(require)
            return []
        name = f"require.{node.span.line}.{node.span.column}"
        self._later[name] = require
        return [f.Let(node.span, name, require.cond)]

    # -------------------------------------------------------------- statements

    def _block(self, items: Iterable[t.Statement], top: bool = False) -> tuple[f.Statement, ...]:
        return tuple(statement for item in items for statement in self._item(item, top))

    def _item(self, node: t.Statement, top: bool) -> list[f.Statement]:
        """Return the statements for an item of a block. The `let`s for values of single vertices that reductions read
        come first.
        """
        outer, self._x.ahead = self._x.ahead, {}
        made = self._made(node, top)
        lets = self._lets(node.span)
        self._x.ahead = outer
        return [*lets, *made]

    def _lets(self, span: Span) -> list[f.Statement]:
        """Return a `let` for each value of a single vertex that a reduction of the item reads."""
        self._ones.update(value.name for value in self._x.ahead.values())
        return [f.Let(span, value.name, read) for read, value in self._x.ahead.items()]

    def _made(self, node: t.Statement, top: bool) -> list[f.Statement]:
        """Return the statements for an item of a block. A declaration without a value gives no statements."""
        if isinstance(node, t.VertexField):
            return self._vertex_fields(node, top)
        if isinstance(node, t.EdgeField):
            self._edge_fields(node)
        elif isinstance(node, t.EdgeState):
            return self._edge_states(node)
        elif isinstance(node, t.Apply) and node.domain is not None:
            return self._apply_edges(node)
        elif isinstance(node, t.Reduction):
            self._reduction(node)
        elif isinstance(node, t.Contract):
            return self._require(node)
        elif isinstance(node, (t.Repeat, t.Sweep, t.ForVertices, t.ForRange)):
            loop = self._loop(node)
            own = loop.name if isinstance(loop, (f.ForVertices, f.ForRange)) else ""
            lets, body = before_loop(loop.body, self._ones, own)
            return [*lets, replace(loop, body=body)]
        elif not isinstance(node, t.Function):
            return [self._statement(node)]
        return []

    def _statement(self, node: t.Statement) -> f.Statement:
        if isinstance(node, t.GlobalValue):
            return self._global(node)
        if isinstance(node, t.Apply):
            return self._apply(node)
        if isinstance(node, t.Gather):
            return self._gather(node)
        if isinstance(node, t.Let):
            value = self._x.typed(node.value)
            wish = "_".join(node.name.split(", ")) if node.parts else ""
            return f.Let(node.span, self._names.declare(self._symbol(node), value.type, wish), value)
        if isinstance(node, t.Activate):
            return f.Activate(node.span, self._x.typed(node.cond, BOOL))
        if isinstance(node, t.Where):
            return f.Where(node.span, self._x.typed(node.cond, BOOL), self._block(node.block.items))
        raise AssertionError(node)

    def _gather(self, node: t.Gather) -> f.Statement:
        assert isinstance(node.value, t.Reduce)
        reduce = self._x.reduce(node.value)
        if self._x.picks_edge(node.value):
            self._x.picks.add(self._symbol(node))
        return f.Gather(node.span, self._names.declare(self._symbol(node), reduce.type), reduce)

    def _apply(self, node: t.Apply) -> f.Statement:
        symbols = self._checked.targets[node.target]
        names = tuple(self._names.unique[symbol] for symbol in symbols)
        types = tuple(self._x.symbol_type(symbol) for symbol in symbols)
        place: Type = types[0]
        if node.target.many:
            place = Tuple(tuple(type_ for type_ in types if isinstance(type_, Scalar)))
        if node.op == "=":
            value = self._x.typed(node.value, place)
        else:
            value = self._x.updated(node.op[:-1], self._x.own(symbols[0]), node.value, place)
        return f.Apply(node.span, names, value)

    def _ended(self, block: t.Block, cond: t.Expr | None) -> tuple[tuple[f.Statement, ...], f.Expr | None]:
        """Return a loop's block and `until`. The `let`s that `until` needs are at the end of the block, before
        `activate when`.
        """
        body = self._block(block.items)
        if cond is None:
            return body, None
        outer, self._x.ahead = self._x.ahead, {}
        until = self._x.typed(cond, BOOL)
        lets = tuple(self._lets(cond.span))
        self._x.ahead = outer
        last = len(body) - 1 if body and isinstance(body[-1], f.Activate) else len(body)
        return (*body[:last], *lets, *body[last:]), until

    def _loop(self, node: t.Statement) -> f.Repeat | f.Sweep | f.ForVertices | f.ForRange:
        if isinstance(node, t.Repeat):
            limit = None if node.limit is None else self._x.typed(node.limit.count, I64)
            body, until = self._ended(node.block, node.until)
            return f.Repeat(node.span, limit, node.limit is not None and node.limit.exact, until, body)
        if isinstance(node, t.Sweep):
            field = self._names.unique[self._checked.symbols[node]]
            return f.Sweep(node.span, field, node.up, self._block(node.block.items))
        if isinstance(node, t.ForVertices):
            name = self._names.declare(self._symbol(node))
            group = None if node.set_name == "vertices" else self._names.unique[self._checked.symbols[node]]
            return f.ForVertices(node.span, name, group, self._block(node.block.items))
        assert isinstance(node, t.ForRange)
        low, high = self._x.typed(node.low, I64), self._x.typed(node.high, I64)
        name = self._names.declare(self._symbol(node))
        body, until = self._ended(node.block, node.until)
        return f.ForRange(node.span, name, low, high, until, body)
