"""Measure ablations of GTS (Kim et al., SIGMOD 2016): streams (figure 10), cache (figure 11), and cost models (section
5).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks.seeds.setup import ROUNDS, Cells, Setup, program
from benchmarks.seeds.tables import Finding, Table, compared
from vlang import Result

__all__ = ["MISSING", "ON_CPU", "tables"]

MISSING = ("strategies P and S (figure 9): they need several GPUs, and this benchmark uses one",)
ON_CPU = False
STREAMS = ("1", "2", "4", "8", "16", "32")
SHARES = ("0 %", "10 %", "25 %", "50 %", "75 %", "100 %")


def tables(setup: Setup, gpu: bool) -> Iterator[Table]:
    """Yield the tables."""
    yield _streams(setup)
    yield from _cache(setup)
    yield _models(setup)


def _given(setup: Setup, name: str) -> dict[str, Any]:
    """Return the arguments of a program and the options of the policy gts."""
    policy = {"policy": "gts", "device": setup.device}
    return policy if name == "pagerank" else {**policy, **setup.source(setup.graph("rmat"))}


def _streams(setup: Setup) -> Table:
    """Measure PageRank sweeps and a search for each number of streams. No edges are resident, and device memory has
    room for 64 pages.
    """
    graph = setup.graph("rmat")
    options = {name: setup.streamed(program(name), graph, 0.0, **_given(setup, name))
               for name in ("pagerank", "bfs_tree")}

    def cell(name: str, count: str) -> float:
        more = {"streams": int(count), "gpu_memory": options[name]["gpu_memory"] + 56 * setup.page_size}
        timed = setup.sweep_ms if name == "pagerank" else setup.run_ms
        return timed(program(name), graph, **{**options[name], **more})

    def findings(cells: Cells) -> Iterator[Finding]:
        for name, row in cells.items():
            best = min(row, key=lambda count: row[count])
            yield Finding(f"{name}: the best number of streams", "32 (figure 10)", best, "" if best == "32" else
                          "Two streams overlap copies with kernels, and more have nothing else to overlap; in the "
                          "paper kernels took 2 to 20 times as long as copies.")

    return setup.table("PageRank sweep, and bfs_tree as a whole, ms, by streams", options, STREAMS, cell, findings)


def _cache(setup: Setup) -> Iterator[Table]:
    """Measure a search for each share of the out-edges that the cache holds. The figures are the time of the search,
    and the share of pages that are found in the cache.
    """
    graph, which = setup.graph("rmat"), program("bfs_tree")
    given, hits = _given(setup, "bfs_tree"), dict[str, float]()
    base = setup.streamed(which, graph, 0.0, **given)

    def timed(_: str, share: str) -> float:
        part = float(share.split()[0]) / 100
        options = {**base, "gpu_memory": base["gpu_memory"] + int(part * graph.m * 8)}  # both directions share it
        moved = setup.run(which, graph, **options).moved
        used = moved.pages_cached + moved.pages_copied
        hits[share] = moved.pages_cached / used if used else 1.0  # without streamed pages, all are on the GPU
        return setup.run_ms(which, graph, **options)

    yield setup.table("bfs_tree, ms, by the share of the edges that the cache has room for", ["ms"], SHARES, timed)

    def findings(cells: Cells) -> Iterator[Finding]:
        row = cells["hit rate"]
        half = row["50 %"] / max(row["25 %"], 1e-3)
        yield compared("hit rate with room for 50 % by that for 25 %", "2 x, as it grows linearly (figure 11)",
                       (2.0, 2.0), half, "Memory is divided between both directions, and the in-edges may become "
                       "resident first.")

    yield setup.table("Pages found in the cache by pages used", ["hit rate"], SHARES, lambda _, share: hits[share],
                      findings)


def _models(setup: Setup) -> Table:
    """Compare the time that the cost models predict for supersteps with the measured time. Device memory has room for a
    quarter of the edges.
    """
    graph = setup.graph("rmat")
    results: dict[str, Result] = {}
    for name in ("pagerank", "bfs_tree") if setup.tiny else ("pagerank", "bfs_tree", "sssp"):
        more = {"tol": 0.0, "max_rounds": ROUNDS} if name == "pagerank" else {}
        edge_bytes = 8 if name == "sssp" else 4
        options = {**setup.streamed(program(name), graph, 0.25, edge_bytes, **_given(setup, name)), **more}
        setup.run(program(name), graph, **options)
        results[name] = setup.run(program(name), graph, **options)

    def cell(name: str, column: str) -> float:
        rows = [row for row in results[name].history if row.expected is not None]
        return 1e3 * sum((row.expected or 0.0) if column == "expected" else row.seconds for row in rows)

    def findings(cells: Cells) -> Iterator[Finding]:
        for name, row in cells.items():
            pages = sum(one.pages_cached + one.pages_copied for one in results[name].history)
            left = 1e3 * (row["measured"] - row["expected"]) / max(1, pages)
            yield compared(f"{name}: expected by measured", "190 s by 153 s = 1.24 x for PageRank (7.5)", (1.0, 1.24),
                           row["expected"] / max(row["measured"], 1e-9),
                           f"The host takes {left:.3g} us a page for events, copies and launches beyond the one launch "
                           "of the models." if left > 0 else "The models know no page of an earlier superstep.")

    return setup.table("Supersteps that use pages, ms, by the cost models and measured", results,
                       ("expected", "measured"), cell, findings)
