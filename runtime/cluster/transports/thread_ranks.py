"""Ranks that are threads of one process, for tests. The threads exchange the same messages as ranks of MPI, but without
MPI.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from vlang.errors import ClusterError
from vlang.runtime.cluster.transports.transport import Buffer, Transport, check_places, joined
from vlang.runtime.cluster.transports.watch import absent

__all__ = ["ThreadRank", "run_ranks"]

T = TypeVar("T")


class _Board:
    """The data that the ranks share: a barrier, the buffers of an exchange, and the place in the run of each rank.

    `patience` is the number of seconds after which a rank stops waiting for the other ranks.
    """

    def __init__(self, size: int, patience: float) -> None:
        self.barrier = threading.Barrier(size)
        self.patience = patience
        self.buffers: list[Sequence[Buffer]] = [()] * size
        self.places = [""] * size
        self.waiting = [False] * size
        self.failed: str | None = None

    def meet(self, rank: int) -> None:
        self.waiting[rank] = True
        try:
            self.barrier.wait(self.patience)
        except threading.BrokenBarrierError:
            raise ClusterError(self.failed or self._absent()) from None
        finally:
            self.waiting[rank] = False

    def _absent(self) -> str:
        waiting = {rank: place for rank, place in enumerate(self.places) if self.waiting[rank]}
        return absent(waiting, len(self.waiting), self.patience)


class ThreadRank:
    """The transport of one of several threads (see `Transport`)."""

    together = True

    def __init__(self, board: _Board, rank: int, size: int) -> None:
        self.rank, self.size, self.beside, self.lead, self.place = rank, size, size, 0, rank
        self.calls = self.sent = 0
        self._board = board

    def exchange(self, buffers: Sequence[Buffer], where: str) -> list[Buffer]:
        """See `Transport`."""
        board = self._board
        self.calls += 1
        self.sent += sum(len(buffer) for rank, buffer in enumerate(buffers) if rank != self.rank)
        board.buffers[self.rank], board.places[self.rank] = buffers, where
        board.meet(self.rank)
        places = list(board.places)
        empty = np.zeros(0, np.uint8)
        found = [empty if rank == self.rank else sent[self.rank].copy() for rank, sent in enumerate(board.buffers)
                 if len(sent) == self.size]
        board.meet(self.rank)  # before a rank writes its next buffers
        check_places(places)
        return found

    def abort(self, reason: str) -> None:
        """See `Transport`."""
        self._board.failed = self._board.failed or f"rank {self.rank} failed: {reason}"
        self._board.barrier.abort()


def run_ranks(size: int, work: Callable[[Transport], T], patience: float = 20.0) -> list[T]:
    """Call `work` in `size` threads, each with the transport of its rank. Runs inside of `work` use this transport.

    Args:
        size: the number of ranks.
        work: the function that each rank calls.
        patience: the number of seconds after which a rank stops waiting for the other ranks.

    Returns:
        The results in the order of the ranks.

    Raises the exception of the rank that failed first.
    """
    board = _Board(size, patience)
    results: dict[int, T] = {}
    errors: list[BaseException] = []

    def rank(number: int) -> None:
        transport = ThreadRank(board, number, size)
        try:
            with joined(transport):
                results[number] = work(transport)
        except BaseException as error:
            errors.append(error)
            transport.abort(str(error))

    threads = [threading.Thread(target=contextvars.copy_context().run, args=(rank, number)) for number in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return [results[number] for number in range(size)]
