"""The emitter: turns a scheduled program into the plan that the engine runs on a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace

from vlang.emit.derived_columns import with_derived
from vlang.emit.fused import FusedWork, fused_work
from vlang.emit.plan_notes import stage_notes
from vlang.emit.shared.loop_spec import LoopPlan, neighbour_reads, plan_loop
from vlang.emit.shared.scalars import ScalarWriter
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.target import StageText, Target
from vlang.emit.shared.values.dialect import column_as, stored_as, width_of
from vlang.emit.shared.values.formulas import Unwritable
from vlang.emit.shared.values.frame import Frame, Times
from vlang.ir import stages as ir
from vlang.ir.facts import Facts
from vlang.ir.forms import forms as f
from vlang.ir.forms.ranges import USUAL, Ranges, Sizes
from vlang.ir.refuse import refuse
from vlang.ir.stages import Schedule, Stage
from vlang.ir.sweep_levels import Levelled, levelled
from vlang.records import dataclass
from vlang.runtime.plan.derived import ORDINAL, PLACE
from vlang.runtime.plan.plan import (
    Contract,
    FieldSpec,
    ForRangeSpec,
    ForVerticesSpec,
    Fused,
    LoopSpec,
    Plan,
    ScalarSpec,
    StageSpec,
    StateSpec,
    Step,
    SweepSpec,
    level_slot,
)
from vlang.syntax.tree import Span
from vlang.types import I64, VERTEX, Scalar, Type, Vector

__all__ = ["ContractStage", "emit"]

_NOW = Times()


def emit(
    schedule: Schedule, facts: Facts, present: frozenset[str], contracts: tuple[ContractStage, ...], target: str,
    without: frozenset[str] = frozenset(), renumbered: bool = False, sizes: Sizes = USUAL,
) -> Plan:
    """The plan of a program for a target.

    Args:
        schedule: The program as a tree of steps.
        facts: The facts of its loops.
        present: The edge fields that the graph has.
        contracts: The program's `require`s, from `contract_stages`.
        target: "numba" or "cuda".
        without: Optimisations to leave out.
        renumbered: Whether the graph stores its vertices in an order that differs from their numbers.
        sizes: Upper bounds on the size of the graph.

    Raises:
        ProgramError: The program is correct, but cannot run on this target yet.
    """
    try:
        frame = Frame(renumbered=renumbered)
        return _Emitter(schedule, facts, present, _target(target), without, frame, sizes).plan(contracts)
    except Unwritable as error:
        refuse(schedule.program, error.span or schedule.program.body[0].span, error.what)


def _target(name: str) -> Target:
    """Return the target with a name. A run on one device does not load the code for other devices."""
    if name == "numba":
        from vlang.emit.cpu.numba_target import NumbaTarget  # start-up

        return NumbaTarget()
    from vlang.emit.cuda.cuda_target import CudaTarget  # start-up

    return CudaTarget()


@dataclass(frozen=True)
class ContractStage:
    """A `require` as a step. A pass or a scalar computes the hidden value `contract.name` of the `require`, if it has
    such a value.

    Attributes:
        contract: The contract in the plan.
        stage: The pass, or None.
        scalar: The value of a graph-level contract, or None.
        span: The place of the `require`.
    """

    contract: Contract
    stage: Stage | None
    scalar: f.Expr | None
    span: Span


@dataclass
class _Emitter:
    schedule: Schedule
    facts: Facts
    present: frozenset[str]
    target: Target
    without: frozenset[str] = frozenset()
    frame: Frame = field(default_factory=Frame)
    sizes: Sizes = USUAL
    stages: list[StageText] = field(default_factory=list)
    fused_work: dict[str, FusedWork] = field(default_factory=dict)  # by the name of the pass
    fused_kernels: dict[str, tuple[str, ...]] = field(default_factory=dict)  # the kernels fused into each pass

    def __post_init__(self) -> None:
        program = self.schedule.program
        self.program = program
        self.frame.reductions = {r.name: r for r in program.reductions}
        self.types: dict[str, Type] = {d.name: d.type for d in program.fields}
        self.columns = {e.name: stored_as(e.type) for e in program.edges if e.name in self.present}
        self.columns |= {name: "u32" for name in (ORDINAL, PLACE) if name in self.present}
        self.converted = {e.name: column_as(e.type) for e in program.edges}
        written = {w.fields for step in self.schedule.steps if isinstance(step, Stage) for w in step.writes if w.init}
        declared = [s.name for s in program.body if isinstance(s, f.InitField)]
        self.given = frozenset(name for name in declared if (name,) not in written)
        self.frame.shapes = {p.name: p.shape for p in program.params if p.shape is not None}
        self.frame.ranges = Ranges(program, self.given, self.sizes)
        self.scalars = ScalarWriter(self.frame, self.target.dialect, self.target.scalar)

    def plan(self, contracts: tuple[ContractStage, ...]) -> Plan:
        steps: list[Step] = []
        defaults: dict[str, ScalarSpec] = {}
        for edge in self.program.edges:
            if edge.name not in self.present and edge.default is not None:
                spec = self._scalar(f"edge.{edge.name}", "edge", edge.default, edge.span)
                defaults[edge.name] = spec
        parameters = {p.name: self._scalar(p.name, "parameter", p.default, p.span)
                      for p in self.program.params if p.default is not None}
        for item in contracts:
            steps.extend(self._contract(item))
        steps += self._steps(self.schedule.steps, None)
        return self._assemble(steps, {**parameters, **{f"edge.{k}": v for k, v in defaults.items()}})

    def _assemble(self, steps: list[Step], defaults: Mapping[str, ScalarSpec]) -> Plan:
        for name, type_ in (("N", I64), ("M", I64), ("iteration", I64)):
            self.frame.scalar(name, type_)
        for param in self.program.params:
            if isinstance(param.type, Vector):
                self.frame.given(param.name, param.type)
            else:
                self.frame.scalar(param.name, param.type)
        fields = tuple(
            FieldSpec(d.name, stored_as(d.type), str(d.type), d.output, d.required, width_of(d.type))
            for d in self.program.fields
        ) + tuple(FieldSpec(n, stored_as(t), str(t), False, False) for n, t in self.types.items()
                  if n not in {d.name for d in self.program.fields})
        for spec in fields:
            self.frame.slot(f"field:{spec.name}")
        module = self.target.module(self.stages, self.scalars.texts, self.scalars.folds, self.fused_kernels)
        return Plan(
            name=self.program.name, text=module.text, exports=module.exports, slots=dict(self.frame.slots),
            scalars=dict(self.frame.scalars), fields=fields, vertices=frozenset(self.frame.vertices),
            arrays=tuple(self.frame.arrays.values()), steps=tuple(steps),
            globals=tuple((g.name, str(g.type)) for g in self.program.globals), defaults=dict(defaults),
            faults=tuple(self.frame.faults.values()), scattered=frozenset(self.frame.scattered),
            far=dict(self.frame.far), pointers=dict(self.frame.pointers),
            states=tuple(StateSpec(s.name, stored_as(s.type), str(s.type)) for s in self.program.states),
        )

    def _scalar(self, name: str, kind: str, value: f.Expr, span: Span, times: Times = _NOW) -> ScalarSpec:
        return self.scalars.add(name, kind, value, span, times)

    def _steps(self, steps: tuple[ir.Step, ...], plan: LoopPlan | None, swept: ir.Sweep | None = None) -> list[Step]:
        """The steps of a block.

        Args:
            plan: the loop around the block, or None.
            swept: the sweep around it, or None.
        """
        found: list[Step] = []
        for step in steps:
            found.append(self._step(step, plan, swept))
            if isinstance(step, ir.ScalarStep) and step.name in self.program.later:
                found.append(self._later(step.name, self.program.later[step.name]))
        return found

    def _later(self, name: str, require: f.Require) -> Contract:
        """Return a contract about computed values.

        Args:
            name: the scalar that holds the condition.
        """
        numbers = (one.name for one in f.walk(require.cond) if isinstance(one, f.GraphValue)
                   and one.kind != "builtin" and isinstance(one.type, Scalar) and one.type != VERTEX)
        reads = tuple((self.program.names.get(one, one), one) for one in dict.fromkeys(numbers))
        return Contract(name, "later", None, require.text, require.span.line, reads=reads)

    def _step(self, step: ir.Step, plan: LoopPlan | None, swept: ir.Sweep | None) -> Step:
        if isinstance(step, Stage):
            return self._stage(step, plan, ends=plan is not None and plan.fused, swept=swept)
        if isinstance(step, ir.ScalarStep):
            return self._scalar(step.name, step.kind, step.value, step.span, _NOW if plan is None else _during(plan))
        if isinstance(step, ir.Loop):
            return self._loop(step, plan)
        if isinstance(step, ir.Sweep):
            return self._sweep(step, plan)
        if isinstance(step, ir.ForVertices):
            self.frame.scalar(step.each.name, VERTEX)
            return ForVerticesSpec(step.each.name, step.each.set_name or "", tuple(self._steps(step.steps, plan)),
                                   step.each.span.line)
        return self._range(step, plan)

    def _stage(
        self, stage: Stage, plan: LoopPlan | None, ends: bool = False, swept: ir.Sweep | None = None
    ) -> StageSpec:
        stage, edge_columns = with_derived(stage, self.columns)
        by_level = None if swept is None else self._by_level(stage, swept)
        if by_level is not None:
            stage, messages = by_level.stage, dict(by_level.messages)
        else:  # in other sweeps, all vertices would send although few are on the level
            messages = {} if plan is None or swept is not None else plan.messages(stage)
        two = frozenset(stage.written) & neighbour_reads(stage, messages)
        if plan is not None:
            two |= plan.two_buffers & frozenset(stage.written)
        fuses = self.fused_work.get(stage.name)
        writer = StageWriter(stage, self.frame, self.types, edge_columns, plan,
                             {expr: i for i, expr in enumerate(messages)}, ends, self.target.dialect, two, self.given,
                             self.without, fuses is not None)
        text = self.target.stage(writer)
        self.stages.append(text)
        for name in two:
            self.frame.slot(f"next:{name}")
        return StageSpec(
            name=stage.name, domain=stage.domain, kernels=dict(text.kernels),
            columns=tuple((c, self.converted.get(c, edge_columns[c])) for c in writer.columns), written=stage.written,
            swaps=tuple(n for n in stage.written if n in two), loop_end=ends,
            notify=plan.readers[stage.name].notify if plan and stage.name in plan.readers else None,
            sole=plan is None or plan.sole(stage), gpu=text.gpu, structures=writer.structures,
            senders=None if by_level is None else by_level.distance,
            notes=stage_notes(writer, by_level),
            ways=text.ways, refused=text.refused,
            fused=None if fuses is None else Fused(
                text.kernels["fused"], (), not writer.structures,
                writer.messages_to_come() if fuses.sender == stage.name else ()),
            near=tuple(sorted(slot for slot in writer.env.near if not slot.startswith(("next:", "pushed:")))),
            arrays=writer.env.arrays, stores=writer.stores,
        )

    def _by_level(self, stage: Stage, swept: ir.Sweep) -> Levelled | None:
        """Return the stage with messages by level, if the engine has a list of the vertices of each level; otherwise
        None.
        """
        if not self.target.lists_levels or self.without & {"levels", "hoist"}:
            return None
        return levelled(stage, swept, factors="factor" not in self.without)

    def _loop(self, loop: ir.Loop, around: LoopPlan | None) -> LoopSpec:
        plan = plan_loop(loop, self.facts, self.without)
        repeat = loop.repeat
        limit = None
        if repeat.limit is not None:
            limit = self._count(f"{loop.name}.limit", repeat.limit, repeat.span, around)
        if self.target.fuses and "fuse" not in self.without:
            self.fused_work |= fused_work(plan, lambda stage: plan.messages(with_derived(stage, self.columns)[0]))
        steps = self._steps(loop.steps, plan)
        if not plan.fused:
            end = Stage(f"{loop.name}_end", None, None, (), (), ())
            steps.append(self._stage(end, plan, ends=True))
        until = None
        if repeat.until is not None:
            after = Times("next", plan.starts, plan.sent, loop.level)  # `until` is computed after a pass
            until = self.scalars.add(f"{loop.name}.until", "until", repeat.until, repeat.span, after,
                                     tolerance(repeat.until))
        for name in plan.starts:
            self.frame.slot(level_slot("start", name, loop.level))
        return LoopSpec(
            number=loop.number, level=loop.level, steps=self._with_fused(steps, until), limit=limit,
            exact=repeat.exact, until=until, explicit=plan.explicit, reads_iteration=plan.reads_iteration,
            skip=plan.skip, skip_reason=plan.skip_reason, asynchronous=plan.asynchronous,
            asynchronous_reason=plan.asynchronous_reason, starts=tuple(sorted(plan.starts)),
            sent=tuple(sorted(plan.sent)), line=repeat.span.line, copied=plan.copied,
            order=plan.order,
        )

    def _with_fused(self, steps: list[Step], until: ScalarSpec | None) -> tuple[Step, ...]:
        """The steps of a loop, where each pass lists the kernels that are fused into the pass."""
        stages = {step.name: step for step in steps if isinstance(step, StageSpec)}
        folds = {step.name: step.fold.kernel for step in (*steps, until)
                 if isinstance(step, ScalarSpec) and step.fold is not None}
        done = []
        for step in steps:
            if isinstance(step, StageSpec) and step.fused is not None:
                fuses = self.fused_work[step.name]
                sends = [] if fuses.sender is None else [stages[fuses.sender].kernels["messages"]]
                kernels = (*(folds[name] for name in fuses.scalars), *sends)
                self.fused_kernels[step.name] = kernels
                what = ", ".join([*fuses.scalars, *(f"messages of {name}" for name in [fuses.sender] if name)])
                step = replace(step, fused=replace(step.fused, kernels=kernels), notes=(
                    *step.notes, f"fused, block by block: {what}"))
            done.append(step)
        return tuple(done)

    def _sweep(self, step: ir.Sweep, plan: LoopPlan | None) -> SweepSpec:
        sweep = step.sweep
        self.frame.scalar(step.level, self.types[sweep.field])
        guard = None if step.guard is None else f"work:{step.guard}.0"
        return SweepSpec(sweep.field, sweep.up, guard, step.level, tuple(self._steps(step.steps, plan, swept=step)),
                         sweep.span.line)

    def _range(self, step: ir.ForRange, plan: LoopPlan | None) -> ForRangeSpec:
        each = step.each
        self.frame.scalar(each.name, I64)
        low, high = (self._count(f"{step.name}.{end}", value, each.span, plan)
                     for end, value in (("low", each.low), ("high", each.high)))
        steps = tuple(self._steps(step.steps, plan))
        until = None
        if each.until is not None:
            times = _NOW if plan is None else _during(plan)
            until = self._scalar(f"{step.name}.until", "until", each.until, each.span, times)
        return ForRangeSpec(each.name, low, high, until, steps, each.span.line)

    def _count(self, name: str, value: f.Expr, span: Span, plan: LoopPlan | None) -> ScalarSpec:
        """The spec of a loop bound, which is an i64."""
        times = _NOW if plan is None else _during(plan)
        return self._scalar(name, "limit", f.Op(I64, "cast", (value,)), span, times)

    def _contract(self, item: ContractStage) -> list[Step]:
        if item.contract.kind == "needs":
            return [item.contract]
        if item.scalar is not None:
            return [self._scalar(item.contract.name, "contract", item.scalar, item.span), item.contract]
        assert item.stage is not None
        (write,) = item.stage.writes
        self.types[item.contract.name] = write.value.type
        return [self._stage(item.stage, None), item.contract]


def tolerance(until: f.Expr) -> tuple[f.Expr, ...]:
    """The two sides of a condition `REDUCTION < TOLERANCE` over floats; () for any other condition."""
    if not isinstance(until, f.Op) or until.op not in ("lt", "le"):
        return ()
    measured, _ = until.args
    floats = all(isinstance(side.type, Scalar) and side.type.floating for side in until.args)
    return until.args if floats and any(isinstance(e, f.Reduce) for e in f.walk(measured)) else ()


def _during(plan: LoopPlan) -> Times:
    """Return the arrays of past values for scalars that are computed between the passes of a loop, or before its only
    pass.
    """
    return Times("field", plan.starts, plan.sent, plan.loop.level)
