"""The stages of a compilation as text, for `vlang explain` and `Lowered.text`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vlang.errors import BindError
from vlang.ir.print import facts_text, program_text
from vlang.runtime.plan.plan import (
    Contract,
    ForVerticesSpec,
    LoopSpec,
    Plan,
    ScalarSpec,
    StageSpec,
    Step,
    SweepSpec,
)
from vlang.syntax.tree import dump

if TYPE_CHECKING:
    from vlang.api.lowered import Lowered
    from vlang.runtime.graph.graph import Graph

__all__ = ["STAGES", "stage_text"]


def stage_text(lowered: Lowered, stage: str) -> str:
    """One stage as text. Raises BindError for a stage there is not."""
    write = STAGES.get(stage)
    if write is None:
        raise BindError(f"there is no stage {stage!r}; the stages: {', '.join(STAGES)}")
    return write(lowered)


def _tree(lowered: Lowered) -> str:
    return dump(lowered.stages.checked.file)


def _ir(lowered: Lowered) -> str:
    return program_text(lowered.stages.program)


def _facts(lowered: Lowered) -> str:
    stages = lowered.stages
    laws = "".join(f"\nReduction {node.name}: {found.said}\n" for node, found in stages.checked.laws.items())
    return facts_text(stages.facts) + laws


def _numba(lowered: Lowered) -> str:
    return lowered.plan_for("numba").text


def _cuda(lowered: Lowered) -> str:
    """What is written from the program; the skeletons before it are the same for all."""
    from vlang.emit.cuda.cuda_notes import wrapped  # start-up
    from vlang.emit.cuda.cuda_target import GENERATED, SKELETONS  # start-up

    files = ", ".join(f"{name}.cuh" for name in SKELETONS)
    generated = lowered.plan_for("cuda").text.partition(GENERATED)[2]
    return wrapped(f"Before this text stand the skeletons of vlang/emit/cuda/skeletons: {files}.") + generated


def _plan(lowered: Lowered) -> str:
    """The steps of the run, with what each reads, writes and may do; with a graph, also what it needs."""
    plan = lowered.plan_for("numba")
    lines = [f"plan of {plan.name} on the CPU"]
    for step in plan.steps:
        lines.extend(_lines(step))
    if lowered.graph is not None:
        lines.extend(str(lowered.cost()).splitlines())
    return "\n".join([*lines, *_on_gpu(lowered.plan_for("cuda"), lowered.graph)])


def _on_gpu(plan: Plan, graph: Graph | None) -> list[str]:
    """What passes over edges do on a GPU: how they push and, with a graph, which kernel pulls its edges in one page."""
    from vlang.runtime.gpu.kernels.choose_kernel import Rows, choose_kernel  # start-up

    lines = []
    for stage in plan.stages:
        if stage.domain is None or stage.gpu is None:
            continue
        gpu, pull = stage.gpu, "by the kernel that suits each page"
        if graph is not None:
            rows = Rows.measured(graph.adjacency(stage.domain).offsets)
            pull = choose_kernel(gpu, rows.vertices, rows.edges, rows=rows).reason
        push = {"direct": "into the field itself", "cells": "into cells beside the fields", "": "no"}[gpu.push]
        why = f" ({gpu.push_reason})" if gpu.push_reason else ""
        lines.append(f"    pass {stage.name}: pulls {pull}; pushes: {push}{why}")
    return ["on a GPU", *lines] if lines else []


def _lines(step: Step) -> list[str]:
    """A step with what it holds."""
    if isinstance(step, (StageSpec, ScalarSpec)):
        notes = step.notes if isinstance(step, StageSpec) else ()
        return [] if step.name.startswith("require.") else [_step(step), *(f"    {note}" for note in notes)]
    if isinstance(step, Contract):
        return [f"check `require {step.text}` ({'once' if step.kind == 'graph' else f'every {step.kind}'})"]
    inside = [f"    {line}" for inner in step.steps for line in _lines(inner)]
    if isinstance(step, LoopSpec):
        return _loop(step, inside)
    if isinstance(step, SweepSpec):
        order = "increasing" if step.up else "decreasing"
        return [f"sweep in line {step.line}, once for each value of {step.field} in {order} order", *inside]
    if isinstance(step, ForVerticesSpec):
        return [f"block in line {step.line}, once for each vertex of {step.members}", *inside]
    until = ", until its condition holds" if step.until is not None else ""
    return [f"block in line {step.line}, once for each number of a range{until}", *inside]


def _step(step: StageSpec | ScalarSpec) -> str:
    if isinstance(step, ScalarSpec):
        return f"{step.kind} {step.name}" + (": a reduction over vertices" if step.fold else "")
    over = f"over {step.domain}-edges" if step.domain in ("in", "out") else "over edges both ways" if step.domain else \
        "over vertices"
    parts = [f"pass {step.name} {over}: {', '.join(step.kernels)}"]
    if step.columns:
        parts.append("reads " + ", ".join(f"{name} ({dtype})" for name, dtype in step.columns))
    if step.written:
        buffers = {name: "two buffers" if name in step.swaps else "one buffer" for name in step.written}
        parts.append("writes " + ", ".join(f"{name} ({how})" for name, how in buffers.items()))
    return "; ".join(parts)


def _loop(loop: LoopSpec, inside: list[str]) -> list[str]:
    head = f"loop in line {loop.line}"
    if loop.limit is not None:
        head += ", counted" if loop.exact else ", at most as the program says"
    if loop.until is not None:
        head += ", until its condition holds"
    lines = [head, *inside]
    if loop.skip:
        lines.append(f"    modes: pull; {_narrow(loop)} ({loop.skip_reason})")
    else:
        lines.append(f"    mode: pull ({loop.skip_reason})")
    if loop.copied is not None:
        lines.append(f"    connected components, where nothing else is asked for: {loop.copied.field} is copied and "
                     f"joined by {loop.copied.join} (rule K)")
    lines += _pushes(loop)
    lines.append(f"    order: {_order(loop)}")
    lines += _buckets(loop)
    lines.append(f"    in place on request: {'yes' if loop.asynchronous else 'no'} ({loop.asynchronous_reason})")
    return lines


def _narrow(loop: LoopSpec) -> str:
    """What a loop does, other than pull, where few vertices changed."""
    if any(stage.sums is not None for stage in loop.stages):
        return "push where few vertices have changes to tell; notify-pull on request, or by the published rules"
    return "notify-pull where at most half of the edges leave changed vertices"


def _pushes(loop: LoopSpec) -> list[str]:
    """Whether active vertices push on the CPU; nothing of loops none of whose passes could."""
    if loop.nested:
        return []
    stages = [stage for stage in loop.stages if stage.domain is not None]
    spec = stages[0].push if len(stages) == 1 else None
    if len(stages) == 1 and stages[0].sums is not None:
        how = "" if stages[0].sums.exact else ", in the order in which the receiver would gather them"
        return [f"    pushes: sums, added up beside the receivers{how}"]
    if spec is None:
        reasons = dict.fromkeys(stage.push_reason for stage in stages if stage.push_reason)
        return [f"    pushes: no ({'; '.join(reasons)})"] if reasons else []
    if "early" in stages[0].kernels:
        return ["    pushes: into bitmaps of the workers, or vertices not reached look for the frontier, whichever "
                "reads less (rule X2)"]
    fields = " and ".join(part.field for part in spec.parts)
    where = f"the second buffer of {fields}" if spec.slot.startswith("next:") else \
        f"words beside the fields, which hold {fields}"
    return [f"    pushes: into {where}"]


def _order(loop: LoopSpec) -> str:
    """Whether the best values may go first on the CPU."""
    from vlang.runtime.cpu.ways.choose_order import order_reason  # start-up
    from vlang.runtime.cpu.ways.push import push_stage  # start-up

    stage = push_stage(loop)
    if stage is None or stage.priority is None:
        return f"rounds ({order_reason(loop)})"
    columns = stage.priority.columns
    if not columns:
        return "rounds, or by priority on request (all edges weigh the same)"
    return f"by priority where {' or '.join(columns)} differs from edge to edge, else rounds (rule O)"


def _buckets(loop: LoopSpec) -> list[str]:
    """What helps a loop whose best values go first."""
    specs = [stage.priority for stage in loop.stages if stage.priority is not None]
    lines = [f"    packed: an edge and its {spec.columns[0]} are one, where they fit into 32 bits"
             for spec in specs if spec.packed]
    return lines + ["    buckets: narrower or wider as the loop runs" for spec in specs if spec.refined]


STAGES: dict[str, Callable[[Lowered], str]] = {
    "tree": _tree, "ir": _ir, "facts": _facts, "numba": _numba, "cuda": _cuda, "plan": _plan,
}  # fmt: skip
