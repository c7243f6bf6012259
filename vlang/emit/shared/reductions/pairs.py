"""Code of reductions over the common neighbours of a vertex and a neighbour: a loop over two sorted neighbour lists.

The loop is a part of the function that computes the contribution of an edge. The loop intersects two sets: the distinct
neighbours of self, and the distinct neighbours of the neighbour. Values that do not depend on the common neighbour are
computed before the loop.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from vlang.emit.shared.reductions.accumulate import Accumulation
from vlang.emit.shared.values.formulas import Unwritable, Writer
from vlang.emit.shared.values.frame import Pair, Scope
from vlang.ir.forms import forms as f

__all__ = ["intersected"]


def intersected(writer: Writer, reduce: f.Reduce) -> tuple[str, ...]:
    """Write the loop of a reduction over common neighbours; returns the code of its value, one text per component."""
    place, d = writer.place, writer.d
    assert isinstance(place, Scope)
    accumulation = Accumulation.of(reduce, place.env.frame.reductions, place.ranges())
    if accumulation.declared is not None and accumulation.declared.exact:
        raise Unwritable("a declared reduction of integers over common neighbours", reduce.span)
    number = writer.number()
    lists = place.neighbours(reduce)
    inner = writer.elsewhere(replace(place, pair=Pair(f"w{number}", f"i_{number}", f"j{number}")))
    inner.lines = []
    for part in (reduce.body, reduce.cond):
        for before in _constant(part) if part is not None else ():
            inner.know(before, writer.items(before))
    names = tuple(f"r{number}_{k}" for k in range(len(accumulation.types)))
    for name, type_, text in zip(names, accumulation.types, accumulation.identity(writer), strict=True):
        writer.lines.append(d.variable(name, type_, text))
    after = accumulation.take(inner, names)
    body = [*inner.lines, *(d.assign(name, text) for name, text in zip(names, after, strict=True))]
    writer.lines += d.intersection(number, lists, (place.here, place.there), writer.guard, body)
    return accumulation.finish(writer, names)


def _constant(expr: f.Expr) -> Iterator[f.Expr]:
    """The largest parts of an expression that do not depend on the common neighbour."""
    if isinstance(expr, (f.Const, f.Vertex)):
        return
    if f.THIRD not in f.walk(expr):
        yield expr
        return
    for child in f.children(expr):
        yield from _constant(child)
