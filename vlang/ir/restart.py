"""Finds loops that can run once more from a result, and whether one more superstep must change nothing (language.md 4.4
to 4.6).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vlang.ir.facts import Facts, LoopFacts
from vlang.ir.forms import forms as f
from vlang.ir.forms.visible import LoopScope, expressions, statements
from vlang.records import dataclass

__all__ = ["Restart", "restarts"]


@dataclass(frozen=True)
class Restart:
    """A loop that can be restarted, because after a run its fields hold the state in which the loop ended.

    Attributes:
        number: The number of the loop, in the order of the text.
        line: The line of the loop.
        fields: The fields that the loop writes.
        still: Whether one more superstep from this state changes nothing. `still` is true for a loop that ends when a
            superstep changes nothing. `still` is false for a loop that ends on a tolerance, because one more superstep
            may change values.
    """

    number: int
    line: int
    fields: tuple[str, ...]
    still: bool


def restarts(facts: Facts) -> tuple[Restart, ...]:
    """The loops of a program that can be run once more from a result that converged."""
    program = facts.program
    return tuple(
        Restart(number, loop.loop.span.line, loop.applied, loop.kind == "fixpoint")
        for number, loop in enumerate(facts.loops.values())
        if any(statement is loop.loop for statement in program.body) and loop.kind in ("fixpoint", "tolerance")
        and _by_state(LoopScope(program, loop.loop), loop) and _alone(program, loop)
    )


def _by_state(scope: LoopScope, loop: LoopFacts) -> bool:
    """Return whether a superstep depends only on the fields and values at its start.

    Therefore the superstep must not depend on its number, on values sent in earlier supersteps, on fields declared in
    its own block, on edge states, or on inner loops.
    """
    if loop.reads_iteration or scope.inner is not None or scope.local:
        return False
    if any(gather.keeps or gather.states for gather in scope.gathers.values()):  # a new run starts with other values
        return False
    ends = {id(loop.loop.until), id(None if loop.loop.activate is None else loop.loop.activate.cond)}
    inside = (expr for statement in statements((loop.loop,)) for expr in expressions(statement) if id(expr) not in ends)
    return not any(isinstance(e, f.Field) and e.time == "change" for expr in inside for e in f.walk(expr))


def _alone(program: f.Program, loop: LoopFacts) -> bool:
    """Return whether the fields of a loop start from their initializers, and keep their final values until the program
    ends.

    Therefore no statement before the loop may read these fields, and no statement after the loop may write them.
    """
    mine = frozenset(loop.applied)
    if _reads((require.cond for require in program.requires), mine):
        return False
    before = True
    for statement in program.body:
        if statement is loop.loop:
            before = False
            continue
        for inner in statements((statement,)):
            starts = isinstance(inner, f.InitField) and before
            if (_written(inner) & mine and not starts) or (before and _reads(expressions(inner), mine)):
                return False
    return bool(mine)


def _written(statement: f.Statement) -> frozenset[str]:
    if isinstance(statement, f.InitField):
        return frozenset((statement.name,))
    return frozenset(statement.fields) if isinstance(statement, f.Apply) else frozenset()


def _reads(exprs: Iterable[f.Expr], names: frozenset[str]) -> bool:
    """Return whether an expression reads a field in `names`."""
    read: Iterator[str] = (e.name for expr in exprs for e in f.walk(expr) if isinstance(e, f.Field))
    return not names.isdisjoint(read)
