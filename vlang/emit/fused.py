"""What follows a pass, block by block: reductions over vertices and messages that need nothing but the new values.

Between one pass of a superstep and the next stand reductions over vertices (those of a `let`, and of `until`) and the
messages of the next pass; after the last pass these are the ones of the next superstep. Each reads what vertices are
at that moment, a vertex by itself. So it can be done for a block of vertices as soon as the block has its new values,
while those are in the cache, instead of one more pass over all of them. The partial results of a reduction belong to
blocks either way, so its bits stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from vlang.emit.shared.loop_spec import LoopPlan
from vlang.emit.shared.telling import telling
from vlang.ir.forms import forms as f
from vlang.ir.stages import ScalarStep, Stage

__all__ = ["Following", "following"]

Messages = Callable[[Stage], Mapping[f.Expr, int]]


@dataclass(frozen=True)
class Following:
    """What follows one pass. scalars: names of values whose reductions do. sender: the pass whose messages do."""

    scalars: tuple[str, ...]
    sender: str | None

    def __bool__(self) -> bool:
        return bool(self.scalars or self.sender)


def following(plan: LoopPlan, messages: Messages) -> dict[str, Following]:
    """What follows each pass of a loop without blocks inside, by the name of the pass; passes that nothing follows are
    left out. messages: those of a pass."""
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


def _after(plan: LoopPlan, at: int, messages: Messages) -> Following:
    """What follows step `at`, the pass at the end of a superstep included, if the loop has one of its own."""
    scalars: list[str] = []
    made: set[str] = set()  # values that are computed after the pass: nobody can read them there
    for item, next_one in _steps_after(plan, at):
        if next_one:
            made.add("iteration")
        if isinstance(item, Stage):
            sends = messages(item)
            if sends and not telling(item, sends) and all(_at_hand(expr, "other", made, True) for expr in sends):
                return Following(tuple(scalars), item.name)
            break
        if _folds(item.value, made, next_one):
            scalars.append(item.name)
        made.add(item.name)
    return Following(tuple(scalars), None)


def _steps_after(plan: LoopPlan, at: int) -> Iterator[tuple[Stage | ScalarStep, bool]]:
    """The steps after one of a superstep up to the next pass, each with whether it belongs to the next superstep."""
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


def _folds(value: f.Expr, made: set[str], next_one: bool) -> bool:
    """Whether a value is made of reductions over all vertices that are at hand. Those of the next superstep must not
    read what was, as another superstep begins before that."""
    reduces = [e for e in f.walk(value) if isinstance(e, f.Reduce)]
    return bool(reduces) and all(
        reduce.domain.kind == "vertices" and _at_hand(reduce, "self", made, next_one) for reduce in reduces)


def _at_hand(expr: f.Expr, of: str, made: set[str], now: bool) -> bool:
    """Whether an expression reads no vertex but the one at hand, and no value of `made`. now: nor what was before."""
    for e in f.walk(expr):
        if isinstance(e, f.Field) and (e.of != of or (now and e.time != "now")):
            return False
        if isinstance(e, f.GraphValue) and e.name in made:
            return False
    return True
