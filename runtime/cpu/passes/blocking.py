"""The choice between rows and cache blocks for full sweeps."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.records import dataclass
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.graph.topology.blocks import blocks_bytes
from vlang.runtime.graph.topology.pages import PageCuts
from vlang.runtime.plan.plan import BLOCK_MOST, Plan, StageSpec
from vlang.runtime.storage.ledger import ledger

__all__ = ["Blocked", "Trial", "blocks_fit", "choose_blocks", "has_room", "never_blocks", "nothing_later"]

_LEAST_EDGES = 1 << 16  # in graphs with fewer edges, sweeps are too short to build blocks for
_TRIES = 3  # sweeps that are timed by rows, and as many by blocks, before one is chosen
_CLEARLY = 0.9  # rows are chosen only if they are clearly faster, because other jobs disturb the few sweeps
_LARGE = 1 << 22  # edges from which rows miss the caches, so that blocks gain more
# About the number of sweeps that repay building the blocks (docs/internals/performance.md).
_PAYS_AFTER, _PAYS_AFTER_IF_LARGE = 16, 8


def choose_blocks(asked: str, edges: int, made: bool, sweeps: int, coming: int | None) -> bool:
    """Return whether the next full sweep should use cache blocks, which are built first if they do not exist.

    With "auto", the result is True if the blocks exist, or if past and announced sweeps repay the cost of building
    them. If no number of sweeps is announced, the choice follows the rent-or-buy rule: a run takes at most twice the
    time of a run that knows the number of sweeps in advance.

    Args:
        asked: "always", "never" or "auto".
        edges: the edges of a sweep.
        made: whether the blocks exist.
        sweeps: the number of sweeps over this graph so far.
        coming: the number of sweeps that the program or the caller announces; None for no announcement.
    """
    if asked != "auto":
        return asked == "always"
    enough = _PAYS_AFTER_IF_LARGE if edges >= _LARGE else _PAYS_AFTER
    return made or (edges >= _LEAST_EDGES and sweeps + (coming or 0) >= enough)


def never_blocks(asked: str, edges: int) -> bool:
    """Return whether no sweep over a graph of so many edges uses cache blocks; `asked` as in `choose_blocks`."""
    return asked == "never" or (asked == "auto" and edges < _LEAST_EDGES)


def has_room(nbytes: int, later: Callable[[], int]) -> bool:
    """Return whether the memory budget has room for arrays that only make a run faster.

    Args:
        nbytes: the bytes of these arrays.
        later: returns the bytes that the run itself allocates later.
    """
    return ledger.left is None or ledger.left > nbytes + later()


def blocks_fit(
    stage: StageSpec, pages: PageCuts, plan: Plan, threads: int, there: bool, later: Callable[[], int]
) -> bool:
    """Return whether the memory budget has room for full passes over cache blocks.

    Args:
        stage: the pass.
        pages: the pages over which it runs.
        plan: the program.
        threads: the number of workers, each of which keeps accumulators of the rows of a strip.
        there: whether the blocks exist already.
        later: see `has_room`.
    """
    kept = sum(DTYPES[spec.dtype].itemsize * spec.width for spec in plan.arrays
               if spec.length == "blocked" and spec.slot.startswith(f"kept:{stage.name}."))
    columns = sum(DTYPES[dtype].itemsize for _, dtype in stage.columns)
    blocks = 0 if there else blocks_bytes(pages.edges, pages.n)
    return has_room(kept * BLOCK_MOST * threads + columns * pages.edges + blocks, later)


def nothing_later() -> int:
    """The bytes that a run allocates later, for passes without a machine that knows them (see `has_room`)."""
    return 0


class Trial:
    """The choice between rows and blocks when blocks exist: the faster one so far.

    Rows and blocks yield identical results.

    How much faster blocks are depends on the graph, the program and the machine (docs/internals/performance.md). A
    graph keeps the trials of its programs, so that only the first run compares rows and blocks.

    Args:
        asked: "always", "never" or "auto".
    """

    def __init__(self, asked: str) -> None:
        self._tried = asked == "auto"
        self._spans: dict[bool, list[float]] = {False: [], True: []}

    @property
    def by_blocks(self) -> bool:
        """Whether the next sweep uses blocks."""
        rows, blocks = self._spans[False], self._spans[True]
        if not self._tried or len(blocks) < min(len(rows), _TRIES):
            return True
        return len(rows) >= _TRIES and _CLEARLY * min(blocks) <= min(rows)

    @contextmanager
    def sweep(self) -> Iterator[bool]:
        """A context that measures the time of the sweep that runs inside it; yields `by_blocks`."""
        way, begin = self.by_blocks, time.perf_counter()
        yield way
        if len(self._spans[way]) < _TRIES:
            self._spans[way].append(time.perf_counter() - begin)


@dataclass
class Blocked:
    """The cache blocks of a pass.

    Attributes:
        table: the table of blocks that kernels read.
        tasks: the tasks over blocks.
        columns: keeps alive the arrays whose addresses are in the table.
        trial: the choice between rows and blocks.
    """

    table: NDArray[np.uint64]
    tasks: NDArray[np.int64]
    columns: list[NDArray[Any]]
    trial: Trial
