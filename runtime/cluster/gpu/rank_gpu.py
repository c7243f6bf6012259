"""The machine of a rank that owns a GPU: full passes over its vertices, and exchanges by NCCL or through the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.cluster.gpu.direct_exchange import DirectExchange
from vlang.runtime.cluster.gpu.host_exchange import HostExchange
from vlang.runtime.cluster.local_graph import LocalGraph
from vlang.runtime.cluster.transports.transport import Buffer, Transport, gathered, gathered_whole, summed
from vlang.runtime.engine.machine import Stats
from vlang.runtime.gpus.group_machine import GroupMachine
from vlang.runtime.gpus.part_machine import PartMachine
from vlang.runtime.plan.plan import Fold, ScalarSpec, StageSpec
from vlang.runtime.storage.state.remote import Remote, in_memory
from vlang.runtime.threads.moved import Moved

__all__ = ["RankGpuMachine"]


class RankGpuMachine(GroupMachine):
    """The machine of one rank, whose vertices a GPU processes. All ranks call the same methods in the same order.

    Args:
        part: the machine of the GPU; the caller closes it.
        graph: the part of the graph that the rank holds.
        transport: the transport of the rank.
        exchange: updates mirrors.

    Attributes:
        numbers: the local vertex numbers of the rank.
    """

    def __init__(
        self, part: PartMachine, graph: LocalGraph, transport: Transport, exchange: HostExchange | DirectExchange
    ) -> None:
        self.numbers = graph.numbers
        self._part, self._graph, self._transport = part, graph, transport
        self._between = exchange
        self._begin([part], exchange)
        self._stats: Stats | None = None  # the counts of the last pass over all ranks, once they are known

    def notes(self) -> tuple[str, ...]:
        """Return a sentence about the exchange between the ranks so far."""
        asked = self._part.options.strategy
        other = () if asked != "p" else ("strategy: each rank has the state of its own vertices and their neighbours",)
        return (*self.alone(), *other, f"exchange {self._exchange.name}: {self._exchange.note()}",)

    def array(self, slot: str) -> NDArray[Any]:
        """Return the values of a vertex array for the whole graph, collected from all ranks."""
        found = super().array(slot)
        ranges = self._part.numbers.ranges
        width = len(found) // max(1, ranges.n)
        first, last = ranges.of(self._transport.rank)
        return gathered_whole(self._transport, found[first * width : last * width], slot)

    def others(self, slot: str, value: int) -> int:
        """Return the number of entries that differ from `value`, counted over all ranks."""
        return summed(self._transport, [super().others(slot, value)], slot)[0]

    def moved(self) -> Moved:
        """Return the edges that the GPU of this rank has moved so far, and the bytes that the rank has sent."""
        return self._part.moved()._replace(bytes_between=self._between.nbytes)

    def counted(self) -> Stats:
        """Return the counts of the last pass, summed over all ranks, after waiting for the end of the pass."""
        if self._stats is None:
            own = super().counted()
            self._stats = Stats(*summed(self._transport, [own.changed, own.active], "counts"))
        return self._stats

    def run_pass(self, stage: StageSpec) -> int:
        """Run a pass over all vertices; returns the number of edges that all ranks traversed."""
        self._stats = None
        super().run_pass(stage)
        return 0 if stage.domain is None else self._graph.entries(stage.domain)

    def evaluate(self, spec: ScalarSpec) -> None:
        """Compute and store a graph-level value."""
        if spec.fold is not None:
            self._send_pads(spec.fold)
            self._part.fold_own(spec)
            self._send_partials(spec.fold)
        self._part.merge(spec)

    def keep(self, slots: Sequence[str]) -> object:
        """Copy vertex arrays. Returns the copy, or None on all ranks if the GPU of any rank has no memory for its copy.
        """
        kept = super().keep(slots)
        if summed(self._transport, [int(kept is None)], "copies")[0] == 0:
            return kept
        if kept is not None:
            self.forget(kept)
        return None

    def same(self, slots: Sequence[str], kept: object) -> bool:
        """Return whether vertex arrays have, on all ranks, the same bits as a copy."""
        return summed(self._transport, [int(not super().same(slots, kept))], "repeated states")[0] == 0

    # ------------------------------------------------------------------------------------------- checkpoints
    def share(self, slot: str) -> Remote:
        """Return the values of a vertex array for the vertices that this rank owns. The values are copied only when
        they are fetched.
        """
        part, (low, high) = self._part, self._part.span
        dtype, size = part.state.dtypes[slot], part.itemsize(slot)

        def fetch(target: NDArray[Any]) -> None:
            part.state.flush()
            if high > low:
                part.device.download(target, part.pointer(slot) + low * size)

        return Remote(dtype, (high - low) * (size // dtype.itemsize), fetch)

    def put(self, slot: str, array: NDArray[Any] | Remote) -> None:
        """Store the values of the owned vertices; the next exchange sends the values of mirrors."""
        part, values = self._part, np.ascontiguousarray(in_memory(array))
        if len(values):
            part.device.upload(part.pointer(slot) + part.span[0] * part.itemsize(slot), values)
        self.mirrors.changed(slot)

    # ------------------------------------------------------------------------------------------- reductions
    def _send_pads(self, fold: Fold) -> None:
        """Send to each rank the vertices of its first block that other ranks own."""
        part, ranges, me = self._part, self._part.numbers.ranges, self._transport.rank
        if not any(ranges.padded(rank) != (0, 0) for rank in range(ranges.size)):
            return
        slots = self._folded(fold)
        first, begin = ranges.of(me)[0], ranges.padded(me)[0]
        buffers: list[Buffer] = [np.zeros(0, np.uint8)] * ranges.size
        for rank in range(ranges.size):
            low, high = self._shared(rank, me)
            if low < high:
                buffers[rank] = np.concatenate([np.zeros(0, np.uint8), *(
                    self._read(part.pointer(slot) + (low - first + part.numbers.low) * part.itemsize(slot),
                               (high - low) * part.itemsize(slot)) for slot in slots)])
        found = self._transport.exchange(buffers, f"pads of {fold.kernel}")
        for owner, message in enumerate(found):
            low, high = self._shared(me, owner)
            at = 0
            for slot in slots if low < high else ():
                size = part.itemsize(slot)
                piece = np.ascontiguousarray(message[at : at + (high - low) * size])
                part.device.upload(part.pointer(slot) + (part.first_pad + low - begin) * size, piece)
                at += len(piece)

    def _shared(self, rank: int, owner: int) -> tuple[int, int]:
        """Return the pads of a rank that another rank owns, as (low, high); none if low >= high."""
        ranges = self._part.numbers.ranges
        (begin, end), (first, last) = ranges.padded(rank), ranges.of(owner)
        return (max(begin, first), min(end, last)) if rank != owner else (0, 0)

    def _send_partials(self, fold: Fold) -> None:
        """Send the partial results of a reduction to all other ranks."""
        part = self._part
        slots = self._partial_slots(fold)
        own = [self._read(part.pointer(slot) + at, nbytes) for slot in slots for at, nbytes in [part.partials(slot)]]
        found = gathered(self._transport, np.concatenate([np.zeros(0, np.uint8), *own]), fold.kernel)
        for rank, message in enumerate(found):
            low, high = part.numbers.ranges.blocks(rank)
            at = 0
            for slot in slots if rank != self._transport.rank else ():
                size = part.state.row_bytes(slot)
                piece = np.ascontiguousarray(message[at : at + (high - low) * size])
                if len(piece):
                    part.device.upload(part.pointer(slot) + low * size, piece)
                at += len(piece)

    def _read(self, pointer: int, nbytes: int) -> Buffer:
        """Wait for the queued work, and return bytes of the GPU's memory."""
        found = np.empty(nbytes, np.uint8)
        if nbytes:
            self._part.device.download(found, pointer)
        return found
