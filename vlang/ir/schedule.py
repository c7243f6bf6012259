"""Scheduling of the IR: packs statements into the passes of vlang.ir.stages, greedily and in order."""

from __future__ import annotations

from dataclasses import field, replace

from vlang.ir.forms import forms as f
from vlang.ir.stages import (
    Block,
    ForRange,
    ForVertices,
    Loop,
    Mask,
    ScalarStep,
    Schedule,
    Stage,
    Step,
    Sweep,
    Write,
    accumulators_in,
    anywhere,
    every,
    reads_of,
)
from vlang.records import dataclass
from vlang.syntax.tree import Span
from vlang.types import BOOL

__all__ = ["schedule"]


def schedule(
    program: f.Program, given: frozenset[str] = frozenset(), without: frozenset[str] = frozenset()
) -> Schedule:
    """The steps of a program.

    Args:
        given: fields that the caller passes. The initializers of these fields do not run.
        without: optimisations to leave out. Only "merge" and "narrow" have an effect on the schedule.
    """
    body = tuple(s for s in program.body if not (isinstance(s, f.InitField) and s.name in given))
    return Schedule(program, _mark_stored(_Packer(program, without).block(body, None)))


@dataclass
class _Open:
    """A stage under construction, with the attributes of `Stage`."""

    domain: str | None = None
    guard: str | None = None
    before: list[Mask] = field(default_factory=list)
    gathers: list[f.Gather] = field(default_factory=list)
    after: list[Mask | Write] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not (self.before or self.gathers or self.after)

    @property
    def written(self) -> set[str]:
        return {name for item in self.after if isinstance(item, Write) for name in item.fields}

    @property
    def named(self) -> set[str]:
        """The accumulators, and the masks that are evaluated after the gathers. No gather of the pass can read these
        values.
        """
        return {g.name for g in self.gathers} | {m.name for m in self.after if isinstance(m, Mask)}


class _Packer:
    """Packs statements into stages, greedily and in order."""

    def __init__(self, program: f.Program, without: frozenset[str]) -> None:
        self._merges, self._narrows = "merge" not in without, "narrow" not in without
        self._types = {decl.name: decl.type for decl in program.fields}
        self._taken = set(program.names)
        self._stages = self._masks = self._lets = self._loops = self._sweeps = self._ranges = 0
        self._level = 0
        self._steps: list[Step] = []
        self._open = _Open()

    def block(self, body: tuple[f.Statement, ...], guard: str | None) -> tuple[Step, ...]:
        """The steps of a block."""
        self._close()
        outer, self._steps = self._steps, []
        for statement in body:
            self._statement(statement, guard)
        self._close()
        steps, self._steps = tuple(self._steps), outer
        return steps

    def _statement(self, statement: f.Statement, guard: str | None) -> None:
        if isinstance(statement, f.Gather):
            self._gather(statement, guard)
        elif isinstance(statement, f.Apply):
            self._end_pass_before(statement.value)
            self._open.after.append(Write(statement.fields, statement.value, guard, statement.span))
        elif isinstance(statement, f.Where):
            mask = self._mask(statement.cond, guard, statement.span)
            for inner in statement.body:
                self._statement(inner, mask)
        elif isinstance(statement, f.Let):
            self._scalar(ScalarStep(statement.name, "let", statement.value, statement.span))
        elif isinstance(statement, f.InitGlobal):
            self._scalar(ScalarStep(statement.name, "global", statement.value, statement.span))
        elif isinstance(statement, f.InitField):
            self._initializer(statement)
        elif not isinstance(statement, f.Activate):  # `activate when` belongs to its loop
            self._steps.append(self._nest(statement, guard))

    def _nest(self, statement: f.Statement, guard: str | None) -> Block:
        """The step for a statement with a block that runs more than once."""
        if isinstance(statement, f.Repeat):
            number, level = self._loops, self._level
            self._loops, self._level = number + 1, level + 1
            steps = self.block(statement.body, guard)
            self._level = level
            return Loop(number, level, guard, statement, steps)
        if isinstance(statement, f.Sweep):
            return self._sweep(statement, guard)
        if isinstance(statement, f.ForVertices):
            return ForVertices(statement, self.block(statement.body, guard))
        assert isinstance(statement, f.ForRange)
        self._ranges += 1
        return ForRange(f"range{self._ranges - 1}", statement, self.block(statement.body, guard))

    def _sweep(self, sweep: f.Sweep, guard: str | None) -> Sweep:
        """Return the step for a sweep. A comparison with the current level guards every statement of its block.

        The block does not write the field of the sweep. Therefore the levels are fixed when the sweep begins, and every
        pass can compare the field with the current level.
        """
        level = self._fresh(f"level_{self._sweeps}")
        self._sweeps += 1
        type_ = self._types[sweep.field]
        here = f.Op(BOOL, "eq", (f.Field(type_, sweep.field, "self"), f.GraphValue(type_, level, "loop")))
        return Sweep(level, guard, sweep, self.block((f.Where(sweep.span, here, sweep.body),), guard))

    def _fresh(self, name: str) -> str:
        """A name that the program does not use."""
        while name in self._taken:
            name += "_"
        self._taken.add(name)
        return name

    def _close(self) -> None:
        now = self._open
        if not now.empty:
            stage = Stage(f"s{self._stages}", now.domain, now.guard, tuple(now.before), tuple(now.gathers),
                          tuple(now.after))
            self._stages += 1
            self._steps.append(stage)
        self._open = _Open()

    def _end_pass_before(self, expr: f.Expr) -> None:
        """End the pass if an expression reads, at an arbitrary vertex, a field that the pass writes."""
        if self._open.written & anywhere(expr):
            self._close()

    def _scalar(self, step: ScalarStep) -> None:
        self._close()
        self._steps.append(step)

    def _gather(self, gather: f.Gather, guard: str | None) -> None:
        guard = guard if self._narrows else None
        if not self._joins(gather, guard):
            self._close()
        self._open.domain = gather.reduce.over
        self._open.guard = guard
        self._open.gathers.append(gather)

    def _joins(self, gather: f.Gather, guard: str | None) -> bool:
        """Return whether a gather may run in the open pass, before the statements that are already in the pass."""
        now = self._open
        if now.gathers and not self._merges:
            return False
        if now.gathers and (now.domain != gather.reduce.over or now.guard != guard):
            return False
        kept = {one.keeps for one in now.gathers if one.keeps}
        if kept & (gather.states | {gather.keeps}):  # the statement sees, or replaces, the values of the open pass
            return False
        reads = set()
        for expr in f.walk(gather.reduce):
            if isinstance(expr, (f.Field, f.Accumulator)):
                reads.add(expr.name)
        late = now.named if now.gathers else {m.name for m in now.after if isinstance(m, Mask)}
        if reads & (now.written | late):
            return False
        if guard in late:
            early = _early_masks(now, guard)
            if early is None:
                return False
            now.before.extend(early)
            now.after = [item for item in now.after if item not in early]
        return True

    def _mask(self, cond: f.Expr, guard: str | None, span: Span) -> str:
        self._end_pass_before(cond)
        name = self._fresh(f"where_{self._masks}")
        self._masks += 1
        self._open.after.append(Mask(name, cond, guard, span))
        return name

    def _initializer(self, statement: f.InitField) -> None:
        value = self._lets_of(statement.value, statement.span)
        self._end_pass_before(value)
        reduces = list(f.reductions(value))
        for number, reduce in enumerate(reduces):
            name = self._fresh(f"{statement.name}_from_edges" + (f"_{number}" if number else ""))
            gather = f.Gather(statement.span, name, reduce)
            value = _replace(value, reduce, f.Accumulator(reduce.type, name))
            self._gather(gather, None)
        self._open.after.append(Write((statement.name,), value, None, statement.span, init=True))

    def _lets_of(self, value: f.Expr, span: Span) -> f.Expr:
        """Replace the reductions over vertices in an initializer by `let`s, so that they run before the pass."""
        for reduce in [e for e in f.walk(value) if isinstance(e, f.Reduce) and not e.domain.edges]:
            name = self._fresh(f"over_vertices_{self._lets}")
            self._lets += 1
            self._scalar(ScalarStep(name, "let", reduce, span))
            value = _replace(value, reduce, f.GraphValue(reduce.type, name, "let"))
        return value


def _early_masks(now: _Open, guard: str) -> list[Mask] | None:
    """Return the masks on which `guard` depends, if all these masks can be evaluated before the gathers; otherwise
    None.
    """
    masks = {item.name: item for item in now.after if isinstance(item, Mask)}
    chain: list[Mask] = []
    name: str | None = guard
    while name in masks:
        mask = masks[name]
        for expr in f.walk(mask.cond):
            if isinstance(expr, f.Field) and expr.name in now.written:
                return None
            if isinstance(expr, f.Accumulator) and expr.name in now.named:
                return None
        chain.insert(0, mask)
        name = mask.guard
    return chain


def _replace(expr: f.Expr, old: f.Expr, new: f.Expr) -> f.Expr:
    if expr == old:
        return new
    return f.rebuild(expr, tuple(_replace(child, old, new) for child in f.children(expr)))


def _mark_stored(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Mark in each stage the accumulators and masks that other stages read."""
    needed: set[str] = set()
    guards: set[str | None] = set()
    for step in every(steps):
        if isinstance(step, Stage):
            needed |= reads_of(step)
        elif isinstance(step, Sweep):
            guards.add(step.guard)
        elif isinstance(step, Loop) and step.repeat.activate is not None:
            guards.add(step.guard)
            needed |= set() if step.fused else accumulators_in((step.repeat.activate.cond,))
    needed |= {guard for guard in guards if guard is not None}
    return _storing(steps, needed)


def _storing(steps: tuple[Step, ...], needed: set[str]) -> tuple[Step, ...]:
    result: list[Step] = []
    for step in steps:
        if isinstance(step, Stage):
            names = {g.name for g in step.gathers}
            names |= {m.name for m in (*step.before, *step.after) if isinstance(m, Mask)}
            result.append(replace(step, stored=frozenset(names & needed)))
        elif isinstance(step, ScalarStep):
            result.append(step)
        else:
            result.append(replace(step, steps=_storing(step.steps, needed)))
    return tuple(result)
