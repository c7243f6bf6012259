"""Ablations of Garaph (Ma et al., USENIX ATC 2017): copies of accumulators (figures 8, 9), dual modes (figure 10)."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import geometric_mean

from benchmarks.gpu.ablations import SWEEP, SWEEPS
from benchmarks.seeds.setup import Cells, Setup, program
from benchmarks.seeds.tables import Finding, Table, compared
from vlang import compile

__all__ = ["MISSING", "ON_CPU", "tables"]

MISSING = ("pages dispatched to CPU and GPU by alpha (figure 11), which is not built",)
ON_CPU = True
FIXED = ("2", "4", "8", "16", "32")


def tables(setup: Setup, gpu: bool) -> Iterator[Table]:
    """The tables; without a GPU only those of the CPU."""
    if gpu:
        yield _copies(setup)
    yield _modes(setup)


def _copies(setup: Setup) -> Table:
    """A sweep by shards, for reductions of every cost, by the number of copies of an accumulator."""
    bodies = list(SWEEPS.items())[: 1 if setup.tiny else None]
    graphs = ("rmat",) if setup.tiny else ("rmat", "uniform 8")
    cases = {f"{name}, {graph}": (compile(SWEEP.format(type=name.split()[0], body=body)), graph)
             for name, body in bodies for graph in graphs}

    def cell(name: str, replicas: str) -> float:
        which, graph = cases[name]
        return setup.sweep_ms(which, setup.graph(graph), mode="pull", kernel="edge", replication=replicas)

    return setup.table("Sweep by shards, ms, by copies of an accumulator (R)", cases,
                       ("none", *FIXED, "garaph", "auto"), cell, _gains)


def _gains(cells: Cells) -> Iterator[Finding]:
    gains = [row["none"] / row["garaph"] for row in cells.values()]
    fixed = [min(row[r] for r in ("none", *FIXED)) / row["garaph"] for row in cells.values()]
    whole = "These are whole graphs; the paper measures pages of a web graph, some of which have far larger degrees."
    yield compared("formula for R against no copies, mean", "4.84 x over 33 pages (6.2, figure 8)", (4.84, 4.84),
                   geometric_mean(gains), whole)
    yield compared("the same, largest", "32.15 x (figure 8)", (32.15, 32.15), max(gains), whole)
    yield compared("formula for R against the best fixed R, mean", "1.73 x (figure 9)", (1.73, 1.73),
                   geometric_mean(fixed), "The vertices of these graphs have random numbers, so that all shards are "
                   "alike, and one R suits them.")
    yield Finding("measured constants against the formula, mean", "not in the paper",
                  f"{geometric_mean([row['garaph'] / row['auto'] for row in cells.values()]):.3g} x")


def _modes(setup: Setup) -> Table:
    """Searches on the CPU, by pull, notify-pull, and the published choice between both in every superstep."""
    graph = setup.graph("rmat")
    given = {"sssp": setup.source(graph), "components": {}}

    def cell(name: str, mode: str) -> float:
        more = {"switching": "published"} if mode == "dual" else {}
        return setup.run_ms(program(name), graph, **given[name], **more, device="cpu", mode=mode, blocking="never")

    def findings(cells: Cells) -> Iterator[Finding]:
        for name, row in cells.items():
            best = min(row["pull"], row["notify-pull"])
            ratio = row["notify-pull"] / row["pull"]
            yield compared(f"{name}: the better mode alone against dual", "at least 1 x, from curves (6.3, figure 10)",
                           (1.0, 4.0), best / row["dual"],
                           f"A run by notify-pull takes {ratio:.2g} times as long as one by pull, so that the "
                           "published share of 1/2 switches too early.")

    return setup.table("Whole runs on the CPU, ms, by mode", given, ("pull", "notify-pull", "dual"), cell, findings)
