"""One stage as a C++ struct, with the members that the kernel templates call."""

from __future__ import annotations

from collections.abc import Sequence

from vlang.emit.cuda.cells import Cell, cells_of
from vlang.emit.cuda.cuda_dialect import CudaDialect, edge_name, indented, used
from vlang.emit.cuda.cuda_groups import nothing as no_group
from vlang.emit.cuda.cuda_groups import sent as of_group
from vlang.emit.cuda.cuda_groups import travelling
from vlang.emit.cuda.cuda_notes import stage_notes
from vlang.emit.cuda.cuda_scratch import lifted, scratch_members
from vlang.emit.cuda.ways.gpu_way_text import GpuPass
from vlang.emit.cuda.ways.gpu_way_texts import GPU_WAY_TEXTS
from vlang.emit.shared.reductions.accumulate import Accumulation
from vlang.emit.shared.reductions.grouped import Grouped
from vlang.emit.shared.reductions.holistic import Holistic
from vlang.emit.shared.reductions.packed import put_and_get
from vlang.emit.shared.sending import decided, early_of, is_final
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import Function, scalars_of
from vlang.emit.shared.values.formulas import Writer, located
from vlang.ir.forms import forms as f
from vlang.reductions import REDUCTIONS
from vlang.runtime.plan.gpu_stage import GpuStage
from vlang.types import BOOL, F32, F64, Scalar, Tuple

__all__ = ["StageStruct", "from_lane"]


class StageStruct:
    """Writes the struct of one stage."""

    def __init__(self, writer: StageWriter, dialect: CudaDialect) -> None:
        self.writer = writer
        self.d = dialect
        self.types = [t for a in writer.accumulations for t in a.types]
        self.items = [t for a in writer.accumulations for t in _travelling(a)]
        self.cells, self.cell_reason = cells_of(writer.accumulations) if writer.stage.domain else ([], "no edges")
        self.ways = [way(GpuPass(writer, dialect, self.cells, self.cell_reason)) for way in GPU_WAY_TEXTS]
        self.early = early_of(writer)

    # ------------------------------------------------------------------ the whole struct
    def text(self) -> str:
        """Code of the struct."""
        writer, d = self.writer, self.d
        functions = writer.ready()
        if writer.stage.domain:
            functions += self._edges()
        functions.append(writer.apply())
        if writer.messages:
            functions.append(writer.send())
        members = [d.struct("Masks", [f"bool a{i}" for i in range(writer.masks)]),
                   d.struct("Acc", self._components(self.types))]
        if writer.stage.domain:
            members = [*self._switches(), *members, d.struct("Item", self._components(self.items)), self._columns()]
            functions += [function for way in self.ways for function in way.members()]
        body = [*map(d.define, functions), *self._cells()]  # before the environment, because they add entries to it
        scratch = scratch_members(writer, d, [len(_travelling(a)) for a in writer.accumulations])
        whole = "".join([*members, d.environment(tuple(writer.env.entries)), *body, scratch])
        notes = stage_notes(writer, self.facts(), self.early)
        return f"{notes}struct {writer.stage.name} {{\n{indented(whole)}}};\n"

    def facts(self) -> GpuStage:
        """The properties of the stage that the engine uses."""
        name = self.writer.stage.name
        if not self.writer.stage.domain:
            return GpuStage(name)
        return GpuStage(
            struct=name, item=_size(self.items), accumulator=_size(self.types), cell=sum(c.bytes for c in self.cells),
            cell_reason=self.cell_reason, native=bool(self.cells) and all(c.places.shared.native for c in self.cells),
            exact=all(map(_exact, self.writer.accumulations)),
            reads_self=self._reads_self(), early=self.early.kind,
            **{name: value for way in self.ways for name, value in way.facts().items()},
        )

    def _components(self, types: list[Scalar]) -> list[str]:
        return [f"{self.d.typename(t)} a{i}" for i, t in enumerate(types)]

    def _switches(self) -> list[str]:
        """The constants that select code in the kernel templates."""
        switches = {
            "READS_SELF": self._reads_self(), "EARLY": self.early.decided, "FRONTIER": self.early.kind == "frontier",
            "ATOMIC": bool(self.cells), "STORES": bool(self.writer.stores),
        }
        lines = [f"static constexpr bool {name} = {self.d.true if value else self.d.false};\n"
                 for name, value in switches.items()]
        more = {name: value for way in self.ways for name, value in way.switches().items()}
        return [*lines, f"static constexpr u32 CELL_BYTES = {sum(c.bytes for c in self.cells)};\n",
                *(f"static constexpr int {name} = {value};\n" for name, value in more.items())]

    def _reads_self(self) -> bool:
        """Return whether a contribution depends on the receiver."""
        def reads(expr: f.Expr) -> bool:
            if expr in self.writer.messages:
                return False
            own = isinstance(expr, (f.Field, f.Degree, f.Vertex)) and expr.of == "self"
            return own or isinstance(expr, f.Accumulator) or any(map(reads, f.children(expr)))

        return any(reads(part) for gather in self.writer.stage.gathers
                   for part in f.children(gather.reduce))

    # ------------------------------------------------------------------ edges
    def _columns(self) -> str:
        d, writer = self.d, self.writer
        members = [f"Column<{writer.present[c]}> {edge_name(c)}" for c in writer.columns]
        values = [f"{{pointer<const {writer.present[c]}>(row, ROW_COLUMNS + {i}), streams}}"
                  for i, c in enumerate(writer.columns)]
        bind = Function("bind_columns", (), d.pack("Columns", values))
        return d.struct("Columns", members) + d.define(bind)

    def _edges(self) -> list[Function]:
        """The functions on accumulators and contributions."""
        d, writer, stage = self.d, self.writer, self.writer.stage
        edge = writer.contributing()
        sent: list[str] = []
        nothing: list[str] = []
        empty = writer.writer(writer.scope())
        lift: list[str] = []
        for gather, accumulation in zip(stage.gathers, writer.accumulations):
            types = _travelling(accumulation)
            lift += lifted(empty, d, accumulation, types, len(sent))
            with located(gather.span):
                if isinstance(accumulation, Grouped):
                    sent.extend(of_group(accumulation, edge))
                    nothing.extend(no_group(accumulation, empty))
                else:
                    sent.extend(accumulation.sent(edge, types))
                    nothing.extend(accumulation.identity(empty, types))
        return [
            writer.identity(),
            Function("nothing", tuple(empty.lines), d.pack("Item", nothing)),
            Function("contribute", tuple(edge.lines), d.pack("Item", sent)),
            Function("lift", tuple(empty.lines), d.pack("Acc", lift)),
            writer.merge(),
            from_lane(d, len(self.types)),
            *put_and_get(writer.env, writer.accumulations, f"part:{stage.name}", f"segments:{stage.domain}",
                         "put", "get"),
            Function("decided", (), decided(writer, self.early)),
            Function("is_final", (), is_final(writer, self.early)),
            *(function for way in self.ways for function in way.over_edges()),
        ]

    # ------------------------------------------------------------------ cells in shared memory
    def _cells(self) -> list[str]:
        """Return code of the cells of many vertices: one array for each cell of a vertex. The arrays of the widest
        cells come first, so that all arrays are aligned.
        """
        d, cells = self.d, self.cells
        if not cells:
            return []
        members = [f"{c.dtype}* c{i}" for i, c in enumerate(cells)]
        placed: dict[int, int] = {}
        at = 0
        for i in sorted(range(len(cells)), key=lambda i: -cells[i].bytes):
            placed[i] = at
            at += cells[i].bytes
        carved = [f"reinterpret_cast<{c.dtype}*>(memory + {placed[i]} * u64(count))" for i, c in enumerate(cells)]
        empty, writer = self._writer(), self._writer()
        clear = [d.assign(f"cells.c{i}[i]", c.nothing(empty)) for i, c in enumerate(cells)]
        join = [self._joined(i, c) for i, c in enumerate(cells)]
        take = [part for i, c in enumerate(cells) for part in c.parts(d, f"cells.c{i}[i]")]
        fold = [line for i, c in enumerate(cells) for line in self._folded(writer, i, c)]
        pour = [self._poured(i, c) for i, c in enumerate(cells)]
        functions = [
            Function("cells", (), d.pack("Cells", carved)), Function("clear", (*empty.lines, *clear), ""),
            Function("join", tuple(join), ""), Function("taken", (), d.pack("Acc", take)),
            Function("fold", (*writer.lines, *fold), ""), Function("pour", tuple(pour), ""),
        ]
        return [d.struct("Cells", members), *map(d.define, functions)]

    def _writer(self) -> Writer:
        return self.writer.writer(self.writer.scope())

    def _folded(self, writer: Writer, number: int, cell: Cell) -> list[str]:
        """Code that joins cell j into cell i, without atomic operations."""
        d, here, there = self.d, f"cells.c{number}[i]", f"cells.c{number}[j]"
        if cell.declared is None:
            return [d.assign(here, cell.joined(d, here, there))]
        value, left = cell.by_declaration(writer, cell.parts(d, here), cell.parts(d, there))
        more = [f"cells.c{number + 1}[i] |= {d.either(*left)};"] if left else []
        return [d.assign(here, value), *more]

    def _joined(self, number: int, cell: Cell) -> str:
        if cell.declared is not None:
            return self._joined_by_declaration(number, cell)
        value = cell.of(self.d, cell.values(self.d, "item"))
        call = f"{cell.places.shared.function}(cells.c{number} + i, {value});"
        test = cell.contributes(self.d, "item")
        return f"if ({test}) {call}" if test else call

    def _poured(self, number: int, cell: Cell) -> str:
        """Code that joins cell i into cell j of the cells `to` by atomic operations."""
        here, there = f"cells.c{number}[i]", f"to.c{number} + j"
        if cell.declared is None:
            return f"{cell.places.shared.function}({there}, {here});"
        return f"{{\n{indented(self._by_loop(number, cell, cell.parts(self.d, here), 'to', 'j'))}}}"

    def _joined_by_declaration(self, number: int, cell: Cell) -> str:
        """Return a compare-and-swap loop that joins a contribution. The next cell records whether a result did not fit.
        """
        return self._by_loop(number, cell, cell.values(self.d, "item"), "cells", "i")

    def _by_loop(self, number: int, cell: Cell, values: Sequence[str], cells: str, index: str) -> str:
        """Return code that joins values into a cell by the declared reduction of the cell, in a compare-and-swap loop.

        Args:
            number: the number of the cell.
            cell: the cell.
            values: code of each component that is joined.
            cells: code of the cells.
            index: code of the index of the cell.
        """
        d, writer = self.d, self._writer()
        value, left = cell.by_declaration(writer, cell.parts(d, "old"), values)
        lines = [*writer.lines, *([f"left = {d.either(*left)};"] if left else [])]
        body = [*used(lines, value), f"return {value};"]
        place = f"{cells}.c{number} + {index}"
        call = f"shared_apply({place}, [&]({cell.dtype} old) {{\n{indented(chr(10).join(body))}}});"
        if not left:
            return call
        return f"bool left = false;\n{call}\nif (left) shared_any({cells}.c{number + 1} + {index}, u8(1));"


def from_lane(d: CudaDialect, width: int) -> Function:
    """The function `from_lane`, which returns the accumulators of another lane."""
    items = [f"lane_value(mask, {d.part('acc', i)}, lane)" for i in range(width)]
    return Function("from_lane", (), d.pack("Acc", items))


def _travelling(accumulation: Accumulation) -> tuple[Scalar, ...]:
    """Return the types of the components in which lanes send contributions to each other.

    An f32 is sent as 32 bits, even if it is summed as f64. A contribution that goes to scratch memory is sent as a
    value and a flag that says whether the value is used.
    """
    if isinstance(accumulation, Grouped):
        return travelling(accumulation)
    if isinstance(accumulation, Holistic):
        return accumulation.key, BOOL
    value = accumulation.reduce.body.type
    if accumulation.declared is not None or isinstance(value, Tuple):
        return accumulation.types
    narrow = [t == F64 and part.floating and part.bits <= 32 for t, part in zip(accumulation.types, scalars_of(value))]
    return (*(F32 if is_so else t for is_so, t in zip(narrow, accumulation.types)), *accumulation.types[len(narrow) :])


def _exact(accumulation: Accumulation) -> bool:
    """Return whether a result has the same bits in any order of contributions."""
    rounds = accumulation.declared is not None or not REDUCTIONS[accumulation.reduce.name].exact
    return not rounds or not any(t.floating for t in accumulation.types)


def _size(types: list[Scalar]) -> int:
    """The size in bytes of a struct with these components in order."""
    at, widest = 0, 1
    for type_ in types:
        size = max(type_.bits // 8, 4 if type_.name == "f16" else 1)
        at = -(-at // size) * size + size
        widest = max(widest, size)
    return -(-at // widest) * widest
