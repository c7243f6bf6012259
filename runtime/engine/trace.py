"""The history of a run: a record for each round."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.threads.moved import NOTHING, Moved

__all__ = ["ChaosReport", "Done", "Freedom", "History", "Round", "Series", "rounds_of"]

_NAMES = {"A": "any order", "A'": "any order", "S": "any order", "P": "push", "N": "skip", "X1": "early exit",
          "X2": "first neighbour", "O": "priority", "Z": "skip the identity", "K": "components"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Round:
    """One round: a superstep of a `repeat`, or one pass through the block of a `for i from a to b`.

    Attributes:
        loop: the number of the `repeat` or range in the program, from 0 in the order of the text.
        round: the number of the round in that loop, from 1.
        active: the number of vertices that are active after the round and send in the next round. For a range, the
            number of all vertices.
        mode: the mode of the round, such as "pull", "push" or "notify-pull". The mode "connect" stands for a whole loop
            that ran as a search for connected components (rule K, docs/internals/rule-k.md).
        seconds: wall-clock time.
        edges: the number of edges traversed by gathers and notification.
        bytes_copied, bytes_in_place, bytes_from_disk: the bytes of edges that were moved (see `Result.moved`).
        pages_cached, pages_copied, pages_packed, pages_in_place, pages_from_disk: the numbers of pages used, by the
        path on which their edges reached the kernel.
        bytes_between: the bytes of vertex values that were copied between devices.
        expected: the seconds that the cost models of the policy expect; None if the policy has no model.
    """

    loop: int
    round: int
    active: int
    mode: str
    seconds: float
    edges: int
    bytes_copied: int = 0
    bytes_in_place: int = 0
    bytes_from_disk: int = 0
    pages_cached: int = 0
    pages_copied: int = 0
    pages_packed: int = 0
    pages_in_place: int = 0
    pages_from_disk: int = 0
    bytes_between: int = 0
    expected: float | None = None


class Done(NamedTuple):
    """The record of a superstep: the number of active vertices after it, its mode, and the number of edges traversed.
    """

    active: int
    mode: str
    edges: int


class Series(Sequence[Done]):
    """The records of supersteps that ran in one call.

    A `Done` is created only on access, because a run may have millions of supersteps.

    Args:
        mode: the mode of all supersteps.
        counts: int64[k, 2], the numbers of active vertices and of edges of each superstep. The array is copied.
    """

    def __init__(self, mode: str, counts: NDArray[np.int64]) -> None:
        self.mode, self.counts = mode, counts.copy()

    def __len__(self) -> int:
        return len(self.counts)

    @overload
    def __getitem__(self, at: int) -> Done: ...
    @overload
    def __getitem__(self, at: slice) -> Series: ...
    def __getitem__(self, at: int | slice) -> Done | Series:
        if isinstance(at, slice):
            return Series(self.mode, self.counts[at])
        active, edges = self.counts[at].tolist()
        return Done(active, self.mode, edges)

    def __iter__(self) -> Iterator[Done]:
        return (Done(active, self.mode, edges) for active, edges in self.counts.tolist())

    @property
    def active(self) -> int:
        """The number of active vertices, summed over all supersteps."""
        return int(self.counts[:, 0].sum())

    @property
    def edges(self) -> int:
        """The number of edges traversed in all supersteps."""
        return int(self.counts[:, 1].sum())


@dataclass(frozen=True)
class _Packed:
    """The first parts of a history as arrays: the number of parts, the modes, and the arrays (see `History.packed`)."""

    parts: int
    modes: list[str]
    arrays: tuple[NDArray[Any], ...]


_NOTHING = _Packed(0, [], (np.zeros(0, np.int64), np.zeros(0, np.float64), *2 * (np.zeros(0, np.int64),)))


class History:
    """The records of the supersteps of a run, with one part for each call.

    Attributes:
        edges: the number of edges traversed so far.
    """

    def __init__(self) -> None:
        self._packed = _NOTHING
        self._parts: list[tuple[int, int, float, Sequence[Done], Moved]] = []
        self.edges = 0

    def add(self, loop: int, first: int, seconds: float, done: Sequence[Done], moved: Moved = NOTHING) -> None:
        """Append supersteps of a loop.

        Args:
            loop: the number of the loop.
            first: the number of the first superstep.
            seconds: the time of each superstep.
            done: the records of the supersteps.
            moved: the counts of the edges that these supersteps moved in total.
        """
        self._parts.append((loop, first, seconds, done, moved))
        self.edges += done.edges if isinstance(done, Series) else sum(row.edges for row in done)

    def __len__(self) -> int:
        """The number of supersteps so far."""
        return sum(len(done) for _, _, _, done, _ in self._parts)

    def packed(self) -> tuple[list[str], tuple[NDArray[Any], ...]]:
        """Convert the records to arrays, which `unpacked` converts back.

        Returns:
            The modes, and four arrays for p parts and k supersteps. The first array, int64[4p], has the loop, the first
            superstep, the length and the index of the mode of each part. The second array, float64[p], has the seconds
            per superstep of each part. The third array, int64[2k], has the active vertices and the edges of every
            superstep. The last array, int64[8p], has the counts of `Moved` of each part.
        """
        known = self._packed
        modes = {mode: number for number, mode in enumerate(known.modes)}
        parts: list[tuple[int, int, int, int]] = []
        seconds: list[float] = []
        rows: list[NDArray[np.int64]] = []
        moved: list[Moved] = []
        for loop, first, each, done, all_moved in self._parts[known.parts :]:
            runs = [(first, done)] if isinstance(done, Series) else \
                [(number, Series(row.mode, np.array([row[::2]], np.int64))) for number, row in enumerate(done, first)]
            moved += [all_moved] if isinstance(done, Series) else all_moved.over([row.edges for row in done])
            for number, run in runs:
                parts.append((loop, number, len(run), modes.setdefault(run.mode, len(modes))))
                seconds.append(each)
                rows.append(run.counts.reshape(-1))
        more: tuple[list[NDArray[Any]], ...] = ([np.array(parts, np.int64).reshape(-1)], [np.array(seconds)], rows,
                                                [np.array(moved, np.int64).reshape(-1)])
        arrays = tuple(np.concatenate([before, *after]) for before, after in zip(known.arrays, more))
        self._packed = _Packed(len(self._parts), list(modes), arrays)
        return list(modes), arrays

    @staticmethod
    def unpacked(modes: object, arrays: Sequence[NDArray[Any]], loops: int) -> History:
        """Convert the result of `packed` back to a history.

        `loops` is the number of loops in the program. Raises ValueError if the values cannot be a history of this
        program.
        """
        history, at = History(), 0
        table, seconds, rows, moved = arrays
        width = len(NOTHING)
        parts = table.reshape(-1, 4) if len(table) % 4 == 0 else table.reshape(0, 4)
        sound = isinstance(modes, list) and all(isinstance(mode, str) for mode in modes) and \
            len(parts) == len(seconds) and len(table) == 4 * len(parts) and len(moved) == width * len(parts)
        if not sound or not isinstance(modes, list):
            raise ValueError("its history cannot be read")
        counts = moved.reshape(-1, width).tolist()
        for (loop, first, length, mode), each, row in zip(parts.tolist(), seconds.tolist(), counts):
            if not (0 <= loop < loops and first >= 1 and 1 <= length <= len(rows) // 2 - at and 0 <= mode < len(modes)):
                raise ValueError("its history cannot be read")
            part = Series(modes[mode], rows[2 * at : 2 * (at + length)].reshape(-1, 2))
            history.add(loop, first, each, part, Moved(*row))
            at += length
        if 2 * at != len(rows):
            raise ValueError("its history cannot be read")
        return history

    def rounds(self, since: int = 0) -> tuple[Round, ...]:
        """The records of the supersteps of all parts, beginning with part number `since`."""
        return tuple(one for loop, first, seconds, done, moved in self._parts[since:]
                     for one in rounds_of(loop, first, seconds, done, moved))


def rounds_of(loop: int, first: int, seconds: float, done: Sequence[Done], moved: Moved) -> Iterator[Round]:
    """The records of supersteps that ran in one call; arguments as for `History.add`."""
    each = moved.over([row.edges for row in done] if any(moved) else range(len(done)))
    for number, (row, its) in enumerate(zip(done, each), first):
        yield Round(loop, number, row.active, row.mode, seconds, row.edges, *its)


@dataclass(frozen=True)
class Freedom:
    """The use of one rule by one loop.

    Attributes:
        line: the line of the loop.
        rule: the name of the rule.
        granted: whether the rule holds for the loop.
        times: the number of supersteps or passes that used the rule.
    """

    line: int
    rule: str
    granted: bool
    times: int

    def __str__(self) -> str:
        often = f"{self.times} time{'s' * (self.times != 1)}" if self.times else "(granted, not taken)"
        return f"{self.rule} {_NAMES[self.rule]} {often}"


@dataclass(frozen=True)
class ChaosReport:
    """The rules that a chaos run used.

    Attributes:
        seed: the seed of the random choices.
        threads: the number of threads.
        page_size: the page size in bytes.
        freedoms: the use of every rule by every loop, including rules that do not hold for the loop.
    """

    seed: int
    threads: int
    page_size: int
    freedoms: tuple[Freedom, ...]

    def lines(self) -> Iterator[str]:
        """The report as lines of text: one line for the run, and one line for each loop."""
        plural = "s" * (self.threads != 1)
        yield (f"chaos {self.seed}: the same with {self.threads} thread{plural}, pages of {self.page_size} bytes, "
               "contributions in random order")
        for line in dict.fromkeys(freedom.line for freedom in self.freedoms):
            granted = [str(one) for one in self.freedoms if one.line == line and one.granted]
            yield f"loop in line {line}: {', '.join(granted) if granted else 'no freedom but that'}"
