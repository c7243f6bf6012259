"""The C++ loop, built with g++ and called through ctypes."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vlang import Graph

__all__ = ["Loop"]

_SOURCE = Path(__file__).with_name("pagerank.cpp")
FLAGS = ("-O3", "-march=native", "-fopenmp", "-shared", "-fPIC")


class Loop:
    """PageRank in C++ on one graph; the arrays are those of vlang's own adjacency."""

    def __init__(self, library: Path, graph: Graph, threads: int) -> None:
        adjacency = graph.adjacency("in")
        self._call = ctypes.CDLL(str(library)).pagerank_sweeps
        self._call.restype = None
        self._offsets, self._sources, self._degree = adjacency.offsets, adjacency.targets, graph.out_degree
        self._n, self._threads = graph.n, threads
        self._share = np.empty(graph.n, dtype=np.float32)
        self.rank = np.empty(graph.n, dtype=np.float32)

    @staticmethod
    def build(folder: Path) -> Path:
        """Compile into `folder`; the library. Raises SystemExit with what to install if there is no g++."""
        compiler = shutil.which("g++")
        if compiler is None:
            raise SystemExit("no g++: it builds the C++ loop to compare with (Debian: apt install g++); "
                             "the other measures run without it: run.py read start memory")  # fmt: skip
        library = folder / "pagerank.so"
        subprocess.run([compiler, *FLAGS, str(_SOURCE), "-o", str(library)], check=True)
        return library

    def sweep(self, sweeps: int, damping: float = 0.85) -> NDArray[np.float64]:
        """Run from equal ranks; the seconds of each sweep."""
        self.rank[:] = 1 / self._n
        seconds = np.empty(sweeps)
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (self._offsets, self._sources, self._degree)]
        outs = [a.ctypes.data_as(ctypes.c_void_p) for a in (self.rank, self._share)]
        self._call(*pointers, ctypes.c_int64(self._n), ctypes.c_float(damping), ctypes.c_int(sweeps), *outs,
                   ctypes.c_int(self._threads), seconds.ctypes.data_as(ctypes.c_void_p))  # fmt: skip
        return seconds
