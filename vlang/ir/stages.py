"""Stages: the passes that a target runs, in order, as vlang.ir.schedule makes them.

A *stage* is one pass: all its gathers over one domain, then what each vertex does with them. Statements join a
stage as long as a single pass gives what the text says (rule F); a stage without gathers is a pass over vertices.
Reductions over vertices and graph-level values stand between stages as *scalars*: they are barriers.
`where` becomes masks: vertex-level bools that guard gathers and writes. Blocks that run more than once are steps
that hold steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from vlang.ir.forms import forms as f
from vlang.syntax.tree import Span

__all__ = [
    "Block", "ForRange", "ForVertices", "Loop", "Mask", "Schedule", "ScalarStep", "Stage", "Step", "Sweep", "Write",
    "accumulators_in", "anywhere", "every", "expressions_of", "reads_of", "within",
]


@dataclass(frozen=True, eq=False)
class Mask:
    """`name` = `cond`, and false where the mask `guard` is false."""

    name: str
    cond: f.Expr
    guard: str | None
    span: Span


@dataclass(frozen=True, eq=False)
class Write:
    """Fields set to the components of `value` where the mask `guard` holds. init: an initializer, no activity."""

    fields: tuple[str, ...]
    value: f.Expr
    guard: str | None
    span: Span
    init: bool = False


@dataclass(frozen=True, eq=False)
class Stage:
    """One pass.

    name: unique in the program. domain: "in", "out", "both", or None for a pass over vertices. guard: the mask under
    which the gathers run. before: masks evaluated ahead of the gathers. after: what follows the gathers, in order.
    stored: accumulators and masks that a later stage reads, which therefore outlive the pass.
    """

    name: str
    domain: str | None
    guard: str | None
    before: tuple[Mask, ...]
    gathers: tuple[f.Gather, ...]
    after: tuple[Mask | Write, ...]
    stored: frozenset[str] = frozenset()

    @property
    def writes(self) -> tuple[Write, ...]:
        """The writes of the stage."""
        return tuple(item for item in self.after if isinstance(item, Write))

    @property
    def written(self) -> tuple[str, ...]:
        """The fields written, each once, in order."""
        return tuple(dict.fromkeys(name for write in self.writes for name in write.fields))


@dataclass(frozen=True, eq=False)
class ScalarStep:
    """A graph-level value: kind "let" or "global"."""

    name: str
    kind: str
    value: f.Expr
    span: Span


@dataclass(frozen=True, eq=False)
class Loop:
    """A `repeat`: its steps, and the statement with its limit, `until` and `activate when`.

    number: in the order of the text, from 0. level: how many others are around it. guard: the mask of the `where`s
    around it, by which all its statements are guarded.
    """

    number: int
    level: int
    guard: str | None
    repeat: f.Repeat
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """Unique in the program."""
        return f"loop{self.number}"

    @property
    def nested(self) -> bool:
        """Whether a superstep is more than passes and values: it holds another block."""
        return any(not isinstance(step, (Stage, ScalarStep)) for step in self.steps)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The passes of one superstep, but for those of loops inside."""
        return tuple(step for step in within(self.steps) if isinstance(step, Stage))

    @property
    def fused(self) -> bool:
        """Whether its only pass comes last in a superstep, and can decide activity as well."""
        activate = self.repeat.activate
        return not self.nested and len(self.stages) == 1 and isinstance(self.steps[-1], Stage) and \
            not (activate is not None and set(self.applied) & anywhere(activate.cond))

    @property
    def applied(self) -> tuple[str, ...]:
        """The fields applied in the loop, each once, in order; not those declared in it."""
        writes = [write for step in every(self.steps) if isinstance(step, Stage) for write in step.writes]
        local = {name for write in writes if write.init for name in write.fields}
        return tuple(dict.fromkeys(name for write in writes for name in write.fields if name not in local))

    @property
    def reads_iteration(self) -> bool:
        """Whether a superstep depends on its number."""
        activate = self.repeat.activate
        ends = [self.repeat.until, activate.cond if activate is not None else None]
        exprs = [expr for step in within(self.steps) for expr in _evaluated(step)]
        return any(isinstance(e, f.GraphValue) and (e.name, e.kind) == ("iteration", "builtin")
                   for expr in (*exprs, *ends) if expr is not None for e in f.walk(expr))


@dataclass(frozen=True, eq=False)
class Sweep:
    """A `sweep`: its steps once for each value of the field where the mask `guard` holds. Inside, the value of the
    moment is the graph-level value `level`, and every statement is guarded by a mask that compares it."""

    level: str
    guard: str | None
    sweep: f.Sweep
    steps: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class ForVertices:
    """A `for ... in` over a vertex set."""

    each: f.ForVertices
    steps: tuple[Step, ...]


@dataclass(frozen=True, eq=False)
class ForRange:
    """A `for ... from ... to`. name: unique in the program."""

    name: str
    each: f.ForRange
    steps: tuple[Step, ...]


Block = Loop | Sweep | ForVertices | ForRange
Step = Stage | ScalarStep | Block


@dataclass(frozen=True)
class Schedule:
    """A program as the steps of its run, a tree."""

    program: f.Program
    steps: tuple[Step, ...]

    @property
    def stages(self) -> tuple[Stage, ...]:
        """Every pass, in the order of the text."""
        return tuple(step for step in every(self.steps) if isinstance(step, Stage))

    @property
    def loops(self) -> tuple[Loop, ...]:
        """Every `repeat`, in the order of the text."""
        return tuple(step for step in every(self.steps) if isinstance(step, Loop))


def every(steps: Iterable[Step]) -> Iterator[Step]:
    """Every step of a tree, blocks before what they hold."""
    for step in steps:
        yield step
        if not isinstance(step, (Stage, ScalarStep)):
            yield from every(step.steps)


def within(steps: Iterable[Step]) -> Iterator[Step]:
    """The steps of one superstep: every step, but none that a `repeat` among them holds."""
    for step in steps:
        yield step
        if not isinstance(step, (Stage, ScalarStep, Loop)):
            yield from within(step.steps)


def _evaluated(step: Step) -> tuple[f.Expr | None, ...]:
    """The expressions that a step evaluates, without those of its block."""
    if isinstance(step, Stage):
        return tuple(expressions_of(step))
    if isinstance(step, ScalarStep):
        return (step.value,)
    if isinstance(step, Loop):
        return (step.repeat.limit,)
    return (step.each.low, step.each.high, step.each.until) if isinstance(step, ForRange) else ()


def expressions_of(stage: Stage) -> Iterator[f.Expr]:
    """The expressions evaluated in a pass."""
    for gather in stage.gathers:
        yield gather.reduce
    for item in (*stage.before, *stage.after):
        yield item.value if isinstance(item, Write) else item.cond


def anywhere(expr: f.Expr) -> set[str]:
    """The fields that an expression reads of vertices that another value names (`label.label`)."""
    return {e.name for e in f.walk(expr) if isinstance(e, f.Field) and isinstance(e.of, f.Expr)}


def reads_of(stage: Stage) -> set[str]:
    """Accumulators and masks that a stage reads from earlier ones."""
    items = (*stage.before, *stage.after)
    own = {g.name for g in stage.gathers} | {m.name for m in items if isinstance(m, Mask)}
    guards = {guard for guard in (stage.guard, *(item.guard for item in items)) if guard is not None}
    return (accumulators_in(expressions_of(stage)) | guards) - own


def accumulators_in(exprs: Iterable[f.Expr]) -> set[str]:
    """The accumulators and masks that expressions read."""
    return {e.name for expr in exprs for e in f.walk(expr) if isinstance(e, f.Accumulator)}
