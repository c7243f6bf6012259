"""Members of a struct by which kernels push: they join contributions into a field, or into cells beside the field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from vlang.emit.cuda.ways.gpu_sending import Push, push_of
from vlang.emit.cuda.ways.gpu_way_text import GpuPass, GpuWayText
from vlang.emit.shared.sending import silent
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import Function, stored_as
from vlang.ir.forms import forms as f
from vlang.types import F64, Scalar

if TYPE_CHECKING:
    from vlang.emit.cuda.cells import Cell
    from vlang.emit.cuda.cuda_dialect import CudaDialect

__all__ = ["PushText"]

_KINDS = {"": 0, "direct": 1, "cells": 2}  # the numbers that the skeletons use


class PushText(GpuWayText):
    """Generates the functions by which a stage pushes, if it can push. `open` and `pushed` are generated only for
    cells.
    """

    name = "push"

    def __init__(self, stage: GpuPass) -> None:
        super().__init__(stage)
        self._push = push_of(stage.writer, stage.cells, stage.cell_reason)

    def facts(self) -> Mapping[str, Any]:
        """How the pass pushes, or the reason why it does not push."""
        return {"push": self._push.kind, "push_reason": self._push.reason, "priority": self._push.priority}

    def switches(self) -> Mapping[str, int]:
        """The constant PUSH: whether contributions are joined into the field, into cells, or not at all."""
        return {"PUSH": _KINDS[self._push.kind]}

    def members(self) -> Sequence[Function]:
        """The functions of this way."""
        writer, d, push = self.stage.writer, self.stage.dialect, self._push
        if not push.kind:
            return []
        cells = self.stage.cells
        functions = _direct(writer, push, cells[0]) if push.kind == "direct" else _beside(writer, d, push, cells)
        return [*functions, _priority(writer, d, push), silent(writer)]


def _direct(writer: StageWriter, push: Push, cell: Cell) -> list[Function]:
    name = push.writes[0].fields[0]
    place = f"{writer.env.pointer(f'field:{name}', stored_as(writer.types[name]))} + v"
    value = cell.of(writer.dialect, cell.values(writer.dialect, "item"))
    function = cell.places.pushed.function
    return [Function("push", (), f"{function}({place}, {value})"),
            Function("improves", (), f"{_glance(function)}({place}, {value})")]


def _glance(function: str) -> str:
    """The name of the plain test with which a function of atomics.cuh begins."""
    return function.replace("improve_", "would_")


def _beside(writer: StageWriter, d: CudaDialect, push: Push, cells: Sequence[Cell]) -> list[Function]:
    """Return functions for cells in global memory, with one array per cell. A vertex that does not gather ignores its
    cells.
    """
    scope = writer.scope()
    pointers = []
    for number, cell in enumerate(cells):
        slot = f"work:push.{writer.stage.name}.{number}"
        writer.frame.array(slot, cell.dtype)
        pointers.append(writer.env.pointer(slot, cell.dtype))
    lines, tests, opened = [], [], []
    for number, (cell, pointer, write) in enumerate(zip(cells, pointers, push.writes)):
        value = cell.of(d, cell.values(d, "item"))
        test = cell.contributes(d, "item")
        call = f"{cell.places.pushed.function}({pointer} + v, {value})"
        lines.append(f"const bool c{number} = {d.both(test, call) if test else call};")
        look = call.replace(cell.places.pushed.function, _glance(cell.places.pushed.function), 1)
        tests.append(f"({d.both(test, look)})" if test else look)
        own = [scope.read(f.Field(writer.types[n], n, "self"), "field", "v")[0] for n in write.fields]
        opened.append(d.assign(f"{pointer}[v]", cell.of(d, own)))
    parts = [part for cell, pointer in zip(cells, pointers) for part in cell.parts(d, f"{pointer}[v]")]
    unwanted = () if writer.stage.guard is None else ("if (!wanted(ready(env, v))) return identity(env);",)
    return [
        Function("push", tuple(lines), d.either(*(f"c{i}" for i in range(len(cells))))),
        Function("improves", (), d.either(*tests)),
        Function("open", tuple(opened), ""),
        Function("pushed", unwanted, d.pack("Acc", parts)),
    ]


def _priority(writer: StageWriter, d: CudaDialect, push: Push) -> Function:
    """Return the function `priority`, which returns the priority of a vertex (0 if rule O is not granted). The least
    value is first.
    """
    if not push.priority:
        return Function("priority", (), d.constant(0.0, F64))
    name = push.writes[0].fields[0]
    type_ = writer.types[name]
    assert isinstance(type_, Scalar)
    value = d.convert(F64, writer.scope().read(f.Field(type_, name, "self"), "field", "v")[0])
    return Function("priority", (), value if push.priority == "ascending" else d.negative(F64, value))
