"""Checkpoints of a run. A separate thread writes checkpoints at intervals and after an interrupt."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vlang.errors import OutOfMemory
from vlang.records import dataclass
from vlang.runtime.engine.checkpoint import FLAGS, Restorable, Saved, largest_slots, packed
from vlang.runtime.engine.machine import Loop
from vlang.runtime.engine.position import Block, Position, describe, walk
from vlang.runtime.engine.run_outcome import Kept, Stopped
from vlang.runtime.plan.plan import Plan
from vlang.runtime.storage.memory import PAGE, page_aligned
from vlang.runtime.storage.state.remote import Remote
from vlang.runtime.storage.state.state_file import FileImage, Image
from vlang.runtime.storage.state.state_folder import StateFolder, reason
from vlang.runtime.threads.interrupts import Interrupts
from vlang.runtime.threads.tasks import Task

__all__ = ["INTERVAL", "Keeper", "Syncing"]

INTERVAL = 30.0  # minimum seconds between two checkpoints, if the caller gives no number
_SHARE = 20.0  # minimum time between two checkpoints, as a multiple of the time that one takes
_CALL = 0.5  # about the maximum seconds of a call of several supersteps, so that an interrupt is noticed soon
_FIRST = 16  # supersteps in the first call of a loop
_MOST = 1 << 20  # maximum number of supersteps in a call


@runtime_checkable
class Syncing(Protocol):
    """A loop that keeps state outside of the fields between two calls."""

    def sync(self) -> NDArray[np.uint8] | None:
        """Copy the values after the last superstep to the arrays of the fields. The loop can continue after the call.

        Returns uint8[n], with 1 for each active vertex; None if the loop does not know the active vertices.
        """


@dataclass
class Keeper:
    """Saves the state of one run.

    Attributes:
        plan: the program.
        machine: holds the state.
        interrupts: records signals during the run.
        folder: the folder of the checkpoints; None if no checkpoints are written.
        key: values of types that JSON supports. A run can continue from these checkpoints only if its key has equal
            values.
        every: seconds between two checkpoints. None stands for INTERVAL or, if larger, _SHARE times the duration of a
            checkpoint.
        returns: whether an interrupt ends the run with its current values; otherwise the interrupt is raised.
        threads: the number of threads that copy the state.
        say: called with a sentence for the user.
        saved: the checkpoint from which the run continues; None for a run from the beginning.
        problems: sentences about checkpoints that could not be written.
        stall: the seconds that the run has waited for checkpoints so far.
        written: the number of checkpoints written so far.
    """

    plan: Plan
    machine: Restorable
    interrupts: Interrupts
    folder: StateFolder | None = None
    key: Mapping[str, Any] = field(default_factory=dict)
    every: float | None = None
    returns: bool = False
    threads: int = 1
    say: Callable[[str], None] = lambda _text: None
    saved: Saved | None = None
    problems: list[str] = field(default_factory=list)
    stall: float = 0.0
    written: int = 0

    def __post_init__(self) -> None:
        self.position = Position([] if self.saved is None else [block for block, _ in self.saved.blocks])
        self._writer: Task[float] | None = None
        self._collected, self._whole = True, False  # whether the end of the writer was noted, and whether it succeeded
        self._buffer: NDArray[np.uint8] | None = None
        self._coming: Task[NDArray[np.uint8]] | None = None  # allocates the first buffer, and touches all of its pages
        self._abandoned = False
        self._cost = 0.0
        self._due = time.monotonic() + (INTERVAL if self.every is None else self.every)
        self._soon = (time.monotonic() + self._due) / 2
        self._span = _CALL if self.every is None else min(_CALL, self.every)
        self.begin_loop()

    # --------------------------------------------------------------------------------------------------- pace
    def begin_loop(self) -> None:
        """Note that a loop begins, and that the duration of its supersteps is unknown."""
        self._room = _FIRST if self._span else 1

    def room(self, room: int | None) -> int:
        """The maximum number of supersteps in the next call. `room` is the limit of the loop, or None."""
        return self._room if room is None else min(self._room, room)

    def measure(self, seconds: float, supersteps: int) -> None:
        """Record the duration and the number of supersteps of a call.

        The duration and the number of supersteps determine the limit of the next call.
        """
        fitting = int(self._span * supersteps / seconds) if seconds > 0 else _MOST
        self._room = max(1, min(fitting, 2 * self._room, _MOST))

    def copy_of(self, block: Block) -> object:
        """Restore the copy of the state from the CycleWatch of a block, in the form that `Machine.keep` returns.

        The state of the machine is unchanged after the call. The result is None if a GPU has no memory for copies.
        """
        assert self.saved is not None
        number = next(at for at, (one, _) in enumerate(self.saved.blocks) if one is block)
        copies, machine = self.saved.kept[number], self.machine
        slots = list(copies)
        now = machine.keep(slots)
        if now is None:
            return None
        for slot, copy in copies.items():
            machine.put(slot, copy)
        kept = machine.keep(slots)
        for slot, array in zip(slots, machine.copies(now)):
            machine.put(slot, array)
        machine.forget(now)
        return kept

    # ------------------------------------------------------------------------------------------------- points
    def point(self, kept: Kept, loop: Loop | None = None) -> None:
        """Write a checkpoint if it is due, and end the run if an interrupt was recorded.

        The engine calls this between steps and between supersteps; `loop` is the innermost loop in progress, or None.
        Raises Stopped and KeyboardInterrupt.
        """
        if self.position.arriving:
            return
        self._collect()
        asked = self.interrupts.asked
        now = time.monotonic()
        if not asked and (self.folder is None or now < self._due):
            if self.folder is not None and self.machine.windows is None and self._coming is None and now > self._soon:
                self._prepare()
            return
        if not asked and self._busy:
            return
        flags = self._flags(loop)
        if self.folder is not None:
            self._save(self.folder, kept, flags)
        if asked:
            self._stop()

    @property
    def _busy(self) -> bool:
        """Whether a thread still writes the last checkpoint or allocates memory for the first checkpoint."""
        return any(task is not None and not task.ended for task in (self._writer, self._coming))

    def _flags(self, loop: Loop | None) -> NDArray[np.uint8] | None:
        """The flags of the active vertices that this process saves; None if the loop does not know the active vertices.
        """
        return loop.sync() if isinstance(loop, Syncing) else None

    def _prepare(self) -> None:
        """Let a thread allocate and touch the memory for the first copy while the run continues."""
        size = sum(self.machine.share(slot).nbytes + PAGE for slot in largest_slots(self.plan))

        def touched() -> NDArray[np.uint8]:
            room = page_aligned(size + size // 16)
            room.fill(0)
            return room

        self._coming = Task(touched)
        self._coming.begin()

    def _stop(self) -> None:
        if self.folder is not None and self._await():
            self.say(f"saved before {self._where()}; the same command goes on from there")
        if self.returns:
            raise Stopped
        self.interrupts.raise_noted()

    def _where(self) -> str:
        return describe(walk(self.position.saved(), self.plan.steps))

    def _save(self, folder: StateFolder, kept: Kept, flags: NDArray[np.uint8] | None) -> bool:
        """Begin to write a checkpoint; returns False if the checkpoint could not be begun."""
        begin = time.monotonic()
        self._await()  # after this the writer has ended, unless the run is being interrupted
        if self._writer is not None and not self._writer.ended:
            return False
        self._whole = False
        try:
            position = self.position.saved()
            about, arrays = packed(self.plan, self.machine, position, self.position.blocks, kept.outcome(),
                                   kept.history)
            arrays |= {} if flags is None else {FLAGS: flags}
            about = {**self._header(folder, finished=False), **about}
            image = self._image(folder, about, arrays)
        except (MemoryError, OutOfMemory, OSError) as error:
            self._problem(reason(error) if isinstance(error, OSError) else "its copy does not fit into memory")
            self._due = begin + max(INTERVAL, self.every or 0)
            return False
        self._collected, self._writer = False, Task(lambda: self._write(folder, image))
        if not self._writer.begin():  # the system could not start a thread
            self._collect()
        self._cost = time.monotonic() - begin
        self.stall += self._cost
        self._due = time.monotonic() + (INTERVAL if self.every is None else self.every)
        return True

    def _header(self, folder: StateFolder, finished: bool) -> dict[str, Any]:
        """The items of a description that do not depend on the state. `finished` says whether the run has ended."""
        return {"generation": folder.coming, "finished": finished, "written": time.time(), "key": self.key}

    def _image(
        self, folder: StateFolder, about: Mapping[str, Any], arrays: Mapping[str, NDArray[Any] | Remote]
    ) -> Image | FileImage:
        """Copy the state into memory or, if vertex arrays are in files, into the file of the next generation."""
        if self.machine.windows is not None:
            return folder.image(about, arrays, self.machine.windows)
        if self._buffer is None and self._coming is not None:
            self._buffer = self._coming.result()
        image = Image(about, arrays, self._buffer, self.threads)
        self._buffer = image.buffer
        return image

    def _write(self, folder: StateFolder, image: Image | FileImage) -> float:
        """Write an image of the state, in the writer thread; returns the duration in seconds."""
        begin = time.monotonic()
        folder.write(image, lambda: self._abandoned)
        return time.monotonic() - begin

    def _await(self) -> bool:
        """Wait until the writer has ended or the run must end; returns whether the last image was written."""
        while self._writer is not None and not self._writer.ended and self.interrupts.left > 0:
            time.sleep(0.001)
        return self._collect()

    def _collect(self) -> bool:
        """Record the result of the writer if it has ended; returns whether the last image was written."""
        if self._writer is None or not self._writer.ended:
            return False
        if self._collected:
            return self._whole
        self._collected = True
        try:
            seconds = self._writer.result()
        except OSError as error:
            self._problem(reason(error))
            self._due = time.monotonic() + max(INTERVAL, self.every or 0)
            return False
        self.written += 1
        self._whole = True
        if self.every is None:
            self._due = max(self._due, time.monotonic() + _SHARE * (self._cost + seconds) - seconds)
        return True

    @property
    def _ending(self) -> bool:
        """Whether an interrupt ends the run."""
        return self.interrupts.asked > 0

    @property
    def _has_earlier(self) -> bool:
        """Whether the folder has a checkpoint of this run."""
        return self.written > 0 or self.saved is not None

    def _problem(self, why: str) -> None:
        """Note that a checkpoint could not be written."""
        self._report(why)

    def _report(self, why: str) -> None:
        """Report that a checkpoint could not be written: the first time, and when an interrupt ends the run."""
        assert self.folder is not None
        if self._ending or not self.problems:
            after = "the run goes on" if not self._ending else \
                "the same command goes on from the checkpoint before" if self._has_earlier else "nothing is saved"
            self.problems.append(f"no checkpoint could be written to {self.folder.shown}: {why}; {after}")
            self.say(self.problems[-1])

    # --------------------------------------------------------------------------------------------------- ends
    def finish(self) -> None:
        """Mark the checkpoint of the run as finished, unless an interrupt has ended the run."""
        if self.folder is None or self.interrupts.asked:
            return
        self._await()
        try:
            self.folder.write(Image(self._header(self.folder, finished=True), {}))
            self.folder.drop_older()
        except OSError as error:
            self._problem(reason(error))

    def abandon(self) -> None:
        """Ask the writer to stop soon."""
        self._abandoned = True

    def close(self) -> None:
        """Wait until the writer has ended, and release the folder."""
        if self._writer is not None:
            self._writer.wait()
        if self.folder is not None:
            self.folder.close()
