"""IR to stages: the passes that a target runs, in order.

A *stage* is one pass: all its gathers over one domain, then what each vertex does with them. Statements join a
stage as long as a single pass gives what the text says (rule F); a stage without gathers is a pass over vertices.
Reductions over vertices and graph-level values stand between stages as *scalars*: they are barriers.
`where` becomes masks: vertex-level bools that guard gathers and writes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from vlang.ir import forms as f
from vlang.ir.refuse import refuse_statement
from vlang.syntax.tree import Span

__all__ = ["Loop", "Mask", "Schedule", "ScalarStep", "Stage", "Step", "Write", "reads_of", "schedule"]


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
    """A `repeat`: its steps, and the statement with its limit, `until` and `activate when`."""

    name: str
    repeat: f.Repeat
    steps: tuple[Stage | ScalarStep, ...]

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The passes of one superstep."""
        return tuple(step for step in self.steps if isinstance(step, Stage))

    @property
    def applied(self) -> tuple[str, ...]:
        """The fields applied in the loop, each once, in order."""
        return tuple(dict.fromkeys(name for stage in self.stages for name in stage.written))


Step = Stage | ScalarStep | Loop


@dataclass(frozen=True)
class Schedule:
    """A program as the steps of its run."""

    program: f.Program
    steps: tuple[Step, ...]

    @property
    def loops(self) -> tuple[Loop, ...]:
        """The loops, in order."""
        return tuple(step for step in self.steps if isinstance(step, Loop))


def schedule(program: f.Program, given: frozenset[str] = frozenset()) -> Schedule:
    """The stages of a program. given: fields that the caller passes, whose initializers do not run.

    Raises ProgramError for constructs that no target runs yet.
    """
    body = tuple(s for s in program.body if not (isinstance(s, f.InitField) and s.name in given))
    return Schedule(program, tuple(_Packer(program).pack(body, loops=True)))


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

    def __init__(self, program: f.Program) -> None:
        self._program = program
        self._stages = 0
        self._masks = 0
        self._lets = 0
        self._loops = 0

    def pack(self, body: tuple[f.Statement, ...], loops: bool) -> list[Step]:
        """The steps of a block."""
        self._steps: list[Step] = []
        self._open = _Open()
        self._statements(body, None, loops)
        self._close()
        return _mark_stored(self._steps)

    def _statements(self, body: tuple[f.Statement, ...], guard: str | None, loops: bool) -> None:
        for statement in body:
            if isinstance(statement, f.Gather):
                self._gather(statement, guard)
            elif isinstance(statement, f.Apply):
                self._open.after.append(Write(statement.fields, statement.value, guard, statement.span))
            elif isinstance(statement, f.Where):
                self._where(statement, guard)
            elif isinstance(statement, f.Let):
                self._scalar(ScalarStep(statement.name, "let", statement.value, statement.span))
            elif isinstance(statement, f.InitGlobal):
                self._scalar(ScalarStep(statement.name, "global", statement.value, statement.span))
            elif isinstance(statement, f.InitField) and loops:
                self._initializer(statement)
            elif isinstance(statement, f.Repeat) and loops and guard is None:
                self._loop(statement)
            elif isinstance(statement, f.Activate):
                pass  # the loop holds it
            else:
                refuse_statement(self._program, statement)

    def _close(self) -> None:
        now = self._open
        if not now.empty:
            stage = Stage(f"s{self._stages}", now.domain, now.guard, tuple(now.before), tuple(now.gathers),
                          tuple(now.after))
            self._stages += 1
            self._steps.append(stage)
        self._open = _Open()

    def _scalar(self, step: ScalarStep) -> None:
        self._close()
        self._steps.append(step)

    def _gather(self, gather: f.Gather, guard: str | None) -> None:
        if not self._joins(gather, guard):
            self._close()
        self._open.domain = gather.reduce.domain.kind
        self._open.guard = guard
        self._open.gathers.append(gather)

    def _joins(self, gather: f.Gather, guard: str | None) -> bool:
        """Whether a gather may run in the open pass, ahead of what is there already."""
        now = self._open
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

    def _where(self, where: f.Where, guard: str | None) -> None:
        name = f"where_{self._masks}"
        self._masks += 1
        self._open.after.append(Mask(name, where.cond, guard, where.span))
        self._statements(where.body, name, loops=False)

    def _initializer(self, statement: f.InitField) -> None:
        value = self._lets_of(statement.value, statement.span)
        reduces = [e for e in f.walk(value) if isinstance(e, f.Reduce)]
        for number, reduce in enumerate(reduces):
            name = f"{statement.name}_from_edges" + (f"_{number}" if number else "")
            gather = f.Gather(statement.span, name, reduce)
            value = _replace(value, reduce, f.Accumulator(reduce.type, name))
            self._gather(gather, None)
        self._open.after.append(Write((statement.name,), value, None, statement.span, init=True))

    def _lets_of(self, value: f.Expr, span: Span) -> f.Expr:
        """Name the reductions over vertices in an initializer, so that they stand before the pass."""
        for reduce in [e for e in f.walk(value) if isinstance(e, f.Reduce) and not e.domain.edges]:
            name = f"over_vertices_{self._lets}"
            self._lets += 1
            self._scalar(ScalarStep(name, "let", reduce, span))
            value = _replace(value, reduce, f.GraphValue(reduce.type, name, "let"))
        return value

    def _loop(self, repeat: f.Repeat) -> None:
        self._close()
        outer = self._steps
        steps = self.pack(repeat.body, loops=False)
        self._steps, self._open = outer, _Open()
        inner = tuple(step for step in steps if not isinstance(step, Loop))
        self._steps.append(Loop(f"loop{self._loops}", repeat, inner))
        self._loops += 1


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
    own = {g.name for g in stage.gathers} | {m.name for m in (*stage.before, *stage.after) if isinstance(m, Mask)}
    exprs: list[f.Expr] = [g.reduce for g in stage.gathers]
    guards = {stage.guard}
    for item in (*stage.before, *stage.after):
        exprs.append(item.cond if isinstance(item, Mask) else item.value)
        guards.add(item.guard)
    names = {e.name for expr in exprs for e in f.walk(expr) if isinstance(e, f.Accumulator)}
    return (names | {g for g in guards if g is not None}) - own


def _mark_stored(steps: list[Step]) -> list[Step]:
    """Mark in each stage what later stages read of it."""
    needed: set[str] = set()
    result: list[Step] = []
    for step in reversed(steps):
        if isinstance(step, Stage):
            names = {g.name for g in step.gathers}
            names |= {m.name for m in (*step.before, *step.after) if isinstance(m, Mask)}
            result.append(replace(step, stored=frozenset(names & needed)))
            needed |= reads_of(step)
        else:
            result.append(step)
    return result[::-1]

