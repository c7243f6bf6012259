"""Finds how values depend on the edges of the graph. Rule I refuses an old result if inputs of a loop depend on edges.
"""

from __future__ import annotations

from collections.abc import Iterable

from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import expressions, statements

__all__ = ["FAR", "FREE", "NEAR", "NUMBERED", "TIED", "Ties"]

FREE, NEAR, FAR = 0, 1, 2
NUMBERED = frozenset({"random", "mix", "hll_unit"})
"""The functions of the caller's number of a vertex."""
TIED = frozenset({"between", "common", "ordinal"})
"""The functions whose values depend on edges anywhere in the graph."""


class Ties:
    """How each value of a program depends on edges. The class visits the statements of the body in order.

    FREE: the value does not depend on edges. NEAR: the value of a vertex depends on its own edges. FAR: the value
    depends on edges anywhere in the graph.

    Args:
        grown: whether the change of the graph also adds vertices.
    """

    def __init__(self, grown: bool) -> None:
        self._grown = grown
        self._names: dict[str, int] = {}

    def of_name(self, name: str) -> int:
        """The dependence of a field, an accumulator, a `let` or a `global`."""
        return self._names.get(name, FREE)

    def of(self, expr: f.Expr) -> int:
        """The dependence of an expression."""
        if isinstance(expr, f.Degree):
            return FAR if isinstance(expr.of, f.Expr) else NEAR
        if isinstance(expr, f.GraphValue):
            if expr.kind == "builtin":
                return FAR if expr.name == "M" or (expr.name == "N" and self._grown) else FREE
            return self.of_name(expr.name)
        if isinstance(expr, f.Accumulator):
            return self.of_name(expr.name)
        inside = self._most(f.children(expr))
        if isinstance(expr, f.Field):
            own = self.of_name(expr.name)
            return max(inside, FAR if own and isinstance(expr.of, f.Expr) else own)
        if isinstance(expr, f.Reduce) and expr.domain.kind == "common":
            return FAR
        if isinstance(expr, f.Reduce):
            if expr.domain.stored:
                return FAR if inside else NEAR
            return FAR if inside or (self._grown and expr.domain.kind != "set") else FREE
        if isinstance(expr, f.Op) and (expr.op in TIED or (self._grown and expr.op in NUMBERED)):
            return FAR
        return inside

    def _most(self, exprs: Iterable[f.Expr]) -> int:
        return max(map(self.of, exprs), default=FREE)

    def pass_by(self, statement: f.Statement, guard: int = FREE) -> None:
        """Record how the values that a statement of the body writes depend on edges."""
        if isinstance(statement, (f.InitField, f.InitGlobal, f.Let)):
            self._names[statement.name] = self.of(statement.value)
        elif isinstance(statement, f.Gather):
            self._names[statement.name] = max(guard, self.of(statement.reduce))
        elif isinstance(statement, f.Apply):
            tie = max(guard, self.of(statement.value))
            for name in statement.fields:
                self._names[name] = max(tie, self.of_name(name))
        elif isinstance(statement, f.Where):
            inner = max(guard, self.of(statement.cond))
            for one in statement.body:
                self.pass_by(one, inner)
        elif not isinstance(statement, f.Activate):
            self._pass_block(statement)

    def _pass_block(self, block: f.Statement) -> None:
        """Record the writes of a block that runs more than once.

        The written values are FAR if anything in the block depends on edges.
        """
        inside = list(statements((block,)))
        tie = self._most(expr for one in inside for expr in expressions(one))
        gathers = any(isinstance(e, f.Reduce) and e.domain.edges
                      for one in inside for expr in expressions(one) for e in f.walk(expr))
        for one in inside:
            if isinstance(one, f.Apply):
                for name in one.fields:
                    self._names[name] = FAR if tie or gathers else self.of_name(name)
            elif isinstance(one, (f.InitField, f.Let)):
                self._names[one.name] = FAR if tie or gathers else FREE
