"""A scheduled program as code for a target: the plan that the engine runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from vlang.emit.common import with_common
from vlang.emit.cuda.target import CudaTarget
from vlang.emit.dialect import stored_as, width_of
from vlang.emit.expressions import Unwritable
from vlang.emit.frame import Frame, Times
from vlang.emit.loops import LoopPlan, neighbour_reads, plan_loop
from vlang.emit.numba_target import NumbaTarget
from vlang.emit.scalars import ScalarWriter
from vlang.emit.stage import StageWriter
from vlang.emit.target import StageText, Target
from vlang.ir import forms as f
from vlang.ir.facts import Facts
from vlang.ir.refuse import refuse
from vlang.ir.stages import Loop, ScalarStep, Schedule, Stage
from vlang.runtime.kernelset import Contract, FieldSpec, LoopSpec, Plan, ScalarSpec, StageSpec
from vlang.syntax.tree import Span
from vlang.types import I64, Type

__all__ = ["TARGETS", "ContractStage", "emit"]

TARGETS: Mapping[str, type[NumbaTarget] | type[CudaTarget]] = {"numba": NumbaTarget, "cuda": CudaTarget}
_NOW = Times()


def emit(
    schedule: Schedule, facts: Facts, present: frozenset[str], contracts: tuple[ContractStage, ...], target: str
) -> Plan:
    """The plan of a program for a target ("numba", "cuda"). present: the edge fields that the graph has.

    Raises ProgramError for what cannot run.
    """
    try:
        return _Emitter(schedule, facts, present, TARGETS[target]()).plan(contracts)
    except Unwritable as error:
        refuse(schedule.program, error.span or schedule.program.body[0].span, error.what)


@dataclass(frozen=True)
class ContractStage:
    """A `require` as steps: a pass or scalar that computes the hidden value `contract.name`."""

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
    frame: Frame = field(default_factory=Frame)
    stages: list[StageText] = field(default_factory=list)

    def __post_init__(self) -> None:
        program = self.schedule.program
        self.program = program
        self.frame.reductions = {r.name: r for r in program.reductions}
        self.types: dict[str, Type] = {d.name: d.type for d in program.fields}
        self.columns = {e.name: stored_as(e.type) for e in program.edges if e.name in self.present}
        written = {w.fields for step in self.schedule.steps if isinstance(step, Stage) for w in step.writes if w.init}
        declared = [s.name for s in program.body if isinstance(s, f.InitField)]
        self.given = frozenset(name for name in declared if (name,) not in written)
        self.scalars = ScalarWriter(self.frame, self.target.dialect, self.target.scalar)

    def plan(self, contracts: tuple[ContractStage, ...]) -> Plan:
        steps: list[StageSpec | ScalarSpec | LoopSpec | Contract] = []
        defaults: dict[str, ScalarSpec] = {}
        for edge in self.program.edges:
            if edge.name not in self.present and edge.default is not None:
                spec = self._scalar(f"edge.{edge.name}", "edge", edge.default, edge.span)
                defaults[edge.name] = spec
        parameters = {p.name: self._scalar(p.name, "parameter", p.default, p.span)
                      for p in self.program.params if p.default is not None}
        for item in contracts:
            steps.extend(self._contract(item))
        for step in self.schedule.steps:
            if isinstance(step, Stage):
                steps.append(self._stage(step, None))
            elif isinstance(step, ScalarStep):
                steps.append(self._scalar(step.name, step.kind, step.value, step.span))
            else:
                steps.append(self._loop(step))
        return self._assemble(steps, {**parameters, **{f"edge.{k}": v for k, v in defaults.items()}})

    def _assemble(
        self, steps: list[StageSpec | ScalarSpec | LoopSpec | Contract], defaults: Mapping[str, ScalarSpec]
    ) -> Plan:
        for name, type_ in (("N", I64), ("M", I64), ("iteration", I64)):
            self.frame.scalar(name, type_)
        for param in self.program.params:
            self.frame.scalar(param.name, param.type)
        fields = tuple(
            FieldSpec(d.name, stored_as(d.type), str(d.type), d.output, d.required, width_of(d.type))
            for d in self.program.fields
        ) + tuple(FieldSpec(n, stored_as(t), str(t), False, False) for n, t in self.types.items()
                  if n not in {d.name for d in self.program.fields})
        for spec in fields:
            self.frame.slot(f"field:{spec.name}")
        module = self.target.module(self.stages, self.scalars.texts, self.scalars.folds)
        return Plan(
            name=self.program.name, text=module.text, exports=module.exports, slots=dict(self.frame.slots),
            scalars=dict(self.frame.scalars), fields=fields,
            arrays=tuple(self.frame.arrays.values()), steps=tuple(steps),
            globals=tuple((g.name, str(g.type)) for g in self.program.globals), defaults=dict(defaults),
        )

    def _scalar(self, name: str, kind: str, value: f.Expr, span: Span, times: Times = _NOW) -> ScalarSpec:
        return self.scalars.add(name, kind, value, span, times)

    def _stage(self, stage: Stage, plan: LoopPlan | None, ends: bool = False) -> StageSpec:
        stage, edge_columns = with_common(stage, self.columns)
        messages = {} if plan is None else plan.messages(stage)
        two = frozenset(stage.written) & neighbour_reads(stage, messages)
        if plan is not None:
            two |= plan.two_buffers & frozenset(stage.written)
        writer = StageWriter(stage, self.frame, self.types, edge_columns, plan,
                             {expr: i for i, expr in enumerate(messages)}, ends, self.target.dialect, two, self.given)
        text = self.target.stage(writer)
        self.stages.append(text)
        for name in two:
            self.frame.slot(f"next:{name}")
        return StageSpec(
            name=stage.name, domain=stage.domain, kernels=dict(text.kernels),
            columns=tuple((c, edge_columns[c]) for c in writer.columns), written=stage.written,
            swaps=tuple(n for n in stage.written if n in two), loop_end=ends,
            notify=plan.readers[stage.name].notify if plan and stage.name in plan.readers else None,
            sole=plan is None or plan.sole(stage), gpu=text.gpu, structures=writer.structures,
        )

    def _loop(self, loop: Loop) -> LoopSpec:
        plan = plan_loop(loop, self.facts)
        repeat = loop.repeat
        times = Times("next", plan.starts, plan.told)  # lets and `until` stand after a pass
        limit = None
        if repeat.limit is not None:
            limit = self._scalar(f"{loop.name}.limit", "limit", f.Op(I64, "cast", (repeat.limit,)), repeat.span)
        steps: list[StageSpec | ScalarSpec] = []
        for step in loop.steps:
            if isinstance(step, Stage):
                steps.append(self._stage(step, plan, ends=plan.fused))
            else:
                steps.append(self._scalar(step.name, step.kind, step.value, step.span, times))
        if not plan.fused:
            end = Stage(f"{loop.name}_end", None, None, (), (), ())
            steps.append(self._stage(end, plan, ends=True))
        until = None
        if repeat.until is not None:
            until = self._scalar(f"{loop.name}.until", "until", repeat.until, repeat.span, times)
        for name in plan.starts:
            self.frame.slot(f"start:{name}")
        return LoopSpec(
            name=loop.name, steps=tuple(steps), limit=limit, exact=repeat.exact, until=until, explicit=plan.explicit,
            reads_iteration=plan.reads_iteration, skip=plan.skip, skip_reason=plan.skip_reason,
            asynchronous=plan.asynchronous,
            asynchronous_reason=plan.asynchronous_reason, starts=tuple(sorted(plan.starts)),
            tolds=tuple(sorted(plan.told)), line=repeat.span.line,
        )

    def _contract(self, item: ContractStage) -> list[StageSpec | ScalarSpec | Contract]:
        if item.scalar is not None:
            return [self._scalar(item.contract.name, "contract", item.scalar, item.span), item.contract]
        assert item.stage is not None
        (write,) = item.stage.writes
        self.types[item.contract.name] = write.value.type
        return [self._stage(item.stage, None), item.contract]
