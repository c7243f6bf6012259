"""Warns about integer sums whose terms may be infinite (V205). The check traces `inf` and `-inf` through the program.

The sign "+" stands for `inf`, and "-" for `-inf`. Two kinds of infinities are not traced: results that are too large
for their type, and values that the caller passes. A comparison excludes infinities: `x < y` is false if x is `inf`.
"""

from __future__ import annotations

from collections.abc import Iterable

from vlang.check.tables.checked import Symbol
from vlang.check.tables.checking import Run
from vlang.reductions import operator_of
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import Scalar

__all__ = ["Excluded", "Flow", "joined", "judge_sums"]

Signs = frozenset[str]
Excluded = dict[str, Signs]
"""For the text of a value, the infinities that conditions around an expression rule out."""
_NO: Signs = frozenset()
_BOTH: Signs = frozenset("+-")
_BY_FOLD = {"min": "+", "max": "-"}
_OTHER_WAY = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}


def judge_sums(run: Run) -> None:
    """Report V205 for each sum of integers with a term to which the program may assign an infinity."""
    flow = Flow(run)
    for node in rewrite.inside(run.file):
        if not isinstance(node, t.Reduce) or operator_of(node.name) != "+":
            continue
        if _signed(run, node.body) and _plain(node.body):
            signs = flow.within(node.body, flow.excluded(node.cond))
            if signs:
                _warn(run, node, signs)


class Flow:
    """Finds the symbols that may hold an infinity. Passes over the program are repeated until a pass finds no new
    symbol.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._known: dict[Symbol, Signs] = {}
        before = -1
        while before != (now := sum(map(len, self._known.values()))):
            before = now
            for node in rewrite.inside(run.file):
                self._write(node)

    def _write(self, node: t.Node) -> None:
        if isinstance(node, t.Apply):
            self._add(self._run.targets[node.target], self.within(node.value, {}))
        elif isinstance(node, (t.VertexField, t.GlobalValue, t.Let, t.Gather)):
            value = node.init if isinstance(node, t.VertexField) else node.value
            if value is not None:
                self._add(self._run.declared[node], self.within(value, {}))

    def _add(self, symbols: Iterable[Symbol], signs: Signs) -> None:
        for symbol in symbols:
            self._known[symbol] = self._known.get(symbol, _NO) | signs

    def within(self, node: t.Expr, excluded: Excluded) -> Signs:
        """The infinities that may be the value of an expression.

        Args:
            excluded: for the text of a value, the infinities that conditions around the expression rule out.
        """
        return self._signs(node, excluded) - excluded.get(self._run.text(node), _NO)

    def _signs(self, node: t.Expr, excluded: Excluded) -> Signs:
        if isinstance(node, t.Literal):
            return frozenset("+") if node.text == "inf" else _NO
        if isinstance(node, (t.Name, t.Member)):
            symbol = self._run.symbols.get(node)
            return _NO if symbol is None else self._known.get(symbol, _NO)
        if isinstance(node, t.Unary):
            return _flipped(self.within(node.value, excluded)) if node.op == "-" else _NO
        if isinstance(node, t.Binary):
            return self._arithmetic(node, excluded)
        if isinstance(node, t.Conditional):
            return self.within(node.yes, joined(excluded, self.excluded(node.test))) | self.within(node.no, excluded)
        if isinstance(node, t.TupleExpr):
            return _NO.union(*(self.within(part, excluded) for part in node.items))
        if isinstance(node, t.Index):
            return self.within(node.value, excluded)
        if isinstance(node, t.Call):
            return self._called(node, excluded)
        return self._reduced(node) if isinstance(node, t.Reduce) else _NO

    def _arithmetic(self, node: t.Binary, excluded: Excluded) -> Signs:
        left, right = self.within(node.left, excluded), self.within(node.right, excluded)
        if node.op in ("+", "-"):
            return left | (right if node.op == "+" else _flipped(right))
        return _BOTH if node.op in ("*", "//") and left | right else _NO

    def _called(self, node: t.Call, excluded: Excluded) -> Signs:
        args = [self.within(arg, excluded) for arg in node.args]
        if node.name in ("changed", "change") or not args:
            return _NO
        whole = _NO.union(*args)
        if node.name in _BY_FOLD and len(args) > 1:
            least = frozenset(_BY_FOLD[node.name])
            return frozenset.intersection(*args) & least | (whole - least)
        return frozenset("+") if node.name == "abs" and whole else whole

    def _reduced(self, node: t.Reduce) -> Signs:
        operator = operator_of(node.name)
        if operator not in ("+", "min", "max") and node.name not in ("mode", "median"):
            return _NO
        body = self.within(node.body, self.excluded(node.cond))
        if node.default is not None:
            return body | self.within(node.default, {})
        return body | frozenset(_BY_FOLD.get(operator or "", ""))

    def excluded(self, cond: t.Expr | None) -> Excluded:
        """Return a dict from the text of a value to the infinities that a condition rules out for this value."""
        if isinstance(cond, t.Logical) and cond.op == "and":
            return joined(self.excluded(cond.left), self.excluded(cond.right))
        if not isinstance(cond, t.Compare):
            return {}
        sides = ((cond.left, cond.op, cond.right), (cond.right, _OTHER_WAY[cond.op], cond.left))
        return {self._run.text(value): self._against(op, other) for value, op, other in sides}

    def _against(self, op: str, other: t.Expr) -> Signs:
        """The infinities that cannot be the value of x if `x op other` holds."""
        if op in ("<", ">"):
            return frozenset("+" if op == "<" else "-")
        signs = self.within(other, {})
        if op == "!=":
            value = other.value if isinstance(other, t.Unary) else other
            return signs if isinstance(value, t.Literal) else _NO
        bound = {"<=": "+", ">=": "-", "==": "+-"}[op]
        return frozenset(bound) - signs


def joined(a: Excluded, b: Excluded) -> Excluded:
    """What two conditions that hold together rule out."""
    return {text: a.get(text, _NO) | b.get(text, _NO) for text in a.keys() | b.keys()}


def _flipped(signs: Signs) -> Signs:
    return frozenset("-" if sign == "+" else "+" for sign in signs)


def _signed(run: Run, node: t.Expr) -> bool:
    type_ = run.types.get(node)
    return isinstance(type_, Scalar) and type_.kind == "int"


def _plain(node: t.Expr) -> bool:
    """Return whether a term is a stored value or a choice between stored values, and not a computed value."""
    if isinstance(node, t.Conditional):
        return _plain(node.yes) and _plain(node.no)
    if isinstance(node, t.Call):
        return node.name in ("min", "max") and all(map(_plain, node.args))
    if isinstance(node, t.Unary):
        return node.op == "-" and isinstance(node.value, t.Literal)
    return isinstance(node, (t.Name, t.Member, t.Literal))


def _warn(run: Run, node: t.Reduce, signs: Signs) -> None:
    text = rewrite.one_line(run.text(node.body))
    value = f"({text})" if isinstance(node.body, t.Conditional) else text
    tests = [f"{value} < inf"] * ("+" in signs) + [f"{value} > -inf"] * ("-" in signs)
    if node.cond is None:
        end = node.domain.span.end
        edit = (t.Span(end, end, node.span.line, node.span.column), f" if {' and '.join(tests)}")
    else:
        cond = rewrite.one_line(run.text(node.cond))
        loose = isinstance(node.cond, t.Conditional) or (isinstance(node.cond, t.Logical) and node.cond.op == "or")
        edit = (node.cond.span, " and ".join([*tests, f"({cond})" if loose else cond]))
    sign = "inf" if "+" in signs else "-inf"
    symbol = run.symbols.get(node.body)
    notes = () if symbol is None else run.note(symbol, "declared here")
    run.report(Code.INFINITE_SUM, f"`{rewrite.short(text)}` may be `{sign}`, and then this sum is", node.span,
                f"one `{sign}` makes it `{sign}`", notes=notes, help="leave out what is infinite:",
                write=rewrite.edited(run.file.text, node.span, [edit]), replaces=node.span)
