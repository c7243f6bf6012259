"""Runs a command on several ranks: starts the ranks, and lets only rank 0 print."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from vlang.errors import BindError, ClusterError, VlangError

if TYPE_CHECKING:
    from vlang.runtime.cluster.transport import Transport

__all__ = ["as_rank", "launched_ranks", "start_ranks"]

_SIZES = ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS")
"""The variables in which Open MPI, MPICH and srun store the number of ranks."""

_OPEN_MPI = {"PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe", "PRTE_MCA_hwloc_default_binding_policy": "none"}
"""More ranks than processors are allowed, and threads may use all processors. MPICH allows both by itself."""


def launched_ranks() -> int:
    """The number of ranks of the MPI job of this process; 0 if the process is in no MPI job."""
    sizes = [os.environ.get(name, "") for name in _SIZES]
    found = max((int(size) for size in sizes if size.isdigit()), default=0)
    return found if found > 1 or any(os.environ.get(name) for name in _SIZES[:2]) else 0


def start_ranks(ranks: int, argv: list[str]) -> NoReturn:
    """Replace this process by mpiexec, which runs `vlang` with the arguments `argv` on this number of ranks.

    Raises ClusterError if mpi4py or mpiexec is missing.
    """
    from vlang.runtime.cluster.mpi import INSTALL  # start-up

    beside = Path(sys.executable).parent / "mpiexec"
    mpiexec = str(beside) if beside.exists() else shutil.which("mpiexec")
    missing = "mpi4py" if find_spec("mpi4py") is None else "mpiexec" if mpiexec is None else ""
    if missing or mpiexec is None:
        raise ClusterError(f"--cluster needs {missing}, which is not installed: {INSTALL}")
    environ = {**_OPEN_MPI, **os.environ}
    if os.geteuid() == 0:
        environ |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    sys.stdout.flush()
    os.execve(mpiexec, [mpiexec, "-n", str(ranks), sys.executable, "-m", "vlang", *argv], environ)


@contextmanager
def as_rank(asked: int | str | None) -> Iterator[Transport | None]:
    """A context manager in which a command runs as one rank of the MPI job of this process; only rank 0 prints.

    The context manager yields the transport, or None outside of a job. `asked` is the option --cluster. An error on any
    rank ends the command on all ranks, and rank 0 shows it.
    """
    ranks = launched_ranks()
    if not ranks and asked is None:
        yield None
        return
    from vlang.runtime.cluster.mpi import mpi_ranks  # start-up
    from vlang.runtime.cluster.transport import agree, joined  # start-up

    try:
        transport = mpi_ranks(asked)
    except VlangError as error:
        if os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK", "0")) != "0":
            raise click.exceptions.Exit(1) from None
        if isinstance(error, BindError):
            raise click.UsageError(str(error)) from None
        raise
    with ExitStack() as stack:
        if transport.rank:
            nowhere = stack.enter_context(open(os.devnull, "w", encoding="utf-8"))
            outputs = sys.stdout, sys.stderr
            stack.callback(_restore, *outputs)
            sys.stdout = sys.stderr = nowhere
        try:
            with joined(transport):
                yield transport
            agree(transport, 0, "the end")  # rank 0 may have failed to write
        except BaseException as error:
            transport.abort(_reason(error))
            if transport.rank == 0:
                raise
            raise click.exceptions.Exit(_status(error)) from None


def _restore(out: TextIO, err: TextIO) -> None:
    sys.stdout, sys.stderr = out, err


def _reason(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _status(error: BaseException) -> int:
    """The exit status after an error on a rank other than 0; such a rank prints no message."""
    if isinstance(error, click.exceptions.Exit):
        return error.exit_code
    return 130 if isinstance(error, KeyboardInterrupt) else getattr(error, "exit_code", 1)
