"""The inputs that each program of the standard library needs on a graph: edge columns, parameters and input fields."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from tests.reference.graph import Array, RefGraph, ref_graph
from vlang import Program, compile, stdlib

__all__ = ["KINDS", "MORE", "NEAR_TIES", "ON_GPU", "STDLIB", "Case", "case", "fitting", "simple_graph", "without_needs"]

STDLIB = (
    "bfs", "bfs_tree", "circuit", "components", "heat", "katz", "kcore_members", "neural", "pagerank", "rwr", "spmv",
    "sssp", "sssp_tree", "sswp", "viterbi",
)

# The other programs. Tests that run a program in every way use STDLIB, with one or two programs of each kind.
MORE = (
    "adamic_adar", "astar", "belief", "betweenness", "bipartite", "boruvka", "cdlp", "cf", "closeness",
    "closeness_weighted", "coloring", "components_jump", "cross_edges", "degree", "eccentricity", "egonet",
    "eigenvector", "gcn", "gin", "hits", "hyperanf", "influence", "jaccard", "kcore", "kcore_peel", "khop",
    "label_spreading", "lcc", "lcc_directed", "lcc_weighted", "linbp", "longest_path", "louvain", "matching", "mis",
    "pagerank_delta", "pagerank_rounds", "pagerank_weighted", "php", "ppr", "radius", "sage", "scc", "smooth",
    "soft_reach", "temporal_reach", "triangles", "walks", "weighted_cdlp",
)

# The programs that run on a GPU with every kernel and every budget.
ON_GPU = (*STDLIB, "bipartite", "hits")

# One program of MORE for each kind of kernel that ON_GPU does not launch: reductions over all contributions at once
# (mode, mex, hindex, median), common neighbours, passes inside loops, sweeps by level, notify-pull of several passes.
KINDS = ("cdlp", "coloring", "kcore", "smooth", "lcc", "triangles", "scc", "kcore_peel", "betweenness", "mis")

NEAR_TIES = {"adamic_adar": ("closest",)}
"""Fields with the winner among rounded sums, by program: another order or another logarithm gives another winner."""

_NEEDS_SOURCE = (
    "bfs", "bfs_tree", "php", "rwr", "soft_reach", "sssp", "sssp_tree", "sswp", "temporal_reach", "viterbi",
)


_LAYERS = {"gcn": ("W",), "gin": ("W", "V"), "sage": ("own", "near")}
"""The matrices of each program that is a layer of a network."""

_SETS = {
    "betweenness": ("sources",), "closeness": ("sources",), "closeness_weighted": ("sources",),
    "cross_edges": ("left", "right"), "influence": ("start",), "khop": ("sources",),
    "ppr": ("seeds",), "radius": ("samples",),
}


_NEED = re.compile(r"^require (undirected|simple|loopless)\n", re.MULTILINE)
_UNDIRECTED = ("adamic_adar", "boruvka", "eccentricity", "jaccard", "kcore", "kcore_members", "kcore_peel", "lcc",
               "lcc_weighted", "louvain", "triangles")
_SIMPLE = (*_UNDIRECTED, "lcc_directed")


@dataclass(frozen=True, eq=False)
class Case:
    """The inputs of one run: the graph with the columns that the program reads, parameters (dense vertices) and input
    fields.
    """

    graph: RefGraph
    params: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, Array] = field(default_factory=dict)


def _edge_values(graph: RefGraph, low: float, high: float) -> Array:
    """Return one value per stored edge: a multiple of 1/64 in f32, hashed from the two vertices, so that both
    directions have the same value.
    """
    u, v = np.minimum(graph.src, graph.dst), np.maximum(graph.src, graph.dst)
    part = (31 * u + 17 * v) % 61 / 60
    return np.asarray(np.round((low + (high - low) * part) * 64) / 64, np.float32)


def _learning(name: str, graph: RefGraph, rng: np.random.Generator) -> Case:
    """Return inputs of the learning programs: priors, ratings, and steps that are small enough to converge for any
    degree.
    """
    most = max(int(graph.degree.max(initial=0)), 1)
    share = (rng.integers(1, 16, graph.n) / 16).astype(np.float32)
    if name == "belief":
        made = graph.with_columns(keep=_edge_values(graph, 0.2, 0.8))
        return Case(made, {}, {"prior": np.stack([share, 1 - share], axis=1)})
    if name == "linbp":
        return Case(graph, {"h": 0.2 / most}, {"prior": np.stack([share - 0.5, 0.5 - share], axis=1)})
    return Case(graph.with_columns(rating=_edge_values(graph, 0.5, 5)), {"rate": 0.04 / most})


def fitting(name: str, graph: RefGraph) -> RefGraph:
    """Return the graph, or a similar graph that meets the `require undirected` or `require simple` of a program."""
    if name == "longest_path":
        return _without_cycles(graph)
    if name in _UNDIRECTED:
        return simple_graph(graph, directed=False)
    return simple_graph(graph, graph.directed) if name in _SIMPLE else graph


def _without_cycles(graph: RefGraph) -> RefGraph:
    """Return the graph with only the edges that go from a smaller vertex number to a larger vertex number."""
    kept = graph.src < graph.dst
    columns = {name: column[kept] for name, column in graph.columns.items()}
    found = ref_graph(graph.n, list(zip(graph.src[kept].tolist(), graph.dst[kept].tolist(), strict=True)), True,
                      **columns)
    return replace(found, ids=graph.ids)


def _bounds(graph: RefGraph, target: int) -> Array:
    """Return half of the distance from each vertex to one vertex, computed by relaxation."""
    weight = np.asarray(graph.columns.get("weight", np.ones(graph.m)), np.float64)
    far = np.where(np.arange(graph.n) == target, 0, np.inf)
    while True:
        new = far.copy()
        np.minimum.at(new, graph.src, far[graph.dst] + weight)
        if (new == far).all():
            return np.asarray(far / 2, np.float32)
        far = new


def without_needs(name: str, precision: int = 32) -> Program:
    """Return a program of the library without its `require` about the graph, for tests of loops on any kind of graph.
    """
    text = _NEED.sub("", stdlib.path(name).read_text(encoding="utf-8"))
    return compile(text, f"{name}.vp", precision)


def simple_graph(graph: RefGraph, directed: bool) -> RefGraph:
    """Return the graph without self-loops. Among parallel edges, only the first edge is kept."""
    ends = np.stack([graph.src, graph.dst])
    pairs = ends if directed else np.sort(ends, axis=0)
    first = np.unique(pairs[0] * max(graph.n, 1) + pairs[1], return_index=True)[1]
    kept = first[pairs[0, first] != pairs[1, first]]
    columns = {name: column[kept] for name, column in graph.columns.items()}
    found = ref_graph(graph.n, list(zip(*pairs[:, kept].tolist(), strict=True)), directed, **columns)
    return replace(found, ids=graph.ids)


def case(name: str, graph: RefGraph, seed: int = 0) -> Case | None:
    """Return the inputs of a run of the program `name` on the graph, or on a similar graph that meets its `require`
    (see `fitting`).

    Return None if the graph is empty and the program needs a source.
    """
    graph = fitting(name, graph)
    rng = np.random.default_rng(seed)
    n = graph.n
    if name in _NEEDS_SOURCE:
        if n == 0:
            return None
        params: dict[str, Any] = {"source": int(rng.integers(n)) if seed else 0}
        if name == "rwr":
            params["tol"] = 1e-6  # f32 does not converge to the tolerance of the text
        if name == "temporal_reach":
            leaves, takes = _edge_values(graph, 0, 40).astype(np.int64), _edge_values(graph, 0, 9).astype(np.int32)
            return Case(graph.with_columns(leaves=leaves, takes=takes), {**params, "since": 2})
        column = {"sswp": "bandwidth", "viterbi": "chance", "soft_reach": "logw"}.get(name)
        return Case(graph.with_columns(**{column: _edge_values(graph, 0, 1)}) if column else graph, params)
    if name in _SETS:
        few = [0, n // 2, n - 1, n // 3][: min(n, 4)]
        members = list(dict.fromkeys(few))
        return Case(graph, {set_: members[k:] for k, set_ in enumerate(_SETS[name])})
    if name == "astar":
        target = n - 1 if seed % 2 == 0 else n // 3
        return Case(graph, {"source": 0, "target": target}, {"bound": _bounds(graph, target)}) if n else None
    if name == "egonet":
        return Case(graph, {"ego": n // 2}) if n else None
    if name in ("belief", "linbp", "cf"):
        return _learning(name, graph, rng)
    if name in _LAYERS:
        drawn = {part: (rng.integers(-8, 9, (2, 2 if part == "V" else 3)) / 8).astype(np.float32)
                 for part in _LAYERS[name]}
        sizes = {"k": 3, "l": 2, **({"m": 2, "eps": 0.25} if name == "gin" else {})}
        return Case(graph, {**sizes, **drawn, "b": [0.25, -0.5]}, {"x": (rng.integers(-8, 9, (n, 3)) / 8).astype("f4")})
    if name == "label_spreading":
        return Case(graph, {"alpha": 0.8}, {"prior": np.eye(2, dtype=np.float32)[rng.integers(0, 2, n)]})
    if name == "kcore_members":
        return Case(graph, {"k": 2})
    if name == "katz":
        degree = max(int(graph.indegree.max(initial=0)), 1)
        return Case(graph, {"alpha": 0.5 / degree, "tol": 1e-6})
    if name == "circuit":
        fixed = np.arange(n) % 4 == 0
        volts = np.where(fixed, np.arange(n) % 3, 0).astype(np.float32)
        return Case(graph.with_columns(g=_edge_values(graph, 0.5, 2)), {}, {"fixed": fixed, "v": volts})
    if name == "heat":
        share = 0.9 / max(int(graph.indegree.max(initial=0)), 1)
        column_values = np.full(graph.m, share, np.float32)
        return Case(graph.with_columns(coeff=column_values), {}, {"q": rng.integers(0, 65, n).astype(np.float32) / 8})
    if name == "neural":
        degree = max(int(graph.indegree.max(initial=0)), 1)
        weight = (_edge_values(graph, -1, 1) * (0.9 / degree)).astype(np.float32)
        return Case(graph.with_columns(weight=weight), {}, {"x": rng.integers(-8, 9, n).astype(np.float32) / 8})
    if name == "smooth":
        return Case(graph, {"rounds": 2}, {"x": rng.integers(-9, 10, n).astype(np.float32) / 4})
    if name == "spmv":
        return Case(graph.with_columns(a=_edge_values(graph, -2, 2)), {},
                    {"x": rng.integers(-8, 9, n).astype(np.float32) / 4})
    return Case(graph)
