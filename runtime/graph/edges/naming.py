"""Dense vertex numbers to the user's ids and back, whole arrays at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.edge_list import VertexIds

__all__ = ["NONE", "dense_vertices", "none_of", "user_ids"]

# A field of type `vertex` holds dense vertex numbers; this one says `none`.
NONE = 0xFFFFFFFF

_INT64_MIN = -(2**63)


def none_of(ids: VertexIds) -> int | None:
    """What says "no vertex" beside these ids: -1, the least int64 where negative ids occur, None where ids are
    strings or do not fit int64 (arrays are then of objects)."""
    if ids.text or (len(ids) and int(ids.label(len(ids) - 1)) >= 2**63):
        return None
    first = int(ids.label(0)) if len(ids) else 0
    return None if first == _INT64_MIN else -1 if first >= 0 else _INT64_MIN


def user_ids(ids: VertexIds, dense: NDArray[Any]) -> NDArray[Any]:
    """The user's ids of dense vertex numbers (any shape), `none_of(ids)` where the number is NONE.

    int64, or objects where `none_of` is None.
    """
    absent = dense == NONE
    none: Any = none_of(ids)
    shown: NDArray[Any]
    if ids.consecutive and none is not None:
        shown = dense.astype(np.int64) + ids.base
    else:
        values = ids.values if none is not None else ids.values.astype(object)
        shown = np.full(dense.shape, none, dtype=values.dtype)
        shown[~absent] = values[dense[~absent]]
    shown[absent] = none
    return shown


def dense_vertices(ids: VertexIds, vertices: ArrayLike) -> NDArray[np.uint32]:
    """Dense numbers of the user's ids (integers or strings, any shape), NONE for `none_of(ids)` and for None.

    The inverse of `user_ids`. Raises GraphError for the first id that is not in the graph.
    """
    given: NDArray[Any] = vertices if isinstance(vertices, np.ndarray) else np.array(vertices, dtype=object)
    if ids.text or given.dtype.kind not in "iu":
        given = given.astype(object)
    none = none_of(ids)
    absent = np.zeros(given.shape, np.bool_) if none is None else np.asarray(given == none, np.bool_)
    if given.dtype == object:
        absent |= np.frompyfunc(lambda v: v is None, 1, 1)(given).astype(np.bool_)
    wanted = given[~absent]
    dense = np.full(given.shape, NONE, dtype=np.uint32)
    if not len(wanted):
        return dense
    if not len(ids) or (wanted.dtype == object and not ids.text):
        dense[~absent] = [ids.find(v) for v in wanted.tolist()]
    else:
        dense[~absent] = _ranks(ids, wanted)
    return dense


def _ranks(ids: VertexIds, wanted: NDArray[Any]) -> NDArray[Any]:
    """Where each wanted id stands: integers of any type, or strings as objects if the ids are."""
    if ids.consecutive:
        wrong = (wanted < ids.base) | (wanted >= ids.base + len(ids))
        wide = np.uint64 if ids.base >= 0 else np.int64
        ranks = wanted.astype(wide) - wide(ids.base)
    else:
        values = ids.values
        alike = wanted.astype(values.dtype)
        ranks = np.minimum(np.searchsorted(values, alike), len(values) - 1)
        wrong = values[ranks] != alike
        if not ids.text:  # 64 bits with and without a sign would meet in floats
            wrong |= (alike < 0) != (wanted < 0)
    if wrong.any():
        bad = wanted[wrong][0]
        ids.find(bad)
        raise GraphError(f"vertex {bad!r} is not in the graph")
    return ranks
