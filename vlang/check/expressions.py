"""Finds the type and level of every expression (language.md sections 6 and 7)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from vlang.check import names
from vlang.check.advice.defaults import chosen_by_or
from vlang.check.advice.proposals import as_condition, as_type, replaced_operator
from vlang.check.advice.vertex_numbers import vertex_operand
from vlang.check.calls import call
from vlang.check.comparisons import report_incomparable
from vlang.check.foreign.foreign_calls import foreign_column
from vlang.check.foreign.products import foreign_product
from vlang.check.reduce import reduction
from vlang.check.reductions.keyed import edge_key
from vlang.check.sizes import too_deep
from vlang.check.tables.checked import Symbol
from vlang.check.tables.checking import Run
from vlang.check.tables.scope import Sight, Value, joined
from vlang.check.tables.typing import a, comparable, concrete, item, misfit, numeric, parts_that_fit, spoken, unified
from vlang.check.vectors import component, product, vector_literal
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.syntax.program_file import MOST_LEVELS
from vlang.types import (
    BOOL,
    CATEGORY,
    I64,
    INTEGER,
    NUMBER,
    TEXT,
    VERTEX,
    Matrix,
    Scalar,
    Tuple,
    Type,
    Vector,
    VertexSet,
    common,
    converts,
)

__all__ = ["Expressions"]

_BITS = frozenset({"<<", ">>", "|", "&", "^"})


class Expressions:
    """Finds the type and level of each expression; reports each mistake once, at the innermost expression."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._level = 0  # nesting depth of the current expression, including the functions that are being checked
        self.find_declared: Callable[[t.Call | t.Reduce], Symbol | None] = lambda node: None
        self._by_class: dict[type, Callable[[Any, Sight], Value]] = {
            t.Literal: self._literal, t.Self: self._self, t.Name: self._name, t.Member: self._member,
            t.Index: self._index, t.Unary: self._unary, t.Binary: self._binary, t.Compare: self._compare,
            t.Logical: self._logical, t.Conditional: self._conditional, t.Call: self._call, t.TupleExpr: self._tuple,
            t.VectorExpr: self._vector, t.Reduce: self._reduce, t.EdgeKey: self._edge_key,
        }

    def declared(self, node: t.Call | t.Reduce) -> Symbol | None:
        """The symbol of the `fn` or declared reduction that a node calls; its body is checked first."""
        symbol = self.find_declared(node)
        if symbol is not None:
            self.run.symbols[node] = symbol
        return symbol

    def value(self, node: t.Expr, at: Sight) -> Value:
        """The type and level of an expression. The function also enters the type and the level in the tables."""
        if self._level >= MOST_LEVELS:
            too_deep(self.run, node)
            return Value(None)
        self._level += 1
        value = self._by_class[type(node)](node, at)
        self._level -= 1
        if value.type is not None:
            self.run.types[node] = value.type
            self.run.levels[node] = value.level
        return value

    def fitting(self, node: t.Expr, at: Sight, target: Type | None, what: str,
                declares: t.VertexField | t.GlobalValue | None = None) -> Value:
        """The type and level of an expression that must fit a type. Reports V106 if the expression does not fit.

        Args:
            node: the expression.
            at: its context.
            target: the type that it must fit; None for any type.
            what: the words in messages for the place that needs the type.
            declares: the declaration that names the type; None for other places.
        """
        value = self.value(node, at)
        self.fit(node, value.type, target, what, declares)
        return value

    def fit(self, node: t.Expr, source: Type | None, target: Type | None, what: str,
            declares: t.VertexField | t.GlobalValue | None = None) -> bool:
        """Return whether an expression fits a type. Reports V106 if the expression does not fit.

        Args:
            node: the expression.
            source: the type of the expression; None if the expression is wrong and has been reported.
            target: the type that it must fit; None for any type.
            what: the words in messages for the place that needs the type.
            declares: the declaration that names the type; None for other places.
        """
        if source is None or target is None:
            return source is not None
        wrong = misfit(node, source, target)
        if wrong is None:
            return True
        part, reason = wrong
        help_: str | tuple[str, ...] = ()
        other = False  # whether the declaration may have the type of the value
        source_item, target_item = item(source), item(target)
        if source_item and target_item and not converts(source, target):
            if isinstance(source, Vector) and isinstance(target, Vector) and source.size != target.size:
                help_ = "vectors fit where their sizes are the same literal, or the same expression of constants"
            elif source_item.floating and target_item.integral:
                help_ = "`floor(x)`, `round(x)` and `int(x)` give an int"
            elif source_item == TEXT:
                help_ = "a text stands for the name of a category, or for a time: declare `category`, `date` or `time`"
            elif source_item == BOOL and target_item.numeric:
                help_ = "a bool is not a number: `int(c)` is 0 or 1"
            elif source_item.numeric and target_item.numeric:
                help_ = f"only conversions that lose nothing happen by themselves: `{spoken(target_item)}(x)` converts"
                other = not source_item.weak
            elif source == VERTEX and target_item.numeric:
                help_, other = "a vertex is a name, not a number", True
        said, write, place = as_type(self.run, part, target, declares if part is node else None)
        if write:
            self.run.report(Code.WRONG_TYPE, f"{what} needs {a(target)}", part.span, reason, help=said, write=write,
                            replaces=place)
            return False
        declared = declares.type if declares is not None else None
        parts = parts_that_fit(source, target) if isinstance(node, t.Name) else []
        if len(parts) == 1:
            self.run.report(Code.WRONG_TYPE, f"{what} needs {a(target)}", part.span, reason,
                            help="one part of the tuple has this type:", write=f"{self.run.text(node)}[{parts[0]}]")
            return False
        if other and part is node and isinstance(source, Scalar) and declares is not None and declared is not None:
            help_ = f"{help_}; {'' if source == VERTEX else 'or '}declare the type of the value:"
            write = rewrite.edited(self.run.file.text, declares.span, [(declared.span, spoken(source))])
        self.run.report(Code.WRONG_TYPE, f"{what} needs {a(target)}", part.span, reason, help=help_, write=write or (),
                        replaces=declares.span if write and declares is not None else None)
        return False

    def condition(self, node: t.Expr, at: Sight, what: str) -> Value:
        """The type and level of an expression that must be a bool. Reports V106 for any other type."""
        value = self.value(node, at)
        if value.type is not None and value.type != BOOL:
            self.run.report(Code.WRONG_TYPE, f"{what} needs a condition", node.span, f"this is {a(value.type)}",
                            write=as_condition(self.run, node, value.type) or ())
            return replace(value, type=None)
        return value

    def concrete(self, type_: Type | None) -> Type | None:
        """The type with `int` and `float` in place of the types of literals."""
        return None if type_ is None else concrete(type_, self.run.precision)

    # ------------------------------------------------------------------ leaves

    def _literal(self, node: t.Literal, at: Sight) -> Value:
        if isinstance(node.value, bool):
            return Value(BOOL)
        if node.value is None:
            return Value(VERTEX)
        if isinstance(node.value, str):
            return Value(TEXT)
        if node.text == "inf" or isinstance(node.value, int):
            if isinstance(node.value, int) and node.value > 0xFFFF_FFFF_FFFF_FFFF:
                self.run.report(Code.WRONG_TYPE, "this number does not fit in 64 bits", node.span)
                return Value(None)
            return Value(INTEGER)
        if node.value == float("inf"):
            self.run.report(Code.WRONG_TYPE, "this number is too large for a float", node.span, write="inf")
            return Value(None)
        return Value(NUMBER)

    def _self(self, node: t.Self, at: Sight) -> Value:
        return names.read_self(self.run, node, at)

    def _edge_key(self, node: t.EdgeKey, at: Sight) -> Value:
        return edge_key(self, node, at)

    def _name(self, node: t.Name, at: Sight) -> Value:
        return names.read_name(self.run, node, at)

    def _member(self, node: t.Member, at: Sight) -> Value:
        if foreign_column(self.run, node, at):
            return Value(None)
        return names.read_member(self.run, node, self.value(node.value, at), at)

    def _index(self, node: t.Index, at: Sight) -> Value:
        return component(self, node, at)

    def _call(self, node: t.Call, at: Sight) -> Value:
        return call(self, node, at)

    def _reduce(self, node: t.Reduce, at: Sight) -> Value:
        return reduction(self, node, at)

    # --------------------------------------------------------------- operators

    def _operand(self, node: t.Expr, type_: Type, op: str, at: Sight, whole: t.Expr, integral: bool) -> bool:
        """Return whether an operand is a number or, with `integral`, an integer. Reports V106 for any other operand."""
        scalar = item(type_)
        if numeric(type_) and not (integral and scalar is not None and not scalar.integral):
            return True
        text = rewrite.short(self.run.text(node))
        need = "an integer" if integral else "a number"
        label, help_, write, place = f"this is {a(type_)}", "", "", whole.span
        if type_ == VERTEX:
            label = "a vertex is a name, not a quantity"
            help_, write, place = vertex_operand(self.run, node, op, at, whole, integral)
        elif isinstance(type_, Scalar) and type_.named:
            label = "a category is a name, not a quantity" if type_ == CATEGORY else "a point in time"
            help_ = "" if type_ == CATEGORY else "`a - b` of two times is a number of its unit; `t + n` is a time"
        elif type_ == TEXT:
            label = "a text stands for a category or a time, not for a number"
        elif op == "^" and isinstance(whole, t.Binary) and numeric(type_):
            help_ = "`^` is an operation on bits; a power is written `**`:"
            write = replaced_operator(self.run, whole, "**")
        elif type_ == BOOL:
            help_ = {"|": "for bools write `or`", "&": "for bools write `and`"}.get(op, "a bool as a number is 0 or 1:")
            number = [(node.span, f"int({rewrite.one_line(self.run.text(node))})")]
            write = "" if op in "|&" else rewrite.edited(self.run.file.text, whole.span, number)
        self.run.report(Code.WRONG_TYPE, f"`{text}` is {a(type_)}; `{op}` needs {need}", node.span, label,
                        help=help_ or (), write=write or (), replaces=place if write else None)
        return False

    def _unary(self, node: t.Unary, at: Sight) -> Value:
        value = self.value(node.value, at)
        if value.type is None:
            return value
        if node.op == "not":
            if value.type == BOOL:
                return value
            self._not_bool(node.value, value.type, "not")
        elif self._operand(node.value, value.type, node.op, at, node, integral=False):
            return value
        return joined(None, value)

    def _not_bool(self, node: t.Expr, type_: Type, op: str) -> None:
        text = rewrite.short(self.run.text(node))
        self.run.report(Code.WRONG_TYPE, f"`{text}` is {a(type_)}; `{op}` needs a condition", node.span,
                        f"this is {a(type_)}", write=as_condition(self.run, node, type_) or ())

    def _logical(self, node: t.Logical, at: Sight) -> Value:
        before, good = len(self.run.problems), True
        left, right = self.value(node.left, at), self.value(node.right, at)
        if chosen_by_or(self.run, node, left.type, right.type, before):
            return Value(None)
        for part, value in ((node.left, left), (node.right, right)):
            if value.type is not None and value.type != BOOL:
                self._not_bool(part, value.type, node.op)
                good = False
        known = left.type is not None and right.type is not None
        return joined(BOOL if good and known else None, left, right)

    def _binary(self, node: t.Binary, at: Sight) -> Value:
        if node.op in ("@", "*") and foreign_product(self.run, node, at):
            return Value(None)
        left, right = self.value(node.left, at), self.value(node.right, at)
        if left.type is None or right.type is None:
            return joined(None, left, right)
        if node.op == "@":
            return joined(product(self, node, left.type, right.type), left, right)
        return joined(self.combined(node, node.op, (node.left, left.type), (node.right, right.type), at), left, right)

    def combined(self, node: t.Expr, op: str, left: tuple[t.Expr, Type], right: tuple[t.Expr, Type],
                 at: Sight) -> Type | None:
        """The type of `left op right`. Reports V106 for types that do not fit, and then returns None.

        Args:
            node: the expression.
            op: the operator.
            left: the first operand and its type.
            right: the second operand and its type.
            at: the context of the expression.
        """
        if any(isinstance(type_, Scalar) and type_.kind == "time" for _, type_ in (left, right)):
            return self._of_times(node, op, left, right, at)
        integral = op in _BITS
        good = [self._operand(part, type_, op, at, node, integral) for part, type_ in (left, right)]
        if not all(good):
            return None
        left_type, right_type = left[1], right[1]
        if op in ("<<", ">>"):
            left_item = item(left_type)
            if left_item is not None and not left_item.weak and not isinstance(right_type, Vector):
                return left_type
        result = common(left_type, right_type)
        if result is None:
            self._no_common(node, op, left_type, right_type)
            return None
        for part, type_ in (left, right):
            scalar = item(type_)
            weak = scalar is not None and scalar.weak
            if weak and not self.fit(part, type_, _item_of(result, type_), f"`{op}` here"):
                return None
        if op == "/":
            return self.divided(result)
        return result

    def _of_times(self, node: t.Expr, op: str, left: tuple[t.Expr, Type], right: tuple[t.Expr, Type],
                  at: Sight) -> Type | None:
        """The type of an operation on times: time - time is a number; time + number and time - number are times."""
        kinds = [type_ if isinstance(type_, Scalar) else None for _, type_ in (left, right)]
        times = [kind for kind in kinds if kind is not None and kind.kind == "time"]
        if op == "-" and kinds[0] is not None and all(kind is not None and (kind in times or kind == TEXT)
                                                      for kind in kinds):
            if len(set(times)) > 1:
                self.run.report(Code.WRONG_TYPE, "the difference of two times needs times of one unit", node.span,
                                f"{spoken(left[1])} - {spoken(right[1])}", help="declare both with the same type")
                return None
            good = [self.fit(part, type_, times[0], "`-` here") for part, type_ in (left, right)]
            return I64 if all(good) else None
        for (_, one), (_, other) in ((left, right), (right, left)) if op == "+" else ((left, right),):
            if op in ("+", "-") and one in times and isinstance(other, Scalar) and other.integral:
                return one
        for part, type_ in (left, right):
            if not self._operand(part, type_, op, at, node, integral=False):
                return None
        return None

    def divided(self, type_: Type) -> Type:
        """Return the type of a quotient of two operands of the given type: `float` for integers, otherwise the given
        type.
        """
        scalar = item(type_)
        if scalar is None or scalar.floating:
            return type_
        new = NUMBER if scalar.weak else self.run.float
        return Vector(new, type_.size) if isinstance(type_, Vector) else new

    def _no_common(self, node: t.Expr, op: str, left: Type, right: Type) -> None:
        if isinstance(left, Vector) and isinstance(right, Vector) and left.size != right.size:
            title = f"`{op}` needs vectors of one length"
        else:
            title = f"`{op}` has no type for {a(left)} and {a(right)}"
        self.run.report(Code.WRONG_TYPE, title, node.span, f"{spoken(left)} {op} {spoken(right)}")

    def _compare(self, node: t.Compare, at: Sight) -> Value:
        left, right = self.value(node.left, at), self.value(node.right, at)
        if left.type is None or right.type is None:
            return joined(None, left, right)
        if not comparable(left.type, right.type, node.op not in ("==", "!=")):
            report_incomparable(self.run, node, left.type, right.type)
            return joined(None, left, right)
        for part, mine, other in ((node.left, left.type, right.type), (node.right, right.type, left.type)):
            scalar, opposite = item(mine), item(other)
            weak = scalar is not None and scalar.weak and opposite is not None and (opposite.integral or opposite.named)
            if weak and not self.fit(part, mine, opposite, f"`{node.op}` here"):
                return joined(None, left, right)
        return joined(BOOL, left, right)

    def _conditional(self, node: t.Conditional, at: Sight) -> Value:
        yes, no = self.value(node.yes, at), self.value(node.no, at)
        test = self.condition(node.test, at, "`if`")
        if yes.type is None or no.type is None or test.type is None:
            return joined(None, yes, test, no)
        result = unified(yes.type, no.type)
        if result is None or isinstance(result, (VertexSet, Matrix)):
            self.run.report(Code.WRONG_TYPE, f"this is {a(yes.type)} or {a(no.type)}", node.span,
                            "both must have one type")
        else:
            fits = [self.fit(n, v.type, result, "this value") for n, v in ((node.yes, yes), (node.no, no))]
            result = result if all(fits) else None
        return joined(result, yes, test, no)

    # ---------------------------------------------------------- tuples, vectors

    def _tuple(self, node: t.TupleExpr, at: Sight) -> Value:
        values = [self.value(part, at) for part in node.items]
        items = []
        for part, value in zip(node.items, values, strict=True):
            if isinstance(value.type, Scalar):
                items.append(value.type)
            elif value.type is not None:
                self.run.report(Code.WRONG_TYPE, "a tuple holds scalars", part.span, f"this is {a(value.type)}")
        return joined(Tuple(tuple(items)) if len(items) == len(values) else None, *values)

    def _vector(self, node: t.VectorExpr, at: Sight) -> Value:
        return vector_literal(self, node, at)


def _item_of(result: Type, part: Type) -> Type:
    """Return the type to which an operation with this result type converts an operand of type `part`."""
    return result.item if isinstance(result, Vector) and not isinstance(part, Vector) else result
