"""The workloads to measure: programs on graphs, with their targets."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["GAIN", "PARTS", "WORKS", "Work", "chosen"]

PARTS = ("read", "start", "memory")
"""Measurements other than works; see reading.py, start.py, memory.py."""

GAIN = 1.7
"""The least speed-up of two threads over one."""


@dataclass(frozen=True)
class Work:
    """One row of the table.

    Attributes:
        kind: the kind of the program and of its reference (contests.py).
        graph: the name of the graph.
        sweeps: the target in sweeps of the C++ PageRank on the same graph; None for no target.
        ratio: the target relative to the C++ reference of the same workload; None for no target.
        sources: the number of sources of betweenness.
    """

    kind: str
    graph: str
    sweeps: float | None = None
    ratio: float | None = None
    sources: int = 1

    @property
    def name(self) -> str:
        """The name in the table."""
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
    """Return the workloads of these kinds on these graphs; an empty list selects all."""
    return [w for w in WORKS if (not only or w.kind in only) and (not graphs or w.graph in graphs)]
