"""The stages of a compilation as text, for `vlang explain` and `Program.explain`."""

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
    field_of,
)
from vlang.syntax.tree import dump

if TYPE_CHECKING:
    from vlang.api.program import Program
    from vlang.runtime.graph.graph import Graph

__all__ = ["STAGES", "explain"]


def explain(
    program: Program, stage: str, graph: Graph | None = None, without: frozenset[str] = frozenset()
) -> str:
    """One stage as text. graph: whose edge columns the code is for. without: optimisations left out.

    Raises BindError for a stage there is not.
    """
    write = STAGES.get(stage)
    if write is None:
        raise BindError(f"there is no stage {stage!r}; the stages: {', '.join(STAGES)}")
    return write(program, graph, without)


def _tree(program: Program, graph: Graph | None, without: frozenset[str]) -> str:
    return dump(program.stages().checked.file)


def _ir(program: Program, graph: Graph | None, without: frozenset[str]) -> str:
    return program_text(program.stages().program)


def _facts(program: Program, graph: Graph | None, without: frozenset[str]) -> str:
    stages = program.stages()
    laws = "".join(f"\nReduction {node.name}: {found.said}\n" for node, found in stages.checked.laws.items())
    return facts_text(stages.facts) + laws


def _numba(program: Program, graph: Graph | None, without: frozenset[str]) -> str:
    return _plan_of(program, graph, "numba", without).text


def _cuda(program: Program, graph: Graph | None, without: frozenset[str]) -> str:
    """What is written from the program; the skeletons before it are the same for all."""
    from vlang.emit.cuda.cuda_notes import wrapped  # start-up
    from vlang.emit.cuda.cuda_target import GENERATED, SKELETONS  # start-up

    files = ", ".join(f"{name}.cuh" for name in SKELETONS)
    generated = _plan_of(program, graph, "cuda", without).text.partition(GENERATED)[2]
    return wrapped(f"Before this text stand the skeletons of vlang/emit/cuda/skeletons: {files}.") + generated


def _plan_of(program: Program, graph: Graph | None, target: str, without: frozenset[str]) -> Plan:
    columns = frozenset(e.name for e in program.edges) if graph is None else frozenset(graph.columns)
    return program.plan(columns, target=target, without=without)


def _plan(program: Program, graph: Graph | None, without: frozenset[str]) -> str:
    """The steps of the run, with what each reads, writes and may do; with a graph, also what it needs."""
    plan = _plan_of(program, graph, "numba", without)
    lines = [f"plan of {plan.name} on the CPU"]
    for step in plan.steps:
        lines.extend(_lines(step))
    if graph is not None:
        lines.extend(_need(plan, graph))
    return "\n".join([*lines, *_on_gpu(_plan_of(program, graph, "cuda", without), graph)])


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
    from vlang.runtime.cpu.ways.ways import WAYS  # start-up

    head = f"loop in line {loop.line}"
    if loop.limit is not None:
        head += ", counted" if loop.exact else ", at most as the program says"
    if loop.until is not None:
        head += ", until its condition holds"
    return [head, *inside, *(f"    {line}" for way in WAYS for line in way.said(loop))]


def _need(plan: Plan, graph: Graph) -> list[str]:
    """The memory that a run needs, in bytes, by what takes it."""
    bits = {"8": 1, "16": 2, "32": 4, "64": 8}
    arrays = {spec.slot: spec.dtype for spec in plan.arrays if spec.length == "vertices"}
    dtypes = {field.name: field.dtype for field in plan.fields}
    arrays |= {slot: dtypes[name] for slot in plan.slots if (name := field_of(slot)) is not None}
    state = graph.n * sum(bits[dtype[1:]] for dtype in arrays.values())
    kinds = {kind for s in plan.stages for kind in (s.domain, s.notify)}
    kinds = kinds - {None} if graph.directed else {"in"}  # an undirected graph has one adjacency for all
    edges = sum(4 * graph.m * (2 if kind == "both" and graph.directed else 1) + 8 * (graph.n + 1) for kind in kinds)
    columns = sum(bits[dtype[1:]] * graph.m for s in plan.stages for _, dtype in s.columns)
    return [f"needs about {(state + edges + columns) / 1e6:,.1f} MB: vertex state {state / 1e6:,.1f}, adjacency "
            f"{edges / 1e6:,.1f}, edge columns {columns / 1e6:,.1f}"]


STAGES: dict[str, Callable[[Program, Graph | None, frozenset[str]], str]] = {
    "tree": _tree, "ir": _ir, "facts": _facts, "numba": _numba, "cuda": _cuda, "plan": _plan,
}  # fmt: skip
