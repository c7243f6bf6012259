"""Runs a command on several ranks, of which only rank 0 prints."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, TextIO

import click

from vlang.cli.show import note
from vlang.errors import BindError, VlangError
from vlang.runtime.cluster.job.ray_address import is_ray

if TYPE_CHECKING:
    from vlang.api.program import Program
    from vlang.runtime.cluster.transports.transport import Transport
    from vlang.runtime.graph.graph import Graph

__all__ = ["as_rank", "budget_of_ranks", "needed_of_rank", "ranks_note", "reads_shares", "start_asked"]


def start_ranks(ranks: int, restarts: int, argv: list[str]) -> NoReturn:
    """Run `vlang` with the arguments `argv` on a number of ranks. This process ends with the exit status of the ranks.

    Without restarts, mpiexec replaces this process. Raises ClusterError if mpi4py or mpiexec is missing.
    """
    from vlang.runtime.cluster.job.start import job_of, run_job  # start-up

    command, environ = job_of(ranks, "vlang", argv)
    sys.stdout.flush()
    if restarts:
        raise click.exceptions.Exit(run_job(command, environ, restarts, note).status)
    os.execve(command[0], command, environ)


def start_asked(cluster: int | str | None, restarts: int | None, checkpoint: str | None, piped: bool) -> None:
    """Start the ranks that the option --cluster names, unless this process is already one of these ranks.

    Args:
        cluster, restarts, checkpoint: the options of these names.
        piped: whether the command reads standard input.
    """
    from vlang.runtime.cluster.job.launched import launched_ranks, restarted  # start-up

    inside = launched_ranks() > 0
    if restarts is not None and not is_ray(cluster) and (inside or not isinstance(cluster, int)) and not restarted():
        raise click.UsageError("--restarts starts the ranks again if one is killed, so vlang must have started them: "
                               "give --cluster N as well, outside of mpiexec and srun, or --cluster ray:N")
    if restarts is not None and checkpoint is None:
        raise click.UsageError("--restarts goes on from the last checkpoint of all ranks: give --checkpoint DIR as "
                               "well")
    if isinstance(cluster, int) and not inside:
        if restarts and piped:
            raise click.UsageError("--restarts starts ranks that read their input again, and standard input (-) can be "
                                   "read once; write it to a file")
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
    from vlang.runtime.cluster.transports.mpi import mpi_ranks, reason_of  # start-up
    from vlang.runtime.cluster.transports.transport import agree, joined  # start-up

    try:
        transport = mpi_ranks(asked)
    except VlangError as error:
        if os.environ.get("PMI_RANK", os.environ.get("OMPI_COMM_WORLD_RANK", "0")) != "0":
            raise click.exceptions.Exit(0) from None
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
            transport.abort(reason_of(error))
            if transport.rank == 0:
                raise
            raise click.exceptions.Exit(0) from None  # MPICH's status of a job is the OR of all ranks' statuses


def _restore(out: TextIO, err: TextIO) -> None:
    sys.stdout, sys.stderr = out, err


def ranks_note(size: int, graph: str, apart: bool) -> str:
    """Return a line with the number of ranks, and the file from which each rank reads its edges.

    Args:
        apart: whether the ranks are actors of Ray, so that this process reads the graph and prints.
    """
    share = " from a page file that this process writes first" if apart and not graph.endswith(".vg") else ""
    return f"{size} ranks{' of Ray' if apart else ', rank 0 prints'}; each reads the edges of its vertices{share}"


def needed_of_rank(
    program: Program, graph: Graph, options: dict[str, Any], keywords: dict[str, Any], size: int
) -> str:
    """A line with the memory that a rank needs.

    Args:
        program: the program.
        graph: the graph.
        options: the options of the run, by name.
        keywords: the parameters and fields of the call, by name.
        size: the number of ranks.
    """
    from vlang.api.arguments.bind_options import check_options  # start-up
    from vlang.api.running.columns import columns_of  # start-up
    from vlang.runtime.cluster.rank_memory import rank_memory  # start-up

    given = frozenset(field.name for field in program.fields if field.name in keywords)
    columns = columns_of(program.stages().program, graph)
    plan = program.plan(columns, given, without=check_options(options).without, renumbered=True)
    return str(rank_memory(plan, graph, size))


def reads_shares(program: Program, options: dict[str, Any]) -> bool:
    """Return whether each rank of a run may read a share of the graph's file, so that the run needs no page file.

    A run with checkpoints needs a page file, because a checkpoint names the page file. A program that requires a simple
    graph needs a page file, because the test compares edges of different shares. A run under a budget needs a page
    file, because the conversion observes the budget.
    """
    from vlang.runtime.plan.plan import Contract, every_step  # start-up

    plan = program.plan(frozenset(edge.name for edge in program.edges), renumbered=True)
    needs = {word for step in every_step(plan.steps) if isinstance(step, Contract) and step.kind == "needs"
             for word in step.text.split()}
    return options.get("checkpoint") is None and options.get("device", "cpu") == "cpu" and \
        not needs & {"simple", "loopless"}


def budget_of_ranks(options: dict[str, Any]) -> int | None:
    """The memory budget of the ranks of this machine in bytes; None if there is none. Raises click.UsageError."""
    from vlang.api.arguments.bind_options import check_options  # start-up
    from vlang.api.running.memory import chosen_budget  # start-up

    try:
        return chosen_budget(check_options(options))
    except BindError as error:
        raise click.UsageError(str(error)) from None
