"""The graphs of the measurements. Most graphs are generated on the measuring machine; published graphs are used if they
are available.

kron:K and uniform:K have 2^K vertices and 16 random edges per vertex, stored in both directions. The graph `road` is a
grid of 1500 x 1500 vertices with 4 neighbours each. The weight of an edge, 1..255, is a hash of its two vertices. The
source is the vertex of largest out-degree; in a grid the source is a corner. Published graphs are read from
NAME/NAME.txt.gz or NAME/NAME.gr.gz in the folder VLANG_DATA, by default ../shared/data beside the checkout. The
published road network has its own weights.
"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.gpu.inputs import Kind, generated
from vlang import Graph

__all__ = ["INPUTS", "Input", "build", "folder"]

MOST_WEIGHT = 255


@dataclass(frozen=True)
class Input:
    """A graph to measure on.

    Attributes:
        name: the name shown in the table.
        graph: the graph.
        source: a dense vertex number.
        seconds: the time to build the graph with in-edges, out-edges and weights.
    """

    name: str
    graph: Graph
    source: int
    seconds: float


_GENERATED = {
    "kron:20": Kind("kron", "20", directed=False),
    "uniform:20": Kind("uniform", "20", directed=False),
    "road": Kind("grid", "1500x1500", directed=False, corner=True),
    "kron:18": Kind("kron", "18", directed=False),
    "kron:16": Kind("kron", "16", directed=False),
}
_QUICK = {
    "kron:20": Kind("kron", "12", directed=False),
    "uniform:20": Kind("uniform", "12", directed=False),
    "road": Kind("grid", "40x40", directed=False, corner=True),
    "kron:18": Kind("kron", "10", directed=False),
    "kron:16": Kind("kron", "9", directed=False),
}
_PUBLISHED = {"USA-road-d.NY": "gr.gz", "soc-Slashdot0902": "txt.gz"}

INPUTS = (*_GENERATED, *_PUBLISHED)


def build(name: str, quick: bool, threads: int) -> Input | None:
    """Return the graph called `name`, or a small graph if `quick` is set. Return None for a published graph if its file
    is missing or `quick` is set.
    """
    begin = time.perf_counter()
    if name in _PUBLISHED:
        path = folder() / name / f"{name}.{_PUBLISHED[name]}"
        if quick or not path.exists():
            return None
        own = path.suffixes[-2] == ".gr"
        graph = Graph.read(path, weights=None if own else f"1..{MOST_WEIGHT}", threads=threads)
        corner = False
    else:
        kind = (_QUICK if quick else _GENERATED)[name]
        graph, corner = generated(name, kind, MOST_WEIGHT, threads), kind.corner
    for direction in ("in", "out"):
        graph.adjacency(direction).column("weight", np.float32)
    source = 0 if corner else int(np.argmax(graph.out_degree))
    return Input(name, graph, source, time.perf_counter() - begin)


def folder() -> Path:
    here = Path(__file__).resolve().parents[2]
    return Path(os.environ.get("VLANG_DATA") or here.parent / "shared" / "data")
