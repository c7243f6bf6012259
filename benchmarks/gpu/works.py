"""The workloads to measure: programs on graphs, with targets and the times of the best peers on the same GPU."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LARGE", "SWEEP_WORKS", "WORKS", "Work", "chosen"]


@dataclass(frozen=True)
class Work:
    """One row of the table.

    Attributes:
        kind: "pagerank" (a sweep), "bfs", "sssp" or "components".
        graph: the name of the graph.
        must, aim: the target and a more ambitious target, in milliseconds. For streamed sweeps and streamed components,
            both targets are shares of the link rate.
        peer: the best published system measured on the same GPU, and its milliseconds.
        resident: the share of the edges that may stay on the device.
        budget: the device memory of the run in bytes, which replaces `resident`; 0 if `resident` determines the memory.
    """

    kind: str
    graph: str
    must: float
    aim: float
    peer: tuple[str, float] | None = None
    resident: float = 1.0
    budget: int = 0

    @property
    def streamed(self) -> bool:
        """Whether edges are copied over the link."""
        return self.resident < 1 or bool(self.budget)

    @property
    def name(self) -> str:
        """The name in the table and on the command line."""
        return f"streamed-{self.kind}" if self.streamed else self.kind


WORKS = (
    Work("pagerank", "rmat22", 0.75, 0.50, ("cuSPARSE", 0.49)),
    Work("pagerank", "rmat24", 6.0, 4.2, ("Gunrock", 6.58)),
    Work("bfs", "rmat22", 3.3, 1.0, ("CuSha", 3.33)),
    Work("bfs", "rmat24", 15, 4, ("Gunrock", 15.2)),
    Work("bfs", "urand22", 2.8, 1.5, ("EMOGI", 2.83)),
    Work("bfs", "grid2000", 20, 12, ("Gunrock", 287)),  # 5 us a superstep, and 3
    Work("bfs", "strip", 101, 61),
    Work("sssp", "rmat22", 6.0, 4, ("CuSha", 5.99)),
    Work("sssp", "rmat24", 28, 18, ("Gunrock", 28.2)),
    Work("sssp", "urand22", 10, 7, ("EMOGI", 10.3)),
    Work("sssp", "grid2000", 150, 30, ("WS-VR", 488)),
    Work("components", "rmat22s", 7.5, 3, ("CuSha", 7.57)),
    Work("pagerank", "rmat22", 0.80, 0.95, ("EMOGI, 0 %", 8.41), resident=0.25),
    Work("pagerank", "rmat24", 0.80, 0.95, resident=0.25),
    Work("bfs", "rmat24", 50, 25, ("EMOGI", 50.9), resident=0.0),
    Work("sssp", "rmat24", 119.5, 60, ("EMOGI", 119.5), resident=0.0),
    Work("sssp", "rmat24", 66, 33, resident=0.5),  # in proportion to the bytes that are not resident, and resident time
    Work("sssp", "rmat24", 24, 18, resident=0.9),
    Work("components", "rmat22s", 0.80, 0.95, resident=0.0),
    Work("bfs", "rmat26", 66, 33, budget=1_500_000_000),
)

# Graphs that are measured only if they are named.
LARGE = ("rmat26",)

SWEEP_WORKS = ("pagerank",)


def chosen(only: list[str], graphs: list[str]) -> list[Work]:
    """Return the workloads with these names (all if empty) on these graphs. Workloads on the same graph are
    consecutive, so that each graph is built once.

    If no graphs are named, all graphs except the graphs of `LARGE` are used.
    """
    order = list(dict.fromkeys(work.graph for work in WORKS))
    found = [w for w in WORKS
             if (not only or w.name in only) and (w.graph in graphs if graphs else w.graph not in LARGE)]
    return sorted(found, key=lambda work: order.index(work.graph))
