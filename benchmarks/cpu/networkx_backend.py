"""Compare the times of NetworkX functions on published graphs: run by the vlang backend, and by NetworkX itself.

Usage: `python benchmarks/cpu/networkx_backend.py [TURNS]`.

The graphs are in the folder VLANG_DATA (see inputs.py). `converting` is a call with a graph that is not in the cache of
NetworkX, and `converted` is a call with a cached graph. Programs are compiled before the measurement. The script prints
medians, and how many times faster than NetworkX each call is.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import networkx as nx

from benchmarks.cpu.inputs import folder
from vlang import Graph

GRAPHS = {"ca-GrQc": False, "wiki-Vote": True, "soc-Slashdot0902": True}
"""The name of each graph, and whether it is directed."""
LONG = 20.0
"""Seconds of a call of NetworkX above which it is timed once."""
SMALL = 20_000
"""Nodes up to which functions of all pairs are measured: NetworkX takes hours on more."""

CALLS: dict[str, tuple[Callable[..., Any], Callable[[Any], dict[str, Any]], str]] = {
    "pagerank": (nx.pagerank, lambda g: {}, ""),
    "hits": (nx.hits, lambda g: {}, ""),
    "katz_centrality, alpha=1e-4": (nx.katz_centrality, lambda g: {"alpha": 1e-4}, ""),
    "betweenness_centrality, k=10": (nx.betweenness_centrality, lambda g: {"k": 10, "seed": 1}, ""),
    "closeness_centrality": (nx.closeness_centrality, lambda g: {}, "small"),
    "single_source_shortest_path_length": (
        nx.single_source_shortest_path_length, lambda g: {"source": next(iter(g))}, ""),
    "single_source_dijkstra_path_length": (
        nx.single_source_dijkstra_path_length, lambda g: {"source": next(iter(g))}, ""),
    "number_connected_components": (nx.number_connected_components, lambda g: {}, "undirected"),
    "number_strongly_connected_components": (nx.number_strongly_connected_components, lambda g: {}, "directed"),
    "core_number": (nx.core_number, lambda g: {}, "undirected"),
    "triangles": (nx.triangles, lambda g: {}, "undirected"),
    "average_clustering": (nx.average_clustering, lambda g: {}, "undirected"),
}


def _seconds(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _read(name: str, directed: bool) -> Any:
    """Return the graph as a NetworkX graph. The nodes of the NetworkX graph are in the order of the edges; attributes
    and self-loops are left out.
    """
    edges = Graph.read(folder() / name / f"{name}.txt.gz").edges()
    ids = edges.ids.values
    graph = (nx.DiGraph if directed else nx.Graph)()
    graph.add_edges_from(zip(ids[edges.src].tolist(), ids[edges.dst].tolist()))
    graph.remove_edges_from(list(nx.selfloop_edges(graph)))
    return graph


def _measured(function: Callable[..., Any], graph: Any, named: dict[str, Any], turns: int) -> tuple[float, ...]:
    """Return three median times in seconds: of NetworkX, of a call that converts the graph, and of a call with a
    converted graph.
    """
    taken: tuple[list[float], ...] = ([], [], [])
    for turn in range(turns + 1):
        graph.__networkx_cache__.clear()
        converting = _seconds(lambda: function(graph, **named, backend="vlang"))
        converted = _seconds(lambda: function(graph, **named, backend="vlang"))
        plain = _seconds(lambda: function(graph, **named, backend="networkx")) \
            if not taken[0] or taken[0][0] < LONG else taken[0][0]
        if turn or plain >= LONG:  # the first turn compiles
            for seconds, each in zip((plain, converting, converted), taken):
                each.append(seconds)
    return tuple(statistics.median(each) for each in taken)


def main(turns: int) -> None:
    """Print a table for the documentation."""
    nx.config.warnings_to_ignore.add("cache")
    print("| graph | function | NetworkX, s | converting, s | converted, s | converting, times | converted, times |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for name, directed in GRAPHS.items():
        if not (folder() / name).exists():
            continue
        whole = _read(name, directed)
        for title, (function, arguments, wants) in CALLS.items():
            graph = whole.to_undirected() if wants == "undirected" and directed else whole
            if (wants == "directed" and not directed) or (wants == "small" and len(graph) > SMALL):
                continue
            plain, converting, converted = _measured(function, graph, arguments(graph), turns)
            print(f"| {name} | {title} | {plain:.4g} | {converting:.4g} | {converted:.4g} "
                  f"| {plain / converting:.3g} | {plain / converted:.3g} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
