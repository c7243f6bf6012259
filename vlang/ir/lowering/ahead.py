"""Moves reads of values of single vertices out of loops that cannot change these values.

Lowering turns `q.f` inside a reduction into a `let` before the statement. If a loop writes neither f nor q, the value
is the same in every superstep, so the `let` is moved before the loop. As a result, the rules of the loop need not
assume that the value changes (rules A, N and P).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import statements

__all__ = ["before_loop"]

Body = tuple[f.Statement, ...]


def before_loop(body: Body, made: Collection[str], own: str = "") -> tuple[list[f.Let], Body]:
    """Return the `let`s that may be moved before a loop, and the block of the loop without these `let`s.

    Args:
        body: the block of the loop.
        made: the names of the `let`s that lowering has created for values of single vertices.
        own: the name of the variable of the loop; "" if it has none.
    """
    changed = {own, *(name for statement in statements(body) for name in _assigned(statement))}
    found = [one for one in statements(body) if isinstance(one, f.Let) and one.name in made
             and not changed & set(_read(one.value))]
    return found, tuple(_without(body, {one.name for one in found})) if found else body


def _assigned(statement: f.Statement) -> tuple[str, ...]:
    """Return the fields and the names of graph values that a statement assigns. Assignments in its block do not count.
    """
    if isinstance(statement, f.Apply):
        return statement.fields
    if isinstance(statement, (f.InitField, f.InitGlobal, f.ForVertices, f.ForRange)):
        return (statement.name,)
    return (statement.name,) if isinstance(statement, f.Let) else ()


def _read(value: f.Expr) -> Iterable[str]:
    """The fields and names of graph values that an expression reads."""
    return (one.name for one in f.walk(value) if isinstance(one, (f.Field, f.GraphValue)))


def _without(body: Body, names: Collection[str]) -> Iterable[f.Statement]:
    for statement in body:
        if isinstance(statement, f.Let) and statement.name in names:
            continue
        if isinstance(statement, (f.Where, f.Repeat, f.Sweep, f.ForVertices, f.ForRange)):
            statement = replace(statement, body=tuple(_without(statement.body, names)))
        yield statement
