"""Warns about equations of sums that also hold where both sides are infinite (V208).

`u.depth == depth + 1` holds between two vertices that a search does not reach.
"""

from __future__ import annotations

from vlang.check.tables.checking import Run
from vlang.check.warnings.infinite import Excluded, Flow, joined
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.syntax.pointing import conjuncts

__all__ = ["judge_equations"]


def judge_equations(run: Run) -> None:
    """Report V208 for each equation of a sum or difference whose sides may both be the same infinity."""
    if any(isinstance(node, t.Compare) and node.op == "==" and _sides(node) for node in rewrite.inside(run.file)):
        _Equations(run).visit(run.file, {})


def _sides(node: t.Compare) -> tuple[t.Binary, t.Expr] | None:
    """The side of an equation that is a sum or difference, and the other one; None if neither is."""
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if isinstance(one, t.Binary) and one.op in ("+", "-") and isinstance(other, (t.Name, t.Member)):
            return one, other
    return None


class _Equations:
    """A walk over the program that knows which infinities the conditions and sweeps around an expression rule out."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._flow = Flow(run)

    def visit(self, node: t.Node, excluded: Excluded, bare: bool = False) -> None:
        """Examine a node and all nodes below it.

        Args:
            node: the node.
            excluded: what the conditions around it rule out.
            bare: whether it is a condition, or an operand of the `and` of one.
        """
        if isinstance(node, t.Sweep):
            excluded = joined(excluded, {node.field: frozenset("+-")})
        elif isinstance(node, t.Where):
            self._condition(node.cond, excluded)
            self.visit(node.block, joined(excluded, self._flow.excluded(node.cond)))
            return
        elif isinstance(node, (t.Reduce, t.Apply)):
            if node.cond is not None:
                self._condition(node.cond, excluded)
            self.visit(node.body if isinstance(node, t.Reduce) else node.value,
                       joined(excluded, self._flow.excluded(node.cond)), bare=isinstance(node, t.Reduce))
            return
        elif isinstance(node, t.Logical) and node.op == "and":
            self._condition(node, excluded)
            return
        elif isinstance(node, t.Compare):
            self._equation(node, excluded, bare)
        for part in rewrite.below(node):
            self.visit(part, excluded)

    def _condition(self, cond: t.Expr, excluded: Excluded) -> None:
        parts = tuple(conjuncts(cond))
        for part in parts:
            inner = excluded
            for other in parts:
                inner = joined(inner, self._flow.excluded(other)) if other is not part else inner
            self.visit(part, inner, bare=True)

    def _equation(self, node: t.Compare, excluded: Excluded, bare: bool) -> None:
        sides = _sides(node) if node.op == "==" else None
        if sides is None:
            return
        whole, other = sides
        signs = self._flow.within(whole, excluded) & self._flow.within(other, excluded)
        if not signs:
            return
        text, name = (rewrite.one_line(self._run.text(one)) for one in (node, other))
        sign, test = ("inf", f"{name} < inf") if "+" in signs else ("-inf", f"{name} > -inf")
        self._run.report(Code.INFINITE_EQUATION, f"`{rewrite.short(text)}` also holds where both sides are `{sign}`",
                         node.span, f"`{sign} + 1` is `{sign}`", help="leave out what is infinite:",
                         write=f"{test} and {text}" if bare else f"({test} and {text})", replaces=node.span)
