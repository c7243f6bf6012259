"""The interface by which the ranks of a run exchange bytes, and the transport of the current thread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vlang.errors import ClusterError
from vlang.runtime.storage.memory import empty

__all__ = [
    "Buffer", "Solo", "Transport", "agree", "check_places", "first_reason", "gathered", "gathered_whole", "here",
    "joined", "summed", "text_of_rank_0", "texts",
]

Buffer = NDArray[np.uint8]


class Transport(Protocol):
    """The exchange of bytes between the ranks of a run.

    All ranks call the same methods in the same order; each call passes `where`, the name of its place in the run. If
    the names differ between ranks, all ranks raise ClusterError instead of waiting for each other.

    Attributes:
        rank: the number of this rank, from 0.
        size: the number of ranks.
        beside: the number of ranks on this machine.
        lead: the lowest rank on this machine.
        place: the number of lower ranks on this machine.
        calls: the number of exchanges so far.
        sent: the number of bytes that this rank has sent to others so far.
        together: whether the loss of a rank ends all other ranks.
    """

    rank: int
    size: int
    beside: int
    lead: int
    place: int
    calls: int
    sent: int
    together: bool

    def exchange(self, buffers: Sequence[Buffer], where: str) -> list[Buffer]:
        """Send buffers[r] to each rank r, and return the buffer that each rank has sent to this rank.

        Args:
            buffers: uint8, contiguous, one for each rank. The buffer for this rank is not sent.
            where: the place in the run.

        Returns:
            Buffers in the order of the ranks, empty for this rank. The buffers belong to the
            caller.

        Raises ClusterError if the ranks are at different places, or if a rank has ended.
        """

    def abort(self, reason: str) -> None:
        """End the run on all ranks, because this rank has failed. `reason` is one sentence, for the user."""


class Solo:
    """The transport of a run with a single rank."""

    together = True

    def __init__(self) -> None:
        self.rank, self.size, self.beside, self.lead, self.place, self.calls, self.sent = 0, 1, 1, 0, 0, 0, 0

    def exchange(self, buffers: Sequence[Buffer], where: str) -> list[Buffer]:
        """See `Transport`."""
        self.calls += 1
        return [np.zeros(0, np.uint8)]

    def abort(self, reason: str) -> None:
        """Do nothing, because there are no other ranks."""


def gathered(transport: Transport, values: NDArray[np.generic], where: str) -> list[NDArray[np.generic]]:
    """Gather one array from each rank; returns the arrays on all ranks, in the order of the ranks.

    The lengths may differ, but the dtype must be the same.
    """
    values = np.ascontiguousarray(values)
    found = transport.exchange([values.view(np.uint8).reshape(-1)] * transport.size, where)
    return [values if rank == transport.rank else part.copy().view(values.dtype) for rank, part in enumerate(found)]


def gathered_whole(transport: Transport, own: NDArray[Any], where: str) -> NDArray[Any]:
    """Gather one array from each rank, and return them one after the other in a single array, on all ranks."""
    own = np.ascontiguousarray(own)
    parts = transport.exchange([own.view(np.uint8)] * transport.size, where)
    parts[transport.rank] = own.view(np.uint8)
    found = empty(sum(map(len, parts)) // own.itemsize, own.dtype)
    np.concatenate(parts, out=found.view(np.uint8))
    return found


def summed(transport: Transport, numbers: Sequence[int], where: str) -> list[int]:
    """Return, for each number, the sum of the values on all ranks. The sums must be below 2^63."""
    parts = gathered(transport, np.array(numbers, np.int64), where)
    return [sum(column) for column in zip(*(part.tolist() for part in parts))]


def agree(transport: Transport, value: int, where: str) -> int:
    """Return, on every rank, the `value` that rank 0 passes."""
    return int(gathered(transport, np.array([value], np.int64), where)[0][0])


def texts(transport: Transport, text: str, where: str) -> list[str]:
    """Return, on every rank, the texts of all ranks in the order of the ranks."""
    raw = np.frombuffer(text.encode("utf-8", "surrogateescape"), np.uint8)
    return [part.tobytes().decode("utf-8", "surrogateescape") for part in gathered(transport, raw, where)]


def first_reason(transport: Transport, text: str, where: str) -> str:
    """Return, on every rank, the text of the lowest rank with a non-empty text; "" if all texts are empty."""
    return next(filter(None, texts(transport, text, where)), "")


def text_of_rank_0(transport: Transport, text: str, where: str) -> str:
    """Return, on every rank, the text of rank 0."""
    return texts(transport, text if transport.rank == 0 else "", where)[0]


def check_places(places: Sequence[str]) -> None:
    """Raise ClusterError unless all ranks are at the same place in the run.

    `places` is in the order of the ranks.
    """
    if len(set(places)) > 1:
        listed = ", ".join(f"rank {rank} at {place!r}" for rank, place in enumerate(places))
        raise ClusterError(f"the ranks do not agree where the run is: {listed}; please report this")


_HERE: ContextVar[Transport | None] = ContextVar("vlang_transport", default=None)


def here() -> Transport | None:
    """Return the transport of the rank that this thread runs; None outside of a run on several ranks."""
    return _HERE.get()


@contextmanager
def joined(transport: Transport) -> Iterator[Transport]:
    """A context manager in which the ranks execute each run together, through `transport`."""
    token = _HERE.set(transport)
    try:
        yield transport
    finally:
        _HERE.reset(token)
