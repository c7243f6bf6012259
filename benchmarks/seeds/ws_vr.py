"""Measure ablations of warp segmentation and vertex refinement (Khorasani et al., PACT 2015): tables III, IV and VIII.
"""

from __future__ import annotations

from collections.abc import Iterator
from statistics import geometric_mean

from benchmarks.gpu.ablations import SWEEP, SWEEPS
from benchmarks.seeds.setup import Cells, Setup, program
from benchmarks.seeds.tables import Finding, Table, compared
from vlang import compile

__all__ = ["MISSING", "ON_CPU", "tables"]

MISSING = ("vertex refinement against ALL and MS (table VIII): it needs several GPUs, and this benchmark uses one",)
ON_CPU = False
WARPS = tuple(f"virtual-warp-{lanes}" for lanes in (2, 4, 8, 16, 32))


def tables(setup: Setup, gpu: bool) -> Iterator[Table]:
    """Yield the table."""
    graphs = ("rmat",) if setup.tiny else ("rmat", "uniform 2", "uniform 8", "uniform 32", "grid")
    programs = {"PageRank": program("pagerank")}
    if not setup.tiny:
        programs["minimum"] = compile(SWEEP.format(type="float", body=SWEEPS["float min"]))
    cases = {f"{name}, {graph}": (which, graph) for name, which in programs.items() for graph in graphs}

    def cell(name: str, kernel: str) -> float:
        which, graph = cases[name]
        return setup.sweep_ms(which, setup.graph(graph), mode="pull", kernel=kernel)

    yield setup.table("Sweep, ms, by kernel", cases, (*WARPS, "warp-segmentation", "auto"), cell, _findings)


def _findings(cells: Cells) -> Iterator[Finding]:
    rows, why = cells.values(), "The graphs here have other degrees than those of the paper."
    gains = [geometric_mean([row[warp] / row["warp-segmentation"] for row in rows]) for warp in WARPS]
    yield compared("best size of virtual warps by warp segmentation, mean", "1.29 x (table IV)", (1.29, 1.29),
                   min(gains), why)
    yield compared("worst size of virtual warps by warp segmentation, mean", "2.80 x (table IV)", (2.80, 2.80),
                   max(gains), why)
    best = geometric_mean([min(row[warp] for warp in WARPS) / row["warp-segmentation"] for row in rows])
    yield Finding("the best size for each graph by warp segmentation, mean", "not in the paper", f"{best:.3g} x")
    auto = geometric_mean([row["warp-segmentation"] / row["auto"] for row in rows])
    yield Finding("warp segmentation by `auto`, mean", "not in the paper", f"{auto:.3g} x")
