"""Converts whole arrays between dense vertex numbers and the user's ids."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.edges.edge_list import VertexIds

__all__ = ["NONE", "dense_vertices", "located", "none_of", "user_ids"]

# The dense number that means `none` in a field of type `vertex`.
NONE = 0xFFFFFFFF

_INT64_MIN = -(2**63)


def none_of(ids: VertexIds) -> int | None:
    """The value that means "no vertex" among these ids.

    The value is -1, or the least int64 if negative ids occur. The result is None if ids are strings or exceed int64;
    arrays of ids then have dtype object.
    """
    if ids.text or (len(ids) and int(ids.label(len(ids) - 1)) >= 2**63):
        return None
    first = int(ids.label(0)) if len(ids) else 0
    return None if first == _INT64_MIN else -1 if first >= 0 else _INT64_MIN


def user_ids(ids: VertexIds, dense: NDArray[Any]) -> NDArray[Any]:
    """The user's ids of dense vertex numbers (any shape), with `none_of(ids)` where the number is NONE.

    The dtype is int64, or object if `none_of` is None.
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
    """Dense numbers of the user's ids (integers or strings, any shape); NONE for `none_of(ids)` and for None.

    This function is the inverse of `user_ids`. Raises GraphError for the first id that is not in the graph.
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
        ranks, wrong = _ranks(ids, wanted)
        if wrong.any():
            bad = wanted[wrong][0]
            ids.find(bad)
            raise GraphError(f"vertex {bad!r} is not in the graph")
        dense[~absent] = ranks
    return dense


def located(ids: VertexIds, given: NDArray[Any]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The dense number of each given id, int64[k] (0 if absent), and whether it is present, bool[k].

    `given` has shape [k]: integers of any dtype, or objects that `VertexIds.find` accepts.
    """
    if given.dtype.kind in "iu" and not ids.text and len(ids):
        ranks, wrong = _ranks(ids, given)
        return np.where(wrong, 0, ranks).astype(np.int64), ~wrong
    if ids.text:
        known = dict(zip(ids.values.tolist(), range(len(ids))))
        found = [known.get(ids.key(one)) for one in given.tolist()]
    else:
        found = [ids.lookup(one) for one in given.tolist()]
    there = np.array([rank is not None for rank in found], dtype=np.bool_)
    return np.array([rank or 0 for rank in found], dtype=np.int64), there


def _ranks(ids: VertexIds, wanted: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """The position of each wanted id in `ids`, int64[k], and whether it is absent, bool[k].

    `wanted` has integers of any type, or str objects if the ids are strings.
    """
    if ids.consecutive:
        wrong = (wanted < ids.base) | (wanted >= ids.base + len(ids))
        wide = np.uint64 if ids.base >= 0 else np.int64
        return wanted.astype(wide) - wide(ids.base), wrong
    values = ids.values
    alike = wanted.astype(values.dtype)
    ranks = np.minimum(np.searchsorted(values, alike), len(values) - 1)
    wrong = values[ranks] != alike
    if not ids.text:  # NumPy promotes int64 with uint64 to float64
        wrong |= (alike < 0) != (wanted < 0)
    return ranks, wrong
