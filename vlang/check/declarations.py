"""Checks declarations of parameters, fields, globals, functions, reductions and contracts (language.md section 5)."""

from __future__ import annotations

import math
from collections.abc import Iterable

from vlang.check.calls import FUNCTIONS, SPECIAL
from vlang.check.edge_states import start_of, unreduced
from vlang.check.expressions import Expressions
from vlang.check.graphlevel import graph_level
from vlang.check.numbers import NUMBERS
from vlang.check.sizes import MOST_COMPONENTS, Sizes, too_long
from vlang.check.tables.checked import Symbol
from vlang.check.tables.scope import GRAPH, Loop, Scope, Sight, Value
from vlang.check.tables.typing import a, zero
from vlang.reductions import REDUCTIONS
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.syntax.constants import MOST, in_range, size_of, size_text
from vlang.syntax.needs import need_of
from vlang.types import (
    F16,
    INTEGER,
    VERTEX,
    VERTICES,
    Matrix,
    NamedSize,
    Scalar,
    Tuple,
    Type,
    Vector,
    VertexSet,
    scalar_named,
)

__all__ = ["Declarations"]


class Declarations:
    """Enters the declarations of a program into the tables, and checks start values and bodies."""

    def __init__(self, x: Expressions) -> None:
        self.x = x
        self.run = x.run
        self.visible = Scope()  # the names that a body may use besides arguments: parameters, and globals so far
        self.sizes = Sizes(self.run)
        self._done: set[str] = set()
        self._busy: list[str] = []

    # -------------------------------------------------------------------- types

    def type_of(self, expr: t.TypeExpr) -> Type | None:
        """The type that a type expression names. Reports a wrong type expression, and then returns None."""
        if expr.kind == "vertex":
            return VERTEX
        if expr.kind == "vertices":
            return VERTICES
        if expr.kind == "const":
            self.run.report(Code.WRONG_TYPE, "only a parameter of the program can be a constant", expr.span)
            return None
        if expr.kind == "tuple":
            items = [self.type_of(part) for part in expr.items]
            scalars = tuple(i for i in items if isinstance(i, Scalar))
            if len(scalars) == len(items):
                return Tuple(scalars)
            if None not in items:
                self.run.report(Code.WRONG_TYPE, "a tuple holds scalars", expr.span)
            return None
        try:
            scalar = scalar_named(expr.name, self.run.precision)
        except KeyError:
            self.run.report(Code.WRONG_TYPE, f"there is no type `{expr.name}`", expr.span, "no unit of times",
                            help="`date` counts days, `time` seconds; `time[ms]`, `time[us]` and `time[ns]` parts of "
                            "a second", write="date" if expr.name in ("time[d]", "time[D]", "time[day]") else "time",
                            replaces=expr.span)
            return None
        if expr.kind == "scalar":
            return scalar
        sizes = [self._size(written) for written in (expr.size, expr.columns) if written is not None]
        if None in sizes:
            return None
        known = [size for size in sizes if size is not None]
        if math.prod(known) > MOST_COMPONENTS and not any(isinstance(size, NamedSize) for size in known):
            too_long(self.run, expr.span)
            return None
        return Matrix(scalar, *known) if len(known) > 1 else Vector(scalar, known[0])

    def _size(self, written: t.Expr) -> int | None:
        """A size of a vector or matrix, as written. Reports a wrong size, and then returns None."""
        size = size_of(written, self.run.constants)
        names = [part for part in rewrite.inside(written) if isinstance(part, t.Name)]
        if size is not None and names:
            self.run.symbols.update({part: self.run.root.names[part.name] for part in names})
            return NamedSize(MOST_COMPONENTS, size_text(written))
        if size is None or size < 1:
            self._no_size(written)
            return None
        if size > MOST_COMPONENTS:
            too_long(self.run, written.span)
            return None
        return size

    def _no_size(self, written: t.Expr) -> None:
        """Report a size that is not known when a program is compiled."""
        names = {part.name for part in rewrite.inside(written) if isinstance(part, t.Name)}
        param = next((param for param in self.run.file.params if param.name in names), None)
        default = None if param is None else param.default
        value = default.value if isinstance(default, t.Literal) and in_range(default.value) else 8
        self.run.report(
            Code.WRONG_TYPE, "the length of a vector is a literal or a constant, at least 1", written.span,
            f"`{param.name}` is known when the program runs" if param is not None else "",
            help="a constant is a parameter that is known when the program is compiled:" if param is not None else (),
            write=f"{param.name}: const = {value}" if param is not None else (),
            replaces=param.span if param is not None else None)

    def _allowed(self, expr: t.TypeExpr, what: str, *kinds: type) -> Type | None:
        type_ = self.type_of(expr)
        return self._refused(type_, what, expr.span, *kinds)

    def _refused(self, type_: Type | None, what: str, span: t.Span, *kinds: type, write: str = "") -> Type | None:
        """Return the type if its kind is one of the allowed kinds; otherwise report the type and return None."""
        if type_ is None or isinstance(type_, kinds):
            return type_
        help_ = "only parameters are lists of vertices" if isinstance(type_, VertexSet) else (
            "tuples exist while a program computes; keep each part in a field of its own"
            if isinstance(type_, Tuple) else "matrices are parameters; a row of one is a vector"
            if isinstance(type_, Matrix) else "")
        self.run.report(Code.WRONG_TYPE, f"{what} cannot be {a(type_)}", span, help=help_ or (), write=write or (),
                        replaces=span if write else None)
        return None

    # --------------------------------------------------------------- parameters

    def parameters(self, params: Iterable[t.Param], scope: Scope) -> None:
        """Check and declare the parameters of the program."""
        constants = self.run.constants
        for param in sorted(params, key=lambda param: param.name not in constants):  # sizes of others may name them
            if param.name in constants:
                self._constant(param, scope)
                continue
            type_ = self._allowed(param.type, "a parameter", Scalar, Vector, Matrix, VertexSet) if param.type else None
            if param.default is not None:
                at = Sight(scope, "param", param)
                given = self.x.value(param.default, at)
                if param.type is None:
                    type_ = self._scalar_default(param, given)
                else:
                    self.x.fit(param.default, given.type, type_, f"`{param.name}`")
            elif param.type is None:
                self.run.report(Code.WRONG_TYPE, f"`{param.name}` needs a type or a default", param.span,
                                help=f"for example `{param.name}: float` or `{param.name} = 0.5`")
            symbol = self.run.declare(scope, param, "parameter", param.name, param.name_span, type_)
            self.visible.names.setdefault(param.name, symbol)

    def _constant(self, param: t.Param, scope: Scope) -> None:
        """Check and declare a constant, which is read like an integer literal."""
        if param.default is not None and self.run.constants[param.name] is None:
            self.run.report(Code.WRONG_TYPE, f"a constant is an integer from 1 to {MOST}", param.default.span,
                            f"the default of `{param.name}`", write="8", replaces=param.default.span)
        symbol = self.run.declare(scope, param, "parameter", param.name, param.name_span, INTEGER)
        self.visible.names.setdefault(param.name, symbol)

    def _scalar_default(self, param: t.Param, given: Value) -> Type | None:
        type_ = self.x.concrete(given.type)
        if type_ is None or isinstance(type_, (Scalar, Vector, Matrix)):
            return type_
        if param.default is not None:
            self.run.report(Code.WRONG_TYPE, f"a parameter cannot be {a(type_)}", param.default.span)
        return None

    # ------------------------------------------------------------------- fields

    def vertex_field(self, item: t.VertexField, scope: Scope, loop: Loop | None, local: bool) -> None:
        """Check and declare `vertex f: T = e`.

        Args:
            item: the declaration.
            scope: the names of its block.
            loop: the innermost `repeat` around it; None outside of loops.
            local: whether it is in the block of a loop.
        """
        type_ = self._allowed(item.type, "a vertex field", Scalar, Vector)
        if item.init is not None:
            at = Sight(scope, "init", item, loop)
            what = f"`{item.names[0]}`"
            self.x.fitting(item.init, at, type_, what, item)
        elif local:
            self.run.report(Code.MISPLACED_DECLARATION,
                            f"`{item.names[0]}` needs a start value: it is local to this block", item.span,
                            "computed each time the block is entered",
                            write=f"{rewrite.one_line(self.run.text(item))} = {zero(type_)}")
        for name, span in zip(item.names, item.name_spans, strict=True):
            symbol = self.run.declare(scope, item, "field", name, span, type_, local=local)
            if local and loop is not None:
                loop.local.add(symbol)

    def edge_field(self, item: t.EdgeField, scope: Scope) -> None:
        """Check and declare `edge f: T = e`."""
        type_ = self._allowed(item.type, "an edge field", Scalar)
        if type_ == VERTEX:
            self.run.report(Code.WRONG_TYPE, "an edge field cannot be a vertex", item.type.span,
                            help="edges carry numbers or bools")
            type_ = None
        if item.init is not None:
            self.x.fitting(item.init, Sight(scope, "edge", item), type_, f"`{item.names[0]}`")
        for name, span in zip(item.names, item.name_spans, strict=True):
            self.run.declare(scope, item, "edge", name, span, type_)

    def edge_state(self, item: t.EdgeState, scope: Scope) -> None:
        """Check and declare `edge state f: T = e`."""
        type_ = self._allowed(item.type, "an edge state", Scalar)
        if isinstance(type_, Scalar) and (type_ in (VERTEX, F16) or type_.named):
            self.run.report(Code.WRONG_TYPE, f"an edge state cannot be {a(type_)}", item.type.span,
                            help="edge states are numbers or bools")
            type_ = None
        if item.init is None:
            self.run.report(Code.MISPLACED_DECLARATION, f"`{item.names[0]}` needs a start value", item.span,
                            "an edge state does not come with the graph",
                            write=f"{rewrite.one_line(self.run.text(item))} = {zero(type_)}")
        elif unreduced(self.run, item, item.init):
            self.x.fitting(item.init, start_of(scope, item), type_, f"`{item.names[0]}`")
        for name, span in zip(item.names, item.name_spans, strict=True):
            self.run.declare(scope, item, "state", name, span, type_)

    def global_value(self, item: t.GlobalValue, scope: Scope) -> None:
        """Check and declare `global g: T = e`."""
        at = Sight(scope, "global", item)
        type_ = self._allowed(item.type, "a global", Scalar) if item.type is not None else None
        value = self.x.value(item.value, at)
        if graph_level(self.x, item.value, value, at, "`global` names one value for the whole graph"):
            if item.type is not None:
                self.x.fit(item.value, value.type, type_, f"`{item.name}`", item)
            else:
                parts = isinstance(value.type, (Tuple, Vector))
                type_ = self._refused(self.x.concrete(value.type), "a global", item.value.span, Scalar,
                                      write=f"{self.run.text(item.value)}[0]" if parts else "")
        symbol = self.run.declare(scope, item, "global", item.name, item.name_span, type_)
        self.visible.names.setdefault(item.name, symbol)

    def contract(self, item: t.Contract, scope: Scope) -> None:
        """Check `require e`. A property of the graph, such as `require simple`, needs no check."""
        if need_of(self.run.file, item) is not None:
            return
        value = self.x.condition(item.cond, Sight(scope, "require", item), "`require`")
        if value.level == GRAPH:
            return
        for node in rewrite.inside(item.cond):
            symbol = scope.find(node.name) if isinstance(node, t.Name) else None
            if symbol is not None and symbol.kind in ("let", "global"):
                self.run.report(Code.MANY_VALUES, f"`require` reads a value of every edge or vertex before the program "
                                f"runs, but `{symbol.name}` is computed by it", node.span, "not known yet",
                                notes=self.run.note(symbol, "computed here"),
                                help="a contract about a computed value reads graph-level values only")
                return

    # ---------------------------------------------------- functions, reductions

    def announce(self, item: t.Function | t.Reduction, scope: Scope) -> None:
        """Declare a function or reduction before all statements are checked: the whole program can use its name."""
        run = self.run
        if item.name in REDUCTIONS or item.name in FUNCTIONS.keys() - NUMBERS.keys() or item.name in SPECIAL:
            run.report(Code.NAME_TAKEN, f"`{item.name}` is a function of the language", item.name_span,
                       "choose another name")
        if isinstance(item, t.Reduction):
            type_ = self._allowed(item.type, "a reduction", Scalar, Tuple) if item.type else run.float
            if type_ is not None and any(one.named for one in (type_.items if isinstance(type_, Tuple) else (type_,))
                                         if isinstance(one, Scalar)):
                run.report(Code.WRONG_TYPE, f"a declared reduction cannot be of {a(type_)}", item.type.span
                           if item.type else item.span, help="`min`, `max` and `mode` reduce categories and times")
                type_ = None
            run.declare(scope, item, "reduction", item.name, item.name_span, type_)
            return
        type_ = self._allowed(item.type, "a function", Scalar, Vector, Tuple) if item.type else None
        run.declare(scope, item, "function", item.name, item.name_span, type_)

    def function(self, name: str) -> Symbol | None:
        """The symbol of a function or reduction, after its body is checked.

        The result is None if no function or reduction has this name.

        The body is checked at the first call, or at the end of the program if there is no call.
        """
        symbol = self.run.root.names.get(name)
        if symbol is None or not isinstance(symbol.decl, (t.Function, t.Reduction)):
            return None
        if name not in self._done:
            self._done.add(name)
            self._busy.append(name)
            self._body(symbol.decl, symbol)
            self._busy.pop()
        return self.run.root.names[name]

    def call_of(self, node: t.Call | t.Reduce) -> Symbol | None:
        """The symbol of the function or reduction that is called. Reports recursion, and then returns None."""
        if node.name in self._busy:
            self._recursive(node, self._busy)
            return None
        return self.function(node.name)

    def _recursive(self, call: t.Call | t.Reduce, busy: list[str]) -> None:
        chain = [*busy[busy.index(call.name):], call.name]
        self.run.report(Code.UNKNOWN_NAME, f"`{call.name}` calls itself" if len(chain) == 2 else
                        f"`{call.name}` calls itself: " + " calls ".join(f"`{n}`" for n in chain), call.span,
                        "functions are expressions with names, not recursive")

    def _body(self, item: t.Function | t.Reduction, symbol: Symbol) -> None:
        inner = Scope(self.visible)
        if isinstance(item, t.Function):
            arguments = [self._argument(p, inner) for p in item.params]
            self.run.arguments[symbol] = tuple(arguments)
            value = self.x.value(item.value, Sight(inner, "fn", item))
            if item.type is not None:
                self.x.fit(item.value, value.type, symbol.type, f"`{item.name}`")
            else:
                self._give_type(item, symbol, self.x.concrete(value.type))
            self.sizes.function(item)
            return
        for name, span in ((item.left, item.left_span), (item.right, item.right_span)):
            self.run.declare(inner, item, "argument", name, span, symbol.type)
        at = Sight(inner, "reduction", item)
        self.x.fitting(item.value, at, symbol.type, f"`{item.name}`")
        outer = Sight(self.visible, "reduction", item)
        self.x.fitting(item.identity, outer, symbol.type, f"the identity of `{item.name}`")

    def _give_type(self, item: t.Function, symbol: Symbol, type_: Type | None) -> None:
        """Set the type of a function to the type of its body, once the body has been checked."""
        typed = Symbol(symbol.kind, symbol.name, type_, item)
        self.run.root.names[item.name] = typed
        self.run.places[typed] = item.name_span
        self.run.declared[item] = (typed,)
        self.run.arguments[typed] = self.run.arguments.pop(symbol)

    def _argument(self, param: t.Param, inner: Scope) -> Symbol:
        run = self.run
        type_: Type | None = run.float
        if param.type is not None:
            type_ = self._allowed(param.type, "an argument", Scalar, Vector, Matrix, Tuple)
        if param.default is not None:
            given = self.x.value(param.default, Sight(Scope(), "param", param))
            if param.type is None:
                type_ = self.x.concrete(given.type)
            else:
                self.x.fit(param.default, given.type, type_, f"`{param.name}`")
        return run.declare(inner, param, "argument", param.name, param.name_span, type_)


