"""Jobs that run in a separate process, so that the peak memory of the process is the peak of the job."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["ROOT", "main"]

ROOT = Path(__file__).resolve().parents[2]


def watch_file(program: str, path: str, arguments: dict[str, Any], threads: int) -> dict[str, int]:
    """Return peaks of memory in bytes. The memory that this process used after the same job on a small file is
    subtracted from each peak.

    Args:
        program: name of a program.
        path: the file.
        arguments: the arguments of the program.
        threads: how many threads to use.

    Returns:
        read: peak of reading the file as a directed graph, which has two adjacencies.
        whole: peak of reading the file and running the program, as `vlang run` does.
        run: peak of another run on the graph in memory.
        adjacencies: 4 E + 8 n bytes for each of the two adjacencies.
        fields: bytes of the outputs.
    """
    from vlang import Graph, load

    runs = load(program)
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.txt"
        small.write_text("1 2\n2 3\n3 1\n", encoding="ascii")
        _warm_up(lambda: Graph.read(small, directed=True, threads=threads), runs, dict.fromkeys(arguments, 1), threads)
    base = _reset()
    graph = Graph.read(path, directed=True, threads=threads)
    read = _peak() - base
    runs(graph, threads=threads, **arguments)
    whole = _peak() - base
    _reset()
    result = runs(graph, threads=threads, **arguments)
    run = _peak() - base
    fields = sum(result[name].nbytes for name in result.fields)
    return {"read": read, "whole": whole, "run": run, "fields": fields,
            "adjacencies": 2 * (4 * graph.m + 8 * graph.n)}  # fmt: skip


def watch_work(kind: str, graph: str, quick: bool, sources: int, threads: int) -> dict[str, int]:
    """Return the peak memory of a workload and the size of the arrays that the workload needs, in bytes.

    Args:
        kind, graph: names of the workload and of its graph.
        quick: whether the graph is small.
        sources: how many sources betweenness has.
        threads: how many threads to use.

    Returns:
        peak: memory of the graph and a run on it, minus the memory that this process used after a run on a small graph.
        arrays: adjacency lists (an undirected graph has one), weights if the program reads them, and outputs.
    """
    from benchmarks.cpu.contests import program
    from benchmarks.cpu.inputs import build
    from vlang import Graph

    arguments: dict[str, Any] = {}
    runs = program(kind)
    if kind == "pagerank":
        arguments = {"tol": 0.0, "max_rounds": 20}
    small: dict[str, dict[str, Any]] = {"bfs": {"source": 1}, "sssp": {"source": 1}, "betweenness": {"sources": [1]}}
    _warm_up(lambda: Graph.read("kron:4", threads=threads), runs, arguments | small.get(kind, {}), threads)
    base = _reset()
    given = build(graph, quick, threads)
    assert given is not None
    source = given.graph.label(given.source)
    if kind == "betweenness":
        most = np.argsort(-given.graph.out_degree.astype(np.int64), kind="stable")[:sources]
        arguments["sources"] = [given.graph.label(int(v)) for v in most]
    elif kind in ("bfs", "sssp"):
        arguments["source"] = source
    result = runs(given.graph, threads=threads, **arguments)
    _reset()
    del result
    result = runs(given.graph, threads=threads, **arguments)
    lists = {id(found): found for found in map(given.graph.adjacency, ("in", "out"))}.values()
    arrays = sum(a.offsets.nbytes + a.targets.nbytes + (4 * len(a) if kind == "sssp" else 0) for a in lists)
    return {"peak": _peak() - base, "arrays": arrays + sum(result[name].nbytes for name in result.fields)}


def _warm_up(graph: Callable[[], Any], runs: Any, arguments: dict[str, Any], threads: int) -> None:
    """Run small jobs once, so that all code that the measured runs need is loaded."""
    for mode in ("pull", "notify-pull", "auto"):
        runs(graph(), research={"mode": mode}, threads=threads, **arguments)


def _reset() -> int:
    """Reset the peak that the system records, and return the bytes resident now.

    The function resets VmHWM in /proc. The value ru_maxrss is unsuitable, because its first value is the size of the
    parent process.
    """
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak()


def _peak() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    assert found is not None
    return 1024 * int(found[1])


def main(arguments: list[str]) -> None:
    """Run `file JSON` or `work JSON`, and print the result as JSON."""
    watch = watch_file if arguments[0] == "file" else watch_work
    print(json.dumps(watch(**json.loads(arguments[1]))))


if __name__ == "__main__":
    main(sys.argv[1:])
