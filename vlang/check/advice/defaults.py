"""Advice on a value that is meant to replace none: `mean(...) or 0` and `coalesce(mean(...), 0)`."""

from __future__ import annotations

from vlang.check.tables.checking import Run
from vlang.check.tables.typing import a, numeric, zero
from vlang.syntax import rewrite
from vlang.syntax import tree as t
from vlang.syntax.codes import Code
from vlang.types import BOOL, Scalar, Type

__all__ = ["COALESCE", "chosen_by_or", "with_own_default"]

COALESCE = ("coalesce", "ifnull", "nvl", "fillna", "isnull")
"""Functions of other languages that replace a missing value, in lower case."""

_WITHOUT_ZERO = frozenset({"mean", "max", "min", "mode", "median", "pick"})
"""Reductions for which `or` after the brackets means the value without contributions. A sum of nothing is 0, and so are
other sums, which `or` would replace as well."""


def with_own_default(run: Run, node: t.Node) -> tuple[t.Reduce, str] | None:
    """The reduction in `R(...) or e` or `coalesce(R(...), e)`, and its text with `e` as its `default`; None for other
    expressions.
    """
    if isinstance(node, t.Logical) and node.op == "or":
        value, other = node.left, node.right
    elif isinstance(node, t.Call) and node.name.lower() in COALESCE and len(node.args) == 2:
        value, other = node.args
    else:
        return None
    if not isinstance(value, t.Reduce) or value.default is not None or value.keys:
        return None
    if isinstance(node, t.Logical) and value.name not in _WITHOUT_ZERO:
        return None
    if any(isinstance(part, t.Reduce) for part in rewrite.inside(other)):
        return None
    text = rewrite.one_line(run.text(value))
    return value, f"{text[:-1].rstrip()}, default = {rewrite.one_line(run.text(other))})"


def chosen_by_or(run: Run, node: t.Logical, left: Type | None, right: Type | None, before: int) -> bool:
    """Return whether `a or b` is meant to choose b where a is none or zero. Then report this in place of what was
    reported for a and b.

    Args:
        run: the running check.
        node: the expression.
        left: the type of a, or None if a is wrong.
        right: the type of b, or None if b is wrong.
        before: the number of problems before a and b were checked.
    """
    if node.op != "or" or right is None or right == BOOL or not numeric(right):
        return False
    new = with_own_default(run, node)
    if new is None and (left is None or not _number(left)):
        return False
    del run.problems[before:]
    first, second = (rewrite.one_line(run.text(part)) for part in (node.left, node.right))
    text, chosen = run.file.text, f"{first} if {first} != {zero(left)} else {second}"
    if text[: node.span.start].rstrip()[-1:] + text[node.span.end :].lstrip()[:1] != "()":
        chosen = f"({chosen})"
    run.report(Code.WRONG_TYPE, f"`{rewrite.short(second)}` is {a(right)}; `or` needs a condition", node.right.span,
               f"this is {a(right)}",
               help="a reduction has its own value for no contributions:" if new is not None else
               "a value that replaces zero is chosen by `if` and `else`:",
               write=new[1] if new is not None else chosen, replaces=node.span)
    return True


def _number(type_: Type) -> bool:
    return isinstance(type_, Scalar) and type_.numeric
