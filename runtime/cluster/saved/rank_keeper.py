"""Checkpoints of a run on several ranks: all ranks save the same superstep, and agree on which generations are valid.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vlang.errors import InternalError
from vlang.records import dataclass
from vlang.runtime.cluster.local_numbers import LocalNumbers
from vlang.runtime.cluster.saved.rank_folder import RankFolder
from vlang.runtime.cluster.transports.transport import Transport, first_reason, summed
from vlang.runtime.engine.keeper import INTERVAL, Keeper
from vlang.runtime.engine.machine import Loop
from vlang.runtime.engine.run_outcome import Kept
from vlang.runtime.storage.state.state_file import Image
from vlang.runtime.storage.state.state_folder import StateFolder, reason

__all__ = ["RankKeeper"]


@dataclass(kw_only=True)
class RankKeeper(Keeper):
    """Saves one rank's part of the state of a run.

    All ranks reach the same points of the run. At each point they exchange five numbers, so that all ranks make the
    same decisions. The clock of rank 0 decides when a checkpoint is due. A generation is valid when all ranks have
    written it, and the next generation begins only then. If a rank cannot write its part, the attempt is repeated.

    Attributes:
        transport: the transport of the rank.
        numbers: the local vertex numbers of the rank.
    """

    transport: Transport
    numbers: LocalNumbers

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.folder, RankFolder):
            raise InternalError("several ranks save a run in a folder of each rank")
        self._files = self.folder
        self._common = self._began = self._files.number  # the newest generation that all ranks have written
        self._pending, self._why = False, ""  # whether an attempt is under way, and why this rank failed in the attempt
        self._stamp, self._asked = 0, False  # `_asked`: whether an interrupt of any rank ends the run

    @property
    def _ending(self) -> bool:
        """Whether an interrupt of any rank ends the run."""
        return self._asked

    @property
    def _has_earlier(self) -> bool:
        """Whether all ranks have written a checkpoint of this run."""
        return self._common > self._began or self.saved is not None

    def room(self, room: int | None) -> int:
        """Return 1, because the times of calls differ between ranks, and all ranks must run the same supersteps."""
        return 1

    # ------------------------------------------------------------------------------------------------- points
    def point(self, kept: Kept, loop: Loop | None = None) -> None:
        """Does the same as `Keeper.point`. All ranks call this method at the same points of the run.

        A signal to any rank ends the run.
        """
        if self.position.arriving:
            return
        lead, now = self.transport.rank == 0, time.monotonic()
        if self._coming is None and now > self._soon:
            self._prepare()
        wrote = self._pending and self._collect() and not self._why
        due = lead and now >= self._due
        asked, due_now, busy, ended, stamp = summed(self.transport, [
            self.interrupts.asked > 0, due, self._busy, wrote or bool(self._why), time.time_ns() if lead else 0,
        ], "whether a checkpoint is due")
        if self._pending and ended == self.transport.size:
            self._conclude()
        if not asked and (not due_now or busy or self._pending):
            return
        self._finish_attempt()
        self._asked = asked > 0
        self._begin_attempt(kept, loop, stamp)
        if asked:
            self._stop()

    def _begin_attempt(self, kept: Kept, loop: Loop | None, stamp: int) -> None:
        """Let this rank write its part of the next generation."""
        self._files.number, self._stamp = self._common, stamp
        self._pending, self._why = True, ""
        if not self._save(self._files, kept, self._flags(loop)):
            self._why = self._why or "the run was interrupted"

    def _conclude(self) -> None:
        """Agree on whether the generation of the last attempt is valid. All ranks must have ended the attempt."""
        self._pending = False
        why = first_reason(self.transport, self._why and f"rank {self.transport.rank}: {self._why}", "a checkpoint")
        self._why = ""
        if not why:
            self._common += 1
            return
        self._due = time.monotonic() + max(INTERVAL, self.every or 0)
        self._report(why)

    def _finish_attempt(self) -> None:
        """If an attempt is in progress, wait until all ranks have ended the attempt, and conclude the attempt."""
        if self._pending:
            if not self._await():
                self._why = self._why or "the run was interrupted"
            self._conclude()

    def _stop(self) -> None:
        before = self._common
        self._finish_attempt()
        if self._common > before:
            self.say(f"saved before {self._where()}; the same command goes on from there")
        self.interrupts.raise_noted()
        raise KeyboardInterrupt  # another rank got the signal

    def _problem(self, why: str) -> None:
        """Record the reason why this rank could not write its part. `_conclude` reports the reason."""
        self._why = why

    # ------------------------------------------------------------------------------------------------- contents
    def _flags(self, loop: Loop | None) -> NDArray[np.uint8] | None:
        """Return the flags of the owned vertices."""
        flags = super()._flags(loop)
        return None if flags is None else self.numbers.own(flags)

    def _header(self, folder: StateFolder, finished: bool) -> dict[str, Any]:
        """Return the items of `Keeper._header`, and the part of the checkpoint that this rank writes."""
        first, last = self._files.owned
        part = {"rank": self.transport.rank, "ranks": self.transport.size, "first": first, "last": last,
                "stamp": self._stamp}
        return {**super()._header(folder, finished), "part": part}

    # ------------------------------------------------------------------------------------------------- ends
    def finish(self) -> None:
        """Mark the checkpoint as finished on all ranks, unless a signal has ended the run on any rank."""
        lead = self.transport.rank == 0
        asked, self._stamp = summed(self.transport, [self.interrupts.asked > 0, time.time_ns() if lead else 0],
                                    "the end of the run")
        if asked:
            return
        self._finish_attempt()
        self._files.number, self._pending = self._common, True
        try:
            self._files.write(Image(self._header(self._files, finished=True), {}))
        except OSError as error:
            self._problem(reason(error))
        before = self._common
        self._conclude()
        if self._common > before:
            try:
                self._files.drop_older()
            except OSError as error:
                self._problem(reason(error))
