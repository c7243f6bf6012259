"""The programs that come with vlang: one `.vp` file each.

The programs compute values of vertices and of the whole graph. No program returns a subgraph as a new graph. The
k-truss is missing, because its edges would read the changing values of the other edges of triangles. `egonet` and
`cross_edges` count the edges and the degrees of an induced subgraph.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["GROUPS", "groups", "names", "path", "source", "summary"]

_FOLDER = Path(__file__).resolve().parent

# Every program in the one group where a reader would look for it first, with what the group has in common.
GROUPS: dict[str, tuple[str, tuple[str, ...]]] = {
    "traversal": (
        "distances and paths from a vertex",
        ("astar", "bfs", "bfs_tree", "khop", "longest_path", "radius", "soft_reach", "sssp", "sssp_tree", "sswp",
         "temporal_reach", "viterbi"),
    ),
    "centrality": (
        "how much a vertex matters",
        ("betweenness", "closeness", "closeness_weighted", "degree", "eccentricity", "eigenvector", "hits",
         "hyperanf", "influence", "katz", "pagerank", "pagerank_delta", "pagerank_rounds", "pagerank_weighted",
         "php", "ppr", "rwr"),
    ),
    "components": ("what hangs together", ("bipartite", "boruvka", "components", "components_jump", "scc")),
    "cohesion": (
        "where a graph is dense",
        ("adamic_adar", "cdlp", "cross_edges", "egonet", "jaccard", "kcore", "kcore_members", "kcore_peel", "lcc",
         "lcc_directed", "lcc_weighted", "louvain", "triangles", "weighted_cdlp"),
    ),
    "selection": ("vertices and edges that keep apart", ("coloring", "matching", "mis")),
    "learning": (
        "beliefs, factors and features from what is known",
        ("belief", "cf", "gcn", "gin", "label_spreading", "linbp", "sage"),
    ),
    "simulation": ("steps of a process on a graph", ("circuit", "heat", "neural", "smooth", "spmv", "walks")),
}


def names() -> tuple[str, ...]:
    """The names of all programs, in alphabetical order."""
    return tuple(sorted(file.stem for file in _FOLDER.glob("*.vp")))


def path(name: str) -> Path:
    """The file of the program `name`. Raises KeyError if there is no such program."""
    file = _FOLDER / f"{name}.vp"
    if not name.isidentifier() or not file.is_file():
        raise KeyError(name)
    return file


def source(name: str) -> str:
    """The text of the program `name`. Raises KeyError if there is no such program."""
    return path(name).read_text(encoding="utf-8")


def summary(name: str) -> str:
    """A summary of the program `name`: the first line of its text. Raises KeyError if there is no such program."""
    return source(name).partition("\n")[0].lstrip("# ").strip()


def groups() -> dict[str, tuple[str, ...]]:
    """The names of the programs by group, in the order of `GROUPS`.

    Programs that are in no group come last, as "other".
    """
    found = {group: members for group, (_, members) in GROUPS.items()}
    other = tuple(name for name in names() if not any(name in members for members in found.values()))
    return found | ({"other": other} if other else {})
