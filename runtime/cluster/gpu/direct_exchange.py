"""Sends the values of mirrored vertices from GPU to GPU by NCCL."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vlang.runtime.cluster.gpu.nccl import Nccl, Piece
from vlang.runtime.cluster.transports.transport import Transport
from vlang.runtime.gpus.part_machine import PartMachine

__all__ = ["DirectExchange"]


class DirectExchange:
    """The exchange of one rank, in the form that `vlang.runtime.gpus.mirrors.Mirrors` calls.

    A kernel packs all values that another rank mirrors, including unchanged values. NCCL copies them to the mirrors,
    which are consecutive for each owner. Before each use of NCCL, the ranks run an empty exchange of their transport.
    This exchange fails with an error if a rank has failed or ranks are at different places in the run; NCCL alone would
    wait for ever.

    Args:
        part: the machine of the rank, with the boxes and kernels of `SubsetExchange`.
        transport: the transport of the rank.
        nccl: the connection between the GPUs.
    """

    name = "nccl"

    def __init__(self, part: PartMachine, transport: Transport, nccl: Nccl) -> None:
        self._part, self._transport, self._nccl = part, transport, nccl
        self._copied = 0

    @property
    def nbytes(self) -> int:
        """The number of bytes that this rank has sent so far, from GPU memory and from host memory."""
        return self._copied + self._transport.sent

    def update(self, slots: Sequence[str]) -> None:
        """Queue the update of the mirrors of some arrays. All ranks call this method with the same arrays."""
        part, size = self._part, self._transport.size
        part.state.flush()
        sends, receives, twins = [], [], []
        for slot in slots:
            for rank in range(size):
                count, itemsize = len(part.numbers.wanted[rank]), part.itemsize(slot)
                if rank in part.marks:
                    box = part.boxes[f"sent:{rank}:{slot}"]
                    part.pack(slot, part.pointer(slot), part.marks[rank], count, box)
                    sends.append(Piece(rank, box, count * itemsize))
                low, high = part.numbers.mirrors_of(rank) if rank != self._transport.rank else (0, 0)
                if low < high:
                    first, *others = part.mirrors_at(slot, rank)
                    receives.append(Piece(rank, first, (high - low) * itemsize))
                    twins += [(other, first, (high - low) * itemsize) for other in others]
        self._transport.exchange([np.zeros(0, np.uint8)] * size, f"mirrors of {', '.join(slots)}")
        self._nccl.swap(sends, receives)
        for twin in twins:
            part.device.copy(*twin)
        self._copied += sum(piece.nbytes for piece in sends)

    def forget(self, slot: str) -> None:
        """Do nothing, because every exchange sends all values."""

    def note(self) -> str:
        """Return a sentence about the values that were sent so far."""
        return f"rank {self._transport.rank} has sent {self._copied:,} bytes to other GPUs, without the hosts"
