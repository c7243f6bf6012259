"""Runs a bound call on ranks that this process starts, by mpiexec on this machine or by Ray, and collects the result.

The ranks of mpiexec get the call as files (vlang.runtime.cluster.job.form), in a folder that is removed afterwards.
"""

from __future__ import annotations

import signal
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from vlang.api.running.call_files import call_form
from vlang.api.running.columns import columns_of
from vlang.api.running.on_ranks import refuse
from vlang.api.running.ran import Ran, unpacked
from vlang.errors import ClusterError, VlangError
from vlang.ir.forms.ranges import sizes_of
from vlang.options import Options
from vlang.runtime.cluster.job.form import Form, read_form, write_form
from vlang.runtime.cluster.job.rank_error import first_error
from vlang.runtime.cluster.job.start import Ended, job_of, run_job

if TYPE_CHECKING:
    from vlang.api.calls import Call
    from vlang.api.program import Program

__all__ = ["driven"]

_LINES = 5  # the last lines of the output of a killed job that the error message has


def driven(program: Program, call: Call) -> Ran:
    """Run a bound call on the ranks that its option `cluster` names.

    Raises BindError if ranks do not support the program or an option. Raises ClusterError if a rank was killed, or if
    mpiexec or Ray is missing. If a rank fails, raises the error of that rank.
    """
    options, graph = call.options, call.graph
    columns = columns_of(program.stages(call.precision).program, graph)
    plan = program.plan(columns, frozenset(call.fields), call.precision, without=options.without, renumbered=True,
                        sizes=sizes_of(graph.n, graph.m))
    refuse(program, plan, options)
    form = call_form(program, call)
    if isinstance(options.cluster, int):
        return unpacked(plan, *_by_mpi(form, options, options.cluster))
    from vlang.runtime.cluster.by_ray.ray_job import ran_by_ray  # start-up

    return unpacked(plan, *ran_by_ray(form, options, "vlang.cli.rank.rank_actor"))


def _by_mpi(form: Form, options: Options, ranks: int) -> Form:
    """Run a call on a number of ranks that mpiexec starts; return the outcome as converted by `packed`."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="vlang-job-")))
        command, environ = job_of(ranks, "vlang.cli.rank.rank_job", [str(folder)])
        write_form(folder / "call", *form)
        log = stack.enter_context(open(folder / "log", "wb"))
        shows = options.progress is True or options.notices is not None
        ended = run_job(command, environ, options.restarts or 0, options.notices or _silent, log,
                        None if shows else log)
        if ended.signals:
            signal.raise_signal(ended.signals[0])
            raise KeyboardInterrupt  # reached only if the signal handler did nothing
        if not (folder / "ran.json").exists() or ended.status:
            raise _error(folder, ended)
        return read_form(folder / "ran")


def _silent(_text: str) -> None:
    """Show nothing."""


def _error(folder: Path, ended: Ended) -> VlangError:
    """Return the error of a failed job: the error that a rank reported, or an error which says that a rank was killed.
    """
    found = first_error(read_form(path)[0] for path in sorted(folder.glob("error-*.json")))
    if found is not None:
        return found
    lines = (folder / "log").read_text(errors="replace").strip().splitlines()[-_LINES:]
    return ClusterError(f"a rank was killed, and the job ended with status {ended.status}: "
                        + (" | ".join(line.strip() for line in lines) or "it has printed nothing"))
