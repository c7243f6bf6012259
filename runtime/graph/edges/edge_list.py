"""A list of edges with dense vertex numbers, and the user's ids of the vertices."""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Iterator
from dataclasses import field
from typing import Any, NamedTuple, SupportsIndex

import numpy as np
from numpy.typing import NDArray

from vlang.errors import GraphError
from vlang.records import dataclass
from vlang.runtime.graph.edges.kinds import Kind

__all__ = ["EdgeList", "LeftOut", "VertexIds", "taken"]

FEW = 10_000
_SHOWN = 8

_PRINTED = re.compile(r"0|-?[1-9]\d{0,19}", re.ASCII)  # an integer as Python prints it; 007 and 7 are different ids


def taken(array: NDArray[Any]) -> NDArray[Any]:
    """Mark an array as read-only and return it; the graph owns the array from now on."""
    array.flags.writeable = False
    return array


class VertexIds:
    """The vertex ids in increasing order, as a read-only sequence: the id of dense vertex i is `ids[i]`.

    The dense number of a vertex is the rank of its id, so comparing dense numbers compares ids. `values` is a read-only
    int64 or uint64 array, or an object array of str. If the ids are the consecutive integers from `base`, they are not
    stored, and `values` creates the array.
    """

    def __init__(self, values: NDArray[Any] | None = None, *, base: int = 0, count: int = 0) -> None:
        """Take ownership of an array of increasing ids, which becomes read-only, or use `count` ids from `base` on."""
        self._values = None if values is None else taken(values)
        self.base = base
        self.count = count if values is None else len(values)

    @property
    def consecutive(self) -> bool:
        """Whether the ids are base, base + 1, ..."""
        return self._values is None

    @property
    def values(self) -> NDArray[Any]:
        """The ids, shape [count]; int64, uint64 or object (str). The array is read-only."""
        if self._values is None:
            wide = self.base + self.count > 2**63
            return taken(np.arange(self.base, self.base + self.count, dtype=np.uint64 if wide else np.int64))
        return self._values

    @property
    def plain(self) -> NDArray[Any] | range:
        """The ids as a range, without an array, if they are consecutive and fit int64; otherwise `values`."""
        last = self.base + self.count
        return range(self.base, last) if self.consecutive and last <= 2**63 else self.values

    @property
    def text(self) -> bool:
        """Whether the ids are strings."""
        return self._values is not None and self._values.dtype.kind == "O"

    @property
    def numbers(self) -> tuple[int, NDArray[np.uint64] | None]:
        """The vertex numbers that programs use, modulo 2^64: (first, None) or (0, uint64[count]).

        The number of an integer id is the id itself; if ids are consecutive, only the first id is returned. The number
        of a text id is its dense number.
        """
        if self._values is None or self.text:
            return self.base % 2**64, None
        return 0, np.ascontiguousarray(self._values).view(np.uint64)

    # ------------------------------------------------------------- as an array

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: Any) -> Any:
        """The id at an integer index, or an array of ids for a slice or index array.

        A negative index counts from the end.
        """
        if isinstance(index, SupportsIndex) and not isinstance(index, (bool, np.bool_, np.ndarray)):
            at = operator.index(index)
            if not -self.count <= at < self.count:
                raise IndexError(f"index {at} of {self.count} ids")
            return self.label(at % self.count)
        return self.values[index]

    def __iter__(self) -> Iterator[int | str]:
        values = self.values
        for first in range(0, self.count, FEW):
            yield from values[first : first + FEW].tolist()

    def __contains__(self, vertex: object) -> bool:
        return self.lookup(vertex) is not None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        values = self.values if dtype is None else self.values.astype(dtype, copy=False)
        return values.copy() if copy else values

    @property
    def shape(self) -> tuple[int]:
        """(count,)."""
        return (self.count,)

    @property
    def dtype(self) -> np.dtype[Any]:
        """int64, uint64 or object (str)."""
        return self.values.dtype

    def tolist(self) -> list[int | str]:
        """The ids as Python integers or strings."""
        listed: list[int | str] = self.values.tolist()
        return listed

    def __repr__(self) -> str:
        if self.count <= _SHOWN:
            return f"VertexIds({self.tolist()})"
        first, last = (", ".join(repr(self.label(i)) for i in part)
                       for part in (range(3), range(self.count - 3, self.count)))  # fmt: skip
        return f"VertexIds([{first}, ..., {last}], count={self.count:,})"

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _ids_again, (self._values, self.base, self.count)

    # ------------------------------------------------------------- ids and numbers

    def label(self, vertex: int) -> int | str:
        """The id of a dense vertex.

        Raises IndexError outside of 0..count-1, GraphError if `vertex` is not an integer.
        """
        if (type(vertex) is not int and not isinstance(vertex, SupportsIndex)) or isinstance(vertex, (bool, np.bool_)):
            raise GraphError(f"{vertex!r} is not the number of a vertex, from 0 to {self.count - 1}")
        if not 0 <= vertex < self.count:
            raise IndexError(f"vertex {vertex} of {self.count}")
        if self._values is None:
            return self.base + int(vertex)
        value = self._values[vertex]
        return str(value) if self.text else int(value)

    def find(self, vertex: object) -> int:
        """The dense number of an id, which may be an int, a str or a NumPy scalar.

        An integer id may be given as its text.

        Raises GraphError if the graph has no vertex with this id; the message names the id, the range of ids, and the
        nearest id.
        """
        found = self.lookup(vertex)
        if found is None:
            raise GraphError(self._missing(vertex, self.key(vertex)))
        return found

    def lookup(self, vertex: object) -> int | None:
        """The dense number of an id in any form that `find` accepts; None if the graph does not have the id."""
        key = self.key(vertex)
        if key is None:
            return None
        at = self._position(key)
        return at if at < self.count and self.label(at) == key else None

    def key(self, vertex: object) -> int | str | None:
        """Convert `vertex` to the type of these ids; returns None if that is impossible."""
        if isinstance(vertex, np.ndarray):  # only an array with a single value has a key
            vertex = vertex[()] if vertex.ndim == 0 else None
        if isinstance(vertex, (bool, np.bool_)):
            return None
        if self.text:
            return str(vertex) if isinstance(vertex, (str, int, np.integer)) else None
        if isinstance(vertex, str):
            return int(vertex) if _PRINTED.fullmatch(vertex) else None
        if type(vertex) is int:  # a fast path: isinstance with a protocol takes 8 us
            return vertex
        return operator.index(vertex) if isinstance(vertex, SupportsIndex) else None

    def _position(self, key: int | str) -> int:
        """The position of `key` in the ids, or the position at which `key` would be inserted."""
        if self._values is None:
            return min(max(int(key) - self.base, 0), self.count)
        if isinstance(key, int):
            info = np.iinfo(self._values.dtype)
            if key < info.min or key > info.max:
                return 0 if key < info.min else self.count
            return int(np.searchsorted(self._values, self._values.dtype.type(key)))
        return int(np.searchsorted(self._values, np.array(key, dtype=object)))

    def _missing(self, vertex: object, key: int | str | None) -> str:
        shown = vertex.item() if isinstance(vertex, np.generic) else vertex
        if self.count == 0:
            return f"vertex {shown!r} is not in the graph, which has no vertices"
        first, last = self.label(0), self.label(self.count - 1)
        if self.text:
            what = f"its ids are strings such as {first!r}"
        elif self.count == 1:
            what = f"its only id is the integer {first}"
        else:
            what = f"its ids are {'' if self.consecutive else 'some of the '}integers from {first} to {last}"
        near = self._nearest(key)
        hint = "" if near is None else f"; the nearest is {near!r}"
        return f"vertex {shown!r} is not in the graph; {what}{hint}"

    def _nearest(self, key: int | str | None) -> int | str | None:
        if key is None or self.consecutive:
            return None
        at = self._position(key)
        around = [self.label(i) for i in (at - 1, at) if 0 <= i < self.count]
        if isinstance(key, int):
            return min(around, key=lambda i: abs(int(i) - key))
        names = [str(name) for name in (self.values if self.count <= FEW else around)]
        close = difflib.get_close_matches(key, names, n=1)
        return close[0] if close else None


def _ids_again(values: NDArray[Any] | None, base: int, count: int) -> VertexIds:
    return VertexIds(values, base=base, count=count)


class LeftOut(NamedTuple):
    """The reason why an edge column could not be read.

    `numbers` is True if at least some cells are (possibly misspelt) numbers; it is False for other data, such as names.
    """

    reason: str
    numbers: bool


@dataclass
class EdgeList:
    """The edges of a source before any adjacency is built.

    Attributes:
        src, dst: uint32[E], dense vertex numbers.
        ids: the user's ids of the vertices.
        columns: name -> array[E].
        directed: False if every edge is listed once and means both directions.
        notes: sentences about what the reader did.
        left_out: the columns of the source that could not be read as numbers.
        warnings: sentences about values that may be misinterpreted.
        kinds: the kind (names or times) of each column whose integers stand for names or times.
    """

    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    ids: VertexIds
    columns: dict[str, NDArray[Any]] = field(default_factory=dict)
    directed: bool = True
    notes: list[str] = field(default_factory=list)
    left_out: dict[str, LeftOut] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    kinds: dict[str, Kind] = field(default_factory=dict)
