"""Measure ablations of Garaph (Ma et al., USENIX ATC 2017): copies of accumulators (figures 8 and 9), and dual modes
(figure 10).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import copy_context
from statistics import geometric_mean
from typing import Any

from benchmarks.gpu.ablations import SWEEP, SWEEPS
from benchmarks.seeds.setup import ROUNDS, Cells, Setup, program
from benchmarks.seeds.tables import Finding, Table, compared
from vlang import Graph, Program, compile
from vlang.runtime.gpu.device.choose import open_device
from vlang.runtime.gpu.passes.rates import rates_of
from vlang.runtime.threads.processors import available_threads

__all__ = ["MISSING", "ON_CPU", "tables"]

MISSING: tuple[str, ...] = ()
ON_CPU = True
FIXED = ("2", "4", "8", "16", "32")


def tables(setup: Setup, gpu: bool) -> Iterator[Table]:
    """Yield the tables; without a GPU only the tables that a CPU can measure."""
    if gpu:
        yield _copies(setup)
        yield _dispatch(setup)
    yield _modes(setup)


def _copies(setup: Setup) -> Table:
    """Measure a sweep by shards for reductions of different cost: a column for each number of copies of an accumulator.
    """
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


def _dispatch(setup: Setup) -> Table:
    """Measure PageRank sweeps on a GPU, on a CPU, and on both, where alpha splits the pages. Compute the largest
    possible gain of a split.

    A quarter of the edges is resident on the GPU.

    Each of the two devices is measured alone, and again while the other device runs and uses the memory of the host. If
    both sides of a split end at the same time, the sweep takes 1 / (1 / gpu + 1 / cpu). In addition, n values are
    copied in each direction, because each side reads values that the other side computes.
    """
    graph, which = setup.graph("rmat"), program("pagerank")
    sides: dict[str, dict[str, Any]] = {
        "GPU": {"tol": 0.0, **setup.streamed(which, graph, 0.25, policy="garaph", dispatch="gpu")},
        "CPU": {"tol": 0.0, "device": "cpu", "threads": max(1, available_threads() - 1)}}
    sides["both by alpha"] = {**sides["GPU"], "dispatch": "alpha"}
    found = {"values both ways": 1e3 * 2 * 4 * graph.n * _link_seconds(setup)}
    columns = ("GPU", "CPU", "both by alpha", "GPU beside CPU", "CPU beside GPU", "values both ways", "split at best")

    def cell(row: str, column: str) -> float:
        side, _, other = column.partition(" beside ")
        if side in sides:
            with _running(setup, which, graph, sides.get(other)):
                found[column] = setup.sweep_ms(which, graph, **sides[side])
        elif column == "split at best":
            found[column] = found["values both ways"] + \
                1 / (1 / found["GPU beside CPU"] + 1 / found["CPU beside GPU"])
        return found[column]

    def findings(cells: Cells) -> Iterator[Finding]:
        for row in cells.values():
            gain, best = row["GPU"] / row["both by alpha"], row["GPU"] / row["split at best"]
            yield Finding("dispatch by alpha against the GPU alone", "clearly above 1, from curves (figure 11)",
                          f"{gain:.3g} x, at most {best:.3g} x", "" if gain > 1.2 else
                          "The link of this GPU is several times as fast as that of the paper's, and its CPU is not.")

    return setup.table("Sweep of PageRank, a quarter of the edges on the GPU, ms", ("rmat",), columns, cell, findings)


@contextmanager
def _running(setup: Setup, which: Program, graph: Graph, options: Mapping[str, Any] | None) -> Iterator[None]:
    """Return a context manager during which another thread repeats a run. If `options` is None, no other run is
    started.
    """
    if options is None:
        yield
        return
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            setup.run(which, graph, **options, max_rounds=ROUNDS)

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(copy_context().run, work)
        try:
            yield
        finally:
            stop.set()
            done.result()


def _link_seconds(setup: Setup) -> float:
    """Return the seconds per byte that is copied to the GPU."""
    device = open_device(setup.device)
    try:
        text = program("pagerank").plan(frozenset(), frozenset(), target="cuda").text
        return rates_of(device, text, setup.graph("rmat").m).copied
    finally:
        device.close()


def _modes(setup: Setup) -> Table:
    """Measure searches on the CPU by pull, by notify-pull, and by the published rule, which chooses between pull and
    notify-pull in every superstep.
    """
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
