"""The table of the backend. A row has the module, programs and semantics of one function of NetworkX.

The import of NetworkX also imports this module, so the module imports no large modules.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

__all__ = ["CALL", "EXACT", "FUNCTIONS", "LINEAR", "Row", "SEARCH"]

Arguments = Mapping[str, Any]


class Condition(NamedTuple):
    """A condition under which NetworkX runs a call itself.

    Attributes:
        reason: the reason in words, for the log and the documentation.
        holds: returns whether the condition holds for the arguments of a call (by name, including defaults).
    """

    reason: str
    holds: Callable[[Arguments], bool]


class Row(NamedTuple):
    """A function of NetworkX.

    Attributes:
        home: the module of this package with the function of the same name.
        programs: the programs of vlang that the function runs.
        semantics: facts about the function that a caller should know.
        tolerance: the largest difference between results and the results of NetworkX.
        work: the kind of work that NetworkX does: `LINEAR`, `SEARCH` or `CALL`. The kind decides for which graph sizes
            the backend is faster.
        unless: the conditions under which NetworkX runs a call itself.
    """

    home: str
    programs: tuple[str, ...]
    semantics: str
    tolerance: str
    work: str
    unless: tuple[Condition, ...] = ()


EXACT = "equal"
ROUNDED = "1e-12 relative, by the order of sums"
ITERATED = "as NetworkX: its own tolerance; 1e-12 relative where both make the same number of iterations"

LINEAR = "a pass"
"""NetworkX reads each edge about once: as much as a conversion costs, so it pays with a cached graph alone."""
SEARCH = "some passes"
"""NetworkX reads each edge some times, in Python."""
CALL = "many passes"
"""NetworkX reads each edge tens of times, or once for each node."""


def _attribute(name: str) -> Condition:
    return Condition(f"`{name}` is a function", lambda given: callable(given[name]))


def _without(name: str) -> Condition:
    return Condition(f"`{name}` is given", lambda given: given[name] is not None)


_MULTIGRAPH = Condition("a multigraph", lambda given: bool(given["G"].is_multigraph()))
_DIRECTED = Condition("a directed graph", lambda given: bool(given["G"].is_directed()))
_NO_EDGES = Condition("a graph without edges", lambda given: given["G"].number_of_edges() == 0)

_UNWEIGHTED = (_without("weight"),)
_FIRST = "Nearest nodes come first; those at equal distance are in the order of the graph."
_BY_LENGTHS = ("The least of parallel edges counts. Weights that are negative or not finite, and integers whose sums "
               "need more than 53 bits, are left to NetworkX when the graph is read.")
_ONE_PATH = "Of several shortest paths the one whose last nodes come first in the graph."
_LENGTHS_EQUAL = "paths of equal length"
_PARTS = "Components come in the order of their first nodes."
_HOPS = "By hops. Searches from 512 nodes run at once, as bits of one array."

FUNCTIONS: dict[str, Row] = {
    # ---- centrality
    "pagerank": Row(
        "ranks", ("nx_pagerank",),
        "Power iteration from the same start to the same limit. Parallel edges add up.", ITERATED, CALL,
        (_attribute("weight"),)),
    "hits": Row(
        "ranks", ("nx_hits",),
        "Power iteration in place of ARPACK. Scores are positive; where the largest singular value is not the only one "
        "of its size, they are the ones nearest to the start.", "1e-6", CALL, (_NO_EDGES,)),
    "katz_centrality": Row(
        "ranks", ("nx_katz",), "Power iteration from the same start to the same limit.", ITERATED, CALL,
        (_attribute("weight"), _MULTIGRAPH)),
    "eigenvector_centrality": Row(
        "ranks", ("nx_eigenvector",), "Power iteration of A + I from the same start to the same limit.", ITERATED, CALL,
        (_attribute("weight"), _MULTIGRAPH)),
    "betweenness_centrality": Row(
        "betweenness", ("betweenness",),
        "Brandes's algorithm from the same sources: with `k` and `seed` the ones that NetworkX draws. Paths are "
        "counted in 64-bit floats.", "1e-9 relative", CALL,
        (*_UNWEIGHTED, Condition("`endpoints` is true", lambda given: bool(given["endpoints"])))),
    "closeness_centrality": Row(
        "distances", ("nx_distances", "bfs"), _HOPS, ROUNDED, CALL, (_without("distance"),)),
    "harmonic_centrality": Row(
        "distances", ("nx_distances",), _HOPS, ROUNDED, CALL, (_without("distance"),)),
    "degree_centrality": Row("degrees", ("nx_degree",), "", EXACT, LINEAR),
    "in_degree_centrality": Row("degrees", ("nx_degree",), "", EXACT, LINEAR),
    "out_degree_centrality": Row("degrees", ("nx_degree",), "", EXACT, LINEAR),
    "average_neighbor_degree": Row("degrees", ("spmv", "nx_degree"), "", ROUNDED, SEARCH, _UNWEIGHTED),
    "isolates": Row("degrees", ("nx_degree",), "", EXACT, LINEAR),
    "number_of_isolates": Row("degrees", ("nx_degree",), "", EXACT, LINEAR),
    # ---- distances between all pairs
    "eccentricity": Row(
        "distances", ("nx_distances", "bfs"), _HOPS, EXACT, CALL, (*_UNWEIGHTED, _without("sp"))),
    "diameter": Row("distances", ("nx_distances",), _HOPS, EXACT, CALL, _UNWEIGHTED),
    "radius": Row("distances", ("nx_distances",), _HOPS, EXACT, CALL, _UNWEIGHTED),
    "center": Row("distances", ("nx_distances",), _HOPS, EXACT, CALL, _UNWEIGHTED),
    "periphery": Row("distances", ("nx_distances",), _HOPS, EXACT, CALL, _UNWEIGHTED),
    "average_shortest_path_length": Row(
        "distances", ("nx_distances",), _HOPS, EXACT, CALL, (*_UNWEIGHTED, _without("method"))),
    "wiener_index": Row("distances", ("nx_distances",), _HOPS, EXACT, CALL, _UNWEIGHTED),
    "global_efficiency": Row("distances", ("nx_distances",), _HOPS, ROUNDED, CALL),
    # ---- paths
    "single_source_shortest_path_length": Row("paths", ("bfs",), _FIRST, EXACT, LINEAR),
    "single_target_shortest_path_length": Row("paths", ("bfs",), _FIRST, EXACT, LINEAR),
    "all_pairs_shortest_path_length": Row("paths", ("bfs",), _FIRST, EXACT, CALL),
    "shortest_path_length": Row(
        "paths", ("bfs", "sssp"), f"{_FIRST} {_BY_LENGTHS}", EXACT, SEARCH, (_attribute("weight"),)),
    "has_path": Row("paths", ("bfs",), "", EXACT, LINEAR),
    "single_source_dijkstra_path_length": Row(
        "paths", ("sssp",), f"{_FIRST} {_BY_LENGTHS}", EXACT, SEARCH, (_attribute("weight"),)),
    "multi_source_dijkstra_path_length": Row(
        "paths", ("sssp", "nx_nearest"), f"{_FIRST} {_BY_LENGTHS}", EXACT, SEARCH, (_attribute("weight"),)),
    "all_pairs_dijkstra_path_length": Row(
        "paths", ("sssp",), f"{_FIRST} {_BY_LENGTHS}", EXACT, CALL, (_attribute("weight"),)),
    "dijkstra_path_length": Row("paths", ("sssp",), _BY_LENGTHS, EXACT, SEARCH, (_attribute("weight"),)),
    "single_source_bellman_ford_path_length": Row(
        "paths", ("sssp",), f"{_FIRST} {_BY_LENGTHS}", EXACT, SEARCH, (_attribute("weight"),)),
    "bellman_ford_path_length": Row("paths", ("sssp",), _BY_LENGTHS, EXACT, SEARCH, (_attribute("weight"),)),
    "single_source_shortest_path": Row("trees", ("bfs_tree",), f"{_FIRST} {_ONE_PATH}", _LENGTHS_EQUAL, LINEAR),
    "single_source_dijkstra_path": Row(
        "trees", ("sssp_tree",), f"{_FIRST} {_ONE_PATH} Weights that are not above 0 are left to NetworkX.",
        _LENGTHS_EQUAL, SEARCH, (_attribute("weight"),)),
    "descendants": Row("paths", ("bfs",), "", EXACT, LINEAR),
    "ancestors": Row("paths", ("bfs",), "", EXACT, LINEAR),
    "descendants_at_distance": Row("paths", ("bfs",), "", EXACT, LINEAR),
    "ego_graph": Row(
        "paths", ("bfs", "sssp"), "The subgraph is made by NetworkX, with all attributes.", EXACT, LINEAR,
        (_attribute("distance"), Condition("`undirected` is true", lambda given: bool(given["undirected"])))),
    # ---- components
    "connected_components": Row("components", ("components",), _PARTS, EXACT, LINEAR),
    "number_connected_components": Row("components", ("components",), "", EXACT, LINEAR),
    "is_connected": Row("components", ("components",), "", EXACT, LINEAR),
    "node_connected_component": Row("components", ("components",), "", EXACT, LINEAR),
    "weakly_connected_components": Row("components", ("components",), _PARTS, EXACT, LINEAR),
    "number_weakly_connected_components": Row("components", ("components",), "", EXACT, LINEAR),
    "is_weakly_connected": Row("components", ("components",), "", EXACT, LINEAR),
    "number_strongly_connected_components": Row("components", ("scc",), "", EXACT, CALL),
    "is_strongly_connected": Row("components", ("scc",), "", EXACT, CALL),
    "is_tree": Row("components", ("components",), "", EXACT, LINEAR),
    "is_forest": Row("components", ("components",), "", EXACT, LINEAR),
    # ---- cores, triangles, two-colourings
    "core_number": Row("cohesion", ("kcore",), "", EXACT, CALL, (_DIRECTED,)),
    "k_core": Row("cohesion", ("kcore",), "The subgraph is made by NetworkX.", EXACT, SEARCH, (_DIRECTED,)),
    "k_shell": Row("cohesion", ("kcore",), "The subgraph is made by NetworkX.", EXACT, SEARCH, (_DIRECTED,)),
    "k_crust": Row("cohesion", ("kcore",), "The subgraph is made by NetworkX.", EXACT, SEARCH, (_DIRECTED,)),
    "triangles": Row("cohesion", ("triangles",), "", EXACT, CALL, (_DIRECTED, _MULTIGRAPH)),
    "transitivity": Row("cohesion", ("triangles",), "", EXACT, CALL, (_DIRECTED, _MULTIGRAPH)),
    "clustering": Row("cohesion", ("triangles",), "", EXACT, CALL, (_DIRECTED, _MULTIGRAPH, *_UNWEIGHTED)),
    "average_clustering": Row(
        "cohesion", ("triangles",), "", ROUNDED, CALL, (_DIRECTED, _MULTIGRAPH, *_UNWEIGHTED)),
    "is_bipartite": Row("cohesion", ("bipartite",), "", EXACT, SEARCH),
    "color": Row(
        "cohesion", ("bipartite",), "As `networkx.bipartite.color`, in the order of the graph.", EXACT, SEARCH),
    "sets": Row("cohesion", ("bipartite", "components"), "As `networkx.bipartite.sets`.", EXACT, SEARCH),
}
