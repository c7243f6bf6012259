"""GridGraph (Zhu, Han, Chen, USENIX ATC 2015) on the same graph, from a checkout that has been built with `make`."""

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
_BLOCK = 1 << 22


@dataclass
class GridGraph:
    """A built checkout.

    Attributes:
        folder: the folder of the checkout.
        place: a folder for the converted graph.
        budget: GiB of memory, an argument of GridGraph's programs.
        prefix: words that are put before each command.
    """

    folder: Path
    place: Path
    budget: float
    prefix: list[str]

    def measure(self, source: Path) -> dict[str, float]:
        """Seconds of the conversion, a PageRank sweep, a search from the hub and components; and bytes on disk.

        source: a graph file with consecutive ids from 0.
        """
        graph = Graph.read(source)
        pairs, grid = self.place / "pairs.bin", self.place / "grid"
        edges = graph.edges()
        with pairs.open("wb") as file:
            for first in range(0, graph.m, _BLOCK):
                part = slice(first, first + _BLOCK)
                file.write(np.stack([edges.src[part], edges.dst[part]], 1).astype(np.int32).tobytes())
        hub, n = int(np.argmax(graph.out_degree)), graph.n
        del graph, edges
        found = {"convert": self._run("preprocess", "-i", str(pairs), "-o", str(grid), "-v", str(n), "-p",
                                      str(_PARTITIONS), "-t", "0")}
        found["nbytes"] = sum(path.stat().st_size for path in grid.iterdir())
        pairs.unlink()
        budget = str(self.budget)
        one = self._run("pagerank", str(grid), "1", budget)
        found["pagerank"] = (self._run("pagerank", str(grid), str(1 + _SWEEPS), budget) - one) / _SWEEPS
        found["bfs"] = self._run("bfs", str(grid), str(hub), budget)
        found["components"] = self._run("wcc", str(grid), budget)
        return found

    def _run(self, name: str, *words: str) -> float:
        begin = time.perf_counter()
        subprocess.run([*self.prefix, str(self.folder / "bin" / name), *words], check=True, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
        return time.perf_counter() - begin
