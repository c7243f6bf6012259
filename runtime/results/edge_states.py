"""The edge states of a result: one value for each stored directed edge."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.results.columns import missing_values
from vlang.runtime.results.listing import Column, csv_blocks, json_blocks
from vlang.runtime.storage.output import fixed_width, write_arrays, write_text

if TYPE_CHECKING:
    from vlang.runtime.graph.edges.edge_list import VertexIds
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.plan.plan import Plan

__all__ = ["EdgeStates", "states_of"]

_ENDS = ("source", "target")  # the names of the columns with the ids of both ends


class EdgeStates(Mapping[str, NDArray[Any]]):
    """The values of the edge states of a program at the end of a run: name -> array of shape [stored edges].

    Entry i belongs to the edge `sources[i] -> targets[i]`. The edges are ordered by target, then by source, both as in
    `Result.ids`; parallel edges keep the order of the input. An edge of an undirected graph has two entries, one for
    each direction, and a self-loop has one. `Graph.edges(both=True)` has the same order if the adjacency of in-edges
    was built first.
    """

    def __init__(self, ids: VertexIds, offsets: NDArray[np.uint64], others: NDArray[np.uint32],
                 values: Mapping[str, NDArray[Any]]) -> None:
        """Keep the lists of in-edges and the values.

        Args:
            ids: the user's ids of the vertices.
            offsets: uint64[n + 1], where the in-edges of each vertex begin.
            others: uint32[m], the dense number of the source of each in-edge.
            values: name -> array[m].
        """
        self._ids, self._offsets, self._others, self._values = ids, offsets, others, dict(values)

    @cached_property
    def sources(self) -> NDArray[Any]:
        """The user's ids of the sources, in the order of the values."""
        found: NDArray[Any] = self._ids.values[self._others]
        return found

    @cached_property
    def targets(self) -> NDArray[Any]:
        """The user's ids of the targets, in the order of the values."""
        return np.repeat(self._ids.values, np.diff(self._offsets).astype(np.int64))

    def table(self) -> dict[str, NDArray[Any]]:
        """The columns `source` and `target` and one for each edge state, for `pandas.DataFrame` or `pyarrow.table`."""
        return {"source": self.sources, "target": self.targets, **self._values}

    # ---- writing
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file with a row for each entry, atomically, in the format of its suffix; see `Result.save`.

        The columns are `source`, `target` and each edge state. Integers `inf` and `-inf` are empty cells, or null.
        Raises GraphError for an unknown suffix, and DiskError if the file cannot be written.
        """
        from vlang.runtime.results.files import save  # start-up

        save(self, path)

    def to_csv(self, file: str | os.PathLike[str] | IO[Any], separator: str = ",") -> None:
        """Write a header line, then one row for each entry, as `Result.to_csv` does for vertices."""
        write_text(file, csv_blocks(dict.fromkeys(self._values, 0), len(self._others), self._columns, separator, _ENDS))

    def to_json(self, file: str | os.PathLike[str] | IO[Any]) -> None:
        """Write one object: `source` and `target` as lists, and `states` with the list of each edge state."""
        write_text(file, json_blocks({}, list(self._values), len(self._others), self._columns, _ENDS, "states"))

    def to_npz(self, file: str | os.PathLike[str] | IO[bytes]) -> None:
        """Write a NumPy archive with the arrays of `table()`, as `Result.to_npz` does for vertices."""
        write_arrays(file, {name: fixed_width(array) for name, array in self._on_host().items()})

    def to_arrow(self) -> Any:
        """A pyarrow.Table with the columns of `table()`, in which integers `inf` and `-inf` are null."""
        from vlang.runtime.results.frames import arrow_table  # start-up

        return arrow_table({}, self._columns(0, len(self._others)))

    def arrow_parts(self) -> Iterator[Any]:
        """Yield `to_arrow()` in parts."""
        from vlang.runtime.results.frames import PART, arrow_table  # start-up

        texts = ("source", "target") if self._ids.text else ()
        for start in range(0, max(1, len(self._others)), PART):
            yield arrow_table({}, self._columns(start, min(start + PART, len(self._others))), texts)

    def to_pandas(self) -> Any:
        """A pandas.DataFrame with the columns of `table()`, in which integers `inf` and `-inf` are missing values."""
        from vlang.runtime.results.frames import pandas_frame  # start-up

        return pandas_frame(self._columns(0, len(self._others)))

    def _on_host(self) -> dict[str, NDArray[Any]]:
        """The columns of `table()`. Values on a GPU are copied."""
        return {name: values if isinstance(values, np.ndarray) else values.get()
                for name, values in self.table().items()}

    def _columns(self, start: int, stop: int) -> Iterator[Column]:
        """Yield the columns of a file for the entries start..stop-1."""
        heads = np.searchsorted(self._offsets, np.arange(start, stop, dtype=np.uint64), side="right") - 1
        yield Column("source", self._ids[self._others[start:stop]], None)
        yield Column("target", self._ids[heads], None)
        for name, values in self._values.items():
            part = values[start:stop] if isinstance(values, np.ndarray) else values[start:stop].get()
            yield Column(name, part, missing_values(part, ""))

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<EdgeStates of {len(self._others):,} edges: {', '.join(self._values) or 'none'}>"


def states_of(plan: Plan, graph: Graph, values: Mapping[str, NDArray[Any]]) -> EdgeStates:
    """The edge states of a run.

    Args:
        plan: the plan that was run.
        graph: the graph that it ran on.
        values: name -> the stored array of each edge state.
    """
    if not plan.states:
        return EdgeStates(graph.ids, np.zeros(1, np.uint64), np.zeros(0, np.uint32), {})
    rows = graph.adjacency("in")
    shown = {spec.name: values[spec.name].view(np.bool_) if spec.type == "bool" else values[spec.name]
             for spec in plan.states}
    return EdgeStates(graph.ids, rows.offsets, rows.targets, shown)
