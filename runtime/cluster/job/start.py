"""Starts the ranks of a job by mpiexec on this machine, and restarts the job if a rank is killed."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import IO

from vlang.errors import ClusterError
from vlang.records import dataclass
from vlang.runtime.cluster.job.launched import ENDED
from vlang.runtime.cluster.transports.mpi import INSTALL

__all__ = ["Ended", "job_of", "run_job"]

_OPEN_MPI = {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "PRTE_MCA_hwloc_default_binding_policy": "none"}
"""Variables by which Open MPI allows more ranks than processors, and threads on all processors. MPICH allows both
without them."""

_PR_SET_PDEATHSIG = 1


def job_of(ranks: int, module: str, argv: Sequence[str]) -> tuple[list[str], dict[str, str]]:
    """Return the command and the environment that run `python -m module` with arguments `argv` on `ranks` ranks.

    Raises ClusterError if mpi4py or mpiexec is missing.
    """
    beside = Path(sys.executable).parent / "mpiexec"
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    missing = "mpi4py" if find_spec("mpi4py") is None else "mpiexec" if mpiexec is None else ""
    if missing or mpiexec is None:
        raise ClusterError(f"several ranks need {missing}, which is not installed: {INSTALL}")
    environ = {**_OPEN_MPI, **os.environ}
    if os.geteuid() == 0:
        environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return [mpiexec, "-n", str(ranks), sys.executable, "-m", module, *argv], environ


@dataclass(frozen=True)
class Ended:
    """The end of a job.

    Attributes:
        status: the exit status of mpiexec; 128 or more after a signal.
        signals: the signals that this process received and passed on to the job.
    """

    status: int
    signals: Sequence[int]


def run_job(
    command: Sequence[str], environ: Mapping[str, str], restarts: int, say: Callable[[str], None],
    out: IO[bytes] | None = None, err: IO[bytes] | None = None,
) -> Ended:
    """Run a job until it ends, and restart it if it fails and no rank has called `note_end`.

    If a rank is killed, the job fails without a call of `note_end`. SIGINT and SIGTERM to this process are passed on to
    the job, and the job is then not restarted. The job has a process group of its own: otherwise it would get the
    SIGINT of a terminal twice, and end its ranks at once. If this process is killed, the system ends mpiexec, and
    mpiexec ends the ranks.

    Args:
        command, environ: as returned by `job_of`.
        restarts: the maximum number of restarts.
        say: called with a sentence for the user at each restart.
        out, err: the files for the output of the job; None if the job writes to the output of this process.
    """
    with tempfile.TemporaryDirectory(prefix="vlang-job-") as folder:
        ended = Path(folder) / "ended"
        for restart in range(1, restarts + 2):
            with subprocess.Popen(command, env={**environ, ENDED: str(ended)}, preexec_fn=_end_with_parent, stdout=out,
                                  stderr=err, stdin=subprocess.DEVNULL, process_group=0) as job, \
                    _passed_on(job) as signals:
                job.wait()
            if job.returncode == 0 or signals or ended.exists():
                break
            if restart <= restarts:
                say(f"a rank was killed: restart {restart} of {restarts}, from the last checkpoint of all ranks")
            elif restarts:
                say(f"a rank was killed, and the job was started again {restarts} times already")
    return Ended(128 - job.returncode if job.returncode < 0 else job.returncode, signals)


def _end_with_parent() -> None:
    """Let Linux send SIGTERM to this process when its parent dies. This function is called between fork and exec."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


@contextmanager
def _passed_on(job: subprocess.Popen[bytes]) -> Iterator[list[int]]:
    """A context manager that passes SIGINT and SIGTERM on to a job, and yields the list of signals passed on.

    Outside of the main thread, the signal handlers stay unchanged.
    """
    found: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        found.append(number)
        job.send_signal(number)

    main = threading.current_thread() is threading.main_thread()
    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)} if main else {}
    try:
        yield found
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
