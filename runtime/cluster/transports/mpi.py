"""Ranks that are processes of an MPI job (mpi4py; Open MPI or MPICH)."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from types import TracebackType
from typing import Any

import numpy as np

from vlang.errors import BindError, ClusterError
from vlang.runtime.cluster.transports.transport import Buffer, check_places
from vlang.runtime.cluster.transports.watch import Watch
from vlang.runtime.storage.memory import empty
from vlang.runtime.threads.processors import available_threads

__all__ = ["INSTALL", "MOST_BYTES", "Mpi", "mpi_ranks", "reason_of"]

INSTALL = "pip install 'vlang[cluster]'"

MOST_BYTES = 1 << 30
"""The most bytes of one message between two ranks; longer ones are sent in rounds. Open MPI 5.0.11 fails from 2^31."""

_RECORD = 1024  # bytes that every rank sends to every other one in each exchange
_SIZE, _PLACE = 8, 504  # of these: the length of the message, and the place of the rank
_INSIDE = _RECORD - _SIZE - _PLACE  # messages up to this length are in the record
_FAILED = "!"  # begins the place of a rank that has failed
_END = "the end of the process"
_SPINS = 2000  # tests before a rank that waits gives its processor to others, if each rank has one
_SPINS_SHARED = 20  # the same if several ranks share a processor
_YIELDS = 500  # times that it gives its processor away before it sleeps, which takes 50 us and more
_GRACE = 1.0  # seconds that a rank that failed waits for others before it ends the job
_STARTS = 5.0  # the same before the first exchange, while others may still import modules


class Mpi:
    """The transport of a process of an MPI job (see `Transport`).

    An exchange begins with a collective of short records. A record contains the place of the rank in the run, and
    messages of up to _INSIDE bytes. Longer messages follow as point-to-point messages. Therefore ranks at different
    places in the run still call the same collective, and every rank gets an error.

    `comm` is the communicator of the ranks; by default, all ranks of the job. The communicator is duplicated.
    """

    together = True

    def __init__(self, comm: Any = None) -> None:
        from mpi4py import MPI  # optional

        comm = comm or MPI.COMM_WORLD
        self._mpi: Any = MPI
        self._comm: Any = comm.Dup()
        self._watch = Watch(comm.Dup(), MPI)
        self.rank, self.size = int(self._comm.Get_rank()), int(self._comm.Get_size())
        shared = self._comm.Split_type(MPI.COMM_TYPE_SHARED)
        self.beside, self.lead = int(shared.Get_size()), int(shared.bcast(self.rank))
        self.place = int(shared.Get_rank())
        shared.Free()
        self.calls = self.sent = 0
        self._spins = _SPINS if self.beside <= available_threads() else _SPINS_SHARED
        self.failed = False
        self._begun: Any = None  # the request of records for which this rank waits
        self._out = np.zeros((self.size, _RECORD), np.uint8)
        self._in = np.zeros((self.size, _RECORD), np.uint8)
        self._lengths, self._coming = (records[:, :_SIZE].view(np.int64)[:, 0] for records in (self._out, self._in))
        self._where, self._same = "", bytes(self.size * _PLACE)  # the place in the records, and that of all ranks there

    def exchange(self, buffers: Sequence[Buffer], where: str) -> list[Buffer]:
        """See `Transport`."""
        self.calls += 1
        self.failed = False  # after an error that all ranks have got, a script may go on
        lengths = [0 if rank == self.rank else len(buffer) for rank, buffer in enumerate(buffers)]
        self.sent += sum(lengths)
        if where != self._where:
            self._write(where)
        self._lengths[:] = lengths
        for rank, length in enumerate(lengths):
            if 0 < length <= _INSIDE:
                self._out[rank, _SIZE + _PLACE : _SIZE + _PLACE + length] = buffers[rank]
        self._watch.enter(self.calls, where)
        self._begun = self._comm.Ialltoall(self._out, self._in)
        self._wait(self._begun)
        self._begun = None
        if self._in[:, _SIZE : _SIZE + _PLACE].tobytes() != self._same:
            self._check()
        found = [empty(0 if rank == self.rank else length, np.uint8)
                 for rank, length in enumerate(self._coming.tolist())]
        requests = []
        for rank, buffer in enumerate(found):
            if len(buffer) > _INSIDE:
                requests += [self._comm.Irecv(part, rank) for part in _rounds(buffer)]
            else:
                buffer[:] = self._in[rank, _SIZE + _PLACE : _SIZE + _PLACE + len(buffer)]
        for rank, length in enumerate(lengths):
            if length > _INSIDE:
                requests += [self._comm.Isend(part, rank) for part in _rounds(buffers[rank])]
        for request in requests:
            self._wait(request)
        return found

    def abort(self, reason: str) -> None:
        """See `Transport`.

        The other ranks receive the reason in their next exchange. If a rank begins no exchange for 1 s, or for 5 s
        before the first exchange, the job is ended.
        """
        if self.failed or self.size == 1:
            return
        self.failed = True
        end = time.monotonic() + (_GRACE if self.calls else _STARTS)
        if self._begun is not None:  # an interrupt while this rank waited: its records of this exchange are on the way
            self._meet(self._begun, end, reason)
            self._begun = None
            if any(place.startswith(_FAILED) or place == _END for place in self._places()):
                return  # the others end as well, and come to no other exchange
        self._write(_FAILED + reason)
        self._meet(self._comm.Ialltoall(self._out, self._in), end, reason)

    def _meet(self, request: Any, end: float, reason: str) -> None:
        """Wait for a request until the time `end`, and then end the job, because this rank has failed."""
        while not request.Test():
            if time.monotonic() > end:
                print(f"error: rank {self.rank} failed, and the others have not noticed: {reason}",
                      file=sys.__stderr__, flush=True)
                self._comm.Abort(1)
            time.sleep(0.001)

    def leave(self) -> None:
        """Wait at the end of the process until the other ranks have come to their ends, as MPI_Finalize does. A rank
        that is in an exchange meanwhile gets an error, because it would wait forever.
        """
        if self.failed or self.size == 1:
            return
        self._write(_END)
        request = self._comm.Ialltoall(self._out, self._in)
        while not request.Test():
            time.sleep(0.001)

    def _write(self, place: str) -> None:
        """Write the place of this rank in all records."""
        raw = place.encode()[:_PLACE]
        self._out[:, : _SIZE + _PLACE] = 0
        self._out[:, _SIZE : _SIZE + len(raw)] = np.frombuffer(raw, np.uint8)
        self._where, self._same = place, self._out[:, _SIZE : _SIZE + _PLACE].tobytes()

    def _places(self) -> list[str]:
        return [row.tobytes().rstrip(b"\0").decode(errors="ignore") for row in self._in[:, _SIZE : _SIZE + _PLACE]]

    def _check(self) -> None:
        """Raise ClusterError if another rank has failed, or is at another place in the run."""
        places = self._places()
        for rank, place in enumerate(places):
            if place.startswith(_FAILED):
                self.failed = True
                raise ClusterError(f"rank {rank} failed: {place[1:]}")
            if place == _END:
                self.failed = True
                raise ClusterError(f"rank {rank} has ended, and this rank waits for it at {self._where!r}: all ranks "
                                   "must make the same runs")
        try:
            check_places(places)
        except ClusterError:
            self.failed = True
            raise

    def _wait(self, request: Any) -> None:
        """Wait for a request. After a while, print which ranks wait and which ranks are missing (see `Watch`)."""
        for _ in range(self._spins):
            if request.Test():
                return
        for _ in range(_YIELDS):
            os.sched_yield()
            if request.Test():
                return
        self._watch.begin()
        while not request.Test():
            time.sleep(0)
            self._watch.look()


def _rounds(buffer: Buffer) -> list[Buffer]:
    return [buffer[at : at + MOST_BYTES] for at in range(0, len(buffer), MOST_BYTES)]


def reason_of(error: BaseException) -> str:
    """Return the message of an error in one line."""
    if isinstance(error, KeyboardInterrupt):
        return "it was interrupted"
    return " ".join(str(error).split()) or type(error).__name__


def mpi_ranks(asked: int | str | None) -> Mpi:
    """Return the transport of the MPI job of this process; a process without mpiexec is a job of one rank.

    `asked` is the option `cluster`. Raises ClusterError if mpi4py is missing or MPI does not load. Raises BindError if
    `asked` is a number other than the number of ranks of the job.
    """
    if find_spec("mpi4py") is None:
        raise ClusterError(f"a run on several ranks needs mpi4py, which is not installed: {INSTALL}")
    transport = _joined()
    if isinstance(asked, int) and asked != transport.size:
        raise BindError(f"{asked} ranks were asked for, and this job has {transport.size}: start it by `mpiexec -n "
                        f"{asked}`, or leave the number out")
    return transport


@cache
def _joined() -> Mpi:
    try:
        transport = Mpi()
    except (ImportError, RuntimeError) as error:
        raise ClusterError(f"MPI does not load: {' '.join(str(error).split())[:200]}; {INSTALL}") from None
    _end_with(transport)
    return transport


def _end_with(transport: Mpi) -> None:
    """End the job if this process ends while other ranks wait for it, such as after an error in the user's script.

    Without this, the other ranks would wait in their next exchange, and this rank in MPI_Finalize.
    """
    shown = sys.excepthook

    def failed(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        shown(kind, error, trace)
        sys.stderr.flush()
        transport.abort(reason_of(error))

    sys.excepthook = failed
    atexit.register(transport.leave)
