"""The engine relies on rules that every plan obeys: each name that a step uses is defined."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vlang.ir.invariants import Rule, assert_rules
from vlang.runtime.plan.plan import (
    FIRST_SLOT,
    Contract,
    ForRangeSpec,
    ForVerticesSpec,
    LoopSpec,
    Plan,
    PrioritySpec,
    PushSpec,
    ScalarSpec,
    StageSpec,
    Step,
    SumSpec,
    SweepSpec,
    every_step,
)

__all__ = ["PLAN_RULES", "assert_plan"]

_DTYPES = re.compile(r"[iu](8|16|32|64)|f(32|64)")
_LENGTHS = re.compile(r"vertices|segments:(in|out|both|pointing:\w+)|edges|blocks|blocked|pushed|later|one|set:\w+")


def assert_plan(plan: Plan) -> None:
    """Check a plan. Raises InternalError."""
    assert_rules(PLAN_RULES, plan, plan.name)


def _kernels(plan: Plan) -> Iterator[tuple[str, str]]:
    """Each kernel that a step names, with the name of the step."""
    for stage in plan.stages:
        yield from ((kernel, stage.name) for kernel in stage.kernels.values())
        if stage.fused is not None:
            yield from ((kernel, stage.name) for kernel in (stage.fused.kernel, *stage.fused.kernels))
    yield from ((value.fold.kernel, value.name) for value in plan.values if value.fold is not None)


def _exported(plan: Plan) -> Iterator[str]:
    """Yield the kernels that are named by a step but are not exported by the plan. Plans for a GPU export nothing,
    since entry points are generated from names.
    """
    if not any(stage.gpu for stage in plan.stages) and plan.exports:
        yield from (f"{kernel}, of {step}" for kernel, step in _kernels(plan) if kernel not in plan.exports)


def _unused(plan: Plan) -> Iterator[str]:
    named = {kernel for kernel, _ in _kernels(plan)} | {"scalars"}
    yield from sorted(set(plan.exports) - named)


def _defined(plan: Plan) -> Iterator[str]:
    yield from (name for name in plan.exports if len(re.findall(rf"^def {name}\(", plan.text, re.M)) != 1)
    yield from (stage.name for stage in plan.stages
                if stage.gpu is not None and f"struct {stage.gpu.struct} " not in plan.text)


def _numbered(plan: Plan) -> Iterator[str]:
    if sorted(plan.slots.values()) != list(range(FIRST_SLOT, FIRST_SLOT + len(plan.slots))):
        yield f"numbers {sorted(plan.slots.values())}"


def _slots(plan: Plan) -> Iterator[str]:
    wanted = [(f"field:{spec.name}", "a field") for spec in plan.fields]
    wanted += [(f"scalar:{name}", "a scalar") for name in plan.scalars]
    wanted += [(spec.slot, "an array") for spec in plan.arrays]
    for stage in plan.stages:
        wanted += [(f"next:{name}", stage.name) for name in stage.swaps]
        wanted += [(f"work:notify.{stage.name}", stage.name)] if stage.notify else []
        wanted += [(spec.slot, stage.name) for spec in stage.ways.values() if isinstance(spec, PushSpec)]
        wanted += [(f"{spec.slot}.0", stage.name) for spec in stage.ways.values() if isinstance(spec, SumSpec)]
        wanted += [(slot, stage.name) for slot in (stage.fused.own if stage.fused is not None else ())]
    for loop in plan.loops:
        wanted += [(loop.slot("start", name), f"loop {loop.number}") for name in loop.starts]
        wanted += [(loop.slot("sent", name), f"loop {loop.number}") for name in loop.sent]
    wanted += [(step.guard, f"the sweep over {step.field}") for step in every_step(plan.steps)
               if isinstance(step, SweepSpec) and step.guard is not None]
    yield from (f"{slot}, of {step}" for slot, step in wanted if slot not in plan.slots)


def _fields(plan: Plan) -> Iterator[str]:
    known = {spec.name for spec in plan.fields}
    wanted = [(name, stage.name) for stage in plan.stages for name in (*stage.written, *stage.swaps)]
    for stage in plan.stages:
        for spec in stage.ways.values():
            wanted += [(part.field, stage.name) for part in spec.parts] if isinstance(spec, PushSpec) else []
            wanted += [(spec.field, stage.name)] if isinstance(spec, PrioritySpec) else []
    for step in every_step(plan.steps):
        wanted += [(step.field, "a sweep")] if isinstance(step, SweepSpec) else []
        if isinstance(step, LoopSpec):
            copied = () if step.copied is None else (step.copied.field,)
            wanted += [(name, f"loop {step.number}") for name in (*step.starts, *step.sent, *copied)]
        elif isinstance(step, Contract) and step.kind in ("vertex", "edge"):
            wanted.append((step.name, "a contract"))
    yield from (f"{name}, of {step}" for name, step in wanted if name not in known)


def _swaps(plan: Plan) -> Iterator[str]:
    for stage in plan.stages:
        yield from (f"{name}, of {stage.name}" for name in stage.swaps if name not in stage.written)
        for spec in stage.ways.values():
            kind, _, name = spec.slot.partition(":") if isinstance(spec, PushSpec) else ("", "", "")
            if kind == "next" and name not in stage.swaps:
                yield f"{name}, of {stage.name}"


def _arrays(plan: Plan) -> Iterator[str]:
    memory = [(spec.name, spec.dtype, spec.width) for spec in plan.fields]
    memory += [(spec.slot, spec.dtype, spec.width) for spec in plan.arrays]
    yield from (f"{name}: {width} of {dtype}" for name, dtype, width in memory
                if not _DTYPES.fullmatch(dtype) or width < 1)
    yield from (f"{spec.slot}: {spec.length}" for spec in plan.arrays if not _LENGTHS.fullmatch(spec.length))


def _values(plan: Plan) -> Iterator[str]:
    indices = [value.index for value in plan.values]
    if sorted(indices) != list(range(len(indices))):
        yield f"numbers {sorted(indices)}"


def _stored(plan: Plan) -> Iterator[str]:
    """Yield stored values that have no scalar. A value with several components has the scalars NAME.0, NAME.1, ..."""
    names = {name.rpartition(".")[0] for name in plan.scalars} | set(plan.scalars)
    names |= {spec.slot.removeprefix("given:") for spec in plan.arrays}
    wanted = [value.name for value in plan.values]
    for step in every_step(plan.steps):
        wanted += [step.level] if isinstance(step, SweepSpec) else []
        wanted += [step.name] if isinstance(step, (ForVerticesSpec, ForRangeSpec)) else []
    yield from sorted(set(wanted) - names)


def _loops(plan: Plan) -> Iterator[str]:
    def below(steps: tuple[Step, ...], level: int) -> Iterator[str]:
        for step in steps:
            if isinstance(step, LoopSpec) and step.level != level:
                yield f"loop {step.number} has level {step.level}, and {level} loops around it"
            if not isinstance(step, (StageSpec, ScalarSpec, Contract)):
                yield from below(step.steps, level + isinstance(step, LoopSpec))

    yield from below(plan.steps, 0)


PLAN_RULES: tuple[Rule[Plan], ...] = (
    Rule("A kernel that a step names is exported.", _exported),
    Rule("A kernel that is exported is named by a step.", _unused),
    Rule("The text defines each kernel that is exported once, and the struct of each pass on a GPU.", _defined),
    Rule("Slots are numbered one after the other, behind those of the engine.", _numbered),
    Rule("A slot that a field, a scalar, an array or a step names is in the frame.", _slots),
    Rule("A field that a step names is one of the plan.", _fields),
    Rule("A pass that swaps the buffers of a field writes it, and pushes into second buffers of such fields.", _swaps),
    Rule("Arrays have a type that memory can hold, and a length that the engine knows.", _arrays),
    Rule("The graph-level values are the cases of the kernel `scalars`, each once.", _values),
    Rule("A graph-level value has a scalar to be stored in.", _stored),
    Rule("Loops have the level of their place.", _loops),
)
