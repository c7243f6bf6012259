"""Runs a command on several ranks: starts the ranks, and lets only rank 0 print."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NoReturn, TextIO

import click

from vlang.cli.show import note
from vlang.errors import BindError, VlangError
from vlang.runtime.cluster.job.ray_address import is_ray

if TYPE_CHECKING:
    from vlang.runtime.cluster.transports.transport import Transport

__all__ = ["as_rank", "start_asked"]


def start_ranks(ranks: int, restarts: int, argv: list[str]) -> NoReturn:
    """Run `vlang` with the arguments `argv` on a number of ranks, and end with the exit status of the ranks.

    Without restarts, mpiexec replaces this process. Raises ClusterError if mpi4py or mpiexec is missing.
    """
    from vlang.runtime.cluster.job.start import job_of, run_job  # start-up

    command, environ = job_of(ranks, "vlang", argv)
    sys.stdout.flush()
    if restarts:
        raise click.exceptions.Exit(run_job(command, environ, restarts, note).status)
    os.execve(command[0], command, environ)


def start_asked(cluster: int | str | None, restarts: int | None, checkpoint: str | None) -> None:
    """Start the ranks of the option --cluster, unless this process is one of them."""
    from vlang.runtime.cluster.job.launched import launched_ranks, restarted  # start-up

    inside = launched_ranks() > 0
    if restarts is not None and not is_ray(cluster) and (inside or not isinstance(cluster, int)) and not restarted():
        raise click.UsageError("--restarts starts the ranks again if one is killed, so vlang must have started them: "
                               "give --cluster N as well, outside of mpiexec and srun, or --cluster ray:N")
    if restarts is not None and checkpoint is None:
        raise click.UsageError("--restarts goes on from the last checkpoint of all ranks: give --checkpoint DIR as "
                               "well")
    if isinstance(cluster, int) and not inside:
        start_ranks(cluster, restarts or 0, sys.argv[1:])


@contextmanager
def as_rank(asked: int | str | None) -> Iterator[Transport | None]:
    """A context manager in which a command runs as one rank of the MPI job of this process; only rank 0 prints.

    The context manager yields the transport, or None outside of a job. `asked` is the option --cluster. An error on any
    rank ends the command on all ranks, and rank 0 shows it.
    """
    from vlang.runtime.cluster.job.launched import launched_ranks, note_end  # start-up

    if not launched_ranks() and asked is None:
        yield None
        return
    from vlang.runtime.cluster.transports.mpi import mpi_ranks  # start-up
    from vlang.runtime.cluster.transports.transport import agree, joined  # start-up

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
            note_end()
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
