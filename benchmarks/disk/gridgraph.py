"""Run GridGraph (Zhu, Han, Chen, USENIX ATC 2015) on the same graph, from a checkout that has been built with `make`.
"""

from __future__ import annotations

import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vlang import Graph

__all__ = ["GridGraph"]

_PARTITIONS = 4
_SWEEPS = 5
_BUDGET = 1  # GiB; GridGraph's programs read a whole number, and never end if it is 0
_BLOCK = 1 << 22


@dataclass
class GridGraph:
    """A built checkout.

    Attributes:
        folder: the folder of the checkout.
        place: a folder for the converted graph.
        prefix: the first words of every command.
    """

    folder: Path
    place: Path
    prefix: list[str]

    WORKS = ("convert", "pagerank", "bfs", "components")

    def __post_init__(self) -> None:
        self._pairs, self._grid = self.place / "pairs.bin", self.place / "grid"
        self._hub = self._n = 0

    def prepare(self, source: Path) -> None:
        """Write the edges of a graph file as pairs of int32 vertex numbers, the input format of GridGraph."""
        graph = Graph.read(source)
        edges = graph.edges()
        with self._pairs.open("wb") as file:
            for first in range(0, graph.m, _BLOCK):
                part = slice(first, first + _BLOCK)
                file.write(np.stack([edges.src[part], edges.dst[part]], 1).astype(np.int32).tobytes())
        self._hub, self._n = int(np.argmax(graph.out_degree)), graph.n

    def seconds(self, work: str) -> float:
        """Return the seconds of one of WORKS: the conversion, a PageRank sweep, a search from the hub, or components.
        """
        grid, budget = str(self._grid), str(_BUDGET)
        if work == "convert":
            return self._run("preprocess", "-i", str(self._pairs), "-o", grid, "-v", str(self._n), "-p",
                             str(_PARTITIONS), "-t", "0")
        if work == "pagerank":
            one = self._run("pagerank", grid, "1", budget)
            return (self._run("pagerank", grid, str(1 + _SWEEPS), budget) - one) / _SWEEPS
        return self._run("bfs", grid, str(self._hub), budget) if work == "bfs" else self._run("wcc", grid, budget)

    @property
    def nbytes(self) -> int:
        """Return the bytes of the converted graph on disk."""
        return sum(path.stat().st_size for path in self._grid.iterdir())

    def _run(self, name: str, *words: str) -> float:
        begin = time.perf_counter()
        subprocess.run([*self.prefix, str(self.folder / "bin" / name), *words], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return time.perf_counter() - begin
