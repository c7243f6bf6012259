"""Compare runs on several GPUs with runs on a single GPU.

Usage: `python benchmarks/gpu/several.py [--graph rmat24] [--devices gpu:0,1] [--only pagerank,bfs,...] [--quick]`.

Each workload runs alternately on the first GPU alone and on all GPUs, and the medians are compared:
- pagerank: a sweep with all edges on the GPUs, for each exchange, and with the state of all vertices on each GPU (p);
- bfs, sssp: by push over frontiers, and by full passes; components: by search, and by full passes;
- streamed-pagerank: a sweep whose pages are copied from host memory; each GPU has memory for four pages.

The results of several GPUs are first compared with the results of one GPU: vertex numbers and levels must be equal, and
floats may differ by 1e-4 at most. Results are written to benchmarks/results (not with --quick).
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from benchmarks.gpu import inputs, report
from benchmarks.gpu.runs import FEW, MANY, Call, bytes_of_edges, least_budget, prepared
from benchmarks.gpu.works import Work
from vlang import Result
from vlang.errors import VlangError

_WORKS = ("pagerank", "bfs", "sssp", "components", "streamed-pagerank")
_WIDTHS = (18, 12, 9, 9, 8, 10, 10, 22)


@dataclass
class Variant:
    """A workload on some GPUs.

    Attributes:
        work: the name of the workload.
        name: "one" for the run on one GPU. A run on several GPUs has a name that distinguishes it from the other runs
            on several GPUs.
        options: options of the run.
        samples: the measured times in milliseconds.
        megabytes: megabytes copied between the GPUs in a run, or in the later sweeps of a run.
        note: the note of the run about the exchange.
        problem: the reason why there is no time, or the difference of the result.
    """

    work: str
    name: str
    options: dict[str, Any] = field(repr=False)
    samples: list[float] = field(default_factory=list)
    rounds: float = 0
    megabytes: float = 0
    note: str = ""
    problem: str = ""


def variants(work: str, devices: str) -> list[Variant]:
    """Return the variants of a workload: the runs on one GPU and the runs on several GPUs."""
    one, all_ = {"device": devices.split(",")[0]}, {"device": devices}
    if work.endswith("pagerank"):
        names = ("ms", "vr", "all") if work == "pagerank" else ("ms",)
        found = [Variant(work, "one", one), *(Variant(work, name, {**all_, "exchange": name}) for name in names)]
        whole = Variant(work, "p", {**all_, "exchange": "ms", "strategy": "p"})
        return [*found, whole] if work == "pagerank" else found
    way = "search" if work == "components" else "frontiers"
    return [Variant(work, "one", one), Variant(work, way, all_), Variant(work, "one, passes",
            {**one, "mode": "pull"}), Variant(work, "passes", {**all_, "mode": "pull"})]


def calls(work: str, given: inputs.Input, found: list[Variant], page: int) -> list[Call]:
    """Return the calls of the variants. A streamed run gets the least memory that its devices need, and memory for four
    more pages of `page` bytes.
    """
    kind = work.removeprefix("streamed-")
    work_ = Work(kind, given.name, 0, 0)
    result = [prepared(work_, given, variant.options) for variant in found]
    if kind == work:
        return result
    page = min(page, bytes_of_edges(work_, given) // 32)
    result = [replace(call, arguments={**call.arguments, "page_size": page}) for call in result]
    return [replace(call, arguments={**call.arguments, "gpu_memory": least_budget(call) + 4 * page})
            for call in result]


def once(variant: Variant, call: Call) -> Result:
    """Run a variant once, and add the time to its samples."""
    if not variant.work.endswith("pagerank"):
        result = call()
        seconds, variant.megabytes = result.seconds, result.moved.bytes_between / 1e6
        variant.rounds = result.rounds
    else:
        short, result = call(max_rounds=FEW), call(max_rounds=MANY)
        more = result.rounds - short.rounds
        seconds = (result.seconds - short.seconds) / more
        variant.megabytes = (result.moved.bytes_between - short.moved.bytes_between) / 1e6 / more
        variant.rounds = 1
    variant.samples.append(1e3 * seconds)
    variant.note = next((note for note in result.notes if note.startswith("exchange ")), "")
    return result


def measure(work: str, given: inputs.Input, devices: str, repeats: int, page: int) -> Iterator[Variant]:
    """Check the results of a workload's variants, and time the variants alternately."""
    found = variants(work, devices)
    wanted: Result | None = None
    alive = []
    for variant, call in zip(found, calls(work, given, found, page)):
        try:
            result = once(variant, call)
        except VlangError as error:
            variant.problem = f"{type(error).__name__}: {error}"[:120]
            continue
        wanted = wanted or result
        variant.problem = differing(wanted, result)
        variant.samples.clear()
        alive.append((variant, call))
    for _ in range(repeats):
        for variant, call in alive:
            call(max_rounds=FEW)  # a GPU that was idle for a while is slower at first
            once(variant, call)
    yield from found


def differing(one: Result, other: Result) -> str:
    """Return how two results differ; "" if they do not."""
    for name in one.fields:
        a, b = np.asarray(one[name]), np.asarray(other[name])
        same = np.allclose(a, b, rtol=1e-4, atol=0, equal_nan=True) if a.dtype.kind == "f" else np.array_equal(a, b)
        if not same:
            return f"{name} differs in {int(np.sum(a != b)):,} vertices"
    return ""


def line(variant: Variant, one: float | None) -> str:
    """Return the row of a variant.

    Args:
        one: the time of one GPU with the same execution way.
    """
    if not variant.samples:
        return report.table_line([variant.work, variant.name, variant.problem], _WIDTHS)
    ms = median(variant.samples)
    spread = f"{min(variant.samples):.3g}..{max(variant.samples):.3g}"
    cells = [variant.work, variant.name, f"{ms:.3f}", "" if one is None else f"{one / ms:.2f} x",
             f"{variant.rounds:g}", f"{variant.megabytes:.1f}", "", spread]
    return report.table_line(cells, _WIDTHS) + (f"  {variant.problem}" if variant.problem else "")


def main() -> None:
    """Measure, print, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graph", default="rmat24", choices=list(inputs.INPUTS))
    parser.add_argument("--devices", default="gpu:0,1", help="several GPUs, such as gpu:0,1")
    parser.add_argument("--only", default=",".join(_WORKS), help="workloads, separated by commas")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--page", type=int, default=32, help="MiB of a page of streamed runs")
    parser.add_argument("--quick", action="store_true", help="a tiny graph; nothing is written")
    options = parser.parse_args()
    before = report.conditions(options.devices)
    given = inputs.build(options.graph, options.quick)
    print(f"# {given.graph!r}: built in {given.seconds:.1f} s", flush=True)
    print(report.table_line(["work", "GPUs", "ms", "gain", "rounds", "MB", "", "least..most"], _WIDTHS))
    rows: list[Variant] = []
    for work in options.only.split(","):
        one: dict[str, float] = {}
        for variant in measure(work, given, options.devices, options.repeats, options.page << 20):
            name = variant.name.removeprefix("one, ")
            if variant.name.startswith("one") and variant.samples:
                one[name] = median(variant.samples)
            base = None if variant.name.startswith("one") else one.get(name, one.get("one"))
            print(line(variant, base), flush=True)
            rows.append(variant)
    for note in dict.fromkeys(f"{row.work}, {row.name}: {row.note}" for row in rows if row.note):
        print(f"# {note}")
    if not options.quick:
        table = [{key: value for key, value in asdict(row).items() if key != "options"} for row in rows]
        path = report.save(before, "gpu-several", {"graph": options.graph, "devices": options.devices,
                                                   "table": table}, [])
        print(f"# written to {os.path.relpath(path)}")


if __name__ == "__main__":
    main()
