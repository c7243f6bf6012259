"""Fusion: a pass also computes the reductions over vertices and the messages that need only its new values.

After a pass, a superstep computes reductions over vertices (of a `let`, or of `until`) and then the messages of the
next pass, which may belong to the next superstep. Some reductions and messages read only the present values of one
vertex at a time. They can be computed for a block of vertices as soon as the block has its new values. The new values
are then still in the cache, and no separate pass over all vertices is needed. A reduction always merges one partial
result per block, so fusion does not change the bits of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from vlang.emit.shared.changes_sent import changes_sent
from vlang.emit.shared.loop_spec import LoopPlan
from vlang.ir.forms import forms as f
from vlang.ir.stages import ScalarStep, Stage
from vlang.records import dataclass

__all__ = ["FusedWork", "fused_work"]

Messages = Callable[[Stage], Mapping[f.Expr, int]]


@dataclass(frozen=True)
class FusedWork:
    """The work fused into one pass.

    Attributes:
        scalars: names of values whose reductions over vertices are fused.
        sender: the name of the pass whose messages are computed, or None.
    """

    scalars: tuple[str, ...]
    sender: str | None

    def __bool__(self) -> bool:
        return bool(self.scalars or self.sender)


def fused_work(plan: LoopPlan, messages: Messages) -> dict[str, FusedWork]:
    """The work fused into each pass of a loop, by the name of the pass; empty for a loop with inner blocks."""
    loop = plan.loop
    if loop.nested:
        return {}
    found = {}
    for at, step in enumerate(loop.steps):
        if isinstance(step, Stage) and (plan.fused or step is not loop.stages[-1]):
            found[step.name] = _after(plan, at, messages)
    if not plan.fused:
        found[f"{loop.name}_end"] = _after(plan, len(loop.steps) - 1, messages)
    return {name: one for name, one in found.items() if one}


def _after(plan: LoopPlan, at: int, messages: Messages) -> FusedWork:
    """Return the work that can be fused into step `at`. For the last pass, this includes work of the next superstep."""
    scalars: list[str] = []
    later: set[str] = set()  # values that are computed after the pass, so the fused work cannot read them
    for item, next_one in _steps_after(plan, at):
        if next_one:
            later.add("iteration")
        if isinstance(item, Stage):
            sends = messages(item)
            if sends and not changes_sent(item, sends) and all(_at_hand(expr, "other", later, True) for expr in sends):
                return FusedWork(tuple(scalars), item.name)
            break
        if _folds(item.value, later, next_one):
            scalars.append(item.name)
        later.add(item.name)
    return FusedWork(tuple(scalars), None)


def _steps_after(plan: LoopPlan, at: int) -> Iterator[tuple[Stage | ScalarStep, bool]]:
    """Yield the steps after step `at` up to the next pass. For each step, also yield whether it is in the next
    superstep.
    """
    loop = plan.loop
    for step in loop.steps[at + 1:]:
        assert isinstance(step, (Stage, ScalarStep))
        yield step, False
    until = loop.repeat.until
    if until is not None:
        yield ScalarStep(f"{loop.name}.until", "until", until, loop.repeat.span), False
    for step in loop.steps:
        assert isinstance(step, (Stage, ScalarStep))
        yield step, True


def _folds(value: f.Expr, later: set[str], next_one: bool) -> bool:
    """Return whether a value is computed from reductions over all vertices, and these reductions can be fused.

    Reductions of the next superstep (`next_one`) must not read past values, because that superstep has not begun.
    """
    reduces = [e for e in f.walk(value) if isinstance(e, f.Reduce)]
    return bool(reduces) and all(
        reduce.domain.kind == "vertices" and _at_hand(reduce, "self", later, next_one) for reduce in reduces)


def _at_hand(expr: f.Expr, of: str, later: set[str], now: bool) -> bool:
    """Return whether an expression reads only the vertex `of` and no value in `later`.

    Args:
        now: whether to exclude past values as well.
    """
    for e in f.walk(expr):
        if isinstance(e, f.Field) and (e.of != of or (now and e.time != "now")):
            return False
        if isinstance(e, f.GraphValue) and e.name in later:
            return False
    return True
