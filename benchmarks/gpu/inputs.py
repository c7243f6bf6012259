"""The graphs of the measurements, which are generated on the measuring machine and are identical on every machine.

Names and parameters are the same as in the measurements of the peers:
- rmat22 and rmat24: R-MAT a .57 b .19 c .19 d .05, 16 edges per vertex, directed, ids scrambled;
- rmat22s: rmat22 in both directions;
- urand22: uniformly random, of the same size as rmat22;
- grid2000: 2000 x 2000, both directions;
- rmat23, rmat26, urand23 and strip (a grid of 200 x 20000): graphs on which nothing was tuned; rmat26 has 1.07 G edges
  and takes 60 GB of host memory.

The weight of an edge, a whole number 1..64, is a hash of its two vertices. The source is the vertex of largest
out-degree; in a grid the source is a corner.

`python benchmarks/gpu/inputs.py [NAME ...]` builds the graphs and prints the time.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from vlang import Graph
from vlang.runtime.graph.edges.edge_list import EdgeList
from vlang.runtime.graph.generators import GENERATORS, Spec
from vlang.runtime.threads.processors import available_threads
from vlang.runtime.threads.workers import over

__all__ = ["INPUTS", "QUICK", "Input", "build", "generated"]

CHUNK = 1 << 16


@dataclass(frozen=True)
class Kind:
    """A kind of generated graph.

    Attributes:
        generator: the name of the generator.
        arguments: the arguments of the generator, separated by commas.
        directed: whether the graph is directed.
        symmetrize: whether both directions of every edge are stored.
        corner: whether the source is vertex 0.
    """

    generator: str
    arguments: str
    directed: bool
    symmetrize: bool = False
    corner: bool = False


@dataclass(frozen=True)
class Input:
    """A graph to measure on.

    Attributes:
        name: the name shown in the table.
        graph: the graph.
        source: a dense vertex number.
        seconds: the time to build the edge list, and the in-edges and out-edges with weights.
    """

    name: str
    graph: Graph
    source: int
    seconds: float


INPUTS = {
    "rmat22": Kind("rmat", "22", directed=True),
    "rmat24": Kind("rmat", "24", directed=True),
    "urand22": Kind("uniform", "22", directed=True),
    "grid2000": Kind("grid", "2000x2000", directed=False, corner=True),
    "rmat22s": Kind("rmat", "22", directed=True, symmetrize=True),
    "rmat23": Kind("rmat", "23", directed=True),
    "urand23": Kind("uniform", "23", directed=True),
    "strip": Kind("grid", "200x20000", directed=False, corner=True),
    "rmat26": Kind("rmat", "26", directed=True),
}

QUICK = {
    "rmat22": Kind("rmat", "13", directed=True),
    "rmat24": Kind("rmat", "14", directed=True),
    "urand22": Kind("uniform", "13", directed=True),
    "grid2000": Kind("grid", "60x60", directed=False, corner=True),
    "rmat22s": Kind("rmat", "13", directed=True, symmetrize=True),
    "rmat23": Kind("rmat", "13", directed=True),
    "urand23": Kind("uniform", "13", directed=True),
    "strip": Kind("grid", "20x200", directed=False, corner=True),
    "rmat26": Kind("rmat", "15", directed=True),
}


def build(name: str, quick: bool = False) -> Input:
    """Return the graph called `name`, or a small version of it if `quick` is set. Raises KeyError for an unknown name.
    """
    begin = time.perf_counter()
    graph = generated(name, (QUICK if quick else INPUTS)[name])
    source = 0 if INPUTS[name].corner else int(np.argmax(graph.out_degree))
    return Input(name, graph, source, time.perf_counter() - begin)


def generated(name: str, kind: Kind, most: int = 64, threads: int | None = None) -> Graph:
    """Return a generated graph with in- and out-edges.

    Args:
        name: the name shown in messages.
        kind: the generator and its arguments.
        most: the column `weight` holds whole numbers 1..most as f32.
        threads: how many threads build; None for one per processor.
    """
    threads = threads or available_threads()
    text = f"{kind.generator}:{kind.arguments}"
    drawn = GENERATORS[kind.generator].edges(Spec(text, tuple(kind.arguments.split(",")), 1, kind.directed, threads))
    columns = {"weight": weights(drawn.src, drawn.dst, threads, most)}
    edges = EdgeList(drawn.src, drawn.dst, drawn.ids, columns, drawn.directed)
    del drawn
    graph = Graph(edges, name=name, symmetrize=kind.symmetrize, threads=threads)
    del edges  # so that the list is freed when the first adjacency is built
    for direction in ("in", "out"):
        graph.adjacency(direction).column("weight", np.float32)
    return graph


def weights(
    src: NDArray[np.uint32], dst: NDArray[np.uint32], threads: int, most: int = 64
) -> NDArray[np.uint8]:
    """Return a weight in 1..most for each edge, shape [E]. Both directions of an edge have the same weight.

    Args:
        src, dst: shape [E].
        threads: how many threads to use.
        most: the largest weight, at most 255.
    """
    out = np.empty(len(src), dtype=np.uint8)

    def work(first: int, last: int) -> None:
        for at in range(first, last, CHUNK):
            part = slice(at, min(at + CHUNK, last))
            low, high = np.minimum(src[part], dst[part]), np.maximum(src[part], dst[part])
            mixed = low * np.uint32(0x9E3779B1) ^ high * np.uint32(0x85EBCA77)
            mixed ^= mixed >> np.uint32(15)
            mixed *= np.uint32(0x2C1B3C6D)
            out[part] = (mixed.astype(np.uint64) * np.uint64(most) >> np.uint64(32)) + np.uint64(1)

    over(len(src), threads, work)
    return out


def main() -> None:
    """Build the graphs named, or all."""
    for name in sys.argv[1:] or INPUTS:
        found = build(name)
        print(f"{found.seconds:6.1f} s  {found.graph!r}, source {found.source}", flush=True)


if __name__ == "__main__":
    main()
