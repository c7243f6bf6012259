"""The frontier of one of several GPUs that run supersteps among themselves, in one launch on each GPU (peers.cuh)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vlang.runtime.engine.machine import Done
from vlang.runtime.gpu.kernels.sparse_layout import MAIL, PEER, PEERS, WALKING, traverse_bytes
from vlang.runtime.gpu.passes.gpu_frontier import table_words
from vlang.runtime.gpus.part_push import PartFront, room_of
from vlang.runtime.plan.plan import StageSpec

if TYPE_CHECKING:
    from vlang.runtime.gpus.part_machine import PartMachine

__all__ = ["PeerFront"]

_STEP_COST = 1 << 18  # edges: about as many as two GPUs traverse during the barriers and the exchange of a superstep


class PeerFront(PartFront):
    """The frontier of one GPU. `PeerPush` begins the launches of all GPUs.

    Attributes:
        sent, sent_bytes: the values that this GPU has sent so far, and their bytes with those of places or bitmaps.
    """

    def __init__(self, part: PartMachine, stage: StageSpec) -> None:
        super().__init__(part, stage)
        self._constants = (self._priority, int(self._word[1:]))
        self._bytes = traverse_bytes(WALKING, 0)
        self._blocks = max(1, part.resident("traverse_peers", self._gpu.struct, self._constants, WALKING, self._bytes))
        self._fronts: Sequence[PeerFront] = ()
        self.sent = self.sent_bytes = 0

    @property
    def waiting(self) -> int:
        """The number of vertices that are on the far pile, or that left it after the last superstep."""
        return self._waiting()

    @property
    def changed(self) -> int:
        """The number of vertices that the last superstep changed."""
        return self._stats.changed

    def open(self, fronts: Sequence[PeerFront]) -> None:
        """Queue the first frontier, and the table of the GPUs of the run.

        Args:
            fronts: the frontiers of all GPUs.
        """
        self._fronts = fronts
        self._begin()

    def _before(self) -> NDArray[np.uint64]:
        """Return the words of the memory in front of the control words: the table of the GPUs, and the table."""
        table = super()._before()
        words = np.zeros((self._control.pointer - self.boxes["peers"]) // 8, np.uint64)
        words[-len(table):] = table
        about = {"devices": len(self._fronts), "width": self._width, "values": self.part.pointer(self.slot),
                 "step_cost": _STEP_COST}
        words[: len(PEERS)] = table_words(about, PEERS)
        for at, other in enumerate(self._fronts):
            begin = len(PEERS) + at * len(PEER)
            words[begin : begin + len(PEER)] = table_words(self._peer(other, self.part.numbers.rank), PEER)
        return words

    def _peer(self, other: PeerFront, rank: int) -> dict[str, int]:
        """Return the words of the table about one GPU."""
        there, numbers = other.part.numbers.rank, self.part.numbers
        first, end = numbers.mirrors_of(there)
        mail, marked = 8 * 2 * len(MAIL), len(numbers.wanted[there])
        return {"places": self.part.places.get(there, 0), "marks": self.part.marks.get(there, 0), "marked": marked,
                "outbox": other.boxes[f"in:{rank}"], "room": room_of(marked),
                "mirrors": other.part.mirror_at(self.slot, rank),
                "inbox": self.boxes[f"in:{there}"], "space": room_of(end - first), "first": first,
                "mirrored": end - first, "theirs": other.boxes["mail"] + mail * rank,
                "mine": self.boxes["mail"] + mail * there}

    def prepare(self) -> None:
        """Queue what must precede a launch on this GPU alone."""
        if self._met:
            self._control.clear("arrived", "arrived")

    def launch(self, most: int, devices: int) -> None:
        """Queue a launch, which ends when all GPUs have ended theirs.

        Args:
            most: the largest number of supersteps.
            devices: the number of GPUs.
        """
        self.part.launch("traverse_peers", self._gpu.struct, self._constants, self._blocks,
                         (self.part.frame, self._arena["table"], self.boxes["peers"], most, int(not self._met)),
                         shared=self._bytes, threads=WALKING, cooperative=True, devices=devices)
        self._met = True

    def fetch(self) -> list[Done]:
        """Return the records of the last launch, after waiting for its end."""
        rows = self._rows()
        self.sent, self.sent_bytes = int(self._control["sent"]), int(self._control["sent_bytes"])
        return rows
