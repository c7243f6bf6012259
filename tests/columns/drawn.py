"""Random graphs with columns of names, times and bools, and programs that read them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.reference.graph import RefGraph
from vlang import Graph

Array = NDArray[Any]

NAMES = ("road", "rail", "ferry", "Straße", "a,b", 'say', "z", "\U0001d518", "\uffee", "path #1", "A")
START = np.datetime64("2024-05-01T00:00:00", "s")

ROUTES = """
program routes(avoid: category = "ferry", since: time = "2024-05-01")

edge kind:   category
edge leaves: time
edge open:   bool = true

vertex here:  time = since if outdegree > 2 else inf
vertex mode_: category = "none"
vertex low:   category = "none"
vertex top:   category = "none"
vertex roads: int = 0
vertex late:  i64 = 0
vertex mid:   time = inf

repeat 3 times:
    gather next  = min(leaves + 600 for u -> self if u.here <= leaves and kind != avoid and open)
    gather most  = mode(kind for u -- self, default = "nothing")
    gather least = min(kind for u -> self if kind > "m", default = "zz")
    gather best  = max((u.here, kind) for u -> self if u.here < inf, default = (-inf, "aa"))
    gather n     = count(kind == "road" or kind == "rail" for self -> u)
    gather wait  = sum(leaves - "2024-05-01" for u -> self if leaves >= "2024-05-01T04:00")
    gather half  = median(leaves for u -> self, default = "1999-12-31")
    apply  (here, mode_) = (min(here, next), most)
    apply  low   = least
    apply  top   = best[1]
    apply  (roads, late, mid) = (n, wait, half)

global last = max(v.here for v in vertices if v.here < inf)
global different = count(v.low != v.top for v in vertices)
"""


@dataclass(frozen=True)
class Drawn:
    """The edges of a graph: ends uint32[m], and columns of shape [m] by name."""

    n: int
    src: Array
    dst: Array
    columns: dict[str, Array]

    def graph(self, **columns: Any) -> Graph:
        """Return the graph; `columns` replace some of its columns."""
        return Graph.from_edges(self.src, self.dst, n=self.n, columns={**self.columns, **columns})

    @property
    def reference(self) -> RefGraph:
        """Return the graph for the reference interpreter."""
        return RefGraph(self.n, self.src, self.dst, self.columns)


def drawn(seed: int) -> Drawn:
    """Return a graph of up to 40 vertices with the columns `kind`, `leaves` (whole minutes) and `open`."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 40))
    m = int(rng.integers(1, 5 * n))
    names = np.array(NAMES, object)[rng.permutation(len(NAMES))[: int(rng.integers(1, len(NAMES)))]]
    times = START + 60 * rng.integers(-500, 1000, m).astype("m8[s]")
    columns = {"kind": names[rng.integers(0, len(names), m)], "leaves": times, "open": rng.random(m) < 0.8}
    return Drawn(n, rng.integers(0, n, m), rng.integers(0, n, m), columns)
