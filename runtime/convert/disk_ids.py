"""Numbers vertices whose ids do not all fit in memory, by sorted runs that are merged in the order of the ids.

Ids get provisional numbers from a hash table, as in runtime/graph/edges/building/numbering.py. When the table is full,
its ids are sorted and written to disk as a *run*, and a new table begins. A provisional number is therefore valid only
for the edges of its run. At the end all runs are merged, part by part, and the numbers in every edge are replaced by
final numbers. If all ids fit into a single sorted run, the cost is the same as in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.graph.edges.building.numbering import BadText, IntegerIds, RawEnds, check_count, rank_by_bitmap
from vlang.runtime.graph.edges.building.store import Store
from vlang.runtime.graph.edges.building.tables import KeyTable, TokenTable
from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.pool import Workers
from vlang.runtime.graph.edges.texts import Texts, TextsBuilder, TextVertexIds
from vlang.runtime.storage.disk_arrays import DiskArrays

__all__ = ["DiskIntegerIds", "DiskTextIds"]

SAMPLE = 256  # every SAMPLE-th id of a run is a candidate for the first id of a part of the merge
LEAST_RUN = 1 << 10  # minimum number of ids in a run
STEP = 1 << 12  # edges whose ids are inserted before the next check whether the table is full
_BLOCK = 1 << 16
_KEY_BYTES = 80  # bytes of memory per key, for the table, the sort and the merge
_TEXT_BYTES = 200  # bytes of memory per text, in addition to the bytes of the text

Array = NDArray[Any]


@dataclass
class _Run:
    """The distinct ids of consecutive edges first..last-1.

    Attributes:
        ids: the sorted ids, as `Texts` or an array of integers.
        ranks: uint32, the index in `ids` of each provisional number.
        final: uint32 on disk, the final number of each element of `ids`.
    """

    first: int
    last: int
    ids: Any
    ranks: Array
    final: Array = field(default_factory=lambda: np.empty(0, np.uint32))


class _Table(Protocol):
    """The hash table of the current run, for one kind of ids."""

    def full(self) -> bool:
        """Return whether the table has as many ids as the memory permits."""

    def close(self) -> tuple[Any, Array]:
        """Write the sorted ids to disk and begin a new table.

        Returns the ids, and the rank of each provisional number.
        """


class _Runs:
    """The runs of a file. Replaces the provisional numbers in all runs by final numbers."""

    def __init__(self, table: _Table, room: DiskArrays) -> None:
        self._table, self._room = table, room
        self._edges = 0
        self.runs: list[_Run] = []

    def numbered(self, edges: int) -> None:
        """Record that `edges` more edges were numbered; end the current run if the table is full."""
        self._edges += edges
        if self._table.full():
            self.close()

    def close(self) -> None:
        """End the current run."""
        first = self.runs[-1].last if self.runs else 0
        ids, ranks = self._table.close()
        kept = self._room.empty(len(ranks), np.uint32)
        kept[:] = ranks
        self.runs.append(_Run(first, self._edges, ids, kept))

    def translate(self, store: Store) -> None:
        """Replace provisional numbers by final numbers, once `final` of every run is filled."""
        for run in self.runs:
            final = run.final[run.ranks]
            for end in store.ends:
                for first in range(run.first, run.last, _BLOCK):
                    part = end[first : min(first + _BLOCK, run.last)]
                    part[:] = final[part]


# ------------------------------------------------------------------ integers


class DiskIntegerIds(IntegerIds):
    """Like IntegerIds, but with at most `most` bytes of memory."""

    def __init__(self, room: DiskArrays, most: int) -> None:
        super().__init__()
        self._room, self._most = room, most
        self._keys: _Keys | None = None
        self._runs: _Runs | None = None

    def plain(self, store: Store, chunks: list[RawEnds]) -> bool:
        """See `Ids`."""
        for chunk in chunks:
            self._note(chunk)
        if not self._narrow and self._keys is None:
            self._number_stored(store)
        return self._keys is None

    def _number_stored(self, store: Store) -> None:
        """Replace the ids that have been stored until now by provisional numbers."""
        self._keys = _Keys(self._room, max(LEAST_RUN, self._most // _KEY_BYTES), lambda: self._negative)
        self._runs = _Runs(self._keys, self._room)
        source, target = store.ends
        for first in range(0, store.count, STEP):
            part = slice(first, first + STEP)
            for end in (source, target):
                self._keys.table.insert(end[part].astype(np.int64), end[part])
            self._runs.numbered(len(source[part]))

    def number(self, chunk: RawEnds, source: Array, target: Array) -> None:
        """See `Ids`."""
        assert self._keys is not None
        assert self._runs is not None
        for first in range(0, len(source), STEP):
            part = slice(first, first + STEP)
            self._keys.table.insert(chunk.source[part], source[part])
            self._keys.table.insert(chunk.target[part], target[part])
            self._runs.numbered(len(source[part]))

    def finish(self, store: Store, workers: Workers) -> VertexIds:
        """See `Ids`."""
        span = self._largest - self._smallest + 1
        dense = span <= 8 * store.count + (1 << 20) and 3 * span <= 16 * self._most
        if store.count == 0:
            return VertexIds(base=0, count=0)
        if self._keys is None and dense:
            several = (2 * workers.threads + 1) * span <= 16 * self._most
            return rank_by_bitmap(store, self._smallest, span, workers if several else Workers(1), self._room.empty)
        if self._keys is None:
            self._number_stored(store)
        assert self._keys is not None
        assert self._runs is not None
        self._runs.close()
        ids = self._merged(self._runs.runs, np.dtype(np.uint64 if self._big else np.int64))
        self._runs.translate(store)
        if not self._big and int(ids[-1]) - int(ids[0]) + 1 == len(ids):
            return VertexIds(base=int(ids[0]), count=len(ids))
        return VertexIds(ids)

    def _merged(self, runs: list[_Run], dtype: np.dtype[Any]) -> Array:
        """Merge the ids of all runs in increasing order, and set `final` of each run."""
        lists = [run.ids.view(dtype) for run in runs]
        most = max(LEAST_RUN, self._most // _KEY_BYTES)
        out = self._room.empty(sum(map(len, lists)), dtype)
        count = 0
        for run in runs:
            run.final = self._room.empty(len(run.ids), np.uint32)
        for places in _merge_parts(lists, [ids[::SAMPLE] for ids in lists], most):
            parts = [ids[a:b] for ids, (a, b) in zip(lists, places)]
            here = np.unique(np.concatenate(parts))
            for run, part, (a, b) in zip(runs, parts, places):
                run.final[a:b] = np.searchsorted(here, part) + count
            out[count : count + len(here)] = here
            count += len(here)
            check_count(count)
        return out[:count]


class _Keys:
    """The table of integer ids of the current run."""

    def __init__(self, room: DiskArrays, most: int, signed: Callable[[], bool]) -> None:
        """Create an empty table.

        Args:
            signed: a function that returns whether negative ids occur. If no id is negative, ids are compared as
                unsigned integers.
        """
        self.table = KeyTable()
        self._room, self._most, self._signed = room, most, signed

    def full(self) -> bool:
        """See `_Table`."""
        return len(self.table.keys) >= self._most

    def close(self) -> tuple[Array, Array]:
        """See `_Table`."""
        keys: Array = self.table.keys
        order = np.argsort(keys if self._signed() else keys.view(np.uint64))
        ranks = np.empty(len(order), dtype=np.uint32)
        ranks[order] = np.arange(len(order), dtype=np.uint32)
        kept = self._room.empty(len(keys), np.int64)
        kept[:] = keys[order]
        self.table = KeyTable()
        return kept, ranks


def _merge_parts(lists: list[Any], samples: list[Any], most: int) -> Iterator[list[tuple[int, int]]]:
    """Cut sorted lists of ids into parts of about `most` ids, in increasing order; yields (first, end) in each list for
    each part.
    """
    begins = [0] * len(lists)
    ends = [len(ids) for ids in lists]
    step = max(1, most // (SAMPLE * 2))
    chosen = sorted(value for sample in samples for value in sample)[step::step]
    for limit in chosen:
        places = [_first_from(ids, limit, begin) for ids, begin in zip(lists, begins)]
        if places != begins:
            yield list(zip(begins, places))
        begins = places
    yield list(zip(begins, ends))


def _first_from(ids: Any, limit: Any, low: int) -> int:
    """The index of the first id, from `low` on, that is not below `limit`."""
    if isinstance(ids, np.ndarray):
        return max(low, int(np.searchsorted(ids, limit)))
    high = len(ids)
    while low < high:
        middle = (low + high) // 2
        if ids[middle] < limit:
            low = middle + 1
        else:
            high = middle
    return low


# ------------------------------------------------------------------ texts


class DiskTextIds:
    """Like TextIds, but with at most `most` bytes of memory."""

    def __init__(self, room: DiskArrays, most: int) -> None:
        self._room, self._most = room, most
        self._names = _Names(room, most)
        self._runs = _Runs(self._names, room)

    def plain(self, store: Store, chunks: list[RawEnds]) -> bool:
        """See `Ids`."""
        return False

    def number(self, chunk: RawEnds, source: Array, target: Array) -> None:
        """See `Ids`."""
        for first in range(0, len(source), STEP):
            part = slice(first, first + STEP)
            self._names.table.insert(chunk.text, chunk.source[part], source[part])
            self._names.table.insert(chunk.text, chunk.target[part], target[part])
            self._runs.numbered(len(source[part]))

    def finish(self, store: Store, workers: Workers) -> VertexIds:
        """See `Ids`."""
        self._runs.close()
        if self._names.bad is not None:
            raise BadText(self._names.bad)
        runs = self._runs.runs
        lists: list[Texts] = [run.ids for run in runs]
        size = max(1, sum(len(texts.data) for texts in lists) // max(1, sum(map(len, lists))))
        most = max(LEAST_RUN, self._most // (_TEXT_BYTES + 2 * size))
        out = TextsBuilder(self._room)
        for run in runs:
            run.final = self._room.empty(len(run.ids), np.uint32)
        samples = [[texts[i] for i in range(0, len(texts), SAMPLE)] for texts in lists]
        for places in _merge_parts(lists, samples, most):
            parts = [texts.part(a, b) for texts, (a, b) in zip(lists, places)]
            here = sorted(set().union(*parts))
            numbers = dict(zip(here, range(len(out), len(out) + len(here))))
            for run, part, (a, b) in zip(runs, parts, places):
                run.final[a:b] = np.fromiter(map(numbers.__getitem__, part), np.uint32, b - a)
            out.extend(here)
            check_count(len(out))
        self._runs.translate(store)
        return TextVertexIds(out.finish())


class _Names:
    """The table of text ids of the current run.

    Attributes:
        bad: the first text that is not UTF-8; None if there is none.
    """

    def __init__(self, room: DiskArrays, most: int) -> None:
        self.table = TokenTable()
        self.bad: bytes | None = None
        self._room, self._most = room, most

    def full(self) -> bool:
        """See `_Table`."""
        return self.table.count * _TEXT_BYTES + 3 * self.table.nbytes >= self._most

    def close(self) -> tuple[Texts, Array]:
        """See `_Table`."""
        whole = self.table.encoded()
        try:
            whole.decode("utf-8")
        except UnicodeDecodeError as error:
            self.bad = self.bad or self.table.text_at(error.start)
        texts = whole.split(b"\n")[:-1]
        order = sorted(range(len(texts)), key=texts.__getitem__)  # UTF-8 bytes have the same order as code points
        ranks = np.empty(len(order), dtype=np.uint32)
        ranks[np.array(order, dtype=np.int64)] = np.arange(len(order), dtype=np.uint32)
        kept = TextsBuilder(self._room)
        kept.extend([texts[i] for i in order])
        self.table = TokenTable()
        return kept.finish(), ranks

