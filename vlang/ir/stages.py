"""IR to stages: the passes that a target runs, in order.

A *stage* is one pass: all its gathers over one domain, then what each vertex does with them. Statements join a
stage as long as a single pass gives what the text says (rule F); a stage without gathers is a pass over vertices.
Reductions over vertices and graph-level values stand between stages as *scalars*: they are barriers.
`where` becomes masks: vertex-level bools that guard gathers and writes. Blocks that run more than once are steps
that hold steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from vlang.ir import forms as f
from vlang.syntax.tree import Span
from vlang.types import BOOL

__all__ = [
    "Block", "ForRange", "ForVertices", "Loop", "Mask", "Schedule", "ScalarStep", "Stage", "Step", "Sweep", "Write",
    "anywhere", "every", "expressions_of", "reads_of", "schedule", "within",
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


def schedule(
    program: f.Program, given: frozenset[str] = frozenset(), without: frozenset[str] = frozenset()
) -> Schedule:
    """The steps of a program. given: fields that the caller passes, whose initializers do not run. without:
    optimisations left out; here "merge" and "narrow" count."""
    body = tuple(s for s in program.body if not (isinstance(s, f.InitField) and s.name in given))
    return Schedule(program, _mark_stored(_Packer(program, without).block(body, None)))


@dataclass
class _Open:
    """A stage under construction."""

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
        """Accumulators and late masks, which exist only after the gathers."""
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
            self._settle(statement.value)
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
        elif not isinstance(statement, f.Activate):  # that one belongs to its loop
            self._steps.append(self._nest(statement, guard))

    def _nest(self, statement: f.Statement, guard: str | None) -> Block:
        """A statement with a block that is run more than once."""
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
        """The levels are fixed on entry; the field is not written in the block, so it can be compared in every pass."""
        level = self._fresh(f"level_{self._sweeps}")
        self._sweeps += 1
        type_ = self._types[sweep.field]
        here = f.Op(BOOL, "eq", (f.Field(type_, sweep.field, "self"), f.GraphValue(type_, level, "loop")))
        return Sweep(level, guard, sweep, self.block((f.Where(sweep.span, here, sweep.body),), guard))

    def _fresh(self, name: str) -> str:
        """A name that the program does not have."""
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

    def _settle(self, expr: f.Expr) -> None:
        """End the pass if an expression reads of a vertex that may be anywhere what the pass writes."""
        if self._open.written & anywhere(expr):
            self._close()

    def _scalar(self, step: ScalarStep) -> None:
        self._close()
        self._steps.append(step)

    def _gather(self, gather: f.Gather, guard: str | None) -> None:
        guard = guard if self._narrows else None
        if not self._joins(gather, guard):
            self._close()
        self._open.domain = gather.reduce.domain.kind
        self._open.guard = guard
        self._open.gathers.append(gather)

    def _joins(self, gather: f.Gather, guard: str | None) -> bool:
        """Whether a gather may run in the open pass, ahead of what is there already."""
        now = self._open
        if now.gathers and not self._merges:
            return False
        if now.gathers and (now.domain != gather.reduce.domain.kind or now.guard != guard):
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
        self._settle(cond)
        name = self._fresh(f"where_{self._masks}")
        self._masks += 1
        self._open.after.append(Mask(name, cond, guard, span))
        return name

    def _initializer(self, statement: f.InitField) -> None:
        value = self._lets_of(statement.value, statement.span)
        self._settle(value)
        reduces = [e for e in f.walk(value) if isinstance(e, f.Reduce)]
        for number, reduce in enumerate(reduces):
            name = self._fresh(f"{statement.name}_from_edges" + (f"_{number}" if number else ""))
            gather = f.Gather(statement.span, name, reduce)
            value = _replace(value, reduce, f.Accumulator(reduce.type, name))
            self._gather(gather, None)
        self._open.after.append(Write((statement.name,), value, None, statement.span, init=True))

    def _lets_of(self, value: f.Expr, span: Span) -> f.Expr:
        """Name the reductions over vertices in an initializer, so that they stand before the pass."""
        for reduce in [e for e in f.walk(value) if isinstance(e, f.Reduce) and not e.domain.edges]:
            name = self._fresh(f"over_vertices_{self._lets}")
            self._lets += 1
            self._scalar(ScalarStep(name, "let", reduce, span))
            value = _replace(value, reduce, f.GraphValue(reduce.type, name, "let"))
        return value


def _early_masks(now: _Open, guard: str) -> list[Mask] | None:
    """The masks that `guard` hangs on, if all can be evaluated ahead of the gathers; else None."""
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


def reads_of(stage: Stage) -> set[str]:
    """Accumulators and masks that a stage reads from earlier ones."""
    items = (*stage.before, *stage.after)
    own = {g.name for g in stage.gathers} | {m.name for m in items if isinstance(m, Mask)}
    guards = {guard for guard in (stage.guard, *(item.guard for item in items)) if guard is not None}
    return (_accumulators(expressions_of(stage)) | guards) - own


def _accumulators(exprs: Iterable[f.Expr]) -> set[str]:
    return {e.name for expr in exprs for e in f.walk(expr) if isinstance(e, f.Accumulator)}


def _mark_stored(steps: tuple[Step, ...]) -> tuple[Step, ...]:
    """Mark in each stage what others read of it."""
    needed: set[str] = set()
    guards: set[str | None] = set()
    for step in every(steps):
        if isinstance(step, Stage):
            needed |= reads_of(step)
        elif isinstance(step, Sweep):
            guards.add(step.guard)
        elif isinstance(step, Loop) and step.repeat.activate is not None:
            guards.add(step.guard)
            needed |= set() if step.fused else _accumulators((step.repeat.activate.cond,))
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
