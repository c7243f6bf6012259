"""The stages of a compilation as text, for `vlang explain` and `Lowered.text`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from vlang.errors import BindError, ProgramError
from vlang.ir.print import facts_text, program_text
from vlang.options import Options
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
from vlang.runtime.policies.policies import policy_lines
from vlang.syntax.dump import dump
from vlang.syntax.problems import Problem

if TYPE_CHECKING:
    from vlang.api.lowered import Lowered
    from vlang.runtime.graph.graph import Graph

__all__ = ["STAGES", "stage_text"]


def stage_text(lowered: Lowered, stage: str) -> str:
    """One stage as text. Raises BindError for an unknown stage."""
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
    """The CUDA text generated from the program, without the skeletons, which are the same for all programs."""
    from vlang.emit.cuda.cuda_notes import wrapped  # start-up
    from vlang.emit.cuda.cuda_target import GENERATED, SKELETONS  # start-up

    files = ", ".join(f"{name}.cuh" for name in SKELETONS)
    generated = lowered.plan_for("cuda").text.partition(GENERATED)[2]
    return wrapped(f"Before this text stand the skeletons of vlang/emit/cuda/skeletons: {files}.") + generated


def _plan(lowered: Lowered) -> str:
    """Return the plan as text: the steps, the execution ways of each loop and, if there is a graph, the memory that a
    run needs.
    """
    plan = lowered.plan_for("numba")
    lines = [f"plan of {plan.name} on the CPU"]
    for step in plan.steps:
        lines.extend(_lines(step, lowered.graph))
    if lowered.graph is not None:
        lines.extend(str(lowered.cost()).splitlines())
    lines.extend(_on_ranks(lowered))
    options = lowered.options if lowered.options.device != "cpu" else Options()
    try:
        on_gpu = lowered.plan_for("cuda")
    except ProgramError as error:
        titles = [one.title for one in error.problems if isinstance(one, Problem)]
        lines += [f"on a GPU: {title.removeprefix('on a GPU, ')}" for title in titles]
        return "\n".join([*lines, *policy_lines(plan, lowered.options)])
    return "\n".join([*lines, *_on_gpu(on_gpu, lowered.graph, options), *policy_lines(
        plan if lowered.options.device == "cpu" else on_gpu, lowered.options)])


def _on_ranks(lowered: Lowered) -> list[str]:
    """Return lines about the memory of a rank and the bytes that ranks send in a superstep, if `cluster` and a graph
    are given.
    """
    if lowered.options.cluster is None or lowered.graph is None:
        return []
    from vlang.api.running.on_ranks import explained_ranks, refuse  # start-up
    from vlang.runtime.cluster.rank_memory import rank_memory  # start-up
    from vlang.runtime.cluster.rank_traffic import rank_traffic  # start-up

    size, plan = explained_ranks(lowered.options.cluster), lowered.plan_on_ranks()
    try:
        refuse(lowered.program, plan, lowered.options)
    except BindError as error:
        return [f"on {size} ranks: no ({error})"]
    found = [rank_memory(plan, lowered.graph, size), *rank_traffic(plan, lowered.graph, size)]
    return [f"on {size} rank{'' if size == 1 else 's'}", *(f"    {line}" for line in found)]


def _on_gpu(plan: Plan, graph: Graph | None, options: Options) -> list[str]:
    """Return lines about a GPU: how each pass over edges pulls and pushes, and which execution ways the options allow
    for each loop.

    With a graph, the lines name the kernel that is chosen for its rows.
    """
    from vlang.runtime.gpu.kernels.choose_kernel import choose_kernel  # start-up
    from vlang.runtime.gpu.kernels.row_lengths import whole_rows  # start-up
    from vlang.runtime.gpu.ways.ways import said  # start-up

    lines = []
    for stage in plan.stages:
        if stage.domain is None or stage.gpu is None:
            continue
        gpu, pull = stage.gpu, "by the kernel that suits each page" if options.kernel == "auto" else \
            f"by {options.kernel}"
        if stage.pointer:
            pull = f"by warp-segmentation, over the vertices whose `{stage.pointer}` points here"
        elif graph is not None and not graph.streamed and options.kernel != "edge-list":
            rows = whole_rows(graph.adjacency(stage.domain))
            pull = choose_kernel(gpu, rows.vertices, rows.edges, options.kernel, rows=rows).reason
        push = {"direct": "into the field itself", "cells": "into cells beside the fields", "": "no"}[gpu.push]
        why = f" ({gpu.push_reason})" if gpu.push_reason else ""
        lines.append(f"    pass {stage.name}: pulls {pull}; pushes: {push}{why}")
    for loop in plan.loops:
        if loop.nested:  # the passes of a nested loop always run in full
            continue
        lines.append(f"    loop in line {loop.line}")
        lines += [f"        {line}" for line in said(loop, graph, options)]
    return ["on a GPU", *lines] if lines else []


def _lines(step: Step, graph: Graph | None) -> list[str]:
    """The lines of a step and of the steps in it."""
    if isinstance(step, (StageSpec, ScalarSpec)):
        notes = step.notes if isinstance(step, StageSpec) else ()
        return [] if step.name.startswith("require.") else [_step(step), *(f"    {note}" for note in notes)]
    if isinstance(step, Contract) and step.kind == "needs":
        return [f"check `require {word}` (once a graph)" for word in step.text.split()]
    if isinstance(step, Contract):
        return [f"check `require {step.text}` ({'once' if step.kind == 'graph' else f'every {step.kind}'})"]
    inside = [f"    {line}" for inner in step.steps for line in _lines(inner, graph)]
    if isinstance(step, LoopSpec):
        return _loop(step, inside, graph)
    if isinstance(step, SweepSpec):
        order = "increasing" if step.up else "decreasing"
        return [f"sweep in line {step.line}, once for each value of {step.field} in {order} order", *inside]
    if isinstance(step, ForVerticesSpec):
        of = f" of {step.members}" if step.members else ""
        return [f"block in line {step.line}, once for each vertex{of}", *inside]
    until = ", until its condition holds" if step.until is not None else ""
    return [f"block in line {step.line}, once for each number of a range{until}", *inside]


def _step(step: StageSpec | ScalarSpec) -> str:
    if isinstance(step, ScalarSpec):
        return f"{step.kind} {step.name}" + (": a reduction over vertices" if step.fold else "")
    over = f"over {step.domain}-edges" if step.domain in ("in", "out") else "over edges both ways" if step.domain else \
        "over vertices"
    if step.pointer:
        over = f"over the vertices whose {step.pointer} is this one"
    parts = [f"pass {step.name} {over}: {', '.join(step.kernels)}"]
    if step.columns:
        parts.append("reads " + ", ".join(f"{name} ({dtype})" for name, dtype in step.columns))
    if step.written:
        buffers = {name: "two buffers" if name in step.swaps else "one buffer" for name in step.written}
        parts.append("writes " + ", ".join(f"{name} ({how})" for name, how in buffers.items()))
    if step.stores:
        parts.append(f"writes {', '.join(step.stores)} at the edges (two buffers)")
    return "; ".join(parts)


def _loop(loop: LoopSpec, inside: list[str], graph: Graph | None) -> list[str]:
    from vlang.runtime.cluster.cluster_ways import said_on_ranks  # start-up
    from vlang.runtime.cpu.ways.ways import WAYS  # start-up

    head = f"loop in line {loop.line}"
    if loop.limit is not None:
        head += ", counted" if loop.exact else ", at most as the program says"
    if loop.until is not None:
        head += ", until its condition holds"
    said = [*(line for way in WAYS for line in way.said(loop)), *said_on_ranks(loop)]
    if graph is not None and graph.streamed and not loop.nested:
        here, options = graph.shape(), Options()
        reasons = {way.name: way.refused(loop, here, options) for way in WAYS
                   if not way.refused(loop, replace(here, streamed=False), options)}
        said += [f"streamed from disk: no {name} ({why})" for name, why in reasons.items() if why]
    return [head, *inside, *(f"    {line}" for line in said)]


STAGES: dict[str, Callable[[Lowered], str]] = {
    "tree": _tree, "ir": _ir, "facts": _facts, "numba": _numba, "cuda": _cuda, "plan": _plan,
}  # fmt: skip
