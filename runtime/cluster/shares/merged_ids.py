"""Merges the ids that the ranks have found."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cluster.transports.transport import Transport, gathered, summed, texts
from vlang.runtime.graph.edges.building.numbering import check_count
from vlang.runtime.graph.edges.edge_list import VertexIds

__all__ = ["merged_ids"]


def merged_ids(transport: Transport, mine: VertexIds) -> tuple[VertexIds, NDArray[np.uint32] | None] | None:
    """Return the ids of all ranks in increasing order, and the new number of each vertex of this rank.

    All ranks call this function together, with ids that are all integers or all texts. The numbers, uint32[n], are None
    if they are unchanged. Returns None instead of ids and numbers if there are negative ids and ids above 2^63 - 1.

    Raises GraphError beyond 2^32 - 2 vertices.
    """
    range_ = f"{mine.base} {mine.count}" if mine.consecutive else ""
    ranges = texts(transport, range_, "the ranges of ids")
    if range_ and all(one == range_ for one in ranges):
        return mine, None
    if mine.text:
        return _merged_texts(transport, mine)
    values = mine.values
    wide = values.dtype == np.uint64
    negative = not wide and len(values) > 0 and int(values[0]) < 0
    big, below = summed(transport, [int(wide), int(negative)], "the signs of ids")
    if big and below:
        return None
    dtype: Any = np.uint64 if big else np.int64
    own = values.astype(dtype)
    every: NDArray[Any] = np.unique(np.concatenate(gathered(transport, own, "the ids of all shares")))
    check_count(len(every))
    places = np.searchsorted(every, own).astype(np.uint32)
    if not big and len(every) and int(every[-1]) - int(every[0]) + 1 == len(every):
        return VertexIds(base=int(every[0]), count=len(every)), places
    return VertexIds(every), places


def _merged_texts(transport: Transport, mine: VertexIds) -> tuple[VertexIds, NDArray[np.uint32]]:
    """Does the same as `merged_ids` for ids that are texts."""
    coded = [text.encode("utf-8") for text in mine.values.tolist()]
    data = gathered(transport, np.frombuffer(b"".join(coded), np.uint8), "the texts of ids")
    sizes = gathered(transport, np.fromiter(map(len, coded), np.int64, len(coded)), "the lengths of ids")
    found: set[str] = set()
    for raw, lengths in zip(data, sizes):
        whole, ends = raw.tobytes(), np.cumsum(lengths).tolist()
        found.update(whole[a:b].decode("utf-8") for a, b in zip([0, *ends], ends))
    every = sorted(found)
    check_count(len(every))
    number = {text: place for place, text in enumerate(every)}
    values = np.empty(len(every), dtype=object)
    values[:] = every
    return VertexIds(values), np.array([number[text] for text in mine.values.tolist()], np.uint32)
