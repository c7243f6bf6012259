"""Edge columns, stored in the narrowest exact dtype and cast to the type of a program without changing a value."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.edges.kinds import Coding

__all__ = ["Column", "cast", "converts", "describe", "integer_dtype", "narrowed", "narrowed_dtype"]

CHUNK = 1 << 20

Array = NDArray[Any]


@dataclass(frozen=True)
class Column:
    """The range of an edge column.

    Attributes:
        dtype: the stored dtype.
        low, high: the smallest and the largest value; 0, 0 if there are no edges.
        coding: converts the integers of names or times to the integers that the program uses; None if the program reads
            the stored values.
    """

    dtype: np.dtype[Any]
    low: int | float
    high: int | float
    coding: Coding | None = None


def narrowed(name: str, values: ArrayLike) -> Array:
    """The values, shape [E], in the narrowest dtype that holds them all exactly.

    Integers are narrowed by their range, and bools become uint8. Floats keep their width, except that extended
    precision becomes float64.

    Raises:
        GraphError: the array is not one-dimensional, or its values are not real numbers.
    """
    array: Array = np.asarray(values)
    if array.ndim == 0:
        raise GraphError(f"edge column {name!r} is {array.item()!r}: give an array with a value for each edge")
    if array.ndim != 1:
        raise GraphError(f"edge column {name!r} must have one dimension, not {array.ndim}")
    if array.dtype.kind == "b":
        return array.astype(np.uint8)
    if array.dtype.kind in "iu":
        low, high = _range(array)
        return array.astype(integer_dtype(int(low), int(high)), copy=False)
    if array.dtype.kind == "f":
        return array if array.dtype.itemsize <= 8 else array.astype(np.float64)
    raise GraphError(f"edge column {name!r} must hold numbers, not {_kind(array)}; convert it, say with "
                     ".astype(float)")


def narrowed_dtype(name: str, dtype: np.dtype[Any], blocks: Iterable[Array]) -> np.dtype[Any]:
    """The dtype that `narrowed` would choose for a column that is given in blocks. Raises GraphError."""
    if dtype.kind not in "iu":
        return narrowed(name, np.empty(0, dtype)).dtype
    ends = [_range(block) for block in blocks]
    low, high = (min(end[0] for end in ends), max(end[1] for end in ends)) if ends else (0, 0)
    return integer_dtype(int(low), int(high))


def describe(values: Array) -> Column:
    """The dtype and range of a column; both bounds are NaN if any value is NaN."""
    return Column(values.dtype, *_range(values))


def cast(name: str, values: Array, column: Column, dtype: DTypeLike) -> Array:
    """Convert `values` to `dtype`; only fractions may change, by rounding to a narrower float type.

    Args:
        name: name of the column, for messages.
        values: shape [E].
        column: dtype and range of `values`, as `describe` returns them.
        dtype: a bool, integer or float type.

    Raises:
        GraphError: a value is out of range, a fraction does not fit an integer type, or the float type cannot hold an
            integer exactly.
    """
    wanted = np.dtype(dtype)
    if column.coding is not None:
        return column.coding.read(name, values, wanted)
    if wanted == values.dtype:
        return values
    if wanted.kind == "b" and len(values):
        _check_integer(name, values, column, wanted)
    if not converts(values.dtype, wanted):
        return values.view(wanted)
    if wanted.kind == "f":
        _check_float(name, values, column, wanted)
    elif len(values):
        _check_integer(name, values, column, wanted)
    return values.astype(wanted)


def converts(stored: np.dtype[Any], wanted: np.dtype[Any]) -> bool:
    """Return whether a stored column has to be converted to the dtype `wanted`; False for bools, which are stored as
    uint8.
    """
    return stored != wanted and not (wanted.kind == "b" and stored == np.uint8)


def integer_dtype(low: int, high: int) -> np.dtype[Any]:
    """The narrowest integer dtype for low..high, unsigned if possible. Raises GraphError beyond 64 bits."""
    for name in ("uint8", "uint16", "uint32", "uint64") if low >= 0 else ("int8", "int16", "int32", "int64"):
        info = np.iinfo(name)
        if info.min <= low and high <= info.max:
            return np.dtype(name)
    raise GraphError(f"integers from {low} to {high} need more than 64 bits")


def _range(values: Array) -> tuple[int | float, int | float]:
    return (values.min().item(), values.max().item()) if len(values) else (0, 0)


def _kind(values: Array) -> str:
    if values.dtype.kind == "O":
        return ", ".join(sorted({type(value).__name__ for value in values.tolist()}))
    return {"c": "complex numbers", "U": "text", "S": "bytes", "M": "dates", "m": "time spans"}.get(
        values.dtype.kind, f"{values.dtype}"
    )


def _check_float(name: str, values: Array, column: Column, wanted: np.dtype[Any]) -> None:
    info = np.finfo(wanted)
    if values.dtype.kind == "f":
        finite = max(abs(column.low), abs(column.high))
        if not np.isfinite(finite):
            finite = max((_largest_finite(part) for part in _chunks(values)), default=0.0)
        if finite > float(info.max):
            raise _refusal(name, wanted, f"holds {finite:g}", f"{wanted} ends at {float(info.max):g}")
        return
    exact = 2 ** (int(info.nmant) + 1)
    worst = max(int(column.low), int(column.high), key=abs)
    if abs(worst) > exact:
        raise _refusal(name, wanted, f"holds {worst}",
                       f"{wanted} holds integers exactly up to {exact} only{_wider(worst, wanted)}")


def _largest_finite(values: Array) -> float:
    finite = values[np.isfinite(values)]
    return float(np.abs(finite).max()) if len(finite) else 0.0


def _check_integer(name: str, values: Array, column: Column, wanted: np.dtype[Any]) -> None:
    least, most = (0, 1) if wanted.kind == "b" else (int(np.iinfo(wanted).min), int(np.iinfo(wanted).max))
    if values.dtype.kind == "f":
        for part in _chunks(values):
            odd = ~np.isfinite(part) | (part != np.trunc(part))
            if odd.any():
                raise _refusal(name, wanted, f"holds {part[odd][0]}",
                               "that takes 0 and 1 only" if wanted.kind == "b" else
                               "that takes integers only; declare the field as float or f64")
    for value in (column.low, column.high):
        if not least <= int(value) <= most:
            raise _refusal(name, wanted, f"holds {int(value)}",
                           "that takes 0 and 1 only" if wanted.kind == "b" else
                           f"its range is {least} to {most}{_wider(int(value), wanted)}")


def _wider(value: int, wanted: np.dtype[Any]) -> str:
    """Advice on a wider type for an integer that a type does not hold; "" if no type of the same kind holds the
    integer.
    """
    if wanted.kind == "f" and (abs(value) > 2**53 or wanted.itemsize == 8):
        return "; declare the field as i64" if -(2**63) < value < 2**63 else ""
    if wanted.kind == "f":
        return "; --precision 64 (precision=64) or the type f64 holds it"
    if wanted.kind == "u" or wanted.itemsize == 8:
        return "; declare the field as u64" if wanted.itemsize < 8 and 0 <= value < 2**64 else ""
    return "; --precision 64 (precision=64) or the type i64 holds it" if -(2**63) < value < 2**63 else ""


def _chunks(values: Array) -> list[Array]:
    return [values[i : i + CHUNK] for i in range(0, len(values), CHUNK)]


def _refusal(name: str, wanted: np.dtype[Any], what: str, why: str) -> GraphError:
    return GraphError(f"edge column {name!r} {what}, and the program reads it as {wanted}: {why}")
