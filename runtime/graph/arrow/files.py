"""Reads Parquet and Arrow files (one file, a folder or a glob) in batches. The first bytes identify the format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field, replace
from pathlib import Path
from typing import Any

from vlang.errors import DiskError, GraphError
from vlang.records import dataclass
from vlang.runtime.graph.arrow.library import pyarrow
from vlang.runtime.graph.arrow.tables import check_names, rows_at_once
from vlang.runtime.storage.inputs.spool import folder_notes, parts_of
from vlang.runtime.storage.ledger import ledger
from vlang.runtime.storage.room import hold

__all__ = ["FileTable", "table_files"]

PARQUET, FILE, STREAM, OLD = "Parquet", "Arrow file", "Arrow stream", "Feather 1"
_MAGIC = ((b"PAR1", PARQUET), (b"ARROW1\0\0", FILE), (b"\xff\xff\xff\xff", STREAM), (b"FEA1", OLD))


def table_files(path: str | os.PathLike[str]) -> tuple[Path, ...] | None:
    """The Parquet or Arrow files of a table that is given as a file, a folder (with its subfolders) or a glob.

    Returns None for any other path. In folders, names that begin with a dot or an underscore are ignored. Raises
    GraphError if only some files of a folder or a glob are tables.
    """
    text = os.fspath(path)
    if os.path.isfile(text):
        return (path if isinstance(path, Path) else Path(path),) if _kind(Path(text)) else None
    found = parts_of(path)
    other = [file for file in found if _kind(file) is None]
    if not found or len(other) == len(found):
        return None
    if other:
        table = next(file for file in found if file not in other)
        raise GraphError(f"{path}: {other[0].name} is neither Parquet nor Arrow, as {table.name} is\n  expected: "
                         "files of one format; a glob such as '*.parquet' chooses some")  # fmt: skip
    return found


def _kind(path: Path) -> str | None:
    """The format of a file by its first bytes; None if the file is not a table."""
    if not os.path.isfile(path):  # opening a pipe would block
        return None
    try:
        with open(path, "rb") as file:
            head = file.read(8)
    except OSError:
        return None
    return next((kind for magic, kind in _MAGIC if head.startswith(magic)), None)


@dataclass(frozen=True)
class FileTable:
    """The table in one or several files of one format.

    Attributes:
        name: the path as it was given.
        files: the files in order.
        kind: the format of the files.
        schema: the pyarrow schema of the first file. All other files have the same columns, in any order.
        rows: the number of rows; None for Arrow files.
        groups: the number of row groups of Parquet files, or of record batches of Arrow files; 0 for Arrow streams,
            which are read from the beginning.
        chosen: the groups that `batches` reads, counted over all files; None for all.
        notes: sentences about parts that are not read.
    """

    name: str
    files: tuple[Path, ...]
    kind: str
    schema: Any
    rows: int | None
    groups: int = 0
    notes: tuple[str, ...] = field(default=())
    chosen: range | None = None

    @staticmethod
    def open(path: str | Path, files: tuple[Path, ...]) -> FileTable:
        """Read the schema and the counts of rows. Raises GraphError, DiskError."""
        pa = pyarrow(f"{path}, a file of Parquet or Arrow,")
        kinds = {_kind(file) or "" for file in files}
        if len(kinds) > 1:
            raise GraphError(f"{path}: the files are of {len(kinds)} formats: {', '.join(sorted(kinds))}; a glob such "
                             "as '*.parquet' chooses some")
        kind = kinds.pop()
        if kind == OLD:
            raise GraphError(f"{path}: a file of Feather version 1, which is not read; write it as version 2, which is "
                             "the default since 2020, or as Parquet")
        with _named(pa, files[0], path), _opened(pa, files[0], kind) as first:
            schema = first.schema_arrow if kind == PARQUET else first.schema
        check_names(str(path), schema)
        rows = groups = 0
        more: set[str] = set()
        for file in files if kind in (PARQUET, FILE) else ():
            with _named(pa, file, path), _opened(pa, file, kind) as found:
                more |= {*(found.schema_arrow if kind == PARQUET else found.schema).names} - {*schema.names}
                rows += found.metadata.num_rows if kind == PARQUET else 0
                groups += found.metadata.num_row_groups if kind == PARQUET else found.num_record_batches
        notes = folder_notes(path, files)
        if more:
            notes += (f"Not read: column{'' if len(more) == 1 else 's'} {', '.join(sorted(more))}, which the first "
                      f"file, {files[0].name}, does not have.",)
        return FileTable(str(path), files, kind, schema, rows if kind == PARQUET else None, groups, notes)

    def share(self, place: int, parts: int) -> FileTable:
        """Share number `place` of `parts` of a table, in whole groups. `rows` is then unknown."""
        chosen = range(self.groups * place // parts, self.groups * (place + 1) // parts)
        return replace(self, rows=None, chosen=chosen)

    @property
    def format(self) -> str:
        """The format for notes, such as "Parquet, 3 files"."""
        return self.kind if len(self.files) == 1 else f"{self.kind}, {len(self.files):,} files"

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """See `ArrowTable.batches`. A batch of Parquet has at most 2^18 rows."""
        pa, before = pyarrow(self.name), 0
        for path in self.files:
            with _named(pa, path, self.name), _opened(pa, path, self.kind, columns) as file:
                self._check(path, file.schema_arrow if self.kind == PARQUET else file.schema, columns)
                if self.kind == STREAM:
                    yield from _of_arrow(file, columns)
                    continue
                count = file.metadata.num_row_groups if self.kind == PARQUET else file.num_record_batches
                groups = range(before, before + count)
                chosen = [group - before for group in groups if self.chosen is None or group in self.chosen]
                if self.kind == PARQUET:
                    yield from _of_parquet(file, columns, path, chosen)
                else:
                    yield from _of_arrow(map(file.get_batch, chosen), columns)
                before = groups.stop

    def _check(self, path: Path, schema: Any, columns: Sequence[str]) -> None:
        """Raise GraphError unless a file has the columns of the first file, with the same types."""
        for name in columns:
            here = schema.field(name).type if name in schema.names else None
            if here != self.schema.field(name).type:
                what = "is not there" if here is None else f"holds {here}"
                raise GraphError(f"{path}: column {name!r} {what}, and in {self.files[0].name} it holds "
                                 f"{self.schema.field(name).type}; all files of a table have the same columns")

    def bounds(self, column: str) -> tuple[int, int] | None:
        """The least and greatest value of a column of integers according to the statistics in the files; None if
        unknown.
        """
        pa = pyarrow(self.name)
        low, high = [], []
        for path in self.files:
            with _opened(pa, path, self.kind) as file:
                place = file.schema_arrow.names.index(column)
                for group in range(file.metadata.num_row_groups):
                    found = file.metadata.row_group(group).column(place).statistics
                    if found is None or not found.has_min_max or not isinstance(found.min, int):
                        return None
                    low.append(found.min)
                    high.append(found.max)
        return (min(low), max(high)) if low else None

    def largest_group(self) -> int:
        """The uncompressed size in bytes of the largest Parquet row group."""
        pa = pyarrow(self.name)
        most = 0
        for path in self.files:
            with _opened(pa, path, self.kind) as file:
                most = max([most, *(file.metadata.row_group(i).total_byte_size
                                    for i in range(file.metadata.num_row_groups))])
        return most


@contextmanager
def _opened(pa: Any, path: Path, kind: str, columns: Sequence[str] | None = None) -> Iterator[Any]:
    """Open a file with pyarrow. From an Arrow file only `columns` are decompressed; None means all."""
    if kind == PARQUET:
        import pyarrow.parquet as parquet  # optional

        # With a memory budget, a column is read page by page, instead of a whole row group in advance.
        ahead = ledger.limit is None
        with parquet.ParquetFile(os.fspath(path), pre_buffer=ahead, buffer_size=0 if ahead else 1 << 18) as file:
            yield file
        return
    with pa.OSFile(os.fspath(path)) as source:
        if kind == STREAM:
            yield pa.ipc.open_stream(source)
            return
        file = pa.ipc.open_file(source)
        if columns is not None:
            there = [i for i, name in enumerate(file.schema.names) if name in columns]
            file = pa.ipc.open_file(source, options=pa.ipc.IpcReadOptions(included_fields=there))
        yield file


def _of_parquet(file: Any, columns: Sequence[str], path: Path, groups: Sequence[int]) -> Iterator[Any]:
    places = {file.metadata.schema.column(i).path: i for i in range(file.metadata.num_columns)}
    for group in groups:
        about = file.metadata.row_group(group)
        size = sum(about.column(places[name]).total_uncompressed_size for name in columns if name in places)
        held = _hold(size, f"{path}: a row group of {about.num_rows:,} rows")
        for batch in file.iter_batches(rows_at_once(), row_groups=[group], columns=list(columns)):
            yield batch.select(list(columns))
        del held


def _of_arrow(batches: Iterable[Any], columns: Sequence[str]) -> Iterator[Any]:
    for batch in batches:
        held = _hold(batch.nbytes, "a batch")
        yield batch.select(list(columns))
        del held


def _hold(size: int, what: str) -> object:
    """Count the memory that pyarrow uses towards a memory budget; None means no budget. Raises OutOfMemory."""
    return None if ledger.limit is None else hold(size, what)


@contextmanager
def _named(pa: Any, path: Path, given: str | Path) -> Iterator[None]:
    """Convert errors of pyarrow to GraphError or DiskError."""
    name = path if os.fspath(path) != os.fspath(given) else given
    try:
        yield
    except (DiskError, GraphError):
        raise
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        if isinstance(error, MemoryError):
            raise
        if isinstance(error, OSError) and error.errno is not None:
            raise DiskError(f"{name}: cannot be read: {error.strerror or error}") from None
        raise GraphError(f"{name}: this file is damaged, or its content is not supported: "
                         f"{str(error).splitlines()[0]}") from None
