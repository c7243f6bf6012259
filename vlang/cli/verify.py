"""`vlang run --verify`: the same run in another cut gives the same bits, and the result is what it claims to be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from vlang import stdlib
from vlang.errors import InternalError
from vlang.options import GPU_OPTIONS

if TYPE_CHECKING:
    from vlang.api.program import Program
    from vlang.runtime.graph.graph import Graph
    from vlang.runtime.results.result import Result

__all__ = ["verify_run"]

# Stdlib programs of one fixpoint loop: started from their result, a superstep changes nothing.
_FIXPOINTS = frozenset({"bfs", "bfs_tree", "components", "kcore_members", "sssp", "sssp_tree", "sswp", "viterbi"})
# Stdlib programs of one contraction: started from their result, one superstep meets the tolerance.
_CONTRACTIONS = frozenset({"katz", "pagerank"})
# Fields that sum to 1.
_DISTRIBUTIONS = {"pagerank": "rank", "rwr": "p"}


def verify_run(
    program: Program, graph: Graph, keywords: Mapping[str, Any], options: Mapping[str, Any], result: Result
) -> Iterator[str]:
    """What was verified, a sentence each. Raises InternalError where something does not hold."""
    yield (_another_cut if result.device == "cpu" else _on_the_cpu)(program, graph, keywords, options, result)
    known = program.derive is None and program.name in stdlib.names() and program.source == stdlib.source(program.name)
    if not (known and result.converged and len(result)):
        return
    if program.name in _FIXPOINTS | _CONTRACTIONS:
        yield _settled(program, graph, keywords, options, result)
    if program.name in _DISTRIBUTIONS:
        name = _DISTRIBUTIONS[program.name]
        total = float(np.sum(result[name], dtype=np.float64))
        if abs(total - 1) > 1e-3:
            raise InternalError(f"`{name}` of {program.name} sums to {total}, not to 1")
        yield f"`{name}` sums to {total:.6f}"


def _another_cut(
    program: Program, graph: Graph, keywords: Mapping[str, Any], options: Mapping[str, Any], result: Result
) -> str:
    threads = 2 if options["threads"] == 1 else 1
    page_size = 65536 if options["page_size"] != 65536 else 4096
    mode = "pull" if any(r.mode != "pull" for r in result.history) else "notify-pull"
    blocking = "never" if options["blocking"] == "always" else "always"
    cut = {**options, "threads": threads, "page_size": page_size, "mode": mode, "blocking": blocking,
           "switching": "measured", "order": "rounds"}
    other = program(graph, **keywords, **cut)
    for name in (*result.fields, *result.globals):
        if not _same_bits(np.asarray(result[name]), np.asarray(other[name])):
            raise InternalError(f"`{name}` of {program.name} differs between two cuts of the same run ({cut})")
    # In place, threads decide how fast news travels; a loop that finds components (rule K) is one round, and rounds by
    # priority (rule O) are buckets.
    comparable = not options["asynchronous"] and all(row.mode not in ("connect", "priority") for row in result.history)
    if other.rounds != result.rounds and comparable:
        raise InternalError(f"{program.name} took {result.rounds} rounds, and {other.rounds} in another cut ({cut})")
    plural = "s" if threads > 1 else ""
    return f"the same bits with {threads} thread{plural}, pages of {page_size} bytes, mode {mode}"


def _on_the_cpu(
    program: Program, graph: Graph, keywords: Mapping[str, Any], options: Mapping[str, Any], result: Result
) -> str:
    cpu = {name: value for name, value in options.items() if name not in GPU_OPTIONS}
    cpu["mode"] = "auto" if options["mode"] == "push" else options["mode"]
    other = program(graph, **keywords, **{**cpu, "device": "cpu"})
    for name in (*result.fields, *result.globals):
        if not _close(np.asarray(result[name]), np.asarray(other[name])):
            raise InternalError(f"`{name}` of {program.name} is not the same on {result.device} and on the CPU")
    return "the same on the CPU, floats to five digits"


def _close(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    """Whether two results agree: floats within 1e-5 of themselves or of their mean size, all else exactly."""
    if a.dtype.kind != "f":
        return _same_bits(a, b)
    sizes = np.abs(b[np.isfinite(b)].astype(np.float64))
    size = float(sizes.mean()) if sizes.size else 0.0
    return a.shape == b.shape and np.allclose(a, b, rtol=1e-5, atol=1e-5 * size, equal_nan=True)


def _settled(
    program: Program, graph: Graph, keywords: Mapping[str, Any], options: Mapping[str, Any], result: Result
) -> str:
    start = {name: result[name] for name in result.fields}
    again = program(graph, **{**keywords, **start}, **{**options, "max_rounds": 1})
    if not again.converged:
        raise InternalError(f"{program.name} is not settled: one more superstep goes on ({again.reason})")
    if program.name in _CONTRACTIONS:
        return "one more superstep stays within the tolerance"
    for name in result.fields:
        if not _same_bits(np.asarray(result[name]), np.asarray(again[name])):
            raise InternalError(f"`{name}` of {program.name} is no fixpoint: one more superstep changes it")
    return "one more superstep changes nothing"


def _same_bits(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> bool:
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()
