"""What is measured: programs on graphs, with what must be reached."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GAIN", "PARTS", "WORKS", "Work", "chosen"]

PARTS = ("read", "start", "memory")
"""What is measured beside the works; see reading.py, start.py, memory.py."""

GAIN = 1.7
"""How much faster two threads must be than one."""


@dataclass(frozen=True)
class Work:
    """One row. kind: names a program and its reference (contests.py). sources: of betweenness.

    sweeps: the time to reach, in sweeps of the C++ PageRank on the same graph; ratio: to reach, of the C++ reference of
    the same work. None where nothing is to be reached.
    """

    kind: str
    graph: str
    sweeps: float | None = None
    ratio: float | None = None
    sources: int = 1

    @property
    def name(self) -> str:
        """As it is printed."""
        return self.kind if self.sources == 1 else f"{self.kind}, {self.sources} sources"


WORKS = (
    Work("pagerank", "kron:20", sweeps=0.45),
    Work("bfs", "kron:20", sweeps=0.40),
    Work("sssp", "kron:20", sweeps=4.3),
    Work("components", "kron:20", sweeps=1.1),
    Work("betweenness", "kron:20", sweeps=5.0),
    Work("pagerank", "uniform:20", sweeps=0.45),
    Work("bfs", "uniform:20", sweeps=0.42),
    Work("sssp", "uniform:20", sweeps=6.5),
    Work("components", "uniform:20", sweeps=0.8),
    Work("betweenness", "uniform:20", sweeps=8.0),
    Work("pagerank", "road", sweeps=1.0),
    Work("bfs", "road", ratio=1.0),
    Work("sssp", "road", ratio=0.8),
    Work("components", "road", ratio=0.8),
    Work("betweenness", "kron:18", ratio=1.5, sources=4),
    Work("triangles", "kron:16", ratio=1.5),
    *(Work(kind, graph) for graph in ("USA-road-d.NY", "soc-Slashdot0902")
      for kind in ("pagerank", "bfs", "sssp", "components")),
)  # fmt: skip


def chosen(only: list[str], graphs: list[str]) -> list[Work]:
    """The works of these kinds on these graphs; all if none are given."""
    return [w for w in WORKS if (not only or w.kind in only) and (not graphs or w.graph in graphs)]
