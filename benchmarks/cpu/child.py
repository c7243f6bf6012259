"""What runs in processes of its own: a compilation, and jobs whose memory is watched."""

from __future__ import annotations

import json
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["ROOT", "main"]

ROOT = Path(__file__).resolve().parents[2]


def compile_program(name: str) -> None:
    """From the text of a program to kernels that can be called, without a graph."""
    from vlang import load
    from vlang.runtime.devices.objects import load_kernels

    plan = load(name).plan(frozenset())
    load_kernels(plan.text, plan.exports)


def watch(program: str, path: str, directed: bool, arguments: dict[str, Any], threads: int) -> dict[str, int]:
    """Peaks in bytes, each above the memory of this process after it has done the same with a small file.

    read: reading the file. whole: reading it and running the program, which builds what it needs; what a command does.
    run: running again on the graph in memory. adjacencies, fields: the arrays that they are measured by, 4 E + 8 n
    bytes for each of the two adjacencies, and the outputs.
    """
    from vlang import Graph, load

    runs = load(program)
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.txt"
        small.write_text("1 2\n2 3\n3 1\n", encoding="ascii")
        for mode in ("pull", "notify-pull"):
            ids = dict.fromkeys(arguments, 1)
            runs(Graph.read(small, directed=directed, threads=threads), mode=mode, threads=threads, **ids)
    base = _reset()
    graph = Graph.read(path, directed=directed, threads=threads)
    read = _peak() - base
    runs(graph, threads=threads, **arguments)
    whole = _peak() - base
    _reset()
    result = runs(graph, threads=threads, **arguments)
    run = _peak() - base
    fields = sum(result[name].nbytes for name in result.fields)
    return {"read": read, "whole": whole, "run": run, "fields": fields,
            "adjacencies": 2 * (4 * graph.m + 8 * graph.n)}  # fmt: skip


def _reset() -> int:
    """Forget the peak so far; bytes resident now.

    The kernel's VmHWM belongs to this program alone; ru_maxrss would begin with the size of the process that forked it.
    """
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    return _peak()


def _peak() -> int:
    status = Path("/proc/self/status").read_text(encoding="ascii")
    found = re.search(r"VmHWM:\s*(\d+) kB", status)
    assert found is not None
    return 1024 * int(found[1])


def main(arguments: list[str]) -> None:
    """`compile NAME`, or `watch JSON`, which prints JSON."""
    if arguments[0] == "compile":
        compile_program(arguments[1])
    else:
        print(json.dumps(watch(**json.loads(arguments[1]))))


if __name__ == "__main__":
    main(sys.argv[1:])
