"""Converts Arrow columns to NumPy arrays, decides which types are ids or numbers, and gives advice for other types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.arrow.library import pyarrow

__all__ = ["NUMBERS", "Tokens", "advice", "id_advice", "kind_of", "numbers_of", "stored_dtype", "tokens_of",
           "value_type"]

NUMBERS = ("integer", "float", "bool")
"""The kinds of types that count as numbers."""

_PAD = 8  # padding after the text, as kernels may read beyond its end
_MOST = 1 << 31
_NEWLINE = 10

Array = NDArray[Any]


@dataclass(frozen=True)
class Tokens:
    """Texts in the format of the kernels: one array of all bytes, and for each row the word `length << 32 |
    position`.
    """

    text: NDArray[np.uint8]
    places: NDArray[np.int64]


def value_type(type_: Any) -> Any:
    """The type of the values of a dictionary-encoded or run-end-encoded column; other types are returned unchanged."""
    types = pyarrow("a table").types
    if types.is_dictionary(type_) or (hasattr(types, "is_run_end_encoded") and types.is_run_end_encoded(type_)):
        return value_type(type_.value_type)
    return type_


def kind_of(type_: Any) -> str:
    """The kind of a type's values: integer, float, bool, text, time, decimal, null, extension or other."""
    types, type_ = pyarrow("a table").types, value_type(type_)
    if types.is_integer(type_):
        return "integer"
    if types.is_floating(type_):
        return "float"
    if types.is_boolean(type_):
        return "bool"
    view = getattr(types, "is_string_view", lambda _: False)
    if types.is_string(type_) or types.is_large_string(type_) or view(type_):
        return "text"
    if types.is_temporal(type_):
        return "time"
    if types.is_decimal(type_):
        return "decimal"
    if types.is_null(type_):
        return "null"
    return "extension" if hasattr(type_, "extension_name") else "other"


def advice(type_: Any) -> str:
    """Advice on what to use instead of a column of this type, for a type that does not hold numbers."""
    return {
        "text": "a column of numbers; columns=[...] with its name reads it as names of a category",
        "time": "a column of dates, timestamps or numbers; cast it, a duration to int64",
        "decimal": "a column of float64 or int64; cast it",
        "null": "a column of numbers; this one holds nothing",
        "extension": "a column of its storage type; extension types are not read",
    }.get(kind_of(type_), "a column of integers, floats or bools")


def id_advice(type_: Any) -> str:
    """Advice on what to use instead of a column of this type, for a type that does not hold ids."""
    return {
        "float": "a column of integers or text; cast it to int64 (in pandas .astype(\"Int64\") keeps missing ones)",
        "time": "a column of integers or text; cast it to int64, or to text",
        "decimal": "a column of integers or text; cast it to int64",
        "extension": "a column of its storage type; extension types are not read",
    }.get(kind_of(type_), "a column of integers or text")


def stored_dtype(type_: Any) -> np.dtype[Any]:
    """The dtype in which a column is read: float32 for 16-bit floats, uint8 for bools, uint32 codes for texts."""
    kind = kind_of(type_)
    if kind == "bool":
        return np.dtype(np.uint8)
    if kind in ("text", "time"):
        return np.dtype(np.uint32 if kind == "text" else np.int64)
    dtype = np.dtype(value_type(type_).to_pandas_dtype())
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _plain(array: Any) -> Any:
    """Decode a column that is dictionary-encoded or run-end-encoded; other columns are returned unchanged."""
    types = pyarrow("a table").types
    if types.is_dictionary(array.type):
        return _plain(array.dictionary_decode())
    if hasattr(types, "is_run_end_encoded") and types.is_run_end_encoded(array.type):
        import pyarrow.compute as compute  # optional

        return _plain(compute.run_end_decode(array))
    return array


def numbers_of(array: Any) -> tuple[Array, NDArray[np.bool_] | None]:
    """The values of a column of numbers, and a mask of the missing values; the mask is None if no value is missing.

    A value is missing if it is null or NaN. A column without nulls shares the memory of Arrow, except that bools are
    copied as 0 and 1. The kind of the column must be in NUMBERS.
    """
    array = _plain(array)
    missing = None
    if array.null_count:
        missing = array.is_null().to_numpy(zero_copy_only=False)
        array = array.fill_null(False if kind_of(array.type) == "bool" else 0)
    values: Array = array.to_numpy(zero_copy_only=False)
    if values.dtype.kind == "b":
        return values.view(np.uint8), missing
    if values.dtype.kind == "f" and len(values) and np.isnan(values.min()):
        lost = np.isnan(values)
        missing = lost if missing is None else missing | lost
    return values, missing


def tokens_of(array: Any, where: str) -> tuple[Tokens, NDArray[np.bool_] | None]:
    """The tokens of a column of texts, and a mask of the missing texts; the mask is None if no text is missing.

    `where` is the name of the column, for messages. Raises GraphError if a text has a line end, or if the texts have 2
    GiB or more.
    """
    pa = pyarrow("a table")
    missing = array.is_null().to_numpy(zero_copy_only=False) if array.null_count else None
    if pa.types.is_dictionary(array.type):  # each text is converted once, and each row gets the position of its text
        known, lost = tokens_of(array.dictionary, where)
        codes = array.indices.fill_null(0).to_numpy(zero_copy_only=False).astype(np.int64, copy=False)
        if lost is not None:
            absent = lost[codes] if len(lost) else np.zeros(len(codes), np.bool_)
            missing = absent if missing is None else missing | absent
        places = known.places[codes] if len(known.places) else np.zeros(len(codes), np.int64)
        return Tokens(known.text, places), missing
    plain = _plain(array)
    if not (pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)):
        plain = plain.cast(pa.large_string())
    plain = plain.fill_null("") if plain.null_count else plain
    return _packed(plain, pa.types.is_large_string(plain.type), where), missing


def _packed(array: Any, large: bool, where: str) -> Tokens:
    """Tokens of an array of strings without nulls."""
    _, ends, data = array.buffers()
    count = len(array)
    if not count or ends is None:
        return Tokens(np.zeros(_PAD, np.uint8), np.zeros(count, np.int64))
    dtype: Any = np.int64 if large else np.int32
    places = np.frombuffer(ends, dtype)[array.offset : array.offset + count + 1].astype(np.int64)
    first, last = int(places[0]), int(places[-1])
    if last - first >= _MOST:
        raise GraphError(f"{where}: {count:,} texts hold {last - first:,} bytes; write the table with smaller batches "
                         "or row groups")
    text = np.zeros(last - first + _PAD, np.uint8)
    if last > first:
        text[: last - first] = np.frombuffer(data, np.uint8)[first:last]
    if bool((text == _NEWLINE).any()):
        at = int(np.searchsorted(places, first + int(np.flatnonzero(text == _NEWLINE)[0]), "right")) - 1
        raise GraphError(f"{where}: the id {array[at].as_py()!r} has a line end inside; ids are texts of one line")
    lengths = np.diff(places)
    if len(lengths) and int(lengths.max()) >= 1 << 30:
        raise GraphError(f"{where}: an id is a text of {int(lengths.max()):,} bytes")
    return Tokens(text, lengths << 32 | places[:-1] - first)
