"""The interface of a graph format: recognise a file, read the file, estimate its shape, and supply its edges to a
conversion.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.edges.ends import OF_FILE, Ends
from vlang.runtime.graph.packed_text import Damaged, packing_of
from vlang.runtime.storage.inputs.spool import parts_of

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.building.space import Space
    from vlang.runtime.graph.edges.edge_list import EdgeList
    from vlang.runtime.graph.edges.pool import Workers
    from vlang.runtime.graph.edges.shape import Shape
    from vlang.runtime.graph.edges.share import SavedShare, Share
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.graph.read.asked import Asked
    from vlang.runtime.graph.topology.transform import WeightRule

__all__ = ["Beginning", "GraphFormat", "ListFormat", "StoredEdges", "StoredFormat"]

_BYTES = 1 << 12

Empty = Callable[[int, DTypeLike], NDArray[Any]]
"""Allocates an array of a number of elements of a dtype, in memory or on disk."""


class Beginning:
    """The first bytes of a path; empty if the path is not a regular file that can be read.

    Attributes:
        path: the path.
        parts: the files of the path: the path itself, or the files of a folder or a glob.
        size: the size in bytes of a regular file, else 0.
        bytes: the first 4096 bytes of a regular file.
    """

    def __init__(self, path: Path) -> None:
        """Read the first bytes of `path`. A pipe is not opened, because it can be read only once."""
        self.path, self.size, self.bytes = path, 0, b""
        try:
            if path.is_file():
                self.size = path.stat().st_size
                with open(path, "rb", buffering=0) as file:
                    self.bytes = file.read(_BYTES)
        except OSError:
            pass
        self.parts = (path,) if self.bytes else parts_of(path)

    @cached_property
    def text(self) -> bytes:
        """The first 4096 decompressed bytes of the first part; fewer if decompression fails."""
        if not self.bytes:
            return Beginning(self.parts[0]).text if self.parts and self.parts[0] != self.path else b""
        packing = packing_of(self.bytes)
        if packing is None:
            return self.bytes
        buffer, count = bytearray(_BYTES), 0
        try:
            with open(self.path, "rb", buffering=0) as file:
                text = packing.opened(file)
                while count < _BYTES and (got := text.readinto(memoryview(buffer)[count:])):
                    count += got
        except (OSError, Damaged, GraphError):
            pass  # the reader raises the error when it reads the same file
        return bytes(buffer[:count])


class GraphFormat(ABC):
    """A format of graph files.

    Attributes:
        name: the name for messages.
        cells: whether files have rows of cells. If so, the options `missing`, `source_column`, `target_column` and
            `vertices` apply.
        suffixes: the suffixes of names under which graphs are written in this format; () if the format is only read, or
            its suffix is handled elsewhere.
        packs: whether the format is a text format, whose files may be compressed.
    """

    name: str
    cells: bool
    suffixes: tuple[str, ...] = ()
    packs = True

    @abstractmethod
    def recognises(self, beginning: Beginning) -> bool:
        """Return whether a file has this format, by its content."""

    @abstractmethod
    def estimate(self, path: Path, asked: Asked, threads: int) -> Shape | None:
        """The shape of the graph of a file before the file is read; None if the shape cannot be estimated.

        Args:
            path: the file.
            asked: the options for reading.
            threads: how many threads will read the file.

        Raises:
            GraphError, DiskError: for the same files as the reader.
        """


    def write(self, graph: Graph, file: IO[bytes], path: str, suffix: str) -> list[str]:
        """Write a graph under one of the `suffixes`, and return sentences about what the file does not keep.

        Args:
            graph: the graph.
            file: the output.
            path: the path of the file, for messages.
            suffix: the suffix of the name, without a compression suffix.

        Raises:
            GraphError: the format cannot hold this graph.
        """
        raise GraphError(f"{path}: graphs are not written as {self.name}")


class ListFormat(GraphFormat):
    """A format of files that list edges. The same reader stores edges in memory and, for a conversion, on disk.

    `typed` says whether the format declares the types of columns. If types are declared, the reader reads all columns
    of numbers, unless the options name columns.
    """

    cells = True
    typed = False

    @abstractmethod
    def edges(self, path: Path, asked: Asked, workers: Workers, space: Space) -> EdgeList:
        """The edges of a file.

        Args:
            path: the file.
            asked: the options for reading.
            workers: the threads to use.
            space: allocates the arrays of edges and ids.

        Raises:
            GraphError: the content is wrong; the message gives the line or the place.
            DiskError: the file is missing or cannot be read.
        """

    def share(self, path: Path, asked: Asked, workers: Workers, place: int, parts: int) -> Share | None:
        """Some of the edges of a file; None if the file is read as a whole. Raises the errors of `edges`.

        Args:
            path: the file.
            asked: the options for reading; the option `directed` is ignored.
            workers: the threads to use.
            place, parts: which share to read: number `place`, from 0, of `parts` equal shares.
        """
        return None

    def read(
        self, path: str | Path, *, directed: bool | None = None, weights: str | None = None,
        columns: Iterable[str] | None = None, missing: object = "error", threads: int = 0,
        ends: Ends = OF_FILE, space: Space | None = None,
    ) -> EdgeList:  # fmt: skip
        """Read the edges of a file.

        Args:
            path: the file.
            directed: whether the edges are directed; None keeps the direction that the file declares. An undirected
                file may list each edge once or in both directions (see direction.py).
            weights: the name or number (from 1) of the column that becomes "weight". If `weights` is None, columns keep
                the names of the file. A text without a header has the columns "weight" (the third), "column4",
                "column5", and so on.
            columns: names of columns in which every cell must be a number, or a mapping from such names to types:
                "number", "bool", "category", "date", "time", "time[ms]", "time[us]" or "time[ns]". If `columns` is
                None, only the cells of the column "weight" must be numbers. Any other column is left out if a cell is
                not a number, and `left_out` gives the reason. Every cell in the column of `weights` must also be a
                number.
            missing: how to treat cells without a value (the texts in `asked.MISSING`). "error" raises GraphError.
                "drop" drops a row with such a cell in one of `columns`. A number for `missing` replaces every cell
                without a value.
            threads: how many threads to use; 0 for one per processor.
            ends: the columns of the source and target ids, and the option `vertices`.
            space: allocates the arrays of edges and ids; None for memory.

        Returns:
            The edges. A column has dtype int32 or int64 if the values of all rows are integers, else float64. The ids
            have dtype int64, or uint64 if an id is above 2^63 - 1; if any id is not an integer, all ids are texts. The
            vertex ids are 1..n if the format declares n, else the ids that occur.

        Raises:
            GraphError: the content is wrong; the message gives the line, its text and what was expected.
            DiskError: the file is missing or cannot be read.
        """
        from vlang.runtime.graph.edges.building.space import IN_MEMORY  # start-up
        from vlang.runtime.graph.edges.given import named_types  # start-up
        from vlang.runtime.graph.edges.pool import Workers  # start-up
        from vlang.runtime.graph.read.asked import Asked, parse_missing  # start-up

        asked = Asked(directed, weights, None if columns is None else frozenset(columns), parse_missing(missing), ends,
                      named_types(columns))
        with Workers(threads) as workers:
            return self.edges(path if isinstance(path, Path) else Path(path), asked, workers, space or IN_MEMORY)


@dataclass(frozen=True)
class StoredEdges:
    """The edges of a stored graph, for a conversion.

    Attributes:
        listed: the edges, the ids and the notes.
        dtypes: the dtype of each column, which may be narrower than the dtype of its array.
        rule: the rule that computes the column `weight`; None if there is no rule.
        sorted: whether the edges are in the order of the rows that the graph would have in memory.
        fresh: whether the file is a list of edges, not a graph that vlang saved; the notes of a saved graph already say
            what was kept.
    """

    listed: EdgeList
    dtypes: Mapping[str, np.dtype[Any]]
    rule: WeightRule | None = None
    sorted: bool = True
    fresh: bool = False


class StoredFormat(GraphFormat):
    """A format of stored graphs. The file determines the direction, the ids and the columns."""

    cells = False

    @abstractmethod
    def load(self, graph_type: type[Graph], path: Path, weights: str | None, threads: int | None) -> Graph:
        """Read the graph of a file into memory.

        Args:
            graph_type: the class to build.
            path: the file.
            weights: the edge column that becomes `weight`; None if no column was chosen.
            threads: how many threads build adjacency lists; None for one per processor.

        Raises:
            GraphError: the file is damaged, or does not have the column `weights`.
            DiskError: the file cannot be read.
        """

    @abstractmethod
    def stream(
        self, graph_type: type[Graph], path: Path, weights: str | None, empty: Empty, threads: int
    ) -> StoredEdges:
        """Read the edges of a file into arrays that `empty` allocates, such as arrays on disk.

        Args:
            graph_type, path, weights, threads: see `load`.
            empty: allocates the arrays of edges.

        Raises:
            GraphError, DiskError: see `load`.
        """

    def share(self, path: Path, weights: str | None, place: int, parts: int) -> SavedShare | None:
        """Some of the edges of a file; None if the file is read as a whole. Raises the errors of `load`.

        Args:
            path, weights: see `load`.
            place, parts: which share to read: number `place`, from 0, of `parts` equal shares.
        """
        return None
