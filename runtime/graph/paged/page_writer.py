"""Writes a page file from rows in order. The file appears under its final name only when it is complete."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import DiskError, GraphError
from vlang.records import dataclass
from vlang.runtime.graph.edges.edge_list import LeftOut, VertexIds
from vlang.runtime.graph.edges.kinds import Kind
from vlang.runtime.graph.paged.cut import cut_directory
from vlang.runtime.graph.paged.filling import Filling
from vlang.runtime.storage.magic import is_page_file
from vlang.runtime.storage.memory import empty
from vlang.runtime.storage.output import PendingFile, writing
from vlang.runtime.storage.page_file.directory import Directory, page_rows
from vlang.runtime.storage.page_file.form import (
    COLUMN_TYPES,
    HEADER_BYTES,
    LEAST_PAGE,
    PAGE_ALIGN,
    ColumnInfo,
    IdKind,
    Section,
    page_sizes,
    sum_of,
)
from vlang.runtime.storage.page_file.header import Description, Header, Place, bounds, fingerprint_of, stripe_to_bytes
from vlang.runtime.storage.page_file.named import kinds_to
from vlang.runtime.storage.page_file.page_file import PageFile
from vlang.runtime.storage.page_file.places import stripe_name

__all__ = ["DEFAULT_PAGE_BYTES", "IdTable", "PageWriter"]

DEFAULT_PAGE_BYTES = 4 << 20
_DIRECT_FROM = 1 << 18  # minimum bytes of a page for direct I/O; the page cache combines smaller writes
_DEGREES = {"in": Section.IN_DEGREES, "out": Section.OUT_DEGREES}
_DIRECTORIES = {"in": Section.IN_DIRECTORY, "out": Section.OUT_DIRECTORY}

Array = NDArray[Any]


@dataclass(frozen=True)
class IdTable:
    """The ids of all vertices in the format of a page file.

    Attributes:
        kind: the kind of ids: consecutive, signed, unsigned or text.
        base: the smallest id if ids are consecutive, else 0.
        sections: the arrays to store: IDS, or ID_BYTES and ID_ENDS, or none for consecutive ids.
        ends: the first and the last id; (None, None) if there are no vertices.
    """

    kind: IdKind
    base: int
    sections: Mapping[Section, Array]
    ends: tuple[int | str | None, int | str | None]

    @staticmethod
    def of(ids: VertexIds) -> IdTable:
        """Convert ids in memory to the format of a page file."""
        ends = (ids.label(0), ids.label(len(ids) - 1)) if len(ids) else (None, None)
        if ids.consecutive:
            return IdTable(IdKind.CONSECUTIVE, ids.base, {}, ends)
        if not ids.text:
            kind = IdKind.UNSIGNED if ids.values.dtype == np.uint64 else IdKind.SIGNED
            return IdTable(kind, 0, {Section.IDS: ids.values}, ends)
        encoded = [text.encode("utf-8", "surrogatepass") for text in ids.values.tolist()]
        lengths = np.fromiter(map(len, encoded), np.uint64, len(encoded))
        data = np.frombuffer(b"".join(encoded), dtype=np.uint8)
        return IdTable(IdKind.TEXT, 0, {Section.ID_BYTES: data, Section.ID_ENDS: np.cumsum(lengths)}, ends)


@dataclass
class _Output:
    """A file that is being written, and its size in bytes so far."""

    pending: PendingFile
    size: int = HEADER_BYTES

    def append(self, data: Array) -> int:
        """Append data, then zeros up to a multiple of PAGE_ALIGN. Returns the offset at which the data begin."""
        begin = self.size
        self.pending.file.seek(begin)
        self.pending.file.write(data.reshape(-1).view(np.uint8).data)
        self.pending.file.write(bytes(-data.nbytes % PAGE_ALIGN))
        self.size += -(-data.nbytes // PAGE_ALIGN) * PAGE_ALIGN
        return begin


    def put_page(self, page: NDArray[np.uint8], begin: int) -> None:
        """Write a page at an offset. `page` is uint8, allocated by `page_aligned`; its length is a multiple of
        PAGE_ALIGN.
        """
        if len(page) < _DIRECT_FROM:
            self.pending.file.seek(begin)
            self.pending.file.write(page.data)
            return
        self.pending.put_pages(page, begin)


class PageWriter:
    """Writes one page file. Call `begin`, `write` and `end` for each direction, then `finish`.

    The writer is a context manager. If its `with` block ends without `finish`, or with an error, the writer removes the
    files that it has written. An existing file of the same name then stays unchanged.
    """

    def __init__(
        self,
        path: Path,
        n: int,
        columns: Mapping[str, np.dtype[Any]],
        *,
        directed: bool,
        layout: str = "ids",
        disks: Sequence[str | os.PathLike[str]] = (),
        page_bytes: int = DEFAULT_PAGE_BYTES,
    ) -> None:
        """Create the files under temporary names.

        Args:
            path: path of the page file.
            n: the number of vertices.
            columns: name -> dtype of each edge column.
            directed: False if every edge is stored in both directions.
            layout: "ids", "degree" or "hubs".
            disks: folders for the stripes; each stripe holds every len(disks)-th page. The value () means a single
                file.
            page_bytes: the size in bytes at which a page ends and the next one begins.

        Raises:
            DiskError: a file cannot be created.
            GraphError: `page_bytes` is too small, or page files do not support the dtype of a column.
        """
        if page_bytes < LEAST_PAGE:
            raise GraphError(f"pages of {page_bytes:,} bytes are too small; the least are {LEAST_PAGE:,}")
        for name, dtype in columns.items():
            if dtype.name not in COLUMN_TYPES:
                raise GraphError(f"the edge column {name!r} has the type {dtype.name}, which page files do not hold")
        self._path = Path(os.path.realpath(path))
        self._disks = [Path(os.path.realpath(disk)) for disk in disks]
        self._n, self._m, self._directed, self._layout = n, 0, directed, layout
        self._columns, self._page_bytes = dict(columns), page_bytes
        self._widths = [dtype.itemsize for dtype in columns.values()]
        self._bounds: dict[str, tuple[float, float]] = {}
        self._directories: dict[str, Directory] = {}
        self._degrees: dict[str, NDArray[np.uint32]] = {}
        self._filling: Filling | None = None
        self._pages = 0
        self._outputs: list[_Output] = []
        try:
            for number, folder in enumerate([self._path.parent, *self._disks]):
                shown = path if number == 0 else folder
                with writing(shown, self._path if number == 0 else folder / self._path.name):
                    self._outputs.append(_Output(PendingFile(folder, self._path.name)))
                    self._outputs[-1].pending.file.write(bytes(HEADER_BYTES))
        except BaseException:
            self._discard()
            raise

    def __enter__(self) -> PageWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._discard()

    @staticmethod
    def buffers(threads: int) -> int:
        """The number of page buffers if `threads` threads write: pages that are filled, and pages that wait."""
        return 1 if threads == 1 else 2 * threads + 2

    def begin(self, kind: str, degrees: NDArray[np.uint32], threads: int = 1) -> None:
        """Begin a direction, "in" before "out".

        Args:
            kind: the direction.
            degrees: uint32[n]; the caller must not change it until `finish`.
            threads: how many threads will call `put`. With more than one, another thread writes the pages.
        """
        directory = cut_directory(degrees, self._page_bytes, 4 + sum(self._widths))
        rows = page_rows(directory.firsts, self._n)
        sizes = page_sizes(rows, np.diff(directory.starts), self._widths)
        self._m = int(directory.starts[-1])
        self._directories[kind], self._degrees[kind] = directory, degrees
        stripes = self._outputs[1:] or self._outputs
        places: list[tuple[_Output, int]] = []
        for size in sizes.tolist():
            output = stripes[(self._pages + len(places)) % len(stripes)]
            places.append((output, output.size))
            output.size += size
        self._pages += len(places)

        def close(page: int, views: Sequence[Array], buffer: NDArray[np.uint8]) -> None:
            if kind == "in":
                self._note_bounds(views)
            directory.sums[page] = sum_of(buffer)
            output, begin = places[page]
            with writing(self._path, self._path):
                output.put_page(buffer, begin)

        self._filling = Filling(degrees, directory, rows, list(self._columns.values()), close, self.buffers(threads))

    def write(self, targets: NDArray[np.uint32], columns: Sequence[Array]) -> None:
        """Append edges of the current direction, in the order of the rows. Raises DiskError.

        Args:
            targets: uint32[k], the neighbours.
            columns: the values of each edge column, shape [k] each.
        """
        assert self._filling is not None
        self._filling.put(self._filling.written, targets, columns)

    def put(self, at: int, targets: NDArray[np.uint32], columns: Sequence[Array] = ()) -> None:
        """Write edges of the current direction in any order. Several threads may call this method. Raises DiskError.

        Each thread writes ranges of edges that follow each other.

        Args:
            at: the number of the first edge, in the order of the rows.
            targets: uint32[k], the neighbours.
            columns: the values of each edge column, shape [k] each.
        """
        assert self._filling is not None
        self._filling.put(at, targets, columns)

    def end(self) -> None:
        """End the current direction; all its edges must have been written. Raises DiskError."""
        assert self._filling is not None
        self._filling.end()
        assert self._filling.written == self._m
        self._filling = None

    def finish(
        self,
        ids: IdTable,
        permutation: NDArray[np.uint32] | None,
        notes: Sequence[str],
        left_out: Mapping[str, LeftOut],
        kinds: Mapping[str, Kind] = MappingProxyType({}),
    ) -> None:
        """Write the remaining sections and rename the files to their final names. Raises DiskError.

        Args:
            ids: the ids of all vertices, in increasing order.
            permutation: uint32[n], the index in `ids` of each vertex number used in pages; None for the layout "ids".
            notes: sentences about the source.
            left_out: columns that could not be read: name -> reason.
            kinds: the meaning of the integers in columns of categories and times, by name of the column.
        """
        striped = self._path.name if self._disks else ""
        columns = {name: ColumnInfo(dtype, *self._bounds.get(name, (0, 0))) for name, dtype in self._columns.items()}
        description = Description(
            columns, tuple(notes), tuple((name, why.reason, bool(why.numbers)) for name, why in left_out.items()),
            self._facts(ids), striped, tuple(map(str, self._disks)),
        )  # fmt: skip
        main = self._outputs[0]
        places: dict[Section, Place] = {}

        def put(section: Section, data: Array) -> None:
            data = np.ascontiguousarray(data)
            places[section] = Place(main.size, data.nbytes, sum_of(data))
            main.append(data)

        with writing(self._path, self._path):
            for section, values in ids.sections.items():
                put(section, values)
            if permutation is not None:
                put(Section.PERMUTATION, permutation)
            for kind, degrees in self._degrees.items():
                put(_DEGREES[kind], _short(degrees))
                put(_DIRECTORIES[kind], self._directories[kind].to_words())
            for section, text in kinds_to(kinds).items():
                put(section, np.frombuffer(text, np.uint8))
            put(Section.DESCRIPTION, np.frombuffer(description.to_bytes(), np.uint8))
            header = Header(main.size, self._n, self._m, self._directed, self._layout, ids.kind, ids.base,
                            self._page_bytes, len(self._disks), places).to_bytes()  # fmt: skip
            self._commit(header)

    def _commit(self, header: bytes) -> None:
        """Write the headers and rename the files, stripes first, so that no page file refers to a missing stripe."""
        fingerprint = fingerprint_of(header)
        old = _stripes_of(self._path)
        main, *stripes = self._outputs
        for number, output in enumerate(stripes):
            output.pending.put_first(stripe_to_bytes(output.size, fingerprint, number, len(stripes)))
        main.pending.put_first(header)
        named: list[Path] = []
        try:
            for number, (output, disk) in enumerate(zip(stripes, self._disks)):
                name = disk / stripe_name(self._path.name, fingerprint, number)
                with writing(name, name):
                    output.pending.commit(name)
                named.append(name)
            main.pending.commit(self._path)
        except BaseException:
            for name in set(named) - set(old):
                with suppress(OSError):
                    name.unlink()
            raise
        for name in set(old) - set(named):
            with suppress(OSError):
                name.unlink()

    def _discard(self) -> None:
        if self._filling is not None:
            self._filling.stop()
        for output in self._outputs:
            output.pending.discard()

    def _note_bounds(self, views: Sequence[Array]) -> None:
        """Take the columns of a page into account for the bounds of the columns."""
        for name, values in zip(self._columns, views[1:]):
            if len(values):
                here = (values.min().item(), values.max().item())
                self._bounds[name] = bounds(self._bounds.get(name, here), here)

    def _facts(self, ids: IdTable) -> dict[str, Any]:
        inward = self._degrees["in"]
        outward = self._degrees.get("out", inward)
        return {
            "first_id": ids.ends[0], "last_id": ids.ends[1],
            "largest_out_degree": int(outward.max(initial=0)), "largest_in_degree": int(inward.max(initial=0)),
            "isolated_vertices": int(((outward == 0) & (inward == 0)).sum()),
        }  # fmt: skip


def _short(degrees: NDArray[np.uint32]) -> NDArray[np.uint16]:
    """Degrees as uint16, with 0xFFFF for larger degrees; the directory gives the degrees of long vertices."""
    short = empty(len(degrees), np.uint16)
    np.minimum(degrees, 0xFFFF, out=short, casting="unsafe")
    return short


def _stripes_of(path: Path) -> list[Path]:
    """The stripes of an existing page file at `path`; an empty list if there is no such file, or if it is damaged."""
    if not is_page_file(path):
        return []
    try:
        return [stripe for stripe in PageFile.open(path).stripes if stripe != path]
    except (GraphError, DiskError):
        return []
