"""The format of page files (.vg), read into memory or, for a conversion, into arrays on disk."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vlang.runtime.graph.formats.format import Beginning, Empty, StoredEdges, StoredFormat
from vlang.runtime.storage.magic import MAGIC

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.shape import Shape
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.graph.read.asked import Asked

__all__ = ["PAGE_FILE"]


class _PageFiles(StoredFormat):
    name = "a page file"

    def recognises(self, beginning: Beginning) -> bool:
        return beginning.bytes.startswith(MAGIC)

    def load(self, graph_type: type[Graph], path: Path, weights: str | None, threads: int | None) -> Graph:
        from vlang.runtime.graph.paged.in_memory import load  # start-up

        return load(graph_type, path, weights, threads=threads)

    def estimate(self, path: Path, asked: Asked, threads: int) -> Shape | None:
        """The counts of the header, for a run that reads all edges into memory."""
        from vlang.runtime.graph.edges.shape import Shape  # start-up
        from vlang.runtime.storage.page_file import PageFile  # start-up

        file = PageFile.open(path)
        if asked.directed is not None and asked.directed != file.directed:
            return None
        columns = {name: info.dtype for name, info in file.columns.items()}
        ids = 0 if file.consecutive else (72 if file.has_texts else 8) * file.n
        reading = file.largest_page
        if file.layout != "ids":  # bytes of the row permutation, its inverse, and a check
            reading = max(reading, 9 * file.n)
        return Shape(file.n, file.m, file.directed, columns, built=frozenset({"in"}), ids=ids, reading=reading)

    def stream(
        self, graph_type: type[Graph], path: Path, weights: str | None, empty: Empty, threads: int
    ) -> StoredEdges:
        """Read the edges from the in-edges of the file, page by page."""
        from vlang.runtime.graph.edges.chosen_weight import as_weight, check_weights, without_weight  # start-up
        from vlang.runtime.graph.edges.edge_list import EdgeList  # start-up
        from vlang.runtime.graph.edges.texts import Texts, TextVertexIds  # start-up
        from vlang.runtime.graph.kernels import kernels  # start-up
        from vlang.runtime.storage.page_file import PageFile  # start-up

        file = PageFile.open(path)
        check_weights(path, weights, list(file.columns), file.left_out)
        order = file.permutation()
        src, dst = empty(file.m, np.uint32), empty(file.m, np.uint32)
        columns: dict[str, Any] = {name: empty(file.m, info.dtype) for name, info in file.columns.items()}
        directory = file.directory("in")
        for page, view in enumerate(file.pages("in")):
            low, high = directory.starts[page : page + 2].tolist()
            rows = dst[low:high]
            offsets = view.offsets.astype(np.uint64)
            kernels("rows")["expand"](offsets, 0, len(offsets) - 1, rows)
            rows += np.uint32(directory.firsts[page])
            if order is None:
                src[low:high] = view.targets
            else:
                src[low:high] = order[view.targets]
                rows[:] = order[rows]
            for name, values in view.columns.items():
                columns[name][low:high] = values
        stored = file.stored_texts(empty)
        ids = file.ids() if stored is None else TextVertexIds(Texts(*stored))
        left_out, kinds = dict(file.left_out), file.named
        if weights not in (None, "weight"):
            columns, left_out = as_weight(columns, str(weights)), without_weight(left_out)
            kinds = as_weight(kinds, str(weights))
        listed = EdgeList(src, dst, ids, columns, file.directed, list(file.description.notes), left_out,
                          kinds=dict(kinds))
        return StoredEdges(listed, {name: values.dtype for name, values in columns.items()}, sorted=order is None)


PAGE_FILE = _PageFiles()
