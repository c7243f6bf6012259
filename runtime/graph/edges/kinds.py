"""The meaning of the integers of a column: names of categories, or points in time."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.times import PARTS, UNITS

__all__ = [
    "Codes", "Coding", "Kind", "Names", "Scale", "Times", "codes_in", "coding_of", "counted", "encoded", "merged",
    "named_values",
]

Array = NDArray[Any]


@dataclass(frozen=True)
class Names:
    """Categories: a value is the position of its name in `names`, which are sorted by code point."""

    names: tuple[str, ...]

    def __str__(self) -> str:
        return "category"


@dataclass(frozen=True)
class Times:
    """Points in time: a value is the number of units since 1970-01-01. `unit` is "D", "s", "ms", "us" or "ns"."""

    unit: str

    def __str__(self) -> str:
        return next(name for name, unit in UNITS.items() if unit == self.unit)


Kind = Names | Times
"""The meaning of the integers of a column; columns of plain numbers have none."""


def encoded(what: str, values: Array) -> tuple[Array, Kind | None]:
    """Convert the values of a column to numbers and their kind.

    Plain numbers are returned unchanged, with None as the kind.

    Args:
        what: the column, for messages.
        values: shape [rows]: texts are categories, datetime64 are times.

    Raises:
        GraphError: a value is missing, or texts are mixed with other values.
    """
    if values.dtype.kind == "M":
        return counted(what, values)
    if values.dtype.kind not in "UTO" or values.ndim != 1:
        return values, None
    texts = values.astype(object)
    if len(texts) and not any(isinstance(text, str) for text in texts.tolist()) and any(
            text is not None for text in texts.tolist()):
        return values, None
    for at, text in enumerate(texts.tolist()):
        if not isinstance(text, str) or not text:
            shown = "no name" if text in (None, "") or text != text else f"{text!r}, which is no text"
            raise GraphError(f"{what} holds {shown} in row {at + 1:,}: a category has a name in every row")
    names, codes = np.unique(texts, return_inverse=True)
    return codes.astype(np.int32), Names(_checked(what, names.tolist()))


def _checked(what: str, names: list[str]) -> tuple[str, ...]:
    for name in names:
        if any("\ud800" <= letter <= "\udfff" for letter in name):
            raise GraphError(f"{what} holds {name!a}, which is not Unicode text")
    return tuple(names)


def counted(what: str, values: Array) -> tuple[Array, Times]:
    """The values of a column of datetime64 as int64, and their unit. Raises GraphError for NaT and for other units."""
    unit, step = np.datetime_data(values.dtype)
    unit = {"Y": "D", "M": "D", "W": "D", "h": "s", "m": "s"}.get(unit, unit)
    if unit not in UNITS.values():
        raise GraphError(f"{what} holds times in units of {np.datetime_data(values.dtype)[0]}; convert them to one of "
                         f"{', '.join(UNITS.values())}")
    if np.isnat(values).any():
        at = int(np.flatnonzero(np.isnat(values))[0])
        raise GraphError(f"{what} holds no time in row {at + 1:,}: leave such rows out")
    plain = values.astype(f"M8[{unit}]")
    if (step != 1 or unit != np.datetime_data(values.dtype)[0]) and (plain.astype(values.dtype) != values).any():
        raise GraphError(f"{what} holds times out of the range of {unit}")
    return plain.view(np.int64), Times(unit)


def named_values(values: Array, kind: Kind) -> Array:
    """The values of a column as users see them: text objects, or datetime64. Codes without a name become None.

    The times that represent `inf` and `-inf` become NaT.
    """
    if isinstance(kind, Times):
        shown = values.astype(np.int64)
        shown[shown == np.iinfo(np.int64).max] = np.iinfo(np.int64).min  # NaT
        return shown.view(f"M8[{kind.unit}]")
    table = np.empty(len(kind.names) + 1, dtype=object)
    table[:-1] = kind.names
    known = (values >= 0) & (values < len(kind.names))
    found: Array = table[np.where(known, values, len(kind.names))]
    return found


def merged(parts: Iterable[Sequence[str]]) -> tuple[str, ...]:
    """All names of all parts, sorted by code point. If one part has all names, this part is returned unchanged."""
    listed = [tuple(part) for part in parts]
    longest = max(listed, key=len, default=())
    every = set(longest).union(*listed)
    return longest if len(every) == len(longest) else tuple(sorted(every))


def codes_in(names: Sequence[str], wanted: Sequence[str]) -> NDArray[np.int32]:
    """The position of each name of `wanted` in `names`, which is sorted and has all of these names."""
    return np.array([bisect_left(names, one) for one in wanted], dtype=np.int32)


# --------------------------------------------------------------------- as a program reads them


@dataclass(frozen=True)
class Codes:
    """Converts codes of one list of names to codes of another list: code v becomes table[v]."""

    table: NDArray[np.int32]

    def read(self, name: str, values: Array, wanted: np.dtype[Any]) -> Array:
        """The values as the program reads them, in the dtype `wanted`."""
        return self.table.astype(wanted)[values]

    def bounds(self, low: int, high: int) -> tuple[int, int]:
        """The bounds of the converted values if the stored values are between `low` and `high`."""
        return int(self.table[low]), int(self.table[high])


@dataclass(frozen=True)
class Scale:
    """Converts times to another unit: time v becomes v * times // per, and the division must be exact."""

    times: int
    per: int
    type: str

    def read(self, name: str, values: Array, wanted: np.dtype[Any]) -> Array:
        """See `Codes.read`. Raises GraphError if a value does not fit the other unit."""
        wide = values.astype(np.int64)
        if self.per > 1:
            odd = wide % self.per != 0
            if odd.any():
                raise GraphError(f"edge column {name!r} holds {wide[odd][0]}, which is no whole number of the unit of "
                                 f"`{self.type}`: declare the field with a finer unit")
            return (wide // self.per).astype(wanted)
        most = np.iinfo(np.int64).max // self.times
        if len(wide) and (int(wide.max()) > most or int(wide.min()) < -most):
            raise GraphError(f"edge column {name!r} holds {max(wide.max(), -wide.min())}, which is out of the range of "
                             f"`{self.type}`: declare the field with a coarser unit")
        return (wide * self.times).astype(wanted)

    def bounds(self, low: int, high: int) -> tuple[int, int]:
        """See `Codes.bounds`."""
        return low * self.times // self.per, high * self.times // self.per


Coding = Codes | Scale
"""The conversion of a column's integers for a program that does not read them as stored."""


def coding_of(kind: Kind, wanted: Kind) -> Coding | None:
    """The conversion from `kind` to `wanted`, which has more names or another unit; None if the kinds are equal.
    """
    if kind == wanted:
        return None
    if isinstance(kind, Names) and isinstance(wanted, Names):
        return Codes(codes_in(wanted.names, kind.names))
    assert isinstance(kind, Times)
    assert isinstance(wanted, Times)
    parts = {"D": 1, **{unit: 86400 * part for unit, part in PARTS.items()}}
    old, new = parts[kind.unit], parts[wanted.unit]
    return Scale(max(new // old, 1), max(old // new, 1), str(wanted))
