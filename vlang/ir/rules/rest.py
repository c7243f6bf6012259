"""Tests whether `activate when` can become true for vertices where nothing changed.

Rule N skips vertices where nothing changed. Therefore the condition must keep its value from the last superstep at
skipped vertices, or be false.
"""

from __future__ import annotations

from dataclasses import replace

from vlang.ir.forms import forms as f

__all__ = ["stays"]

_THROUGH = frozenset({"abs", "neg", "cast", "sqrt", "vsum", "vmin", "vmax"})  # they map 0 to 0
_SWAPPED = {"lt": "gt", "le": "ge"}


def stays(cond: f.Expr) -> bool:
    """Return whether a condition cannot become true at a vertex where nothing changed (where old and new values are
    equal).

    If a change is compared with a bound that is not a literal, this bound is assumed to be a tolerance, which is not
    negative.
    """
    if _steady(cond) or _never(cond):
        return True
    return isinstance(cond, f.Op) and cond.op in ("and", "or") and all(map(stays, cond.args))


def _steady(cond: f.Expr) -> bool:
    """Return whether a condition reads no old values."""
    return not any((isinstance(e, f.Field) and e.time != "now") or (isinstance(e, f.Op) and e.op == "differs")
                   for e in f.walk(cond))


def _never(cond: f.Expr) -> bool:
    """Return whether a condition is false at a vertex where nothing changed."""
    if not isinstance(cond, f.Op):
        return False
    if cond.op in ("and", "or"):
        return (any if cond.op == "and" else all)(map(_never, cond.args))
    if cond.op == "differs":
        return True
    if cond.op in _SWAPPED:
        return _never(f.Op(cond.type, _SWAPPED[cond.op], cond.args[::-1], cond.data))
    if cond.op not in ("ne", "gt", "ge"):
        return False
    large, small = _at_rest(cond.args[0]), _at_rest(cond.args[1])
    if large == small:
        return cond.op != "ge"
    if cond.op == "ne":
        return False
    if _is_zero(large):
        return not isinstance(small, f.Const) or _positive(small) or (cond.op == "gt" and _is_zero(small))
    if isinstance(small, f.Op) and small.op == "add" and large in small.args:
        return any(map(_positive, small.args))
    return False


def _at_rest(expr: f.Expr) -> f.Expr:
    """The expression at a vertex where nothing changed: old values equal present values, and changes are zero."""
    if isinstance(expr, f.Field) and expr.time != "now":
        return f.Const(expr.type, 0) if expr.time == "change" else replace(expr, time="now")
    made = f.rebuild(expr, tuple(map(_at_rest, f.children(expr))))
    if isinstance(made, f.Op):
        nothing = made.op == "sub" and made.args[0] == made.args[1]
        if nothing or (made.op in _THROUGH and _is_zero(made.args[0])):
            return f.Const(made.type, 0)
    return made


def _is_zero(expr: f.Expr) -> bool:
    return isinstance(expr, f.Const) and expr.value == 0


def _positive(expr: f.Expr) -> bool:
    return isinstance(expr, f.Const) and expr.value is not None and expr.value > 0
