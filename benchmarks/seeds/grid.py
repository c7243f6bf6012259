"""Compare `auto` with the best policy: python benchmarks/seeds/grid.py [--scale 22] [--repeats 9]

A cell of the grid is a program, a graph, and a residency: all edges that the program reads are on the GPU, or a quarter
of them. All policies that can run the cell run it alternately, with the same memory. The cell has the median time of
each policy, and the time of `auto` divided by the time of the best policy. `auto` should be within 1.15 of the best in
95 % of the cells, and never above 1.3. A policy runs only once if its first run takes more than three times as long as
the first run of the best policy. Needs a GPU.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # import vlang from the checkout of this script

from benchmarks.cpu.report import table
from benchmarks.gpu import report
from benchmarks.seeds.setup import ROUNDS, Setup, program
from vlang import BindError, Graph, Program
from vlang.errors import VlangError

__all__ = ["Cell", "main"]

_GRAPHS = ("rmat", "uniform 16", "grid")
_RESIDENCY = ("resident", "quarter")
_CLASSES = {"pagerank": "sums", "bfs": "search", "sssp": "priority", "components": "labels", "cdlp": "modes"}
_POLICIES = ("auto", "garaph", "gts", "wolfgraph", "ws-vr", "hytgraph")
_NEAR, _FAR, _SHARE = 1.15, 1.3, 0.95
_SLOW = 3.0  # a policy runs once if its first run takes this many times the first run of the best


@dataclass
class Cell:
    """A cell of the grid.

    Attributes:
        program, graph, residency: the place of the cell.
        samples: milliseconds of each run, by policy.
        refused: for each policy without samples, the reason why it cannot run.
    """

    program: str
    graph: str
    residency: str
    samples: dict[str, list[float]] = field(default_factory=dict)
    refused: dict[str, str] = field(default_factory=dict)

    @property
    def ms(self) -> dict[str, float]:
        """The median milliseconds of each policy."""
        return {policy: median(samples) for policy, samples in self.samples.items() if samples}

    @property
    def ratio(self) -> float:
        """The time of `auto` divided by the time of the best policy."""
        return self.ms["auto"] / min(self.ms.values())


def cells(setup: Setup, graphs: Sequence[str], programs: Sequence[str], seconds: float) -> Iterator[Cell]:
    """Measure the grid.

    Args:
        setup: the device and the sizes.
        graphs: the names of the graphs.
        programs: the names of the programs.
        seconds: no cell begins after this time.
    """
    begin = time.perf_counter()
    for graph in graphs:
        for name in programs:
            for residency in _RESIDENCY:
                if time.perf_counter() - begin > seconds:
                    print(f"{name} on {graph}, {residency}: not measured, as the time is up")
                    continue
                cell = Cell(name, graph, residency)
                _measure(setup, cell)
                if "auto" in cell.ms:
                    yield cell


def _measure(setup: Setup, cell: Cell) -> None:
    which, graph = program(cell.program), setup.graph(cell.graph)
    options: dict[str, Any] = setup.source(graph) if cell.program in ("bfs", "sssp") else {}
    if cell.program == "pagerank":
        options |= {"max_rounds": ROUNDS, "tol": 0.0}
    if cell.program == "cdlp":
        options |= {"max_rounds": ROUNDS}
    if cell.residency == "quarter":
        options |= _memory(setup, which, graph, 8 if cell.program == "sssp" else 4, options)

    def ms(policy: str) -> float:
        return 1e3 * setup.run(which, graph, **options, policy=policy).seconds

    for policy in _POLICIES:
        try:
            ms(policy)  # compiles and copies
            cell.samples[policy] = [ms(policy)]
        except VlangError as error:
            cell.refused[policy] = str(error)
    if not cell.samples:
        return
    first = {policy: samples[0] for policy, samples in cell.samples.items()}
    for _ in range(setup.repeats - 1):
        for policy, samples in cell.samples.items():
            if first[policy] <= _SLOW * min(first.values()):
                samples.append(ms(policy))


def _memory(setup: Setup, which: Program, graph: Graph, edge_bytes: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options with memory for a quarter of the edges. The memory suffices for loops that push, too."""
    found: list[dict[str, Any]] = []
    for policy in ("auto", "gts"):
        try:
            found.append(setup.streamed(which, graph, 0.25, edge_bytes, **options, policy=policy))
        except BindError:  # the policy cannot run the program
            continue
    most = max(found, key=lambda one: int(one["gpu_memory"]))
    return {name: most[name] for name in ("page_size", "gpu_memory")}


def _line(cell: Cell) -> tuple[str, ...]:
    """Return the row of a cell, in which the best policy is marked."""
    ms = cell.ms
    best = min(ms, key=lambda policy: ms[policy])
    shown = [f"{ms[policy]:.3g}" + ("*" if policy == best else "") if policy in ms else "" for policy in _POLICIES]
    return (cell.program, _CLASSES[cell.program], cell.graph, cell.residency, *shown, f"{cell.ratio:.2f}")


def main(arguments: Sequence[str] | None = None, device: str | None = None) -> list[Cell]:
    """Measure and print. The arguments are the same as for `benchmarks.seeds.run.main`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=int, default=22, help="2^scale vertices (default: 22)")
    parser.add_argument("--repeats", type=int, default=9, help="runs of which the median counts (default: 9)")
    parser.add_argument("--page-size", type=int, default=4 << 20, help="bytes of a streamed page (default: 4 MiB)")
    parser.add_argument("--graphs", nargs="*", default=_GRAPHS, help=f"default: {', '.join(_GRAPHS)}")
    parser.add_argument("--programs", nargs="*", default=tuple(_CLASSES), choices=tuple(_CLASSES))
    parser.add_argument("--seconds", type=float, default=float("inf"), help="begin no cell after this time")
    parser.add_argument("--device", default="gpu", help="gpu or gpu:K")
    parser.add_argument("--json", metavar="FILE", help="write the cells and the conditions to a file")
    options = parser.parse_args(arguments)
    setup = Setup(device or options.device, options.scale, options.repeats, options.page_size)
    graphs, programs = (_GRAPHS[:1], tuple(_CLASSES)[:1]) if setup.tiny else (options.graphs, options.programs)
    found = []
    for cell in cells(setup, graphs, programs, options.seconds):
        found.append(cell)
        print(report.table_line(_line(cell), (14, 12, 11, 9, *(9 for _ in _POLICIES), 6)), flush=True)
    if not found:
        return found
    print(table(("program", "class", "graph", "edges", *(f"{policy}, ms" for policy in _POLICIES), "auto / best"),
                [_line(cell) for cell in found], (0, 1, 2, 3)))
    near = sum(cell.ratio <= _NEAR for cell in found)
    worst = max(found, key=lambda cell: cell.ratio)
    print(f"\nauto is within {_NEAR} x of the best policy in {near} of {len(found)} cells "
          f"({'met' if near >= _SHARE * len(found) else 'missed'}: {_SHARE:.0%}); the worst is {worst.ratio:.2f} x, "
          f"{worst.program} on {worst.graph}, {worst.residency} ({'met' if worst.ratio <= _FAR else 'missed'}: {_FAR})")
    if options.json:
        before = report.conditions(options.device) if device is None else {}
        record = {**before, "scale": options.scale, "cells": [asdict(cell) for cell in found]}
        Path(options.json).write_text(json.dumps(record, indent=1, default=str) + "\n", encoding="utf-8")
    return found


if __name__ == "__main__":
    main()
