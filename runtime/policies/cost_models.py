"""The cost models of GTS: the time of a superstep that streams pages, for sweeps and for traversals.

Source: Kim et al., SIGMOD 2016, section 5, equations 1 and 2, for one GPU (N = 1, d_skew = 1, t_sync = 0) and no disk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from vlang.records import dataclass
from vlang.runtime.engine.trace import Round
from vlang.runtime.plan.plan import LoopSpec, Plan
from vlang.types import OPPOSITE

__all__ = ["MODELS", "StreamedPages", "expected_rounds", "model_text"]

MODELS = (
    "cost model of a pull, equation 1: pages (page bytes / c2 + t_call) + t_kernel of one page",
    "cost model of a push, equation 2: pages (page bytes / c2 (1 - slots / pages of the graph) + t_call)",
    "c2, t_call and t_kernel are the rates that `vlang doctor` shows; `history` has the expected seconds of each round",
)
"""The models for `vlang explain`, a line each."""


@dataclass(frozen=True)
class StreamedPages:
    """The pages of one adjacency direction that are streamed to a GPU, and the rates of the GPU.

    Attributes:
        pages: the number of pages, S + L in the paper.
        slots: the number of pages that fit into GPU memory at the same time, B in the paper.
        page_bytes: the size of the largest page in bytes; all pages have about the same size.
        page_edges: the mean number of edges of a page.
        copied: seconds for each byte that is copied to the GPU, 1 / c2 in the paper.
        launch: seconds for each launch of a kernel, t_call in the paper.
        gather: seconds for each edge that a kernel reads; t_kernel in the paper is this time for a whole page.
    """

    pages: int
    slots: int
    page_bytes: int
    page_edges: float
    copied: float
    launch: float
    gather: float

    def sweep(self, used: int) -> float:
        """Seconds of a superstep that uses `used` pages, by equation 1, which ignores the cache of pages."""
        return used * (self.page_bytes * self.copied + self.launch) + self.page_edges * self.gather

    def traversal(self, used: int) -> float:
        """Seconds of a superstep that uses `used` pages, by equation 2, for a cache with the hit rate B / (S + L)."""
        missed = 1 - min(1.0, self.slots / self.pages)
        return used * (self.page_bytes * self.copied * missed + self.launch)


def expected_rounds(plan: Plan, rounds: Sequence[Round], streamed: Mapping[str, StreamedPages]) -> list[Round]:
    """Copies of the rounds, in which `expected` has the seconds that the cost models expect; None for rounds without
    streamed pages.

    The model for sweeps applies to a pull, and the model for traversals to a push. The expected time of both models
    depends on the number of pages that the round used.

    Args:
        plan: the program.
        rounds: the history of a run.
        streamed: the streamed pages by adjacency direction.
    """
    found = []
    for row in rounds:
        loop = plan.counted[row.loop]
        stages = loop.stages if isinstance(loop, LoopSpec) else ()
        domain = next((stage.side for stage in stages if stage.side is not None), None)
        used = row.pages_cached + row.pages_copied
        kind = domain if domain is None or row.mode == "pull" else OPPOSITE[domain]
        pages = streamed.get(kind or "")
        seconds = None
        if pages is not None and used:
            seconds = pages.sweep(used) if row.mode == "pull" else pages.traversal(used)
        found.append(replace(row, expected=seconds))
    return found


def model_text(rounds: Sequence[Round]) -> str:
    """A sentence that compares the expected and the measured seconds of all rounds for which both are known."""
    both = [row for row in rounds if row.expected is not None]
    if not both:
        return "cost models: no round used streamed pages, so that there is nothing to compare"
    parts = []
    for name, sweeps in (("sweep-like, equation 1", True), ("traversal-like, equation 2", False)):
        some = [row for row in both if (row.mode == "pull") == sweeps]
        if some:
            expected, measured = sum(row.expected or 0.0 for row in some), sum(row.seconds for row in some)
            parts.append(f"{name}: {1e3 * expected:,.3g} ms expected, {1e3 * measured:,.3g} ms measured in "
                         f"{len(some)} of {len(rounds)} rounds")
    return f"cost models: {'; '.join(parts)}"
