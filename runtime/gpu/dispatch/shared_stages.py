"""Selects the passes that the GPU and the CPU share, and the arrays that are copied between them."""

from __future__ import annotations

from collections.abc import Iterator

from vlang.records import dataclass
from vlang.runtime.plan.plan import LoopSpec, Plan, StageSpec, field_of

__all__ = ["SharedStage", "alone", "shared_stages"]


@dataclass(frozen=True)
class SharedStage:
    """A pass that the CPU and the GPU share: each device runs the pass over some of the vertices.

    Attributes:
        stage: the pass in the plan for the GPU.
        rows: the same pass in the plan for the CPU.
        whole: the arrays over vertices that the CPU reads at any vertex.
        own: the arrays over vertices that the CPU reads only at the vertices for which it pulls.
        back: the arrays other than fields that the CPU may write at these vertices.
    """

    stage: StageSpec
    rows: StageSpec
    whole: tuple[str, ...]
    own: tuple[str, ...]
    back: tuple[str, ...]

    @property
    def exact(self) -> bool:
        """Return whether the bits of the results are the same on both devices."""
        return self.stage.gpu is not None and self.stage.gpu.exact


def shared_stages(plan: Plan, cpu: Plan) -> dict[str, SharedStage]:
    """Return the passes that both devices run, by name.

    Args:
        plan: the program, for the GPU.
        cpu: the program, for the CPU.
    """
    twins = {stage.name: stage for stage in cpu.stages}
    return {stage.name: _shared(stage, twins[stage.name], plan, cpu) for stage in _candidates(plan)
            if not alone(plan, stage) and _alike(stage, twins.get(stage.name))}


def _candidates(plan: Plan) -> Iterator[StageSpec]:
    """Yield the passes over edges that repeat as full passes."""
    for loop in plan.loops:
        for step in loop.steps:
            if isinstance(step, StageSpec) and step.domain is not None:
                yield step


def alone(plan: Plan, stage: StageSpec) -> str:
    """Return the reason why the GPU runs a pass over edges alone; "" if the CPU may run some of its pages."""
    if stage.pointer:
        return "it reads lists that the run builds on the GPU"
    if stage.structures:
        return "it needs all contributions of a vertex at once (rule R)"
    if plan.faults:
        return "a declared reduction records overflows on the GPU"
    if not any(stage in loop.steps for loop in plan.loops if isinstance(loop, LoopSpec)):
        return "it does not repeat in a loop of supersteps"
    return ""


def _alike(stage: StageSpec, twin: StageSpec | None) -> bool:
    """Return whether a pass reads and writes the same arrays in both plans."""
    return twin is not None and (stage.domain, stage.columns, stage.written, stage.swaps, stage.near) == \
        (twin.domain, twin.columns, twin.written, twin.swaps, twin.near)


def _shared(stage: StageSpec, rows: StageSpec, plan: Plan, cpu: Plan) -> SharedStage:
    vertices = {spec.slot for spec in plan.arrays if spec.length == "vertices"}
    slots = [slot for slot in rows.arrays if slot in plan.slots and (field_of(slot) is not None or slot in vertices)]
    written = {f"next:{name}" for name in stage.swaps}
    whole = tuple(slot for slot in slots if slot in rows.near or slot in cpu.far)
    own = tuple(slot for slot in slots if slot not in whole and slot not in written)
    back = tuple(slot for slot in own if not slot.startswith(("field:", "next:", "start")))
    return SharedStage(stage, rows, whole, own, back)
