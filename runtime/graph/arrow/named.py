"""Columns of an Arrow table that hold names of categories or points in time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.runtime.graph.arrow.cells import kind_of, value_type
from vlang.runtime.graph.arrow.library import pyarrow
from vlang.runtime.graph.edges.kinds import Kind, Names, Times, counted
from vlang.times import UNITS

__all__ = ["NamedColumn", "named_type"]

Array = NDArray[Any]


def named_type(type_: Any, wanted: bool, asked: str) -> str:
    """The type in which programs read a column: "category", a type of times, or "" for a column of any other type.

    Args:
        type_: the Arrow type.
        wanted: whether the caller named the column; False skips a column of plain texts.
        asked: the type that the caller requested for the column, or "".
    """
    types, kind = pyarrow("a table").types, kind_of(type_)
    if kind == "text" and asked in ("", "category") and (wanted or types.is_dictionary(type_)):
        return "category"
    plain = value_type(type_)
    if kind == "time" and (types.is_timestamp(plain) or types.is_date(plain)):
        return str(Times(_unit(plain)))
    return ""


def _unit(type_: Any) -> str:
    return "D" if pyarrow("a table").types.is_date(type_) else str(type_.unit)


class NamedColumn:
    """Reads the batches of one column as numbers; `finish` returns the meaning of the numbers."""

    def __init__(self, type_: str, what: str) -> None:
        """Begin before the first batch. `type_` is the result of `named_type`; `what` is the column, for messages."""
        self._type, self._what = type_, what
        self._codes: dict[str, int] = {}
        self.dtype = np.dtype(np.uint32 if type_ == "category" else np.int64)

    def numbers(self, array: Any) -> tuple[Array, NDArray[np.bool_] | None]:
        """The values of a batch, and a mask of the missing values; the mask is None if no value is missing. Raises
        GraphError.
        """
        pa = pyarrow("a table")
        missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
        if self._type != "category":
            plain = array.dictionary_decode() if pa.types.is_dictionary(array.type) else array
            unit = "D" if self._type == "date" else UNITS[self._type]
            filled = plain.cast(pa.date32()) if pa.types.is_date(plain.type) else plain
            stored = filled.cast(pa.int32() if unit == "D" else pa.int64())
            values = stored.fill_null(0).to_numpy(zero_copy_only=False).view(f"i{4 if unit == 'D' else 8}")
            return counted(self._what, values.astype(np.int64).view(f"M8[{unit}]"))[0], missing
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        names = coded.dictionary.to_pylist()
        ranks = np.array([self._code(name) for name in names], np.int64)
        indices = coded.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        values = ranks[indices] if len(ranks) else np.zeros(len(array), np.int64)
        if (values < 0).any():
            missing = values < 0 if missing is None else missing | (values < 0)
        return np.maximum(values, 0).astype(np.uint32), missing

    def _code(self, name: str | None) -> int:
        """The number of a name, in the order of first occurrence; -1 for a missing or empty name."""
        return self._codes.setdefault(str(name), len(self._codes)) if name else -1

    def finish(self, values: Array) -> Kind:
        """The kind of the column (names or times).

        `values` are the numbers of all batches. The numbers of names are replaced by the final numbers, in place.
        Raises GraphError.
        """
        if self._type != "category":
            return Times(UNITS[self._type])
        names = sorted(self._codes)
        if any("\ud800" <= letter <= "\udfff" for name in names for letter in name):
            raise GraphError(f"{self._what} holds a name that is no Unicode text")
        ranks = np.zeros(max(1, len(names)), np.uint32)
        ranks[[self._codes[name] for name in names]] = np.arange(len(names), dtype=np.uint32)
        np.take(ranks, values, out=values)
        return Names(tuple(names))
