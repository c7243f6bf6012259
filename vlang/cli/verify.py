"""`vlang run --verify`: tests that a run with other threads and pages gives the same bits, and that loops are at
fixpoints.

The checks follow from the facts of a program, never from its name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vlang.errors import InternalError
from vlang.ir.restart import Restart, restarts
from vlang.options import OPTIONS, Options

if TYPE_CHECKING:
    from vlang.api.program import Program
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.results.result import Result

__all__ = ["verify_run"]


def verify_run(
    program: Program, graph: Graph, keywords: Mapping[str, Any], options: Mapping[str, Any], result: Result
) -> Iterator[str]:
    """Verify a result. Yields a sentence for each check.

    Args:
        program: the program of the run.
        graph: the graph of the run.
        keywords: the parameters and fields of the run.
        options: the options of the run, by name.
        result: the result of the run.

    Raises InternalError if a check fails.
    """
    compared = {**options, "chaos": None, "progress": None, "trace": None, "device_arrays": False, "checkpoint": None,
                "every": None, "on_interrupt": "stop", "notices": None}
    yield (_another_cut if result.device == "cpu" else _on_the_cpu)(program, graph, keywords, compared, result)
    again = Options(threads=options.get("threads"), memory=options.get("memory"))
    if result.converged and len(result):
        for loop in restarts(program.stages().facts):
            if set(loop.fields) <= set(result.fields):
                yield _once_more(program, loop, again, result)


def _another_cut(
    program: Program, graph: Graph, keywords: Mapping[str, Any], options: Mapping[str, Any], result: Result
) -> str:
    threads = 2 if options.get("threads") == 1 else 1
    page_size = 65536 if options.get("page_size") != 65536 else 4096
    mode = "pull" if any(r.mode != "pull" for r in result.history) else "notify-pull"
    blocking = "never" if options.get("blocking") == "always" else "always"
    other_cut = {"threads": threads, "page_size": page_size, "mode": mode, "blocking": blocking,
                 "switching": "measured", "schedule": "rounds"}
    if graph.stored is not None:  # the pages of a page file cannot be changed
        other_cut = {name: value for name, value in other_cut.items() if name not in ("page_size", "blocking")}
    other = program(graph, {**_on_cpu(options), **other_cut}, **keywords)
    for name in (*result.fields, *result.globals):
        if not _same_bits(np.asarray(result[name]), np.asarray(other[name])):
            raise InternalError(f"`{name}` of {program.name} differs between two cuts of the same run ({other_cut})")
    for name, values in result.edge_states.items():
        if not _same_bits(values, other.edge_states[name]):
            raise InternalError(f"`{name}` of {program.name} differs between two cuts of the same run ({other_cut})")
    # The number of rounds is not always comparable: with updates in place it depends on the threads, a loop that finds
    # components (rule K) is one round, and in priority order (rule O) a round is a bucket.
    comparable = not options.get("asynchronous") and \
        all(row.mode not in ("connect", "priority") for row in result.history)
    if other.rounds != result.rounds and comparable:
        raise InternalError(f"{program.name} took {result.rounds} rounds, and {other.rounds} in another cut "
                            f"({other_cut})")
    plural = "s" if threads > 1 else ""
    pages = f"pages of {page_size} bytes, " if graph.stored is None else ""
    return f"verified: the same bits with {threads} thread{plural}, {pages}mode {mode}"


def _on_the_cpu(
    program: Program, graph: Graph, keywords: Mapping[str, Any], options: Mapping[str, Any], result: Result
) -> str:
    cpu = _on_cpu(options)
    if cpu.get("mode") == "push":
        cpu["mode"] = "auto"
    other = program(graph, cpu, **keywords)
    for name in (*result.fields, *result.globals):
        if not _close(_host(result, name), np.asarray(other[name])):
            raise InternalError(f"`{name}` of {program.name} is not the same on {result.device} and on the CPU")
    return "verified: the same on the CPU, floats to five digits"


def _on_cpu(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a run for the same run on the CPU: device="cpu", without `policy` and options for GPUs."""
    return {name: value for name, value in options.items()
            if OPTIONS[name].devices != "gpu" and name != "policy"} | {"device": "cpu"}


def _host(result: Result, name: str) -> np.ndarray[Any, Any]:
    """A value of a result, copied to host memory if it is on a GPU."""
    value = result[name]
    return np.asarray(value.get() if hasattr(value, "get") else value)


def _close(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Return whether two arrays agree. Floats may differ by 1e-5 of the value or of the mean magnitude; other values
    must be equal.
    """
    if a.dtype.kind != "f":
        return _same_bits(a, b)
    sizes = np.abs(b[np.isfinite(b)].astype(np.float64))
    size = float(sizes.mean()) if sizes.size else 0.0
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-5, atol=1e-5 * size, equal_nan=True)


def _once_more(program: Program, loop: Restart, options: Options, result: Result) -> str:
    """Run one more superstep of a loop from the result, and say whether the fields of the loop stay unchanged.

    Raises InternalError if the loop is not at a fixpoint although it must be.
    """
    from vlang.api.partial_run import one_more_superstep  # start-up

    after = one_more_superstep(program, result, loop.number, loop.fields, options)
    if not loop.still:
        if after.converged:
            return f"verified: one more superstep of the loop in line {loop.line} stays within its tolerance"
        return (f"not verified: one more superstep of the loop in line {loop.line} exceeds its tolerance again, so the "
                "result may be further from a limit than the tolerance says")
    for name in loop.fields:
        before = result.stored(name)
        if not np.array_equal(before, after.values.fields[name], equal_nan=before.dtype.kind == "f"):
            raise InternalError(f"`{name}` of {program.name} is no fixpoint: one more superstep of the loop in line "
                                f"{loop.line} changes it")
    return f"verified: one more superstep of the loop in line {loop.line} changes nothing"


def _same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
