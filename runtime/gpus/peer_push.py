"""Loops over frontiers on several GPUs that reach each other: many supersteps in one launch on each GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from vlang.errors import DeviceError
from vlang.runtime.engine.machine import Done, Stats
from vlang.runtime.gpu.device.at_once import RUNNING, queued_at_once
from vlang.runtime.gpus.group_fronts import GroupFronts
from vlang.runtime.gpus.peer_front import PeerFront
from vlang.runtime.plan.plan import StageSpec

if TYPE_CHECKING:
    from vlang.runtime.gpus.group_machine import GroupMachine
    from vlang.runtime.gpus.part_machine import PartMachine

__all__ = ["PeerPush"]

_MOST = 4096  # supersteps per launch; there are records for so many


class PeerPush(GroupFronts[PeerFront]):
    """A loop with a single pass that pushes; a `vlang.runtime.engine.machine.Loop`.

    The kernels of the GPUs run at the same time. They store values of active vertices in each other's inboxes, wait for
    each other, and take the same decisions. The host only begins the launches, and reads the counts at the end.

    Args:
        machine: the machine of all GPUs.
        parts: the machines of the GPUs.
        stage: the pass.

    Raises:
        OutOfMemory: a GPU has no memory for its frontier.
    """

    def __init__(self, machine: GroupMachine, parts: Sequence[PartMachine], stage: StageSpec) -> None:
        super().__init__(machine, parts, stage, PeerFront)
        self._begun = False

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run supersteps until no vertex is active, or until `room` supersteps have run."""
        with RUNNING:
            self._launch(min(_MOST, room or _MOST))
            before = self._sent()
            each = [self._fetch(front) for front in self._fronts]
            self._machine.sent(*(now - then for now, then in zip(self._sent(), before)))
        rows = [_joined(some) for some in zip(*each)]
        waiting = sum(front.waiting for front in self._fronts)
        self._stats = Stats(sum(front.changed for front in self._fronts), rows[-1].active) if rows else Stats()
        rows = rows or [Done(0, "push", 0)]  # the first frontier was empty
        if rows[-1].active == 0 and waiting:  # the far piles still have vertices
            self._stats = Stats(self._stats.changed, waiting)
            rows[-1] = rows[-1]._replace(active=waiting)
        self._done = rows[-1]
        return rows

    def _fetch(self, front: PeerFront) -> list[Done]:
        """Return the records of a GPU; waits for its launch. A kernel that waits in vain fails."""
        try:
            return front.fetch()
        except DeviceError as error:
            raise DeviceError(f"{error}. Or another program kept one of the {len(self._fronts)} GPUs busy: in such a "
                              "loop a GPU waits for the others for about half a minute at most") from None

    def _sent(self) -> tuple[int, int]:
        """Return the number of values that all GPUs have sent so far, and their bytes."""
        return sum(front.sent for front in self._fronts), sum(front.sent_bytes for front in self._fronts)

    def _launch(self, most: int) -> None:
        """Queue a launch on each GPU."""
        for front in self._fronts:
            if not self._begun:
                front.open(self._fronts)
            front.prepare()
        if not self._begun:
            self._begun = True
            self._machine.traffic.meet()  # no GPU writes to a box before its owner has prepared it
        with queued_at_once():
            for front in self._fronts:
                front.launch(most, len(self._fronts))


def _joined(rows: Sequence[Done]) -> Done:
    """Return the record of a superstep of all GPUs."""
    modes = {row.mode for row in rows if row.edges}
    return Done(sum(row.active for row in rows), modes.pop() if len(modes) == 1 else "push",
                sum(row.edges for row in rows))
