"""Profile a run.

Usage: `python benchmarks/gpu/profiling.py WORK GRAPH [--option NAME=VALUE ...] [--ncu]`.

Runs a workload of run.py twice and shows the profile of the second run: its supersteps, the device time of every
kernel, copy and fill, and the time for which the host waits. Device time is measured by an event before and after each
launch, which costs about two microseconds. With `--ncu`, Nsight Compute measures the kernels: time, bytes of memory,
cache hits, warps in flight.

Examples: `python benchmarks/gpu/profiling.py bfs rmat22`,
`python benchmarks/gpu/profiling.py pagerank rmat24 --option kernel=stream --ncu`.
"""

from __future__ import annotations

import argparse
import csv
import inspect
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from benchmarks.gpu import inputs
from benchmarks.gpu.report import table_line
from benchmarks.gpu.run import option
from benchmarks.gpu.runs import prepared
from benchmarks.gpu.works import WORKS
from vlang import Result
from vlang.runtime.gpu.device.cuda import CudaDevice

QUEUED = ("fill", "upload", "copy")  # methods that queue work on a stream
WAITING = ("download", "synchronize", "load", "allocate", "register", "close")  # methods for which the host waits
METRICS = {
    "gpu__time_duration.sum": "time",
    "dram__bytes.sum": "memory",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": "memory %",
    "lts__t_sector_hit_rate.pct": "L2 hits %",
    "l1tex__t_sector_hit_rate.pct": "L1 hits %",
    "sm__warps_active.avg.pct_of_peak_sustained_active": "warps %",
    "sm__throughput.avg.pct_of_peak_sustained_elapsed": "compute %",
}
ROUNDS = 24  # supersteps that are shown


@dataclass
class Record:
    """The records of `watch`: queued work (name, shape, events before and after), and waits of the host (calls and
    seconds).
    """

    queued: list[tuple[str, str, Any, Any, CudaDevice]] = field(default_factory=list)
    waited: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))


def watch(record: Record) -> None:
    """Patch `CudaDevice` so that it fills the record. The patch is never undone, since this process only profiles."""
    launch = CudaDevice.launch

    def launched(self: CudaDevice, kernel: Any, blocks: int, threads: int, args: Any, shared: int = 0,
                 stream: Any = None, cooperative: bool = False) -> None:
        begin = self.record(stream)
        launch(self, kernel, blocks, threads, args, shared, stream, cooperative)
        shape = f"{blocks} x {threads}" + (f", {shared} B" if shared else "")
        record.queued.append((kernel.name, shape, begin, self.record(stream), self))

    setattr(CudaDevice, "launch", launched)  # noqa: B010  mypy rightly forbids the assignment
    for name in QUEUED:
        setattr(CudaDevice, name, _queued(name, getattr(CudaDevice, name), record))
    for name in WAITING:
        setattr(CudaDevice, name, _waited(name, getattr(CudaDevice, name), record))


def _queued(name: str, method: Callable[..., Any], record: Record) -> Callable[..., Any]:
    signature = inspect.signature(method)

    def watched(*args: Any, **named: Any) -> Any:
        given = signature.bind(*args, **named).arguments
        device, stream = given["self"], given.get("stream")
        size = given["nbytes"] if "nbytes" in given else given["array"].nbytes
        begin = device.record(stream)
        found = method(*args, **named)
        record.queued.append((f"({name})", f"{size:,} B", begin, device.record(stream), device))
        return found

    return watched


def _waited(name: str, method: Callable[..., Any], record: Record) -> Callable[..., Any]:
    def watched(self: CudaDevice, *args: Any, **named: Any) -> Any:
        begin = time.perf_counter()
        try:
            return method(self, *args, **named)
        finally:
            record.waited[name].append(time.perf_counter() - begin)

    return watched


def show(result: Result, seconds: float, record: Record) -> None:
    """Print the supersteps, the work of the device in order of total time, and the time for which the host waits."""
    print(f"# {result.rounds} supersteps in {result.seconds * 1e3:.3f} ms of a call of {seconds * 1e3:.1f} ms; "
          f"{result.reason}")
    widths: tuple[int, ...] = (12, 12, 12, 14, 14)
    print(table_line(("round", "mode", "ms", "active", "edges"), widths))
    for row in result.history[:ROUNDS]:
        print(table_line((f"{row.loop}.{row.round}", row.mode, f"{row.seconds * 1e3:.3f}", f"{row.active:,}",
                          f"{row.edges:,}"), widths))  # fmt: skip
    times: defaultdict[str, list[float]] = defaultdict(list)
    shapes: dict[str, tuple[float, str]] = {}
    for name, shape, begin, end, device in record.queued:
        took = device.elapsed(begin, end)
        times[name].append(took)
        shapes[name] = max(shapes.get(name, (0.0, "")), (took, shape))
    widths = (34, 22, 8, 10, 10, 10)
    print(table_line(("on the device", "largest launch", "times", "total ms", "mean us", "most us"), widths))
    for name, spent in sorted(times.items(), key=lambda item: -sum(item[1])):
        print(table_line((name, shapes[name][1], str(len(spent)), f"{sum(spent) * 1e3:.3f}",
                          f"{sum(spent) / len(spent) * 1e6:.1f}", f"{max(spent) * 1e6:.1f}"), widths))  # fmt: skip
    waits = ", ".join(f"{name} {len(spent)} x, {sum(spent) * 1e3:.2f} ms" for name, spent in record.waited.items())
    print(f"# host: {waits}")


def nsight(arguments: list[str], kernels: str, count: int) -> None:
    """Run this script under Nsight Compute, and show the mean of each metric by kernel."""
    command = ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--metrics", ",".join(METRICS),
               "--kernel-name", f"regex:{kernels}", "--launch-count", str(count),
               sys.executable, *arguments]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith('"')]
    if not lines:
        raise SystemExit(f"ncu measured nothing:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    rows = list(csv.DictReader(lines))
    units, rows = rows[0], rows[1:]
    widths = (34, 5, *(max(10, len(title) + 2) for title in METRICS.values()))
    print(table_line(("kernel", "times", *(f"{t} {units[m]}".removesuffix(" %") for m, t in METRICS.items())), widths))
    groups: defaultdict[str, list[dict[str, str]]] = defaultdict(list)
    for row in rows:
        groups[row["Kernel Name"].split("(")[0]].append(row)
    for name, found in groups.items():
        means = [sum(float(row[m].replace(",", "") or 0) for row in found) / len(found) for m in METRICS]
        print(table_line((name, str(len(found)), *(f"{mean:.4g}" for mean in means)), widths))


def main() -> None:
    """Run and show."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work", choices=sorted({work.name for work in WORKS}))
    parser.add_argument("graph", choices=list(inputs.INPUTS))
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE", help="a run option")
    parser.add_argument("--max-rounds", type=int, help="supersteps at most; 10 for pagerank")
    parser.add_argument("--quick", action="store_true", help="a tiny graph")
    parser.add_argument("--ncu", action="store_true", help="measure kernels with Nsight Compute")
    parser.add_argument("--kernels", default=".*", help="with --ncu: the kernels to measure, a regular expression")
    parser.add_argument("--count", type=int, default=40, help="with --ncu: how many launches to measure")
    asked = parser.parse_args()
    if asked.ncu and "VLANG_NCU" not in os.environ:
        os.environ["VLANG_NCU"] = "1"
        nsight(sys.argv, asked.kernels, asked.count)
        return
    work = next((w for w in WORKS if (w.name, w.graph) == (asked.work, asked.graph)), None)
    if work is None:
        parser.error(f"{asked.work} is not measured on {asked.graph}")
    given = inputs.build(work.graph, asked.quick)
    call = prepared(work, given, {"device": "gpu", **dict(map(option, asked.option))})
    rounds = asked.max_rounds or (10 if work.kind == "pagerank" else None)
    if asked.ncu:
        call(max_rounds=rounds)
        return
    record = Record()
    call(max_rounds=rounds)
    watch(record)
    result, seconds = call.timed(max_rounds=rounds)
    show(result, seconds, record)


if __name__ == "__main__":
    main()
