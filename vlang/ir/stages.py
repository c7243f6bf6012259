"""Stages: the passes that a target runs, in order, as vlang.ir.schedule builds them.

A *stage* is one pass: for each vertex, all gathers over one domain, followed by the writes. Statements share a stage if
a single pass over them gives the result that the text defines (rule F). A stage without gathers is a pass over
vertices. Reductions over vertices, and graph-level values, are *scalars*. Scalars are barriers between stages. A
`where` becomes a mask, a bool per vertex that guards gathers and writes. A block that runs more than once is a step
that contains steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from vlang.ir.forms import forms as f
from vlang.records import dataclass
from vlang.syntax.tree import Span

__all__ = [
    "Block", "ForRange", "ForVertices", "Loop", "Mask", "Schedule", "ScalarStep", "Stage", "Step", "Sweep", "Write",
    "accumulators_in", "anywhere", "every", "expressions_of", "reads_of", "within",
]


@dataclass(frozen=True, eq=False)
class Mask:
    """A bool per vertex: the value of `cond`, or false where the mask `guard` is false.

    Attributes:
        name: The name, which is unique in the program.
        cond: The condition.
        guard: The name of the other mask, or None.
        span: The place of the `where`.
    """

    name: str
    cond: f.Expr
    guard: str | None
    span: Span


@dataclass(frozen=True, eq=False)
class Write:
    """A write sets fields to the components of `value` at vertices where the mask `guard` is true.

    Attributes:
        fields: The fields, one for each component.
        value: A tuple if there are several fields.
        guard: The name of a mask, or None.
        span: The place of the statement.
        init: Whether the write is an initializer, which makes no vertex active.
    """

    fields: tuple[str, ...]
    value: f.Expr
    guard: str | None
    span: Span
    init: bool = False


@dataclass(frozen=True, eq=False)
class Stage:
    """One pass.

    Attributes:
        name: The name, which is unique in the program.
        domain: "in", "out", "both", "pointing:FIELD" (over the vertices that point to this vertex by FIELD), or None
            for a pass over vertices.
        guard: The mask of the gathers, or None.
        before: Masks evaluated before the gathers.
        gathers: The gathers, all over `domain`.
        after: Masks and writes after the gathers, in order.
        stored: Accumulators and masks that are kept in memory because a later stage reads them.
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
        """The fields that the pass writes, without repetitions, in the order of the writes."""
        return tuple(dict.fromkeys(name for write in self.writes for name in write.fields))


@dataclass(frozen=True, eq=False)
class ScalarStep:
    """A graph-level value.

    Attributes:
        name: The name, which is unique in the program.
        kind: "let" or "global".
        value: Its expression.
        span: The place of the statement.
    """

    name: str
    kind: str
    value: f.Expr
    span: Span


@dataclass(frozen=True, eq=False)
class Loop:
    """A `repeat`: its steps, and the statement with its limit, `until` and `activate when`.

    Attributes:
        number: The number of the loop in the order of the text, from 0.
        level: The number of loops around it.
        guard: The mask of the `where`s around the loop, which guards all statements of the loop.
        repeat: The `repeat` statement.
        steps: The steps of one superstep.
    """

    number: int
    level: int
    guard: str | None
    repeat: f.Repeat
    steps: tuple[Step, ...]

    @property
    def name(self) -> str:
        """The name of the loop, unique in the program."""
        return f"loop{self.number}"

    @property
    def nested(self) -> bool:
        """Whether a superstep contains blocks, and not only passes and scalars."""
        return any(not isinstance(step, (Stage, ScalarStep)) for step in self.steps)

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The passes of one superstep, except the passes of inner loops."""
        return tuple(step for step in within(self.steps) if isinstance(step, Stage))

    @property
    def fused(self) -> bool:
        """Whether the last step of a superstep is the only pass of the loop, so that the pass can also decide activity.
        """
        activate = self.repeat.activate
        return not self.nested and len(self.stages) == 1 and isinstance(self.steps[-1], Stage) and \
            not (activate is not None and set(self.applied) & anywhere(activate.cond))

    @property
    def applied(self) -> tuple[str, ...]:
        """The fields that the loop writes, without repetitions, in the order of the writes. Fields declared inside the
        loop are left out.
        """
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
    """A `sweep`: its steps run once for each value of the field.

    Attributes:
        level: The graph-level value that holds the current value of the field. Every statement inside is guarded by a
            mask that compares this value with the field of the vertex.
        guard: The mask of the vertices that take part, or None.
        sweep: The `sweep` statement.
        steps: The steps for one value.
    """

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
    """A `for ... from ... to`.

    Attributes:
        name: the name, which is unique in the program.
    """

    name: str
    each: f.ForRange
    steps: tuple[Step, ...]


Block = Loop | Sweep | ForVertices | ForRange
Step = Stage | ScalarStep | Block


@dataclass(frozen=True)
class Schedule:
    """A program as a tree of steps."""

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
    """Yield every step of a tree; a step with a block comes before the steps in the block."""
    for step in steps:
        yield step
        if not isinstance(step, (Stage, ScalarStep)):
            yield from every(step.steps)


def within(steps: Iterable[Step]) -> Iterator[Step]:
    """Yield the steps of one superstep, except the steps inside an inner `repeat`."""
    for step in steps:
        yield step
        if not isinstance(step, (Stage, ScalarStep, Loop)):
            yield from within(step.steps)


def _evaluated(step: Step) -> tuple[f.Expr | None, ...]:
    """Yield the expressions that a step evaluates, except the expressions in its block."""
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
    """Return the fields that an expression reads at a vertex which another value names (`label.label`)."""
    return {e.name for e in f.walk(expr) if isinstance(e, f.Field) and isinstance(e.of, f.Expr)}


def reads_of(stage: Stage) -> set[str]:
    """The accumulators and masks that a stage reads from earlier stages."""
    items = (*stage.before, *stage.after)
    own = {g.name for g in stage.gathers} | {m.name for m in items if isinstance(m, Mask)}
    guards = {guard for guard in (stage.guard, *(item.guard for item in items)) if guard is not None}
    return (accumulators_in(expressions_of(stage)) | guards) - own


def accumulators_in(exprs: Iterable[f.Expr]) -> set[str]:
    """The accumulators and masks that expressions read."""
    return {e.name for expr in exprs for e in f.walk(expr) if isinstance(e, f.Accumulator)}
