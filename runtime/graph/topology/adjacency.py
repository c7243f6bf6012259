"""Adjacency lists of one kind (in-edges, out-edges or both), with their edge columns."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from copy import copy
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.columns import Column, cast
from vlang.runtime.graph.topology.build import Rows
from vlang.runtime.plan.derived import DERIVED

__all__ = ["KINDS", "Adjacency", "frozen"]

KINDS = ("in", "out", "both")

Array = NDArray[Any]
_MOST_IN_ROW = (1 << 31) - 2  # so that degrees and counts of edges fit into 32-bit ints (vlang/ir/forms/ranges.py)


class Adjacency:
    """Compressed adjacency lists; all arrays are read-only.

    Attributes:
        kind: "in" (row = destination, targets = sources), "out" (row = source, targets = destinations) or "both".
        offsets: uint64[n + 1]; row r is targets[offsets[r]:offsets[r + 1]].
        targets: uint32[entries], increasing in each row, parallel edges in the order of the input.
        addresses: the addresses of `offsets` and `targets`, for kernels; they are kept because computing an address
            takes longer than a short launch.
        span: the first vertex over which passes run, and the last such vertex plus 1; all other rows are empty.

    Raises GraphError for a row of more than 2^31 - 2 edges.
    """

    def __init__(
        self,
        kind: str,
        rows: Rows,
        columns: Mapping[str, Column],
        fetch: Callable[[str], Array],
        lock: threading.RLock,
        span: tuple[int, int] | None = None,
    ) -> None:
        if len(rows.targets) > _MOST_IN_ROW:
            longest = int(np.argmax(np.diff(rows.offsets)))
            edges = int(rows.offsets[longest + 1]) - int(rows.offsets[longest])
            if edges > _MOST_IN_ROW:
                raise GraphError(f"vertex number {longest} has {edges:,} edges; a vertex has at most {_MOST_IN_ROW:,}")
        self.kind = kind
        self.span = span or (0, len(rows.offsets) - 1)
        self.offsets = frozen(rows.offsets)
        self.targets = frozen(rows.targets)
        self.addresses = int(self.offsets.ctypes.data), int(self.targets.ctypes.data)
        self._columns = columns
        self._fetch = fetch
        self._lock = lock
        self._stored = {name: frozen(values) for name, values in rows.columns.items()}
        self._cast: dict[tuple[str, np.dtype[Any]], Array] = {}
        self._derived: dict[Hashable, Any] = {}
        self._recoded: dict[tuple[str, np.dtype[Any]], Array] = {}
        self._of_recoded: dict[Hashable, Any] = {}

    @property
    def columns(self) -> Mapping[str, Column]:
        """The dtype and range of each column, and how programs read its integers."""
        return self._columns

    def __len__(self) -> int:
        return len(self.targets)

    def column(self, name: str, dtype: DTypeLike | None = None) -> Array:
        """The values of an edge column, shape [entries], as `dtype` (default: as stored); computed once.

        Raises GraphError if there is no such column, or if a value does not fit the dtype.
        """
        with self._lock:
            if name in DERIVED:
                return self.stored(name)
            if name not in self._columns:
                known = ", ".join(self._columns) or "none"
                raise GraphError(f"the graph has no edge column {name!r}; it has: {known}")
            known_as = self._columns[name]
            plain = known_as.dtype if known_as.coding is None else np.dtype(np.int64)
            key = (name, plain if dtype is None else np.dtype(dtype))
            cells = self._cast if known_as.coding is None else self._recoded
            if key not in cells:
                cells[key] = frozen(cast(name, self.stored(name), known_as, key[1]))
            return cells[key]

    def coded(self, columns: Mapping[str, Column]) -> Adjacency:
        """A copy that reads its columns as `columns` describes, and shares all arrays with this object."""
        other = copy(self)
        other._columns, other._recoded, other._of_recoded = columns, {}, {}
        return other

    def _cached(self, key: Hashable) -> dict[Hashable, Any]:
        """The cache in which `derived` keeps an object: a separate cache if a column in the key is recoded."""
        if not isinstance(key, tuple):
            return self._derived
        names = {name for name, column in self._columns.items() if column.coding is not None}
        return self._derived if names.isdisjoint(key) else self._of_recoded

    def stored(self, name: str) -> Array:
        """The values of an edge column in the stored dtype; permuted into the order of this adjacency on first use."""
        with self._lock:
            if name not in self._stored:
                self._stored[name] = frozen(self._fetch(name))
            return self._stored[name]

    def derived(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """An object derived from these lists, such as pages or cache blocks. `make` builds the object on first use.

        The object is cached under `key`; only one thread builds it. If the object depends on a column, the key is a
        tuple with the column's name.
        """
        with self._lock:
            cached = self._cached(key)
            if key not in cached:
                cached[key] = make()
            return cached[key]

    def made(self, key: Hashable) -> bool:
        """Return whether `derived` has cached an object under `key`."""
        return key in self._cached(key)

    def holds(self, name: str) -> bool:
        """Return whether the values of a column are already in memory in the order of this adjacency."""
        return name in self._stored


def frozen(values: Array) -> Array:
    """A read-only view of the array."""
    view = values.view()
    view.flags.writeable = False
    return view
