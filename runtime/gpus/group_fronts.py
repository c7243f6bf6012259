"""The frontiers of all GPUs of a loop that pushes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Generic, TypeVar

from vlang.runtime.gpu.ways.counted_loop import CountedLoop
from vlang.runtime.gpus.part_push import PartFront, sent_slots
from vlang.runtime.plan.plan import StageSpec

if TYPE_CHECKING:
    from vlang.runtime.gpus.group_machine import GroupMachine
    from vlang.runtime.gpus.part_machine import PartMachine

__all__ = ["GroupFronts"]

F = TypeVar("F", bound=PartFront)


class GroupFronts(CountedLoop, Generic[F]):
    """Opens and closes the frontiers of a loop.

    Args:
        machine: the machine of all GPUs.
        parts: the machines of the GPUs.
        stage: the pass.
        front: opens the frontier of a GPU.

    Raises:
        OutOfMemory: a GPU has no memory for its frontier.
    """

    def __init__(
        self, machine: GroupMachine, parts: Sequence[PartMachine], stage: StageSpec,
        front: Callable[[PartMachine, StageSpec], F],
    ) -> None:
        self._machine, self._stage = machine, stage
        self._closing = ExitStack()
        sent = sent_slots(stage)  # mirrors get these values when they become active
        machine.mirrors.refresh([slot for slot in stage.near if slot not in sent])
        self._fronts: list[F] = []
        try:
            for part in parts:
                self._fronts.append(front(part, stage))
                self._closing.callback(self._fronts[-1].close)
        except BaseException:
            self._closing.close()
            raise

    def close(self) -> None:
        """Free the memory, and restore the second buffers of the fields."""
        self._machine.mirrors.pushed(self._stage)
        self._closing.close()
