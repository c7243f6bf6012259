"""Finds out, during a long exchange, which ranks of an MPI job wait for others, and which ranks are missing.

A rank that has waited for a while asks all other ranks for their places in the run. Ranks that wait in the same
exchange answer. A rank that computes or has stopped does not answer, and therefore counts as missing.
"""

from __future__ import annotations

import atexit
import sys
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["PATIENCE", "Watch", "absent"]

PATIENCE = 15.0
"""Seconds after which a waiting rank asks the others where they are."""

_LISTENS = 1.0  # seconds for which a rank waits for answers
_POLL = 0.01  # seconds between two looks for questions and answers
_ASKS, _ANSWERS = 1, 2  # tags of messages
_PLACE = 504  # bytes of a place in a message, after the number of the exchange in 8 bytes


def absent(waiting: Mapping[int, str], size: int, seconds: float, last: str = "") -> str:
    """Return a sentence that names the ranks that wait and the ranks that are missing.

    Args:
        waiting: the place in the run of each rank that waits.
        size: the number of ranks.
        seconds: the time for which a rank has waited.
        last: the last place that all ranks have reached; "" if unknown.
    """
    waits = ", ".join(f"rank {rank} waits at {place!r}" for rank, place in sorted(waiting.items()))
    missing = ", ".join(str(rank) for rank in range(size) if rank not in waiting) or "none"
    since = f", after {last!r}" if last else ""
    return f"not all ranks have come within {seconds:g} s: {waits}; missing: {missing}{since}"


class Watch:
    """Watches the exchanges of one rank.

    Args:
        comm: an MPI communicator that nothing else uses.
        mpi: the module mpi4py.MPI.
    """

    def __init__(self, comm: Any, mpi: Any) -> None:
        self._comm, self._mpi = comm, mpi
        self._rank, self._size = int(comm.Get_rank()), int(comm.Get_size())
        self._answers: dict[int, str] = {}
        self._call, self._place, self._last = 0, "", ""
        self._begun = self._asked = self._poll = 0.0
        self._sent: list[Any] = []  # the requests and the buffers of messages under way
        atexit.register(self._received)  # before MPI ends; a late rank still has to receive old questions

    def enter(self, call: int, place: str) -> None:
        """Note that this rank begins exchange number `call`, at a place in the run."""
        self._last, self._call, self._place = self._place, call, place

    def begin(self) -> None:
        """Note that this rank begins to wait."""
        self._begun, self._asked, self._poll = time.monotonic(), 0.0, 0.0
        self._answers.clear()

    def look(self) -> None:
        """Answer questions, ask after PATIENCE seconds, and print once which ranks wait and which are missing.

        Only the lowest of the waiting ranks prints.
        """
        now = time.monotonic()
        if now < self._poll:
            return
        self._poll = now + _POLL
        self._received()
        if not self._asked and now - self._begun > PATIENCE:
            self._asked = now
            for rank in range(self._size):
                if rank != self._rank:
                    self._send(rank, _ASKS)
        if self._asked and now - self._asked > _LISTENS:
            self._asked = np.inf
            if self._rank < min(self._answers, default=self._size):
                waiting = {**self._answers, self._rank: self._place}
                print(absent(waiting, self._size, PATIENCE, self._last), file=sys.__stderr__, flush=True)

    def _received(self) -> None:
        """Receive all questions and answers that have arrived, and answer the questions about this exchange."""
        status = self._mpi.Status()
        while self._comm.Iprobe(self._mpi.ANY_SOURCE, self._mpi.ANY_TAG, status):
            message, rank, tag = np.zeros(8 + _PLACE, np.uint8), status.Get_source(), status.Get_tag()
            self._comm.Recv(message, rank, tag)
            if int(message[:8].view(np.int64)[0]) != self._call:
                continue
            if tag == _ASKS:
                self._send(rank, _ANSWERS)
            else:
                self._answers[rank] = message[8:].tobytes().rstrip(b"\0").decode(errors="ignore")

    def _send(self, rank: int, tag: int) -> None:
        message, raw = np.zeros(8 + _PLACE, np.uint8), self._place.encode()[:_PLACE]
        message[:8].view(np.int64)[0] = self._call
        message[8 : 8 + len(raw)] = np.frombuffer(raw, np.uint8)
        self._sent = [one for one in self._sent if not one[0].Test()]
        self._sent.append((self._comm.Isend(message, rank, tag), message))
