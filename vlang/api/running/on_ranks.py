"""Runs on several ranks: runs this process as a rank of an MPI job, and refuses programs that cannot run on ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from vlang.api.running.columns import refuse_ordinals
from vlang.api.running.on_disk import whole_lists
from vlang.runtime.cluster.mpi import mpi_ranks
from vlang.runtime.cluster.refusals import refuse_options, refuse_plan
from vlang.runtime.cluster.transport import joined

if TYPE_CHECKING:
    from vlang.api.calls import Call
    from vlang.api.program import Program
    from vlang.options import Options
    from vlang.runtime.plan.plan import Plan
    from vlang.runtime.results.result import Result

__all__ = ["as_mpi_rank", "refuse", "refuse_early"]


def refuse(program: Program, plan: Plan, options: Options) -> None:
    """Raise BindError for a program or an option that several ranks cannot run."""
    refuse_options(options)
    refuse_plan(plan, whole_lists(program))
    refuse_ordinals(program, "machine", "a cluster")


def refuse_early(program: Program, options: Options) -> None:
    """Call `refuse` before the graph is read, for a graph with all edge columns that the program reads."""
    columns = frozenset(edge.name for edge in program.edges)
    given = frozenset(field.name for field in program.fields if field.required)
    refuse(program, program.plan(columns, given, renumbered=True), options)


def as_mpi_rank(call: Call, run: Callable[[], Result]) -> Result:
    """Call `run` as a rank of the MPI job of this process. An error ends the job on all ranks."""
    transport = mpi_ranks(call.options.cluster)
    try:
        with joined(transport):
            return run()
    except BaseException as error:
        transport.abort(" ".join(str(error).split()) or type(error).__name__)
        raise
