"""The graphs, budgets and timings that the ablations of all papers share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from statistics import median
from typing import Any

import numpy as np

from benchmarks.gpu.inputs import Kind, generated
from benchmarks.gpu.runs import spelled
from benchmarks.seeds.tables import Finding, Table
from vlang import Graph, OutOfMemory, Program, Result, load
from vlang.errors import VlangError

__all__ = ["ROUNDS", "Cells", "Setup", "program"]

Cells = Mapping[str, Mapping[str, float]]
"""The measured cells of a table, by row and column."""

ROUNDS = 8  # supersteps of a run that times sweeps; the first two are left out


@cache
def program(name: str) -> Program:
    """Return a program of the standard library."""
    return load(name)


@dataclass
class Setup:
    """The device, the graphs and the sizes of the measurements.

    Attributes:
        device: the device of the runs.
        scale: R-MAT graphs have 2^scale vertices, and 16 edges per vertex.
        repeats: the number of runs; figures are medians of these runs.
        page_size: bytes of a page in streamed runs.
    """

    device: str
    scale: int
    repeats: int
    page_size: int
    _graphs: dict[str, Graph] = field(default_factory=dict)

    @property
    def tiny(self) -> bool:
        """Whether the graphs are so small that a run only tests the script. Runs on tiny graphs have fewer cases."""
        return self.scale < 12

    def graph(self, name: str) -> Graph:
        """Return the graph "rmat", "grid" or "uniform D" with D edges per vertex. All these graphs have about the same
        number of edges.
        """
        if name not in self._graphs:
            kind, _, degree = name.partition(" ")
            side = 1 << (self.scale + 1) // 2
            power = 4 - int(np.log2(int(degree or 16)))
            arguments = {"rmat": str(self.scale), "grid": f"{2 * side}x{side}",
                         "uniform": f"{self.scale + power},{degree}"}
            self._graphs[name] = generated(name, Kind(kind, arguments[kind], directed=kind != "grid"))
        return self._graphs[name]

    def source(self, graph: Graph) -> dict[str, Any]:
        """Return the argument `source`: the vertex of largest out-degree."""
        return {"source": int(np.argmax(graph.out_degree))}

    def run(self, which: Program, graph: Graph, **options: Any) -> Result:
        """Run a program once on the device, and return its result."""
        return which(graph, **spelled({"device": self.device, **options}))

    def sweep_ms(self, which: Program, graph: Graph, **options: Any) -> float:
        """Return the milliseconds of a superstep over all edges. The median of the later supersteps is computed for
        each run; the result is the median over all runs.
        """
        self.run(which, graph, **options, max_rounds=2)
        runs = [self.run(which, graph, **options, max_rounds=ROUNDS) for _ in range(self.repeats)]
        return 1e3 * median(median(row.seconds for row in result.history[2:]) for result in runs)

    def run_ms(self, which: Program, graph: Graph, **options: Any) -> float:
        """Return the median milliseconds of a whole run."""
        self.run(which, graph, **options)
        return 1e3 * median(self.run(which, graph, **options).seconds for _ in range(self.repeats))

    def least(self, which: Program, graph: Graph, **options: Any) -> int:
        """Return the least device memory, in bytes, of a streamed run that keeps all vertex arrays on the device (see
        `device_arrays`). The error is at most a hundredth of the bytes of the edges.
        """
        refused, taken, grain = 0, 1 << 16, max(1 << 10, graph.m * 4 // 100)
        while not self._fits(which, graph, taken, options):
            refused, taken = taken, 2 * taken
        while taken - refused > grain:
            budget = (taken + refused) // 2
            refused, taken = (refused, budget) if self._fits(which, graph, budget, options) else (budget, taken)
        return taken

    def _fits(self, which: Program, graph: Graph, budget: int, options: Mapping[str, Any]) -> bool:
        try:
            self.run(which, graph, **{**options, "gpu_memory": budget, "max_rounds": 1, "device_arrays": True})
        except OutOfMemory:
            return False
        return True

    def streamed(
        self, which: Program, graph: Graph, share: float, edge_bytes: int = 4, **options: Any
    ) -> dict[str, Any]:
        """Return the options of a streamed run. The run gets the least possible device memory plus room for a share of
        the edges, or for eight pages if this is more.

        Args:
            which: the program.
            graph: the graph.
            share: the share of the edges of one direction, 0 to 1.
            edge_bytes: bytes of an edge that the program reads.
            options: further options of the run.
        """
        given = {"page_size": self.page_size, **options}
        room = max(int(share * graph.m * edge_bytes), 8 * edge_bytes // 4 * self.page_size)
        return {**given, "gpu_memory": self.least(which, graph, **given) + room}

    def table(
        self, title: str, rows: Iterable[str], columns: Sequence[str], cell: Callable[[str, str], float],
        findings: Callable[[Cells], Iterable[Finding]] = lambda _: (),
    ) -> Table:
        """Measure every cell of a table. If a cell fails, its error is listed in `Table.problems`. If a finding needs a
        failed cell, the table has no findings.

        Args:
            title: the title.
            rows: the names of the rows.
            columns: the choices.
            cell: function that measures the cell of a row and a column.
            findings: function that computes the findings from all cells, by row and column.
        """
        found: dict[str, dict[str, float]] = {}
        problems = []
        for name in rows:
            found[name] = {}
            for column in columns:
                try:
                    found[name][column] = cell(name, column)
                except VlangError as error:
                    problems.append(f"{name}, {column}: {error}")
        try:
            said = tuple(findings(found))
        except KeyError as error:
            said = (Finding("comparison with the paper", "", "", f"The cell {error} could not be measured."),)
        return Table(title, tuple(columns), [(name, [cells.get(column) for column in columns])
                                             for name, cells in found.items()], said, tuple(problems))
