"""The class `PageFile`, which opens and reads a page file. Every byte is checked before it is used."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from io import FileIO
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from vlang.errors import DiskError, GraphError
from vlang.runtime.graph.edges.edge_list import LeftOut, VertexIds
from vlang.runtime.graph.edges.kinds import Kind
from vlang.runtime.graph.kernels import kernels
from vlang.runtime.plan.plan import SEGMENT
from vlang.runtime.storage.memory import Empty, empty
from vlang.runtime.storage.page_file.directory import Directory, page_rows
from vlang.runtime.storage.page_file.form import (
    HEADER_BYTES,
    PAGE_ALIGN,
    ColumnInfo,
    IdKind,
    PageLayout,
    Section,
    page_layout,
    page_sizes,
)
from vlang.runtime.storage.page_file.header import Description, Header, fingerprint_of, stripe_from_bytes
from vlang.runtime.storage.page_file.named import NAMED, kinds_from
from vlang.runtime.storage.page_file.places import Extent, PageView, stripe_name
from vlang.runtime.storage.page_file.sections import (
    DEGREES,
    DIRECTORIES,
    Array,
    check_sections,
    damaged,
    fill,
    reading,
    section_bytes,
    within_bounds,
)

__all__ = ["PageFile"]

_MOST_DESCRIPTION = 1 << 26
_BLOCK = 1 << 18  # vertices that are checked at a time
_FAULTS = ("", "its offsets do not begin at 0", "its offsets fall", "its offsets do not end at its edges",
           "a vertex number is too large", "its sum is wrong")  # fmt: skip


def _at_once(path: str, flags: int) -> int:
    """Open a file without waiting for the writer of a named pipe."""
    return os.open(path, flags | os.O_NONBLOCK)


class PageFile:
    """A page file whose header and directories were read and checked; its pages are read on demand.

    Attributes:
        path: the path of the file.
        n, m: the number of vertices, and of stored directed edges.
        directed: False if every edge is stored in both directions.
        layout: "ids" if vertices are numbered in the order of their ids, "degree" in decreasing order of degree,
            "hubs" with the hubs first.
        kinds: the stored adjacency directions: ("in",) for an undirected graph, otherwise ("in", "out").
        columns: the edge columns by name.
        fingerprint: a digest that identifies the content.
        stripes: the paths of the files that hold the pages.
        page_bytes: the writer began a new page when a page had reached this size.
        description: notes on the source, and facts to print.
        named: the meaning of the integers in columns of categories and times, by name of the column.
    """

    def __init__(self, path: Path, header: Header, fingerprint: bytes, description: Description) -> None:
        """`open` calls the constructor after it has checked the arguments."""
        self.path = path
        self.n, self.m, self.directed, self.layout = header.n, header.m, header.directed, header.layout
        self.kinds = ("in", "out") if header.directed else ("in",)
        self.page_bytes = header.page_bytes
        self.fingerprint = fingerprint
        self.description = description
        self.columns: Mapping[str, ColumnInfo] = MappingProxyType(dict(description.columns))
        self.named: Mapping[str, Kind] = MappingProxyType({})
        self.stripes: Sequence[Path] = (path,)
        self._header = header
        self._widths = [column.dtype.itemsize for column in description.columns.values()]
        self._directories: dict[str, Directory] = {}
        self._extents: dict[str, tuple[Array, Array, Array]] = {}

    @staticmethod
    def open(path: str | os.PathLike[str]) -> PageFile:
        """Read and check the header, the description and the directories, and the headers of the stripes.

        Raises:
            GraphError: the file is not a page file, has another version, or is damaged.
            DiskError: the file cannot be read.
        """
        path = Path(path)
        with reading(path), FileIO(path, opener=_at_once) as file:
            data, size = file.read(HEADER_BYTES) or b"", os.fstat(file.fileno()).st_size
            header = Header.from_bytes(data, size)
            place = header.sections.get(Section.DESCRIPTION)
            if place is None or place.nbytes > _MOST_DESCRIPTION:
                raise ValueError(damaged("its description is missing"))
            description = Description.from_bytes(bytes(section_bytes(file, header, Section.DESCRIPTION)))
            found = PageFile(path, header, fingerprint_of(data), description)
            check_sections(header, found.kinds)
            sections = {one: bytes(section_bytes(file, header, one)) for one in NAMED if one in header.sections}
            try:
                found.named = MappingProxyType(kinds_from(sections, found.columns))
            except ValueError as error:
                raise ValueError(damaged(str(error))) from None
            for kind in found.kinds:
                words = section_bytes(file, header, DIRECTORIES[kind]).view(np.int64)
                try:
                    found._directories[kind] = Directory.from_words(words, found.n, found.m)
                except ValueError as error:
                    raise ValueError(damaged(f"the directory: {error}")) from None
            found._place_pages()
        found._find_stripes()
        return found

    # ------------------------------------------------------------- what the header says

    @property
    def left_out(self) -> dict[str, LeftOut]:
        """Edge columns of the source that could not be read as numbers."""
        return {name: LeftOut(why, numbers) for name, why, numbers in self.description.left_out}

    @property
    def largest_page(self) -> int:
        """The size in bytes of the largest page of all directions."""
        return max(int(sizes.max()) for _, _, sizes in self._extents.values())

    @property
    def consecutive(self) -> bool:
        """Whether the ids are consecutive integers, which need no array."""
        return self._header.id_kind == IdKind.CONSECUTIVE

    @property
    def has_texts(self) -> bool:
        """Whether the ids are texts."""
        return self._header.id_kind == IdKind.TEXT

    @property
    def nbytes(self) -> int:
        """The total size of the page file and its stripes, in bytes."""
        return self._header.file_bytes + (sum(self._ends) if self._header.stripes else 0)

    def directory(self, kind: str) -> Directory:
        """The directory of the pages of a direction, one of `kinds`."""
        return self._directories[kind]

    def extent(self, kind: str, page: int) -> Extent:
        """The place of a page in the files."""
        stripes, offsets, sizes = self._extents[kind]
        return Extent(int(stripes[page]), int(offsets[page]), int(sizes[page]))

    def page_nbytes(self, kind: str, page: int) -> int:
        """The size of a page in bytes."""
        return int(self._extents[kind][2][page])

    # ------------------------------------------------------------- what is read on demand

    def ids(self) -> VertexIds:
        """Read the ids of the vertices in increasing order. The position of an id is the dense number of its vertex.

        With the layout "ids" the pages use the same numbers; for the other layouts see `permutation`. Raises GraphError
        and DiskError.
        """
        header = self._header
        if header.id_kind == IdKind.CONSECUTIVE:
            return VertexIds(base=header.id_base, count=self.n)
        if header.id_kind == IdKind.TEXT:
            return VertexIds(self._texts())
        values = self._read(Section.IDS).view(np.int64 if header.id_kind == IdKind.SIGNED else np.uint64)
        self._need(bool((values[1:] > values[:-1]).all()), "the ids are not in increasing order")
        return VertexIds(values)

    def permutation(self, empty: Empty = empty) -> NDArray[np.uint32] | None:
        """Map each vertex number in the pages to the dense number of the vertex in `ids`, uint32[n].

        Returns None for the layout "ids", in which the two numbers are equal. `empty` allocates the array; the check
        takes n more bytes temporarily. Raises GraphError and DiskError.
        """
        if self.layout == "ids":
            return None
        numbers = self._read(Section.PERMUTATION, empty).view(np.uint32)
        seen = np.zeros(self.n, dtype=np.bool_)
        for first in range(0, self.n, _BLOCK):
            part = numbers[first : first + _BLOCK]
            seen[part[part < self.n]] = True
        self._need(bool(seen.all()), "the order of the vertices is no permutation")
        return numbers

    def degrees(self, kind: str, empty: Empty = empty) -> NDArray[np.uint32]:
        """The degree of each vertex in a direction, uint32[n], indexed by the vertex numbers of the pages.

        `empty` allocates the array, and a temporary array of half its size. Raises GraphError and DiskError.
        """
        short = self._read(DEGREES[kind], empty).view(np.uint16)
        found: NDArray[np.uint32] = empty(self.n, np.uint32)
        found[:] = short
        d = self._directories[kind]
        long = sum(int((short[first : first + _BLOCK] > SEGMENT).sum()) for first in range(0, self.n, _BLOCK))
        self._need(long == len(d.longs), "the degrees of the long vertices")
        if len(d.longs):
            lengths = np.add.reduceat(d.segments[:, 2] - d.segments[:, 1], d.longs[:, 1])
            self._need(np.array_equal(np.minimum(lengths, 0xFFFF), short[d.longs[:, 0]]),
                       "the degrees of the long vertices")  # fmt: skip
            self._need(bool((lengths < 2**32).all()), "the degrees of the long vertices")
            found[d.longs[:, 0]] = lengths
        self._need(int(found.sum(dtype=np.uint64)) == self.m, "the degrees do not add up to the edges")
        return found

    def view(self, kind: str, page: int, buffer: NDArray[np.uint8]) -> PageView:
        """Check the bytes of a page, and return its arrays as views of the buffer.

        Args:
            kind: the adjacency direction.
            page: the number of the page.
            buffer: uint8[nbytes], the page; `extent` has the size. The address of `buffer` is a multiple of 64.

        Raises:
            GraphError: the checksum is wrong, the offsets are not monotone or do not end at the number of edges, a
                vertex number is n or more, or a value of a column is outside of the bounds in the header.
        """
        d = self._directories[kind]
        layout, rows, edges = self._layout(kind, page)
        if len(buffer) != layout.nbytes:
            raise self.page_error(kind, page, "its sum is wrong")
        whole = buffer.view(np.uint32)  # one call for all checks, since a call gives the interpreter lock away
        fault = kernels("page_file")["check_page"](whole, buffer.view(np.uint64), buffer, layout.nbytes,
                                                   int(d.sums[page]), rows, edges, layout.targets // 4, self.n)
        if fault:
            raise self.page_error(kind, page, _FAULTS[fault])
        offsets, targets = whole[: rows + 1], whole[layout.targets // 4 : layout.targets // 4 + edges]
        self._check_long_rows(kind, page, offsets)
        columns = {}
        for (name, info), at in zip(self.columns.items(), layout.columns):
            values = buffer[at : at + info.dtype.itemsize * edges].view(info.dtype)
            if not within_bounds(values, info):
                raise self.page_error(kind, page, f"a value of the edge column {name!r} is out of bounds")
            columns[name] = values
        return PageView(offsets, targets, columns)

    def pages(self, kind: str) -> Iterator[PageView]:
        """Read and check the pages of a direction in order. All views use one buffer, so only the last view is valid.

        Raises GraphError and DiskError.
        """
        room = empty(self.largest_page + PAGE_ALIGN, np.uint8)
        room = room[-room.ctypes.data % PAGE_ALIGN :]
        with ExitStack() as stack:
            files = []
            for path in self.stripes:
                with reading(path):
                    files.append(stack.enter_context(FileIO(path)))
            for page in range(self._directories[kind].count):
                extent = self.extent(kind, page)
                buffer = room[: extent.nbytes]
                with reading(self.stripes[extent.stripe]):
                    fill(files[extent.stripe], extent.offset, buffer)
                yield self.view(kind, page, buffer)

    def check(self) -> int:
        """Read the whole file and verify all checksums; returns the number of checksums.

        Raises GraphError and DiskError.
        """
        self.ids()
        self.permutation()
        count = 1 + len(self._header.sections) + (len(self.stripes) if self._header.stripes else 0)
        for kind in self.kinds:
            degrees = self.degrees(kind)
            d = self._directories[kind]
            rows = page_rows(d.firsts, self.n)
            counted = np.zeros(self.n + 1, dtype=np.uint32)
            for page, view in enumerate(self.pages(kind)):
                first = int(d.firsts[page])
                counted[first : first + int(rows[page])] += view.offsets[1:] - view.offsets[:-1]
                count += 1
            self._need(np.array_equal(counted[: self.n], degrees), "the degrees are not those of the pages")
        return count

    # ------------------------------------------------------------- checks

    def _place_pages(self) -> None:
        """Compute the place of each page: pages are distributed round-robin over the files, without gaps in a file."""
        files = max(1, self._header.stripes)
        kinds = [self._directories[kind] for kind in self.kinds]
        sizes = np.concatenate([page_sizes(page_rows(d.firsts, self.n), np.diff(d.starts), self._widths)
                                for d in kinds])  # fmt: skip
        stripe = np.arange(len(sizes)) % files
        offsets = np.empty_like(sizes)
        self._ends = []
        for number in range(files):
            ends = HEADER_BYTES + np.cumsum(sizes[number::files])
            offsets[number::files] = ends - sizes[number::files]
            self._ends.append(int(ends[-1]) if len(ends) else HEADER_BYTES)
        at = 0
        for kind, d in zip(self.kinds, kinds):
            part = slice(at, at + d.count)
            self._extents[kind] = stripe[part], offsets[part], sizes[part]
            at += d.count
        first = min(place.offset for place in self._header.sections.values())
        if (HEADER_BYTES if self._header.stripes else self._ends[0]) > first or int(sizes.min()) < 0:
            raise ValueError(damaged("the pages do not fit into the file"))

    def _find_stripes(self) -> None:
        count, said = self._header.stripes, self.description
        if count == 0:
            return
        if len(said.disks) != count or not said.file or os.sep in said.file:
            raise GraphError(f"{self.path}: {damaged('the folders of its stripes')}")
        found = []
        for number, disk in enumerate(said.disks):
            name = stripe_name(said.file, self.fingerprint, number)
            places = [Path(disk) / name, self.path.parent / name]
            path = next((place for place in places if place.exists()), None)
            if path is None:
                raise DiskError(f"{self.path}: its stripe {number + 1} of {count} is missing: {places[0]}, nor is it "
                                f"in {self.path.parent}")  # fmt: skip
            with reading(path), FileIO(path, opener=_at_once) as file:
                size = os.fstat(file.fileno()).st_size
                stripe_from_bytes(file.read(HEADER_BYTES) or b"", size, self.fingerprint, number, count)
                if size != self._ends[number]:
                    raise ValueError(damaged("its length is not that of its pages"))
            found.append(path)
        self.stripes = tuple(found)

    def _check_long_rows(self, kind: str, page: int, offsets: NDArray[np.uint32]) -> None:
        """Raise GraphError if a segment is not in the row of its vertex, or if the next page continues a row without
        segments.
        """
        d = self._directories[kind]
        first = int(d.firsts[page])
        low, high = d.segments_before[page : page + 2].tolist()
        mine = d.segments[low:high]
        if low < high:
            row = mine[:, 0] - first
            if not ((offsets[row] <= mine[:, 1]) & (mine[:, 2] <= offsets[row + 1])).all():
                raise self.page_error(kind, page, "a segment lies outside of its row")
        last = first + len(offsets) - 2
        cut = page + 1 < d.count and len(offsets) > 1 and offsets[-1] != offsets[-2]
        if cut and not (len(mine) and int(mine[-1, 0]) == last):
            raise self.page_error(kind, page, "its last row goes on in the next page")

    def _layout(self, kind: str, page: int) -> tuple[PageLayout, int, int]:
        d = self._directories[kind]
        first = int(d.firsts[page])
        rows = (min(int(d.firsts[page + 1]) + 1, self.n) if page + 1 < d.count else self.n) - first
        edges = int(d.starts[page + 1] - d.starts[page])
        return page_layout(rows, edges, self._widths), rows, edges

    def _read(self, section: Section, empty: Empty = empty) -> NDArray[np.uint8]:
        with reading(self.path), FileIO(self.path) as file:
            return section_bytes(file, self._header, section, empty)

    def stored_texts(self, empty: Empty = empty) -> tuple[NDArray[np.uint8], NDArray[np.uint64]] | None:
        """Text ids as they are stored: the concatenated UTF-8 bytes (uint8), and the end of each id (uint64[n]).

        Returns None if the ids are integers. `empty` allocates the arrays. Raises GraphError and DiskError.
        """
        if self._header.id_kind != IdKind.TEXT:
            return None
        ends = self._read(Section.ID_ENDS, empty).view(np.uint64)
        data = self._read(Section.ID_BYTES, empty)
        fine = bool((ends[1:] >= ends[:-1]).all()) and (int(ends[-1]) if len(ends) else 0) == len(data)
        self._need(fine, "the ends of the ids")
        return data, ends

    def _texts(self) -> Array:
        stored = self.stored_texts()
        assert stored is not None
        data, ends = stored[0].tobytes(), stored[1]
        texts = np.empty(len(ends), dtype=object)
        places = ends.tolist()
        try:
            texts[:] = [data[a:b].decode("utf-8", "surrogatepass") for a, b in zip([0, *places], places)]
        except UnicodeDecodeError:
            self._need(False, "an id is not UTF-8")
        self._need(bool((texts[1:] > texts[:-1]).all()), "the ids are not in increasing order")
        return texts

    def _need(self, fine: bool, what: str) -> None:
        if not fine:
            raise GraphError(f"{self.path}: {damaged(what)}")

    def page_error(self, kind: str, page: int, what: str) -> GraphError:
        """The error for a damaged page; `what` is the reason."""
        path = self.stripes[self.extent(kind, page).stripe]
        return GraphError(f"{path}: {damaged(f'page {page:,} of the {kind}-edges: {what}')}")
