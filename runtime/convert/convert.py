"""Converts a source to a page file within a memory budget."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError, OutOfMemory
from vlang.records import dataclass
from vlang.runtime.convert.budget import Budget
from vlang.runtime.convert.edges import Edges
from vlang.runtime.convert.entries import Sorter, count_degrees, renumbered, room_for, scatter
from vlang.runtime.convert.need import Demand
from vlang.runtime.convert.radix import RadixSort, Rows
from vlang.runtime.convert.radix_values import Values
from vlang.runtime.convert.source import Reading, open_source, rule_of, with_rule
from vlang.runtime.convert.thin import in_row_order, thinned
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.order import Order
from vlang.runtime.graph.edges.texts import TextVertexIds
from vlang.runtime.graph.notes import stored_note
from vlang.runtime.graph.paged.order import order_by_degree, order_by_hubs
from vlang.runtime.graph.paged.page_writer import DEFAULT_PAGE_BYTES, IdTable, PageWriter
from vlang.runtime.storage.available import size_option
from vlang.runtime.storage.disk_arrays import DiskArrays
from vlang.runtime.storage.inputs.spool import seekable_parts
from vlang.runtime.storage.ledger import budget as limited
from vlang.runtime.storage.page_file.form import LAYOUTS, IdKind, Section
from vlang.runtime.threads.activity import reach, step
from vlang.runtime.threads.processors import available_threads

__all__ = ["Converted", "convert"]

_STEPS = {"reading": 0.5, "counting": 0.05, "writing": 0.45}
"""The steps of a conversion, with the expected share of the time."""


@dataclass(frozen=True)
class Converted:
    """The report of a conversion: the name of the graph, its notes, and warnings about doubtful values."""

    name: str
    notes: tuple[str, ...]
    warnings: tuple[str, ...]


def convert(
    source: str | os.PathLike[str],
    target: Path,
    reading: Reading | None = None,
    *,
    memory: int | None = None,
    layout: str = "degree",
    disks: Sequence[str | os.PathLike[str]] = (),
    page_bytes: int = DEFAULT_PAGE_BYTES,
    threads: int | None = None,
) -> Converted:
    """Convert a file or generator to a page file, with the same bytes as `Graph.read(source).save(target)` writes.

    Args:
        source: a path, `-` for standard input, or the name and arguments of a generator.
        target: path of the page file to write.
        reading: how the source is read; None for the options of `Reading()`.
        memory: the budget in bytes, without the memory of the interpreter and of machine code; None for 80 % of the
            free memory. Edges are kept in temporary files in the folder of `target`: up to 32 bytes per edge, plus
            twice the size of its columns.
        layout: "degree", "ids" or "hubs", as in `Graph.save`.
        disks: folders of the stripes; () for a single file.
        page_bytes: the size in bytes at which a page ends and the next one begins.
        threads: how many threads to use; None for one per processor.

    Raises:
        GraphError: the content of the source or an option is wrong.
        DiskError: a file cannot be read or written. After a DiskError no part of the page file is left.
        OutOfMemory: the budget is too small; the message has the least sufficient budget.
    """
    if layout not in LAYOUTS:
        raise GraphError(f"layout={layout!r}: give {' or '.join(map(repr, LAYOUTS))}")
    budget = Budget(memory, threads or available_threads(), lambda name, fraction: reach(fraction, name))
    budget.plan(_STEPS)
    target = Path(os.path.realpath(target))
    with limited(budget.total) as ledger, seekable_parts(source, "a file of edges") as path, \
            step("converting", str(source)):
        try:
            return _converted(path, target, reading or Reading(), budget, layout, disks, page_bytes)
        except OutOfMemory:
            raise
        except MemoryError as error:
            raise OutOfMemory(f"the conversion needs more than --memory {size_option(budget.total)}: give "
                              f"{size_option(max(ledger.wanted, budget.total + 1))} or more") from error


def _converted(
    path: Path, target: Path, reading: Reading, budget: Budget, layout: str, disks: Sequence[str | os.PathLike[str]],
    page_bytes: int,
) -> Converted:  # fmt: skip
    room = DiskArrays(target.parent)
    found = open_source(path, reading, room, budget)
    if not found.sorted and found.edges.mirror:
        found = replace(found, edges=in_row_order(found.edges, room, budget))
    found = thinned(found, reading.self_loops, reading.parallel, room, budget)
    rule = rule_of(reading.weights)
    found = with_rule(found, rule) if rule else found
    edges = found.edges
    types = {name: column.dtype for name, column in edges.columns.items()}
    with PageWriter(target, edges.n, types, directed=edges.directed, layout=layout, disks=disks,
                    page_bytes=page_bytes) as writer:  # fmt: skip
        m, order = _write_edges(writer, edges, layout, page_bytes, room, budget)
        writer.finish(_id_table(found.ids), order, found.all_notes(), found.left_out, found.kinds)
    notes = (*found.all_notes(), f"Stored: {stored_note(edges.directed, edges.n, m)}.")
    return Converted(path.name, notes, found.warnings)


def _write_edges(
    writer: PageWriter, edges: Edges, layout: str, page_bytes: int, room: DiskArrays, budget: Budget
) -> tuple[int, NDArray[np.uint32] | None]:
    """Write the pages. Returns the number of stored edges and the order of the vertices (None for the layout "ids")."""
    widths = [column.dtype.itemsize for column in edges.columns.values()]
    demand = Demand.of(edges.n, len(edges.kinds), widths, layout, page_bytes)
    most = budget.entries(demand.ordering, demand.state, demand.page, demand.each)
    spare = max(demand.ordering, demand.state) - 4 * len(edges.kinds) * edges.n
    degrees = count_degrees(edges, edges.kinds, budget.threads, spare)
    budget.progress("counting", 1)
    order = ranks = None
    if layout != "ids":
        order = _order(degrees, layout, room)
        new = Order.of(order)
        ranks = new.internal
        for kind in degrees:
            degrees[kind] = new.inward(degrees[kind])
        del new
    m = int(degrees["in"].sum(dtype=np.uint64))
    radix = m and Values.fit(edges.columns)
    rows = {kind: Rows.cut(counts) for kind, counts in degrees.items()} if radix else {}
    if rows and budget.total >= demand.state + 4 * edges.n + RadixSort.need(edges, rows, demand.page, budget.threads):
        RadixSort(edges, rows, room, budget.threads).write(writer, ranks, budget.within("writing"))
        return m, order
    if ranks is not None:
        edges = renumbered(edges, ranks, room, budget.threads)
        del ranks
    _sort_each(writer, edges, degrees, most, room, budget)
    return m, order


def _sort_each(
    writer: PageWriter, edges: Edges, degrees: dict[str, NDArray[np.uint32]], most: int, room: DiskArrays,
    budget: Budget,
) -> None:  # fmt: skip
    """Sort the entries of each direction in buckets of at most `most` entries, and write the pages."""
    arrays = room_for(edges, max(int(counts.sum(dtype=np.uint64)) for counts in degrees.values()), room)
    for number, (kind, counts) in enumerate(degrees.items()):
        done = number / len(degrees), (number + 0.4) / len(degrees), (number + 1) / len(degrees)
        entries = scatter(edges, kind, counts, most, arrays, budget.threads, budget.within("writing", *done[:2]))
        writer.begin(kind, counts)
        sorter = Sorter(entries, most, room, budget.threads)
        sorter.each(partial(_write, writer, entries.shift), budget.within("writing", *done[1:]))
        writer.end()
        del entries, sorter


def _write(writer: PageWriter, shift: int, keys: NDArray[np.uint64], columns: list[NDArray[Any]]) -> None:
    """Write the neighbours and columns of sorted entries."""
    if shift != 32:
        keys &= np.uint64((1 << shift) - 1)
    writer.write(keys.view(np.uint32)[::2], columns)


def _order(degrees: dict[str, NDArray[np.uint32]], layout: str, room: DiskArrays) -> NDArray[np.uint32]:
    """The vertices in the order of a layout, uint32[n] on disk."""
    if layout == "degree":
        return order_by_degree(list(degrees.values()), room.empty)
    order = room.empty(len(degrees["in"]), np.uint32)
    order[:] = order_by_hubs(degrees["in"], degrees.get("out", degrees["in"]))
    return order


def _id_table(ids: VertexIds) -> IdTable:
    if not isinstance(ids, TextVertexIds):
        return IdTable.of(ids)
    ends = (ids.label(0), ids.label(len(ids) - 1)) if len(ids) else (None, None)
    return IdTable(IdKind.TEXT, 0, {Section.ID_BYTES: ids.texts.data, Section.ID_ENDS: ids.texts.ends}, ends)
