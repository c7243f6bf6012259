"""Runs this process as a rank of an MPI job, and refuses programs that cannot run on several ranks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from vlang.api.running.columns import refuse_ordinals
from vlang.api.running.on_disk import whole_lists
from vlang.errors import BindError
from vlang.runtime.cluster.job.launched import launched_ranks, note_end
from vlang.runtime.cluster.job.ray_address import is_ray, ray_address
from vlang.runtime.cluster.refusals import refuse_options, refuse_plan
from vlang.runtime.cluster.transports.mpi import mpi_ranks, reason_of
from vlang.runtime.cluster.transports.transport import here, joined
from vlang.runtime.gpus.refusals import refuse_options as refuse_gpu_options
from vlang.runtime.gpus.refusals import refuse_plan as refuse_gpu_plan

if TYPE_CHECKING:
    from vlang.api.calls import Call
    from vlang.api.program import Program
    from vlang.options import Options
    from vlang.runtime.engine.keeper import Keeper
    from vlang.runtime.plan.plan import Plan
    from vlang.runtime.results.result import Result
    from vlang.runtime.storage.state.state_folder import StateFolder

__all__ = ["abort_ranks", "as_mpi_rank", "explained_ranks", "rank_keeper", "refuse", "refuse_early", "starts_ranks"]


def refuse(program: Program, plan: Plan, options: Options) -> None:
    """Raise BindError for a program or an option that several ranks cannot run."""
    refuse_options(options)
    if options.device != "cpu":
        refuse_gpu_options(options)
        refuse_gpu_plan(plan, whole_lists(program))
    refuse_plan(plan, whole_lists(program))
    refuse_ordinals(program, "machine", "a cluster")


def refuse_early(program: Program, options: Options) -> None:
    """Call `refuse` before the graph is read, for a graph with all edge columns that the program reads."""
    columns = frozenset(edge.name for edge in program.edges)
    given = frozenset(field.name for field in program.fields if field.required)
    refuse(program, program.plan(columns, given, renumbered=True), options)


def starts_ranks(options: Options) -> bool:
    """Return whether a run itself starts the ranks of its option `cluster`. A run with Ray always starts its ranks; a
    run with MPI starts its ranks only if this process is not part of an MPI job.
    """
    return is_ray(options.cluster) or (isinstance(options.cluster, int) and not launched_ranks())


def explained_ranks(cluster: int | str) -> int:
    """The number of ranks that the option `cluster` names. Raises BindError if the number of ranks depends on a job or
    a Ray cluster.
    """
    found = cluster if isinstance(cluster, int) else ray_address(cluster).ranks if is_ray(cluster) else None
    if found is None:
        raise BindError(f"cluster={cluster!r} does not say how many ranks there are; give the number, cluster=4, or "
                        "ray://HOST:PORT/4")
    return found


def as_mpi_rank(call: Call, run: Callable[[], Result]) -> Result:
    """Call `run` as a rank of the MPI job of this process. An error ends the job on all ranks."""
    transport = mpi_ranks(call.options.cluster)
    try:
        with joined(transport):
            return run()
    except BaseException as error:
        note_end()
        transport.abort(reason_of(error))
        raise


def abort_ranks(cluster: int | str, error: BaseException) -> None:
    """Send an error of this rank before its run to the other ranks, which raise the error instead of waiting.

    This function does nothing if this process is not part of an MPI job. `cluster` is the option.
    """
    if launched_ranks() and not is_ray(cluster):
        mpi_ranks(None).abort(reason_of(error))


def rank_keeper(machine: Any, folder: StateFolder | None) -> Callable[..., Keeper]:
    """Return `RankKeeper` as a partial function, in which the arguments that describe the rank of this thread are
    bound.

    Args:
        machine: the `ClusterMachine` or `RankGpuMachine` of the rank.
        folder: the `RankFolder` of the rank, which gets the range of vertices of the rank.
    """
    from vlang.runtime.cluster.saved.rank_folder import RankFolder  # start-up
    from vlang.runtime.cluster.saved.rank_keeper import RankKeeper  # start-up

    transport = here()
    assert isinstance(folder, RankFolder)
    assert transport is not None
    folder.owned = machine.numbers.ranges.of(transport.rank)
    return partial(RankKeeper, transport=transport, numbers=machine.numbers)
