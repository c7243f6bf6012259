"""One generation of a checkpoint of several ranks: a state file of each rank, with the values of its vertices.

A job with any number of ranks can read a generation: each rank reads the values of its own vertices from the files that
contain these values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.cluster.transports.transport import Transport, first_reason
from vlang.runtime.engine.checkpoint import HISTORY
from vlang.runtime.storage.memory import empty
from vlang.runtime.storage.state.state_file import Damaged, Foreign, StateFile, StateSource
from vlang.runtime.storage.state.windows import Windows

__all__ = ["Part", "RankState", "part_of"]

_PART = ("rank", "ranks", "first", "last", "stamp")


@dataclass(frozen=True)
class Part:
    """Describes the part of a checkpoint that a state file contains.

    Attributes:
        rank: the rank that wrote the file.
        ranks: the number of ranks.
        first, last: the range of the vertices in the file, `first` to `last` - 1.
        stamp: a number that is the same in all files of a generation, and differs between two attempts to write a
            generation.
    """

    rank: int
    ranks: int
    first: int
    last: int
    stamp: int


def part_of(file: StateSource) -> Part:
    """Return the part of a checkpoint that a state file contains. Raises Foreign if no rank has written the file."""
    found = file.about.get("part")
    if not isinstance(found, dict) or set(found) != set(_PART) or not all(type(one) is int for one in found.values()) \
            or not 0 <= found["rank"] < found["ranks"] or not 0 <= found["first"] <= found["last"]:
        raise Foreign("no rank has written it")
    return Part(**found)


class RankState:
    """All state files of one generation, with the interface that `vlang.runtime.engine.checkpoint.loaded` reads.

    Args:
        files: the file of each rank that wrote the generation, in the order of the ranks.
        transport: the transport of the rank that reads.
        owned: returns the vertex range of the rank that reads: its first vertex, and its last vertex plus 1.

    Raises Damaged if the files do not contain every vertex exactly once, or if they have different arrays.
    """

    def __init__(
        self, files: Sequence[StateFile], transport: Transport, owned: Callable[[], tuple[int, int]],
    ) -> None:
        self._files, self._transport, self._owned = files, transport, owned
        self._parts = [part_of(file) for file in files]
        ends = [0, *(part.last for part in self._parts)]
        names = {name for name in files[0].entries if name not in HISTORY}
        if any(part.first != end for part, end in zip(self._parts, ends)) or \
                any(set(file.entries) - set(HISTORY) != names for file in files):
            raise Damaged("the files of its ranks do not fit together")
        self._n = ends[-1]

    @property
    def about(self) -> Mapping[str, Any]:
        """The description that rank 0 wrote."""
        return self._files[0].about

    @property
    def entries(self) -> Mapping[str, tuple[np.dtype[Any], int]]:
        """For each array by name, the dtype and the total number of entries in all files."""
        found = {}
        for name, (dtype, count) in self._files[0].entries.items():
            others = [] if name in HISTORY else [file.entries[name] for file in self._files[1:]]
            if any(other != dtype for other, _ in others):
                raise ValueError(f"its ranks stored `{name}` with different types")
            found[name] = dtype, count + sum(more for _, more in others)
        return found

    def arrays(self, windows: Windows | None = None) -> dict[str, NDArray[Any]]:
        """Return the arrays by name, with the values of the vertices of this rank. All ranks call this method together.

        `windows` is None, because a rank keeps all arrays in memory.

        Raises Damaged on all ranks if a file is damaged, and OSError if a file cannot be read.
        """
        found, problem = {}, ""
        try:
            found = self._own()
        except Damaged as error:
            problem = str(error)
        problem = first_reason(self._transport, problem, "arrays of a checkpoint")
        if problem:
            raise Damaged(problem)
        return found

    def _own(self) -> dict[str, NDArray[Any]]:
        first, last = self._owned()
        entries = self.entries
        widths = {name: count // max(1, self._n) for name, (_, count) in entries.items() if name not in HISTORY}
        found: dict[str, NDArray[Any]] = {name: empty((last - first) * width, entries[name][0])
                                          for name, width in widths.items()}
        for part, file in zip(self._parts, self._files):
            low, high = max(first, part.first), min(last, part.last)
            if low >= high and part.rank:
                continue
            try:
                arrays = file.arrays()
            except Damaged as error:
                raise Damaged(f"{file.path.parent.name}: {error}") from None
            if not part.rank:
                found |= {name: arrays[name] for name in HISTORY if name in arrays}
            for name, width in widths.items() if low < high else ():
                if len(arrays[name]) != width * (part.last - part.first):
                    raise Damaged(f"{file.path.parent.name}: `{name}` has {len(arrays[name]):,} entries")
                found[name][(low - first) * width : (high - first) * width] = \
                    arrays[name][(low - part.first) * width : (high - part.first) * width]
        return found
