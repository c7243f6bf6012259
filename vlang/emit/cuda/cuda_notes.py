"""The comment above the struct of a pass: the operations that join each gather, and the kernels that may run the pass.
"""

from __future__ import annotations

import textwrap

from vlang.emit.cuda.cells import groups
from vlang.emit.cuda.unified import Place, places
from vlang.emit.shared.reductions.grouped import Grouped
from vlang.emit.shared.reductions.holistic import Holistic
from vlang.emit.shared.sending import Early
from vlang.emit.shared.stage import StageWriter
from vlang.runtime.plan.gpu_stage import GpuStage
from vlang.runtime.plan.plan import pointer_of
from vlang.types import BOOL, Scalar, Tuple, Type, Vector

__all__ = ["stage_notes", "wrapped"]

_PULL = "thread, virtual-warp-2 to virtual-warp-32, warp-segmentation, stream"
_OVER = {"in": "in-edges", "out": "out-edges", "both": "edges both ways"}


def stage_notes(writer: StageWriter, gpu: GpuStage, early: Early) -> str:
    """The comment above the struct of a pass.

    Args:
        writer: the writer of the pass.
        gpu: how the pass runs on a GPU.
        early: the condition under which a vertex needs no further contributions.
    """
    stage = writer.stage
    if stage.domain is None:
        return f"// pass {stage.name} over vertices: kernel compute\n"
    pointer = pointer_of(stage.domain)
    over = f"the vertices whose `{pointer}` points here" if pointer else _OVER[stage.domain]
    lines = [f"pass {stage.name} over {over}"]
    for gather, accumulation in zip(stage.gathers, writer.accumulations):
        if isinstance(accumulation, Holistic):
            lines += _holistic(gather.name, accumulation)
            continue
        if isinstance(accumulation, Grouped):
            lines.append(f"gather {gather.name}: {gather.reduce.name} over groups by {_named(accumulation.key)}; the "
                         "entries of all edges are sorted by key, and joined in the order of the row")
            continue
        value = gather.reduce.body.type
        parts = groups(accumulation)
        if isinstance(value, Vector) and accumulation.declared is None:
            lines.append(f"gather {gather.name}: {value.size} components, each joined separately")
            parts = [parts[0], *parts[value.size :]]
        for part, (reduction, types) in enumerate(parts):
            type_: Type = Tuple(types) if len(types) > 1 else types[0]
            what = _part(accumulation.result, part) if reduction != gather.reduce.name or part else ""
            lines.append(f"gather {gather.name}{what}: {reduction} of {_named(type_)}")
            lines.extend(_places(reduction, type_, bool(gpu.push)))
    return "".join(wrapped(line) for line in [*lines, *_freedoms(gpu, early, whole=bool(writer.structures))])


def _holistic(name: str, accumulation: Holistic) -> list[str]:
    """The note on a gather that needs all contributions of a vertex at the same time."""
    how = {"mode": "a hash table that counts values", "mex": "a bit for each value", "hindex": "counts by size",
           "median": "a list; the median is found bit by bit"}
    return [f"gather {name}: {accumulation.reduce.name} of {_named(accumulation.key)}",
            f"  {how[accumulation.reduce.name]}, filled by integer atomics: in shared memory if it fits there, else in "
            "global memory; the order does not matter"]


def _part(result: str, part: int) -> str:
    """The label of one component of a reduction with this kind of result; "" if the reduction has only one component.
    """
    if result == "float" and part < 2:
        return (", its sum", ", how many")[part]
    return ", whether any"


def _named(type_: Type) -> str:
    if isinstance(type_, Scalar) and type_ != BOOL:
        return type_.name
    return str(type_)


def _places(reduction: str, type_: Type, pushes: bool) -> list[str]:
    found = places(reduction, type_)
    pushed = found.pushed if pushes else Place("", False, "the pass does not push")
    rows = (("thread", found.thread), ("warp", found.warp), ("shared memory", found.shared), ("global memory", pushed))
    return [f"  {where}: {f'{place.function}, ' if place.function else 'not used, '}{place.reason}"
            for where, place in rows]


def _freedoms(gpu: GpuStage, early: Early, whole: bool) -> list[str]:
    timed = "" if gpu.exact else " (not if deterministic: the order of float sums depends on timing)"
    edge = f", edge{timed}" if gpu.cell else f"; not edge: {gpu.cell_reason}"
    together = "pulled by groups of lanes and by blocks that have all contributions of a vertex (rule R)"
    lines = [together if whole else f"auto may pull with: {_PULL}{edge}",
             f"push: {gpu.push or 'no'}; {gpu.push_reason}"]
    if gpu.priority:
        lines.append(f"priority: {gpu.priority}, values before the current bucket are final (rule O)")
    if early.kind == "frontier":
        lines.append("early exit: the first active neighbour decides (rule X2)")
    if early.decided:
        lines.append("early exit: at the absorbing element of the reduction (rule X1)")
    if early.done:
        done = " and ".join(f"{name} is {str(value).lower()}" for name, value in early.done)
        lines.append(f"early exit: a vertex need not gather once {done} (rule X1)")
    return lines


def wrapped(line: str) -> str:
    """A comment, wrapped to several lines."""
    indent = " " * (len(line) - len(line.lstrip()) + 4)
    return "\n".join(textwrap.wrap(line, 120, initial_indent="// ", subsequent_indent=f"// {indent}",
                                   break_long_words=False)) + "\n"
