"""Runs this process as a rank of an MPI job, and refuses programs that cannot run on several ranks, and calls that
differ between ranks.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from vlang.api.running.columns import refuse_ordinals
from vlang.api.running.on_disk import whole_lists
from vlang.errors import BindError, ClusterError
from vlang.options import OPTIONS
from vlang.runtime.cluster.job.launched import launched_ranks, note_end
from vlang.runtime.cluster.job.ray_address import is_ray, ray_address
from vlang.runtime.cluster.refusals import refuse_options, refuse_plan
from vlang.runtime.cluster.transports.mpi import mpi_ranks, reason_of
from vlang.runtime.cluster.transports.transport import Transport, gathered, joined, texts
from vlang.runtime.gpus.refusals import refuse_options as refuse_gpu_options
from vlang.runtime.gpus.refusals import refuse_plan as refuse_gpu_plan

if TYPE_CHECKING:
    from vlang.api.calls import Call
    from vlang.api.program import Program
    from vlang.options import Options
    from vlang.runtime.plan.plan import Plan
    from vlang.runtime.results.result import Result

__all__ = ["abort_ranks", "as_mpi_rank", "check_same_call", "explained_ranks", "refuse", "refuse_early",
           "starts_ranks"]

_MOST_SHOWN = 60  # characters of a value in a message


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


def check_same_call(program: Program, call: Call, transport: Transport) -> None:
    """Raise ClusterError on all ranks if the calls of the ranks differ. All ranks call this function together.

    Under mpiexec each rank binds its own call. If a script draws a parameter at random on each rank, or if the file of
    the graph differs between two machines, the exchanges of a run would still fit together, and its result would be
    wrong. Ranks exchange 16 bytes, and more only if these differ. The edges of graphs are not compared.
    """
    if transport.size == 1:
        return
    mine = _key(program, call)
    text = json.dumps(mine)
    seal = np.frombuffer(hashlib.blake2b(text.encode(), digest_size=16).digest(), np.uint8)
    seals = gathered(transport, seal, "the calls of the ranks")
    if all(np.array_equal(one, seals[0]) for one in seals):
        return
    keys = [json.loads(one) for one in texts(transport, text, "how the calls of the ranks differ")]
    raise ClusterError(_difference(keys))


def _key(program: Program, call: Call) -> dict[str, str]:
    """Return the parts of a call that decide its result, by their names in messages."""
    from vlang.api.running.checkpoints import shown_value  # start-up
    from vlang.runtime.storage.state.state_file import digest  # start-up

    options, graph = call.options, call.graph
    found = {"program": program.name, "text of the program": program.source}
    found |= {"precision": str(call.precision), "option `derive`": str(program.derive),
              "option `device`": "cpu" if options.device == "cpu" else "gpu",
              "option `checkpoint`": "none" if options.checkpoint is None else "given"}
    found |= {f"option `{name}`": shown_value(getattr(options, name)) for name, option in OPTIONS.items()
              if option.decides}
    found |= {f"value of `{name}`": shown_value(value) for name, value in {**call.constants, **call.scalars}.items()}
    found |= {f"field `{name}`": digest(array) for name, array in {**call.fields, **call.old}.items()}
    found |= {"graph": f"{graph.n:,} vertices and {graph.m:,} {'directed' if graph.directed else 'undirected'} edges",
              "page file of the graph": graph.seal, "columns of the graph": ", ".join(sorted(graph.columns))}
    return found


def _difference(keys: list[dict[str, Any]]) -> str:
    """Return a sentence about the first part in which a rank differs from rank 0. `keys` is in the order of ranks."""
    rank, name = next((rank, name) for rank, key in enumerate(keys) for name in {**keys[0], **key}
                      if key.get(name) != keys[0].get(name))
    both = [key.get(name, "none") for key in (keys[rank], keys[0])]
    shown = f" ({both[0]}; rank 0: {both[1]})" if max(map(len, both)) <= _MOST_SHOWN else ""
    return (f"rank {rank} and rank 0 make different runs: the {name} differs{shown}; all ranks must call the same "
            "program with the same graph, arguments and options")
