"""Measure a graph that is larger than the memory of the host and of a GPU.

Usage: `python benchmarks/disk/large.py [--scale 26] [--memory 2G] [--gpu-memory 1G] [--devices gpu,cpu]
[--programs pagerank,bfs]`.

Converts an R-MAT graph of 2^scale vertices (16 edges each), and runs PageRank and a search from the hub on the page
file within these budgets. Every job runs in a process of its own. Every 50 ms, the anonymous and shared memory of this
process is read, including the interpreter and its libraries. The same program on a small graph shows how much of this
memory is not due to the graph. The read rate of the disk is measured before and after each run. With 16 processors,
2^26 vertices take less than eight minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from benchmarks.cpu.conditions import conditions
from benchmarks.cpu.report import line, table
from benchmarks.disk.run import HEADER, LEFT, MIB, ROOT, WIDTHS, Row
from vlang.options import parse_size

_EACH = 0.05  # seconds between two samples of memory
_ALLOWED = 64 * MIB  # beyond the budget, for the interpreter and its libraries
_SMALL = 10  # logarithm of the vertices of the small graph
_PROGRAMS: dict[str, dict[str, Any]] = {"pagerank": {"max_rounds": 5, "tol": 0.0}, "bfs": {}}


class Large:
    """One run of this script.

    Args:
        options: the options of the command line.
        folder: for the graphs, on the disk to measure.
    """

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.found: list[dict[str, Any]] = []

    def job(self, name: str, **arguments: Any) -> dict[str, Any]:
        """Run a job in a separate process; returns its figures, and the peak of its memory as `peak`."""
        command = [sys.executable, str(Path(__file__).with_name("works.py")), name, json.dumps(arguments)]
        begin, peak = time.perf_counter(), 0
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
            while process.poll() is None:
                peak = max(peak, _held(process.pid))
                time.sleep(_EACH)
            assert process.stdout is not None
            lines = process.stdout.read().splitlines()
        if process.returncode:
            raise SystemExit(f"{name} failed")
        found: dict[str, Any] = json.loads(lines[-1]) | {"peak": peak, "whole": time.perf_counter() - begin}
        self.found.append({"job": name} | {key: value for key, value in {**arguments, **found}.items()
                                           if key not in ("path", "target")})
        return found

    def rows(self) -> Iterator[Row]:
        """Yield the rows of all measurements in order."""
        options, pages, small = self.options, self.folder / "large.vg", self.folder / "small.vg"
        memory = parse_size(options.memory)
        self.job("generated", spec=f"rmat:{_SMALL}", target=str(small), memory=memory)
        found = self.job("generated", spec=f"rmat:{options.scale}", target=str(pages), memory=memory)
        m, within = found["m"], found["peak"] <= memory + _ALLOWED
        yield Row("conversion of a generated graph", f"{m / found['seconds'] / 1e6:.1f} M edges/s", "",
                  "S + 64 MB", within, f"{m / 1e6:.0f} M edges in {found['seconds']:.0f} s, "
                  f"{found['nbytes'] / m:.2f} B an edge, peak {found['peak'] / MIB:.0f} MiB")
        hub = self.job("hub", path=str(pages))["hub"]
        for device in options.devices.split(","):
            for program in options.programs.split(","):
                fixed = {"program": program, "device": device, "memory": memory,
                         "gpu_memory": parse_size(options.gpu_memory) if device != "cpu" else None,
                         **_PROGRAMS[program]}
                base = self.job("bounded", path=str(small), **fixed, **({"source": 0} if program == "bfs" else {}))
                found = self.job("bounded", path=str(pages), **fixed, **({"source": hub} if program == "bfs" else {}))
                yield self.row(f"{program} on {device}", found, base["peak"], memory)

    def row(self, name: str, found: dict[str, Any], base: int, memory: int) -> Row:
        """Return the row of a run. `base` is the peak of memory of the same program on a small graph."""
        steps = found["steps"]
        taken = [step for step in steps[1:] if step["bytes"]] or steps
        rate = sum(step["bytes"] for step in taken) / sum(step["seconds"] for step in taken)
        disk = (found["before"] + found["after"]) / 2
        reads = sum(step["bytes"] for step in steps) / found["one"]
        middle = sorted(step["seconds"] for step in taken)[len(taken) // 2]
        return Row(name, f"{rate / disk:.2f} of the disk", f"{disk / 1e9:.2f} GB/s", "S + 64 MB",
                   found["peak"] <= memory + _ALLOWED,
                   f"{found['seconds']:.1f} s, {len(steps)} supersteps, median {middle:.2f} s after the first; reads "
                   f"{reads:.2f} of one direction at {rate / 1e9:.2f} GB/s (disk {found['before'] / 1e9:.2f} before, "
                   f"{found['after'] / 1e9:.2f} after); peak {found['peak'] / MIB:.0f} MiB, {base / MIB:.0f} of them "
                   f"with a small graph; {' '.join(found['notes'])}")


def _held(process: int) -> int:
    """Return the anonymous and shared memory of a process in bytes; 0 if the process has ended."""
    try:
        lines = Path(f"/proc/{process}/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith(("RssAnon", "RssShmem")))


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=26, help="logarithm of the vertices; default: 26")
    parser.add_argument("--memory", default="2G", help="the budget of the host; default: 2G")
    parser.add_argument("--gpu-memory", default="1G", help="the budget of the GPU; default: 1G")
    parser.add_argument("--devices", default="gpu,cpu", help="default: gpu,cpu")
    parser.add_argument("--programs", default=",".join(_PROGRAMS), help="default: pagerank,bfs")
    parser.add_argument("--folder", help="for the graphs, on the disk to measure; default: a temporary one")
    parser.add_argument("--record", help="the file for the figures; default: one in benchmarks/results")
    options = parser.parse_args()
    record: dict[str, Any] = {**conditions(os.cpu_count() or 1), "scale": options.scale, "memory": options.memory,
                              "gpu memory": options.gpu_memory, "rows": []}
    date = record["date"][:19].replace(":", "")
    name = Path(options.record or ROOT / "benchmarks" / "results" / f"large-{date}.json")
    print(line(HEADER, WIDTHS, LEFT), flush=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        large = Large(options, Path(folder))
        for row in large.rows():
            record["rows"].append(row)
            print(line(row.cells(), WIDTHS, LEFT), flush=True)
            name.write_text(json.dumps(record | {"jobs": large.found}, indent=1) + "\n", encoding="utf-8")
    print(f"# written to {name}\n\n{table(HEADER, [row.cells() for row in record['rows']], LEFT)}")


if __name__ == "__main__":
    main()
