"""The exchange of vertex values between GPUs: before a pass, mirrors get the values of their owners."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vlang.runtime.gpus.part_machine import PartMachine, mirrored
from vlang.runtime.gpus.traffic import Move, Traffic
from vlang.runtime.plan.plan import StageSpec, field_of

__all__ = ["Mirrors"]


class Mirrors:
    """The mirrors of all GPUs of a run.

    Args:
        parts: the machines of the GPUs.
        traffic: the copies between them.

    Attributes:
        read: the arrays that any pass reads at neighbours.
    """

    def __init__(self, parts: Sequence[PartMachine], traffic: Traffic) -> None:
        self._parts, self._traffic = parts, traffic
        self.read = mirrored(parts[0].plan)
        self._fresh: set[str] = set()  # the arrays whose mirrors have the values of their owners

    def refresh(self, slots: Iterable[str]) -> None:
        """Update the mirrors of some arrays, unless they are up to date."""
        stale = [slot for slot in slots if slot in self.read and slot not in self._fresh]
        moves = []
        for owner, part in enumerate(self._parts):
            for rank, places in enumerate(part.numbers.wanted):
                at = part.outbox(rank) if len(places) and stale else 0
                for slot in stale if len(places) else ():
                    part.pack(slot, rank, at)
                    nbytes = len(places) * part.itemsize(slot)
                    moves.append(Move(owner, at, rank, self._parts[rank].mirror_at(slot, owner), nbytes))
                    at += part.packed_bytes(slot, len(places))
        self._traffic.move(moves)
        self._fresh.update(stale)

    def changed(self, slot: str) -> None:
        """Note that the values of an array have changed."""
        self._fresh.discard(slot)

    def written(self, slot: str) -> None:
        """Note that the values of an array have been overwritten on all GPUs, mirrors included."""
        self._fresh.add(slot)

    def ran(self, stage: StageSpec) -> None:
        """Note that a pass has run. Fields that it does not write keep their values; other arrays may have changed."""
        self._fresh = {slot for slot in self._fresh if self._stays(slot, stage)}

    def _stays(self, slot: str, stage: StageSpec) -> bool:
        return slot.startswith(("field:", "start")) and field_of(slot) not in stage.written
