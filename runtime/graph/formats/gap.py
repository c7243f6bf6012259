"""The format of serialized graphs of the GAP Benchmark Suite: .sg without weights, .wsg with weights.

The format is defined by `reader.h` and `writer.h` of https://github.com/sbeamer/gapbs. A file has one byte that says
whether the graph is directed, the numbers of entries and of vertices (int64), n + 1 offsets (int64), and the
out-neighbours (int32, or pairs of int32 neighbour and weight). A directed graph repeats offsets and neighbours for the
in-edges.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vlang.errors import DiskError, GraphError
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.formats.format import Beginning, ListFormat

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.building.space import Space
    from vlang.runtime.graph.edges.edge_list import EdgeList
    from vlang.runtime.graph.edges.pool import Workers
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.graph.read.asked import Asked

__all__ = ["GAP", "HEADER"]

HEADER = struct.Struct("<?qq")
"""Whether the graph is directed, the number of entries, and the number of vertices."""

_NAMES = (".sg", ".wsg")
_BLOCK = 1 << 18
_MOST = (1 << 31) - 1


class _Layout(NamedTuple):
    """Attributes: directed, n (vertices), m (entries), weighted: whether entries have weights."""

    directed: bool
    n: int
    m: int
    weighted: bool


class _Gap(ListFormat):
    name = "a GAP serialized graph"
    cells = False
    suffixes = (".sg", ".wsg")
    packs = False

    def recognises(self, beginning: Beginning) -> bool:
        """Return whether the counts at the beginning agree with the size of the file.

        If the counts do not agree with the size, a file whose name ends in .sg or .wsg counts as a damaged file of this
        format.
        """
        return beginning.bytes[:1] in (b"\0", b"\1") and \
            (_layout(beginning.bytes, beginning.size) is not None or beginning.path.suffix in _NAMES)

    def edges(self, path: Path, asked: Asked, workers: Workers, space: Space) -> EdgeList:
        from vlang.runtime.graph.edges.edge_list import VertexIds  # start-up
        from vlang.runtime.graph.kernels import kernels  # start-up
        from vlang.runtime.graph.read.direction import imbalance  # start-up
        from vlang.runtime.graph.read.finish import Facts, finish  # start-up
        from vlang.runtime.graph.read.layout import Field, Role  # start-up
        from vlang.runtime.graph.read.scan import Scanned  # start-up
        from vlang.runtime.graph.read.text_columns import choose_weight  # start-up

        found = _known(path)
        fields = [Field("source", Role.SOURCE), Field("target", Role.TARGET)]
        fields += [Field("weight", Role.INTEGER)] if found.weighted else []
        names = [field.name for field in choose_weight(path, fields, asked)[2:]]
        source, target = space.empty(found.m, np.uint32), space.empty(found.m, np.uint32)
        columns = {name: space.empty(found.m, np.int32) for name in names}
        try:
            with open(path, "rb") as file:
                file.seek(HEADER.size)
                offsets = _offsets(path, file, found, space)
                kernels("rows")["expand"](offsets.view(np.uint64), 0, found.n, source)
                _entries(path, file, found, target, list(columns.values()), space)
        except OSError as error:
            raise DiskError(f"{path}: cannot be read: {error.strerror or error}") from None
        del offsets
        read = Scanned(source, target, VertexIds(base=0, count=found.n), columns)
        if not found.directed and imbalance(read)[0]:
            raise GraphError(f"{path}: the graph is undirected, and an edge is stored in one direction only; write the "
                             "file again")
        facts = Facts(f"GAP serialized graph{', weighted' if found.weighted else ''}", directed=found.directed,
                      why="as its first byte says")
        return finish(read, facts, asked, space)

    def estimate(self, path: Path, asked: Asked, threads: int) -> Shape | None:
        found = _known(path)
        columns = {"weight": np.dtype(np.int32)} if found.weighted else {}
        directed = found.directed if asked.directed is None else asked.directed
        return Shape(found.n, found.m, directed, columns, listed=found.m, reading=8 * (found.n + 1) + (1 << 22))

    def write(self, graph: Graph, file: IO[bytes], path: str, suffix: str) -> list[str]:
        """See `GraphFormat.write`. Raises GraphError if vertex numbers or weights of a .wsg exceed 32 bits."""
        from vlang.runtime.graph.edges.edge_rows import lost, only_column  # start-up

        name, notes = only_column(graph, path) if suffix == ".wsg" else (None, [])
        if suffix == ".wsg" and name is None:
            raise GraphError(f"{path}: a .wsg has weights, and the graph has none; write a .sg")
        if suffix == ".sg" and graph.columns:
            notes.append(f"Not written: {', '.join(graph.columns)}.")
        plain = graph.plain()
        if plain.n > _MOST:
            raise GraphError(f"{path}: GAP has vertices of 31 bits, and the graph has {plain.n:,}")
        for number, direction in enumerate(("out", "in") if plain.directed else ("out",)):
            rows = plain.adjacency(direction, [] if name is None else [name])
            if number == 0:
                file.write(HEADER.pack(plain.directed, len(rows.targets), plain.n))
            file.write(rows.offsets.astype("<i8").tobytes())
            for first in range(0, len(rows.targets), _BLOCK):
                part = slice(first, first + _BLOCK)
                entries = [rows.targets[part], *([] if name is None else [_whole(path, name, rows.stored(name)[part])])]
                file.write(np.stack(entries, axis=1).astype("<i4").tobytes())
        return [*notes, *lost(graph, ids=0)]


def _whole(path: str, name: str, values: NDArray[Any]) -> NDArray[Any]:
    """The weights as int32. Raises GraphError if a value does not fit."""
    fits = bool(((values >= -(1 << 31)) & (values < 1 << 31)).all())
    whole = values.astype(np.int64) if fits else values
    if not fits or not bool((whole == values).all()):
        raise GraphError(f"{path}: a .wsg has weights that are integers of 32 bits, and column {name!r} has others")
    return whole


def _layout(begin: bytes, size: int) -> _Layout | None:
    """The layout that the counts at the beginning describe; None if a file of `size` bytes cannot have this layout."""
    if len(begin) < HEADER.size:
        return None
    directed, m, n = HEADER.unpack(begin[: HEADER.size])
    if not (0 <= n <= _MOST and 0 <= m < 1 << 40):
        return None
    for weighted in (False, True):
        body = 8 * (n + 1) + (8 if weighted else 4) * m
        if size == HEADER.size + (2 if directed else 1) * body:
            return _Layout(directed, n, m, weighted)
    return None


def _known(path: Path) -> _Layout:
    """The layout of a file. Raises GraphError if the counts at the beginning of the file disagree with its size."""
    beginning = Beginning(path)
    found = _layout(beginning.bytes, beginning.size)
    if found is not None:
        return found
    if beginning.size < HEADER.size:
        raise GraphError(f"{path}: this is no GAP serialized graph: it has {beginning.size} bytes, and the counts "
                         f"alone take {HEADER.size}")
    _, m, n = HEADER.unpack(beginning.bytes[: HEADER.size])
    raise GraphError(f"{path}: this is no GAP serialized graph, or it is damaged: {n:,} vertices and {m:,} entries do "
                     f"not fit its {beginning.size:,} bytes")


def _offsets(path: Path, file: IO[bytes], found: _Layout, space: Space) -> NDArray[np.int64]:
    """The n + 1 offsets. Raises GraphError if the offsets decrease, or do not go from 0 to the number of entries."""
    offsets: NDArray[np.int64] = space.empty(found.n + 1, np.int64)
    last = 0
    for first in range(0, found.n + 1, _BLOCK):
        part = np.fromfile(file, "<i8", min(_BLOCK, found.n + 1 - first))
        steps = np.diff(part, prepend=last)
        if (steps < 0).any():
            at = first + int(np.flatnonzero(steps < 0)[0])
            raise GraphError(f"{path}: the file is damaged: the offset of vertex {at:,} is less than the one before")
        offsets[first : first + len(part)] = part
        last = int(part[-1])
    if int(offsets[0]) != 0 or last != found.m:
        raise GraphError(f"{path}: the file is damaged: its offsets go from {int(offsets[0]):,} to {last:,}, not from "
                         f"0 to {found.m:,}")
    return offsets


def _entries(
    path: Path, file: IO[bytes], found: _Layout, target: NDArray[np.uint32], columns: list[NDArray[Any]], space: Space
) -> None:
    """Read the neighbours, and the weights if `columns` has an array for them.

    Args:
        path: the path, for messages.
        file: the file, at its first neighbour.
        found: the layout.
        target: output, uint32[m].
        columns: output, one array int32[m] for weights, or none.
        space: receives the progress.
    """
    for first in range(0, found.m, _BLOCK):
        count = min(_BLOCK, found.m - first)
        part = np.fromfile(file, "<i4", count * (1 + found.weighted)).reshape(count, -1)
        low, high = int(part[:, 0].min()), int(part[:, 0].max())
        if low < 0 or high >= found.n:
            raise GraphError(f"{path}: the file is damaged: a neighbour is vertex {low if low < 0 else high}, and "
                             f"vertices are 0 to {found.n - 1:,}")
        target[first : first + count] = part[:, 0]
        for column in columns:
            column[first : first + count] = part[:, 1]
        space.progress((first + count) / found.m)


GAP = _Gap()
