"""Functions on the values of one output: missing values, best rows, Python objects, and a one-line description."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.graph.edges.edge_list import VertexIds
from vlang.runtime.graph.edges.kinds import Names, Times, named_values
from vlang.runtime.graph.edges.naming import NONE, none_of, user_ids
from vlang.runtime.storage.output import json_value
from vlang.times import UNITS

__all__ = ["as_bool", "best_rows", "described", "global_text", "missing_values", "plain_values", "proper_rows",
           "shown_global", "shown_values"]

_PART = 1 << 16  # rows that are processed at a time, since a result may be nearly as large as memory


def as_bool(array: Any) -> Any:
    """An array of bools from an array of bytes or wider integers, on the host or on a device."""
    return array if array.dtype == np.bool_ else array.view(np.bool_) if array.itemsize == 1 else array.astype(np.bool_)


def missing_values(raw: NDArray[Any], type_: str) -> NDArray[np.bool_] | None:
    """A mask of the values `inf`, `-inf` and `none`, with the shape of `raw`; None if the type has no such values.

    Args:
        type_: the type of the values in the program.
    """
    missing: NDArray[np.bool_]
    if type_ == "vertex":
        missing = raw == NONE
    elif raw.dtype.kind == "f":
        missing = np.isinf(raw)
    elif raw.dtype.kind == "i":
        limits = np.iinfo(raw.dtype)
        missing = (raw == limits.max) | (raw == limits.min)
    else:
        return None
    return missing


def shown_values(ids: VertexIds, names: Sequence[str], raw: NDArray[Any], type_: str) -> NDArray[Any]:
    """Values as users see them: vertices as ids, categories as names, times as datetime64 (NaT if infinite).

    Args:
        ids: the ids of the vertices.
        names: the names of categories.
        raw: the values in the format of the engine.
        type_: the type in the program.
    """
    if type_ == "vertex":
        return user_ids(ids, raw)
    if type_ == "category":
        return named_values(raw, Names(tuple(names)))
    return named_values(raw, Times(UNITS[type_])) if type_ in UNITS else raw


def shown_global(ids: VertexIds, names: Sequence[str], value: Any, type_: str) -> Any:
    """A global as users see it: `none_of(ids)` for `none`, NaT for an infinite time.

    Args:
        ids, names, type_: see `shown_values`.
        value: the value in the format of the engine.
    """
    if type_ == "vertex":
        return none_of(ids) if value is None or int(value) == NONE else ids.label(int(value))
    named = type_ == "category" or type_ in UNITS
    shown: Any = shown_values(ids, names, np.array([value]), type_)[0] if named else value
    return shown


def global_text(value: Any, shown: Any, type_: str) -> str:
    """The text of a global as programs write it.

    Args:
        value: the value in the format of the engine.
        shown: the value as users see it.
        type_: the type in the program.
    """
    if type_ == "vertex":
        return "none" if value is None or int(value) == NONE else str(shown)
    if type_ == "bool":
        return "true" if value else "false"
    kind = "i64" if type_ in UNITS else type_
    if kind.startswith("i") and json_value(value, kind) is None:
        return "inf" if value > 0 else "-inf"
    return str(shown)


def plain_values(ids: VertexIds, names: Sequence[str], raw: NDArray[Any], type_: str) -> list[Any]:
    """Convert values to Python objects: infinities to floats, `none` to None, times to texts.

    Args:
        ids, names, raw, type_: see `shown_values`.
    """
    values = shown_values(ids, names, raw, type_)
    if values.dtype.kind == "M":
        values = np.datetime_as_string(values).astype(object)
    missing = missing_values(raw, type_)
    if missing is not None and raw.dtype.kind != "f":
        values = values.astype(object)
        if type_ in ("vertex", "category"):
            values[missing] = None
        else:
            values[missing & (raw > 0)], values[missing & (raw < 0)] = math.inf, -math.inf
    plain: list[Any] = values.tolist()
    return plain


def best_rows(raw: NDArray[Any], largest: bool, k: int) -> NDArray[Any]:
    """The indices of the k best values of shape [n], best first. Ties are in the order of rows, NaN comes last."""
    if raw.dtype == np.bool_:
        raw = raw.view(np.uint8)
    size = max(_PART, 2 * k)
    if len(raw) <= size:
        return _best(raw, largest, k)
    kept: NDArray[Any] = np.zeros(0, np.int64)
    for first in range(0, len(raw), size):  # `kept` has earlier rows, which precede new rows among ties
        kept = np.concatenate([kept, first + _best(raw[first : first + size], largest, k)])
        kept = kept[_best(raw[kept], largest, k)]
    return kept


def _best(raw: NDArray[Any], largest: bool, k: int) -> NDArray[Any]:
    """Like `best_rows`, but processes all rows at once."""
    if raw.dtype.kind == "f":
        key = -raw if largest else raw  # NaN sorts last in both cases
    else:
        key = ~raw if largest else raw  # the complement reverses the order without overflow
    kept: NDArray[Any] = np.arange(len(key))
    if k < len(key):
        bound = np.partition(key, k - 1)[k - 1]
        if bound == bound:  # no NaN among the first k
            better, ties = np.flatnonzero(key < bound), np.flatnonzero(key == bound)
            kept = np.concatenate([better, ties[: k - len(better)]])
    return kept[np.argsort(key[kept], kind="stable")][:k]


def proper_rows(raw: NDArray[Any], type_: str) -> NDArray[np.bool_]:
    """bool[n], whether all components of a row are neither `inf` nor `-inf` nor `none`.

    Args:
        type_: the type in the program.
    """
    missing = missing_values(raw, type_)
    if missing is None:
        return np.ones(len(raw), np.bool_)
    return np.logical_not(missing if missing.ndim == 1 else np.any(missing, axis=1))


def described(raw: NDArray[Any], type_: str, names: Sequence[str] = ()) -> str:
    """Describe values in one line.

    Args:
        type_: the type in the program.
        names: the names of categories.
    """
    count = len(raw)
    if type_ == "category":
        known, counts = np.unique(raw[(raw >= 0) & (raw < len(names))], return_counts=True)
        most = ", ".join(f"{names[code]} ({counts[at]:,})" for at in np.argsort(-counts, kind="stable")[:3]
                         for code in (int(known[at]),))
        return f"{len(known):,} different names{': ' * (len(known) > 0)}{most}{', ...' * (len(known) > 3)}"
    if raw.dtype == np.bool_:
        what = "vertices" if raw.ndim == 1 else "components"
        return f"true for {int(np.count_nonzero(raw)):,} of {raw.size:,} {what}"
    missing, ends = 0, []
    for first in range(0, count, _PART):
        part = raw[first : first + _PART]
        proper = part[proper_rows(part, type_)]
        missing += len(part) - len(proper)
        if type_ == "vertex":
            ends.append(np.unique(proper))
            continue
        if raw.dtype.kind == "f":
            unknown = np.isnan(proper)
            proper = proper[~(unknown.any(axis=1) if raw.ndim > 1 else unknown)]
        if len(proper):
            ends.append(np.array([proper.min(), proper.max()]))
    known = np.concatenate(ends) if ends else raw[:0]
    if not len(known):
        return f"no value for any of {count:,} vertices"
    text = f"{len(np.unique(known)):,} different vertices" if type_ == "vertex" else \
        " to ".join(map(str, shown_values(VertexIds(), (), np.array([known.min(), known.max()]), type_)))
    what = "none" if type_ == "vertex" else "not finite"
    return text if not missing else f"{text}; {what} for {missing:,} of {count:,} vertices"
