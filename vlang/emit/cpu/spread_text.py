"""The code of a grouped gather whose accumulators are in a table with an entry for each vertex of the graph.

The pass reads a row several times (skeletons/spread_rows.py): the keys first, then each group is cleared, then the
contributions are added, and then the groups are folded. No loop waits for a read of the loop before, and no branch
depends on whether a key is new. A group is folded once for each of its edges, so the outer reduction has to be
idempotent.
"""

from __future__ import annotations

from vlang.emit.cpu.grouped_text import GroupTable, group_tables
from vlang.emit.cpu.numba_dialect import NumbaDialect
from vlang.emit.shared.reductions.grouped import Grouped
from vlang.emit.shared.reductions.holistic import spread_of
from vlang.emit.shared.reductions.packed import parts_of
from vlang.emit.shared.stage import StageWriter
from vlang.emit.shared.values.dialect import Function
from vlang.emit.shared.values.formulas import located
from vlang.ir.forms import forms as f
from vlang.types import U64

__all__ = ["spread_functions"]


def spread_functions(writer: StageWriter, d: NumbaDialect) -> list[Function]:
    """The functions that spread_rows.py calls; none if the pass does not have such a gather."""
    if spread_of(writer.accumulations) is None:
        return []
    (table,) = group_tables(writer.accumulations)
    width = Function("width", (), f"i64({len(table.grouped.components)})")
    placed = Function("placed", (), f"room[{table.room + 1}], room[{table.room}], room[{table.room + 3}]")
    return [width, placed, _keyed(writer, d, table.grouped), _cleared(writer, d, table), _added(writer, d, table),
            _folded(writer, d, table)]


def _keyed(writer: StageWriter, d: NumbaDialect, grouped: Grouped) -> Function:
    """The entry of the key of an edge: 0 for an edge without a group, else the vertex plus 1."""
    edge = writer.contributing()
    holds, word = grouped.edge(edge)
    return Function("keyed", tuple(edge.lines), d.select(holds, f"u32({word} + u64(1))", "u32(0)"))


def _cleared(writer: StageWriter, d: NumbaDialect, table: GroupTable) -> Function:
    inner = writer.writer(writer.scope())
    identity = table.identity(inner)
    return Function("cleared", (*inner.lines, *table.stored(d, "at", 0, identity)), "")


def _added(writer: StageWriter, d: NumbaDialect, table: GroupTable) -> Function:
    """Adds the contribution of an edge to the entry at `at`, and to the accumulators of other gathers."""
    edge, after, lines = writer.contributing(), list[str](), list[str]()
    edge.lines += [f"{part} = {text}" for part, text in zip(table.parts, table.loaded(d, "at", 0))]
    for gather, (accumulation, parts) in zip(writer.stage.gathers, parts_of(d, writer.accumulations, "acc")):
        with located(gather.span):
            if isinstance(accumulation, Grouped):
                inside = [name for one, some in table.grouped.parts(table.parts) for name in one.take(edge, some)]
                lines += table.stored(d, "at", 0, tuple(inside))
                after.extend(parts)
            else:
                after.extend(accumulation.take(edge, parts))
    return Function("added", (*edge.lines, *lines), d.pack("Acc", after))


def _folded(writer: StageWriter, d: NumbaDialect, table: GroupTable) -> Function:
    """Reduces the group with the key `key`, whose accumulators are at `at`."""
    grouped, scope = table.grouped, writer.scope()
    scope.at_edge = True  # no operation here can be reported for the vertex
    inner = writer.writer(scope)
    inner.lines += [f"{part} = {text}" for part, text in zip(table.parts, table.loaded(d, "at", 0))]
    assert grouped.whole.group is not None
    key = inner.name(grouped.of_word(d, inner.name(d.convert(U64, "key"))))
    scope.values[f.GroupKey(grouped.key, grouped.whole.group)] = (key,)
    for one, parts in grouped.parts(table.parts):
        scope.values[one.reduce] = tuple(map(inner.name, one.finish(inner, parts)))
    after = list[str]()
    for gather, (accumulation, parts) in zip(writer.stage.gathers, parts_of(d, writer.accumulations, "acc")):
        with located(gather.span):
            after.extend(grouped.take(inner, parts) if accumulation is grouped else parts)
    return Function("folded", tuple(inner.lines), d.pack("Acc", after))
