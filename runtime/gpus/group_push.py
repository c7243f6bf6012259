"""Loops over frontiers on several GPUs that do not reach each other: the host queues the exchange after each superstep.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from vlang.runtime.engine.machine import Done, Stats
from vlang.runtime.gpus.group_fronts import GroupFronts
from vlang.runtime.gpus.part_push import PartPush, record_bytes
from vlang.runtime.gpus.shared_bound import SharedBound, priority_of
from vlang.runtime.gpus.traffic import Move
from vlang.runtime.plan.plan import StageSpec

if TYPE_CHECKING:
    from vlang.runtime.gpus.group_machine import GroupMachine
    from vlang.runtime.gpus.part_machine import PartMachine

__all__ = ["GroupPush"]


class GroupPush(GroupFronts[PartPush]):
    """A loop with a single pass that pushes; a `vlang.runtime.engine.machine.Loop`.

    A superstep is one launch on each GPU whose frontier is not empty. The host reads the counts of all GPUs. The host
    then queues the copies, and the work that makes mirrors active. In priority order (rule O), the host raises the
    bound for all GPUs.

    Args:
        machine: the machine of all GPUs.
        parts: the machines of the GPUs.
        stage: the pass.

    Raises:
        OutOfMemory: a GPU has no memory for its frontier.
    """

    def __init__(self, machine: GroupMachine, parts: Sequence[PartMachine], stage: StageSpec) -> None:
        super().__init__(machine, parts, stage, PartPush)
        self._bound, self._begun = SharedBound(), False

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run supersteps until no vertex is active, or until `room` supersteps have run."""
        if not self._begun:
            self._begun = True
            for front in self._fronts:
                front.open()
            self._exchange(self._fronts)
        rows: list[Done] = []
        while room is None or len(rows) < room:
            if not any(front.entries for front in self._fronts):
                if not self._lift():
                    break
                continue
            rows.append(self._superstep())
            if not rows[-1].active and not self._piled():
                break
        if not rows:  # the first frontier was empty
            self._stats = Stats()
            rows = [Done(0, "push", 0)]
        self._done = rows[-1]
        return rows

    # ------------------------------------------------------------------------------------------- supersteps
    def _superstep(self) -> Done:
        """Run one superstep; waits for its counts."""
        running = [front for front in self._fronts if front.entries]
        for front in running:
            self._reclaim(front)
            front.queue_superstep()
        rows = self._exchange(running)
        active, edges = sum(row.active for row in rows), sum(row.edges for row in rows)
        self._bound.ran(edges)
        changed = sum(front.stats.changed for front in running)
        if active == 0:  # vertices beyond the bound are active, too
            active = self._piled()
        self._stats = Stats(changed, active)
        modes = {row.mode for row in rows}
        return Done(active, modes.pop() if len(modes) == 1 else "push", edges)

    def _reclaim(self, front: PartPush) -> None:
        """Let later work of a GPU, which fills its outboxes again, wait for the copies from the outboxes."""
        for rank in front.part.places:
            self._machine.traffic.reclaim(front.part.numbers.rank, rank)

    def _exchange(self, fronts: Sequence[PartPush]) -> list[Done]:
        """Wait for the work of some GPUs, and queue the exchange of the collected values.

        Returns the records of these GPUs.
        """
        rows = [front.fetch() for front in fronts]
        traffic, moves, taken = self._machine.traffic, [], []
        for front in fronts:
            owner, size = front.part.numbers.rank, record_bytes(front.part, front.slot)
            for rank, count in front.found.items():
                if count:
                    self._machine.activated += count
                    other = self._fronts[rank]
                    moves.append(Move(owner, front.boxes[f"out:{rank}"], rank, other.boxes[f"in:{owner}"],
                                      count * size))
                    taken.append((other, owner, count))
        traffic.move(moves, boxes=True)
        for other, owner, count in taken:
            other.adopt(owner, count)
        return [row for row in rows if row is not None]

    # ------------------------------------------------------------------------------------------- priorities
    def _piled(self) -> int:
        """Return the number of entries in all far piles."""
        return sum(front.piled for front in self._fronts)

    def _lift(self) -> bool:
        """Raise the bound, and move the vertices below the bound to the queues; returns whether a far pile had entries.
        """
        waiting = [front for front in self._fronts if front.piled]
        if not waiting:
            return False
        least = min(int(front.word(f"least[{front.word('pile')}]")) for front in waiting)
        totalled = sum(front.word("totalled") for front in self._fronts)
        mean = sum(front.word("total") for front in self._fronts) / totalled if totalled else math.nan
        start = priority_of(min(int(front.word("start")) for front in self._fronts))
        self._bound.lift(priority_of(least), mean - start)
        for front in self._fronts:
            self._reclaim(front)
            front.lift(self._bound.bound, self._bound.delta)
        self._exchange(waiting)
        return True
