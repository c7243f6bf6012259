"""Checks of arguments that callers pass. A wrong type raises GraphError, which is also a ValueError."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from vlang.errors import DiskError, GraphError
from vlang.times import UNITS
from vlang.types import CONVERSIONS

__all__ = ["given_array", "given_flag", "given_name", "given_path", "given_whole", "named_types", "refuse_masked"]

_NUMBERS = frozenset({"number", "f16", *CONVERSIONS})


def given_whole(name: str, value: object, least: int | None = None) -> int:
    """Check that the argument `name` is an integer, and at least `least`; return it as int. Raises GraphError."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool) and (least is None or value >= least):
        return int(value)
    bound = "" if least is None else f" from {least} on"
    raise GraphError(f"{name}={_shown(value)}: write a whole number{bound}")


def given_flag(name: str, value: object) -> bool:
    """Check that the argument `name` is True or False; return it as bool. Raises GraphError."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise GraphError(f"{name}={_shown(value)}: write True or False")


def given_name(name: str, value: object) -> str:
    """Check that the argument `name` is a str; return it. Raises GraphError."""
    if isinstance(value, str):
        return value
    raise GraphError(f"{name}={_shown(value)}: write a text")


def given_path(value: object) -> str | Path:
    """Check that a value is a path; return it as str or Path.

    Raises GraphError, or DiskError for an impossible name.
    """
    if not isinstance(value, (str, os.PathLike)) or not isinstance(os.fspath(value), str):
        raise GraphError(f"{_shown(value)} is not a path: write a text or a pathlib.Path")
    text = os.fspath(value)
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        raise DiskError(f"{text!a}: no file can have this name, which is not Unicode text") from None
    if "\0" in text or not text:
        raise DiskError(f"{text!a}: no file can have this name")
    return value if isinstance(value, (str, Path)) else text


def given_array(name: str, value: Any) -> np.ndarray[Any, Any]:
    """A value as an array. Times with a time zone become times in UTC. Raises GraphError for lists of different
    lengths, for a set or an iterator, and for an array with masked or missing values.
    """
    refuse_masked(name, value)
    refuse_unordered(name, value)
    dtype: Any = getattr(value, "dtype", None)
    zoned = hasattr(dtype, "tz") and hasattr(dtype, "unit")  # of pandas, which would give objects
    try:
        return np.asarray(value, f"M8[{dtype.unit}]") if zoned else np.asarray(value)
    except (ValueError, TypeError, OverflowError) as error:
        raise GraphError(f"{name} is no array: {str(error).partition('.')[0]}") from None


def refuse_unordered(name: str, value: object) -> None:
    """Raise GraphError for a set, and for an iterator, which NumPy would take as a single object."""
    if isinstance(value, (set, frozenset, Iterator)):
        what = "an iterator: write list(...)" if isinstance(value, Iterator) else \
            "a set, whose values have no order: write sorted(...)"
        raise GraphError(f"{name} is {what}")


def refuse_masked(name: str, value: object) -> None:
    """Raise GraphError for an array with masked values, or a column with missing values. NumPy itself would silently
    use the values under the mask, and NaN for missing values.
    """
    masked = sys.modules.get("numpy.ma")  # loaded if the value is a masked array; it takes 10 ms to load
    if masked is not None and isinstance(value, masked.MaskedArray) and masked.is_masked(value):
        count = int(masked.getmaskarray(value).sum())
        raise GraphError(f"{name} has masked values ({count:,}): leave these out, or fill them with .filled(...)")
    if lacking := _nulls(value):
        raise GraphError(f"{name} has missing values ({lacking:,}): leave these out, or fill them with numbers")


def _nulls(value: Any) -> int:
    """The missing values of a column of pyarrow, polars, or a type of pandas that is not one of NumPy."""
    if hasattr(value, "null_count"):
        return int(value.null_count() if callable(value.null_count) else value.null_count)
    own = hasattr(value, "isna") and not isinstance(getattr(value, "dtype", None), np.dtype)
    return int(np.count_nonzero(value.isna())) if own else 0


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def named_types(columns: Iterable[str] | None) -> dict[str, str]:
    """The types of the columns of names, times and bools, by name, if `columns` is a mapping from names to
    types. Raises GraphError for an unknown type.
    """
    if not isinstance(columns, Mapping):
        return {}
    found: dict[str, str] = {}
    for name, type_ in columns.items():
        if type_ in ("category", "bool", *UNITS):
            found[name] = type_
        elif type_ not in _NUMBERS:
            raise GraphError(f"columns={{{name!r}: {type_!r}}}: the type of a column is one of number, bool, category, "
                             f"{', '.join(UNITS)}")
    return found
