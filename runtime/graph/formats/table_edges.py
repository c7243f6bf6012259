"""Reads edges from files, and from the batches of an Arrow table: a data frame in memory, Parquet or Arrow files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.arrow import cells
from vlang.runtime.graph.arrow.named import NamedColumn, named_type
from vlang.runtime.graph.arrow.tables import ArrowTable, rows_at_once
from vlang.runtime.graph.edges.building.numbering import BadText, Ids, MixedSigns, RawEnds
from vlang.runtime.graph.edges.building.space import IN_MEMORY, Space
from vlang.runtime.graph.edges.edge_list import EdgeList, LeftOut
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.read.asked import Asked
from vlang.runtime.graph.read.end_columns import choose_ends
from vlang.runtime.graph.read.finish import Facts, finish
from vlang.runtime.graph.read.layout import Field, Role
from vlang.runtime.graph.read.scan import Scanned
from vlang.runtime.graph.read.text_columns import choose_weight
from vlang.runtime.graph.read.text_errors import problem
from vlang.runtime.graph.read.vertices import parse_vertices, within

__all__ = ["TableEdges", "fields_of", "named_fields", "read_table", "scan_table"]

_NO_TEXT: NDArray[np.uint8] = np.zeros(0, np.uint8)

Array = NDArray[Any]


@dataclass(frozen=True)
class TableEdges:
    """The edges of a table, and the columns that were not read.

    Attributes:
        read: the edges.
        left_out: columns that were not read: name -> reason.
        notes: sentences about the columns that were not read.
        warnings: sentences about values that may be misinterpreted.
    """

    read: Scanned
    left_out: dict[str, LeftOut]
    notes: list[str]
    warnings: list[str]


def read_table(table: ArrowTable, asked: Asked, workers: Workers, space: Space = IN_MEMORY) -> EdgeList:
    """The edges of a table, with notes about the columns.

    Args:
        table: the opened table.
        asked: the options. If the options name `columns`, only these columns and the weight are read.
        workers: the threads to use.
        space: allocates the arrays of edges and ids.

    Raises:
        GraphError: a column does not exist or has values that are neither ids nor numbers, or the table has no edges.
    """
    given = asked.ends.vertices
    vertices = None if given is None else parse_vertices(given, workers, space)
    found = scan_table(table, asked, workers, space)
    read, notes = found.read, found.notes
    if not len(read.source) and vertices is None:
        why = "every row has a missing cell" if read.dropped else "it has no rows"
        raise GraphError(f"{table.name}: the file has no edges: {why}")
    if vertices is not None:
        source, target = within(vertices, read.source, read.target, read.ids, table.name, space)
        notes.append(f"Vertices: those of {vertices.source}, {len(vertices.ids) - len(read.ids):,} of them without "
                     "edges.")
        found.warnings.extend(vertices.warnings)
        read = replace(read, source=source, target=target, ids=vertices.ids)
    facts = Facts(table.format, directed=True, why="as tables are unless asked otherwise", notes=notes,
                  left_out=found.left_out, warnings=found.warnings)
    return finish(read, facts, asked, space)


def scan_table(
    table: ArrowTable, asked: Asked, workers: Workers, space: Space = IN_MEMORY,
    titles: Mapping[str, str] = MappingProxyType({}),
) -> TableEdges:
    """The edges of a table in the order of its rows. Raises the errors of `read_table`.

    Args:
        table, asked, workers, space: see `read_table`.
        titles: new names of columns, by their names in the table.
    """
    names = list(table.schema.names)
    if len(names) < 2:
        raise GraphError(f"{table.name}: there is only one column, and an edge has two ends" if names else
                         f"{table.name}: the table has no columns")  # fmt: skip
    ends = choose_ends(table.name, names, None, len(names), asked.ends)
    fields = named_fields(
        table, choose_weight(table.name, fields_of(table, ends.source, ends.target, titles), asked), asked)
    left_out, unread = _unread(table, fields, asked)
    fields = tuple(replace(field, role=Role.SKIP) if field.name in left_out else field for field in fields)
    scanner = _Scanner(table, fields, (names[ends.source], names[ends.target]), asked, workers, space)
    read = scanner.run()
    left_out |= scanner.left_out
    notes = [*table.notes, *unread, *(f"Left out, since {why.reason.splitlines()[0].removeprefix(f'{table.name}: ')}."
                        for why in scanner.left_out.values())]
    return TableEdges(read, left_out, notes, list(ends.warnings))


def fields_of(
    table: ArrowTable, source: int, target: int, titles: Mapping[str, str] = MappingProxyType({})
) -> list[Field]:
    """The role of each column of a table: source, target, value or not read.

    Args:
        table: the table.
        source, target: index, from 0, of the columns of source and target ids.
        titles: new names of columns, by their names in the table.
    """
    fields = []
    for i, column in enumerate(table.schema):
        role = Role.SOURCE if i == source else Role.TARGET if i == target else Role.SKIP
        if role is Role.SKIP and cells.kind_of(column.type) in cells.NUMBERS:
            role = Role.FLOAT if cells.kind_of(column.type) == "float" else Role.INTEGER
        fields.append(Field(titles.get(column.name, column.name), role, column.name))
    return fields


def named_fields(table: ArrowTable, fields: Sequence[Field], asked: Asked) -> tuple[Field, ...]:
    """The fields with the types of columns of names and times. `fields` must have their final names."""
    found = []
    for field, column in zip(fields, table.schema):
        type_ = asked.types.get(field.name, "")
        wanted = field.needed and asked.columns is not None
        named = named_type(column.type, wanted, type_) if field.role is Role.SKIP else ""
        found.append(replace(field, role=Role.TEXT, type=named) if named else field)
    return tuple(found)


def _unread(table: ArrowTable, fields: tuple[Field, ...], asked: Asked) -> tuple[dict[str, LeftOut], list[str]]:
    """The columns that are not read, and notes about them. Raises GraphError if a requested column is not numeric."""
    left_out: dict[str, LeftOut] = {}
    other, unwanted = [], []
    for field, column in zip(fields, table.schema):
        if field.role is Role.SKIP:
            error = problem(table.name, f"column {field.title!r} holds {column.type}, and an edge column holds numbers",
                            expected=cells.advice(column.type))
            if field.needed:
                raise error
            left_out[field.name] = LeftOut(str(error), numbers=False)
            other.append(f"{field.title} ({column.type})")
        elif field.numeric and asked.columns is not None and not field.needed:
            reason = problem(table.name, f"column {field.title!r} was not asked for, and not read",
                             expected=f'its name among the columns to read: columns=["{field.title}", ...]')
            left_out[field.name] = LeftOut(str(reason), numbers=not field.type)
            unwanted.append(field.title)
    notes = []
    for what, listed in (("Not numbers, so left out", other), ("Not needed, so not read", unwanted)):
        if listed:
            notes.append(f"{what}: column{'' if len(listed) == 1 else 's'} {', '.join(listed)}.")
    return left_out, notes


class _Scanner:
    """Appends the rows of all batches of a table to one store of edges."""

    def __init__(
        self, table: ArrowTable, fields: tuple[Field, ...], ends: tuple[str, str], asked: Asked, workers: Workers,
        space: Space,
    ) -> None:
        self._table, self._ends, self._asked, self._workers, self._space = table, ends, asked, workers, space
        self._fields = [field for field in fields if field.numeric]
        self._types = {column.name: column.type for column in table.schema}
        self._text = self._end_kind() == "text"
        self._ids: Ids = space.texts() if self._text else space.integers()
        self._store = space.store(len(self._fields))
        self._named = {field.name: NamedColumn(field.type, f"{table.name}: column {field.title!r}")
                       for field in self._fields if field.type}
        for field, column in zip(self._fields, self._store.columns):
            column.become(self._dtype(field), 0)
        self._row = self._dropped = self._filled = 0
        self.left_out: dict[str, LeftOut] = {}

    def _end_kind(self) -> str:
        """Return the kind of the ids, "integer" or "text".

        Raises GraphError if a column has another kind, or if the columns differ.
        """
        kinds = []
        for name in self._ends:
            kinds.append(cells.kind_of(self._types[name]))
            if kinds[-1] not in ("integer", "text"):
                raise problem(self._table.name, f"column {name!r} holds {self._types[name]}, which are no vertex ids",
                              expected=cells.id_advice(self._types[name]))
        if kinds[0] != kinds[1]:
            shown = " and ".join(f"{name!r} {self._types[name]}" for name in self._ends)
            raise problem(self._table.name, f"the ends of an edge have ids of two kinds: {shown}",
                          expected="both integers, or both text; cast one of them")
        return kinds[0]

    def _dtype(self, field: Field) -> DTypeLike:
        """The dtype in which a column is stored.

        Raises GraphError if this dtype cannot hold the number for missing cells.
        """
        dtype, fill = cells.stored_dtype(self._types[field.title]), self._asked.missing
        if field.type:
            return self._named[field.name].dtype
        if isinstance(fill, str) or dtype.kind == "f":
            return dtype
        fits = float(fill).is_integer() and np.iinfo(dtype).min <= int(fill) <= np.iinfo(dtype).max
        if not fits:
            raise problem(self._table.name, f"missing={fill} does not fit column {field.title!r} ({dtype})",
                          expected=f"a whole number from {np.iinfo(dtype).min} to {np.iinfo(dtype).max}, or a column "
                                   "of floats")  # fmt: skip
        return dtype

    def run(self) -> Scanned:
        """Read all edges. While one batch is converted, another thread reads the next batch."""
        titles = list(dict.fromkeys([*self._ends, *(field.title for field in self._fields)]))
        if self._table.rows:
            self._store.reserve(self._table.rows)
        step = rows_at_once()
        for batch in _ahead(self._table.batches(titles), self._workers):
            for first in range(0, batch.num_rows, step):
                self._take({title: batch.column(i) for i, title in enumerate(titles)}, first,
                           min(step, batch.num_rows - first))
            if self._table.rows:
                self._space.progress(min(1.0, self._row / self._table.rows))
        return self._finish()

    def _take(self, columns: Mapping[str, Any], first: int, count: int) -> None:
        """Append the rows first..first+count-1 of a batch."""
        part = {title: column.slice(first, count) for title, column in columns.items()}
        ends, lost = self._read_ends(part)
        values: dict[str, Array] = {}
        for field in self._fields:
            if field.name in self.left_out:
                continue
            named = self._named.get(field.name)
            column = part[field.title]
            found, missing = cells.numbers_of(column) if named is None else named.numbers(column)
            if missing is not None and missing.any():
                found, lost = self._treat(field, found, missing, lost)
            values[field.name] = found
        keep = None if lost is None else ~lost
        rows = count if keep is None else int(keep.sum())
        self._dropped += count - rows
        self._append(ends, rows, keep, values)
        self._row += count

    def _treat(self, field: Field, values: Array, missing: Array, lost: Any) -> tuple[Array, Any]:
        """Treat missing values: returns the values, and the rows to drop.

        May raise GraphError, or leave the column out.
        """
        fill = self._asked.missing
        if not isinstance(fill, str) and not field.type:
            self._filled += int(missing.sum())
            values = values.copy()
            values[missing] = fill
            return values, lost
        if fill == "drop" and field.needed:
            return values, missing if lost is None else lost | missing
        error = self._missing_cell(field.title, int(np.flatnonzero(missing)[0]), fill == "drop", bool(field.type))
        if field.needed:
            raise error
        self.left_out[field.name] = LeftOut(str(error), numbers=True)
        return values, lost

    def _missing_cell(self, title: str, at: int, dropping: bool, named: bool = False) -> GraphError:
        expected = "a number; rows are dropped for the columns that a program reads: columns=[...] names them" \
            if dropping else "a value; or --missing drop (missing=\"drop\") to leave such rows out" + \
            ("" if title in self._ends or named else ", --missing 1 (missing=1) to put a number there")
        return problem(self._table.name, f"column {title!r} has no value in row {self._row + at + 1:,}",
                       expected=expected)

    def _read_ends(self, part: Mapping[str, Any]) -> tuple[list[Any], Any]:
        """The ids at both ends, as tokens or integers, and the rows to drop because an id is missing."""
        ends, lost = [], None
        for name in self._ends:
            where = f"{self._table.name}: column {name!r}"
            found, missing = cells.tokens_of(part[name], where) if self._text else cells.numbers_of(part[name])
            if missing is not None and missing.any():
                if self._asked.missing != "drop":
                    raise self._missing_cell(name, int(np.flatnonzero(missing)[0]), False)
                lost = missing if lost is None else lost | missing
            ends.append(found)
        return ends, lost

    def _append(self, ends: list[Any], rows: int, keep: Any, values: Mapping[str, Array]) -> None:
        store = self._store
        end = store.count + rows
        store.reserve(end)
        here = slice(store.count, end)
        for field, column in zip(self._fields, store.columns):
            if field.name in values:
                found = values[field.name]
                column.array[here] = found if keep is None else found[keep]
        raw = _tokens(ends, keep) if self._text else _integers(ends, keep)
        try:
            plain = self._ids.plain(store, [raw])
        except MixedSigns as mixed:
            raise GraphError(f"{self._table.name}: the id {mixed.args[0]}: there are negative ids and ids above "
                             "2^63 - 1, and no integer type holds both") from None
        if plain:
            store.source.array[here], store.target.array[here] = raw.source, raw.target
        else:
            self._ids.number(raw, store.source.array[here], store.target.array[here])
        store.count = end

    def _finish(self) -> Scanned:
        store = self._store
        try:
            ids = self._ids.finish(store, self._workers)
        except BadText as bad:
            raise GraphError(f"{self._table.name}: the id {bad.args[0]!r} is not UTF-8") from None
        except GraphError as error:
            raise GraphError(f"{self._table.name}: {error}") from None
        columns = {field.name: column.finish(store.count) for field, column in zip(self._fields, store.columns)
                   if field.name not in self.left_out}
        kinds = {name: named.finish(columns[name]) for name, named in self._named.items() if name in columns}
        return Scanned(store.source.finish(store.count), store.target.finish(store.count), ids, columns,
                       dropped=self._dropped, filled=self._filled, kinds=kinds)


def _ahead(batches: Iterator[Any], workers: Workers) -> Iterator[Any]:
    """Yield the batches. Another thread reads the next batch while the caller uses the present batch."""
    coming = workers.submit(lambda: next(batches, None))
    while (batch := coming.result()) is not None:
        coming = workers.submit(lambda: next(batches, None))
        yield batch


def _integers(ends: list[Array], keep: Any) -> RawEnds:
    """Integer ids as 64-bit words."""
    kept = [end if keep is None else end[keep] for end in ends]
    if not len(kept[0]):
        empty = np.empty(0, np.int64)
        return RawEnds(_NO_TEXT, empty, empty, 1 << 32, -1, negative=False, big=False)
    low, high = min(int(end.min()) for end in kept), max(int(end.max()) for end in kept)
    words = [np.ascontiguousarray(end if end.dtype == np.uint64 else end.astype(np.int64, copy=False)).view(np.int64)
             for end in kept]
    return RawEnds(_NO_TEXT, words[0], words[1], low, high, negative=low < 0, big=high >= 1 << 63)


def _tokens(ends: list[cells.Tokens], keep: Any) -> RawEnds:
    """Text ids of both ends in one buffer."""
    first, second = ends
    places = [first.places, second.places + len(first.text)]
    kept = [np.ascontiguousarray(place if keep is None else place[keep]) for place in places]
    text = np.concatenate([first.text, second.text])
    return RawEnds(text, kept[0], kept[1], 0, 0, negative=False, big=False)

