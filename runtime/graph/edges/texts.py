"""Lists of texts on disk: the concatenated bytes, and the end of each text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.graph.edges.edge_list import FEW, VertexIds
from vlang.runtime.storage.disk_arrays import DiskArray, DiskArrays

__all__ = ["TextVertexIds", "Texts", "TextsBuilder"]


@dataclass(frozen=True)
class Texts:
    """A list of texts.

    Attributes:
        data: uint8, all texts in UTF-8.
        ends: uint64, the end of each text in `data`.
    """

    data: NDArray[np.uint8]
    ends: NDArray[np.uint64]

    def __len__(self) -> int:
        return len(self.ends)

    def __getitem__(self, number: int) -> bytes:
        begin = int(self.ends[number - 1]) if number else 0
        return self.data[begin : int(self.ends[number])].tobytes()

    def part(self, first: int, last: int) -> list[bytes]:
        """The texts first..last-1 as bytes."""
        if first == last:
            return []
        begin = int(self.ends[first - 1]) if first else 0
        whole = self.data[begin : int(self.ends[last - 1])].tobytes()
        ends = (self.ends[first:last] - np.uint64(begin)).tolist()
        return [whole[a:b] for a, b in zip([0, *ends], ends)]


class TextsBuilder:
    """Builds a list of texts on disk by appending."""

    def __init__(self, room: DiskArrays) -> None:
        self._data, self._ends = DiskArray(room, np.uint8), DiskArray(room, np.uint64)
        self._bytes = self._count = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, texts: Sequence[bytes]) -> None:
        """Append texts, given as UTF-8 bytes."""
        whole = np.frombuffer(b"".join(texts), np.uint8)
        ends = np.cumsum(np.fromiter(map(len, texts), np.uint64, len(texts)), dtype=np.uint64)
        for array, used, new in ((self._data, self._bytes, whole), (self._ends, self._count, ends)):
            if used + len(new) > len(array.array):
                array.reserve(max(used + len(new), 2 * len(array.array)))
        self._data.array[self._bytes : self._bytes + len(whole)] = whole
        self._ends.array[self._count : self._count + len(ends)] = ends + np.uint64(self._bytes)
        self._bytes += len(whole)
        self._count += len(ends)

    def finish(self) -> Texts:
        """The list of all appended texts."""
        return Texts(self._data.array[: self._bytes], self._ends.array[: self._count])


class TextVertexIds(VertexIds):
    """Vertex ids that are texts on disk."""

    def __init__(self, texts: Texts) -> None:
        super().__init__(base=0, count=len(texts))
        self.texts = texts

    @property
    def consecutive(self) -> bool:
        """False, because texts are never consecutive integers."""
        return False

    @property
    def text(self) -> bool:
        """True, because all ids are texts."""
        return True

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of `values`: object."""
        return np.dtype(object)

    @property
    def values(self) -> NDArray[Any]:
        """All texts, read into memory: object[count] of str."""
        return self._read(0, len(self))

    def __getitem__(self, index: Any) -> Any:
        """See `VertexIds`. Only the texts of the index are read into memory."""
        if isinstance(index, slice) and index.step in (None, 1):
            first, last, _ = index.indices(self.count)
            return self._read(first, max(first, last))
        if isinstance(index, np.ndarray) and index.dtype.kind in "iu" and index.ndim == 1:
            found = np.empty(len(index), dtype=object)
            found[:] = [self[at] for at in index.tolist()]
            return found
        return super().__getitem__(index)

    def __iter__(self) -> Iterator[int | str]:
        for first in range(0, self.count, FEW):
            yield from self._read(first, min(first + FEW, self.count)).tolist()

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return VertexIds, (self.values,)

    def check(self) -> bool:
        """Return whether all texts are UTF-8, and each text is greater than the previous text. Only one part at a time
        is in memory.
        """
        before = None
        for first in range(0, self.count, FEW):
            try:
                part = self._read(first, min(first + FEW, self.count))
            except UnicodeDecodeError:
                return False
            if not (part[1:] > part[:-1]).all() or (before is not None and not part[0] > before):
                return False
            before = part[-1]
        return True

    def _read(self, first: int, last: int) -> NDArray[Any]:
        found = np.empty(last - first, dtype=object)
        found[:] = [text.decode("utf-8", "surrogatepass") for text in self.texts.part(first, last)]
        return found

    def _position(self, key: Any) -> int:
        """The number of ids less than `key`, by binary search. The order of UTF-8 bytes is the order of the code
        points.
        """
        return bisect_left(range(self.count), key.encode("utf-8", "surrogatepass"), key=self.texts.__getitem__)

    def label(self, vertex: int) -> str:
        """The id of a dense vertex. Raises IndexError outside of 0..count-1."""
        if not 0 <= vertex < self.count:
            raise IndexError(f"vertex {vertex} of {self.count}")
        return self.texts[vertex].decode("utf-8", "surrogatepass")
