"""The format of .npz archives: graphs that vlang saved, and matrices of scipy.sparse.save_npz."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.formats.format import Beginning, Empty, StoredEdges, StoredFormat

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.shape import Shape
    from vlang.runtime.graph.edges.share import SavedShare
    from vlang.runtime.graph.formats.archive import Archive
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.graph.read.asked import Asked

__all__ = ["NPZ"]

_BLOCK = 1 << 18

Array = NDArray[Any]


class _Npz(StoredFormat):
    name = "an .npz archive"

    def recognises(self, beginning: Beginning) -> bool:
        """Return whether a file is a zip archive, which is the container of .npz files."""
        return beginning.bytes.startswith((b"PK\x03\x04", b"PK\x05\x06"))

    def load(self, graph_type: type[Graph], path: Path, weights: str | None, threads: int | None) -> Graph:
        from vlang.runtime.graph.formats.npz_arrays import load  # start-up

        return load(graph_type, path, weights, threads=threads)

    def estimate(self, path: Path, asked: Asked, threads: int) -> Shape | None:
        """The counts of a graph that vlang saved, from the headers of its arrays."""
        from vlang.runtime.graph.edges.shape import Shape  # start-up

        heads = {}
        try:
            with zipfile.ZipFile(path) as archive:
                for name in archive.namelist():
                    with archive.open(name) as member:
                        version = np.lib.format.read_magic(member)
                        read = np.lib.format.read_array_header_1_0 if version == (1, 0) else \
                            np.lib.format.read_array_header_2_0
                        heads[name.removesuffix(".npy")] = read(member)
                if "vlang_graph" not in heads:
                    return None
                with archive.open("kind.npy") as member:
                    kind = str(np.lib.format.read_array(member))
                with archive.open("directed.npy") as member:
                    stored = bool(np.lib.format.read_array(member))
        except zipfile.BadZipFile:
            return None
        if asked.directed is not None and asked.directed != stored:
            return None
        n, m = heads["offsets"][0][0] - 1, heads["targets"][0][0]
        columns = {name.removeprefix("column."): dtype for name, (_, _, dtype) in heads.items()
                   if name.startswith("column.")}
        ruled = frozenset({"weight"}) if "rule" in heads else frozenset()
        ids = 8 * n if "ids" in heads else 72 * n if "id_ends" in heads else 0
        return Shape(n, m, stored, {**columns, **{name: np.dtype(np.int32) for name in ruled}}, ruled,
                     built=frozenset({kind}), ids=ids, reading=n + 1)

    def share(self, path: Path, weights: str | None, place: int, parts: int) -> SavedShare | None:
        from vlang.runtime.graph.formats.npz_share import read_npz_share  # start-up

        return read_npz_share(path, weights, place, parts)

    def stream(
        self, graph_type: type[Graph], path: Path, weights: str | None, empty: Empty, threads: int
    ) -> StoredEdges:
        """See `StoredFormat`.

        Args:
            threads: how many threads check and expand a graph that vlang saved.
        """
        from vlang.runtime.graph.edges.chosen_weight import check_weights  # start-up
        from vlang.runtime.graph.formats.archive import Archive  # start-up
        from vlang.runtime.graph.formats.npz_arrays import is_own, own_graph  # start-up

        with Archive(path, empty) as archive:
            if is_own(archive):
                return _own(own_graph(graph_type, archive, path, weights, threads), empty, threads)
            check_weights(path, weights, ["weight"], {})
            return _matrix(path, archive, empty)


def _own(graph: Graph, empty: Empty, threads: int) -> StoredEdges:
    """The edges of a graph whose adjacency was read into arrays on disk."""
    from vlang.runtime.graph.edges.edge_list import EdgeList  # start-up
    from vlang.runtime.graph.kernels import kernels  # start-up
    from vlang.runtime.threads.workers import over  # start-up

    base = graph.built()
    rows = empty(graph.m, np.uint32)
    over(graph.n, threads, lambda first, last: kernels("rows")["expand"](base.offsets, first, last, rows))
    src, dst = (base.targets, rows) if base.kind == "in" else (rows, base.targets)
    dtypes = {name: dtype for name, dtype in graph.columns.items() if graph.rule is None or name != "weight"}
    listed = EdgeList(src, dst, graph.ids, {name: base.stored(name) for name in dtypes}, graph.directed,
                      list(graph.notes[:-1]), dict(graph.left_out), kinds=dict(graph.kinds))
    return StoredEdges(listed, dtypes, graph.rule)


def _matrix(path: Path, archive: Archive, empty: Empty) -> StoredEdges:
    """The edges of a sparse matrix. Raises GraphError."""
    from vlang.runtime.graph.edges.building.from_arrays import refuse_nan  # start-up
    from vlang.runtime.graph.edges.columns import narrowed_dtype  # start-up
    from vlang.runtime.graph.edges.edge_list import EdgeList, VertexIds  # start-up
    from vlang.runtime.graph.formats.npz_arrays import matrix_entries, matrix_note  # start-up

    kind, n, row, col, data = matrix_entries(archive, path)
    try:
        refuse_nan(row, col, data)
        ends = [_positions(given, n, empty) for given in (row, col)]
        blocks = (data[first : first + _BLOCK] for first in range(0, len(data), _BLOCK))
        dtype = narrowed_dtype("weight", data.dtype, blocks)
    except GraphError as error:
        raise GraphError(f"{path}: {error}") from None
    listed = EdgeList(ends[0], ends[1], VertexIds(base=0, count=n), {"weight": data}, True, [matrix_note(kind)])
    return StoredEdges(listed, {"weight": dtype}, sorted=False, fresh=True)


def _positions(given: Array, n: int, empty: Empty) -> NDArray[np.uint32]:
    """Convert rows or columns of entries to vertex numbers in an array that `empty` allocates.

    Raises GraphError unless all numbers are in 0..n-1.
    """
    low, high = 0, -1
    kept = empty(len(given), np.uint32)
    for first in range(0, len(given), _BLOCK):
        part = given[first : first + _BLOCK]
        low, high = min(low, int(part.min())), max(high, int(part.max()))
        kept[first : first + _BLOCK] = part
    if low < 0 or high >= n:
        raise GraphError(f"an edge ends at vertex {low if low < 0 else high}; with n={n} vertices are 0 to {n - 1}")
    return kept


NPZ = _Npz()
