"""The ratio alpha of the times that the CPU and the GPU take for a page, and the resulting split of the pages.

Source: Ma et al., "Garaph: efficient GPU-accelerated graph processing on a single machine with balanced replication",
USENIX ATC 2017, section 5.1, equation 3. The passes of this package read all edges, so that f = 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from vlang.records import dataclass
from vlang.runtime.gpu.dispatch.deque import Unit

__all__ = ["Speeds", "last_units", "share_of"]


@dataclass
class Speeds:
    """The measured times of a pass. The measured speeds stay with the graph, so that later runs begin with these
    speeds.

    Attributes:
        cpu: seconds per edge on the CPU.
        gpu: seconds per edge on the GPU, copies included.
        measured: whether the CPU's time has been measured; until then, `cpu` is an estimate from the time of one core.
    """

    cpu: float
    gpu: float
    measured: bool = False

    @property
    def alpha(self) -> float:
        """The time of a page on the CPU, divided by the time of a page on the GPU."""
        return self.cpu / self.gpu

    def learn(self, cpu: float, cpu_edges: int, gpu: float, gpu_edges: int) -> None:
        """Correct the stored times by the measured times of a superstep. The first measured time of the CPU replaces
        the estimate; any other time changes by half of the difference.

        Args:
            cpu: the seconds of the CPU.
            cpu_edges: the edges that the CPU processed.
            gpu: the seconds of the GPU.
            gpu_edges: the edges that the GPU processed.
        """
        if cpu_edges and cpu > 0:
            self.cpu = (self.cpu + cpu / cpu_edges) / 2 if self.measured else cpu / cpu_edges
            self.measured = True
        if gpu_edges and gpu > 0:
            self.gpu = (self.gpu + gpu / gpu_edges) / 2


def last_units(units: Sequence[Unit], share: Fraction) -> int:
    """Return the number of units at the end whose pages are nearest to a share of all pages.

    The result depends on the arguments only, so that a recorded share gives the same units again.
    """
    pages = units[-1].end
    wanted = round(share * pages)
    return min(range(len(units) + 1), key=lambda k: abs(_pages(units, k) - wanted))


def share_of(units: Sequence[Unit], last: int) -> Fraction:
    """Return the fraction of the pages that belong to the last units."""
    return Fraction(_pages(units, last), units[-1].end)


def _pages(units: Sequence[Unit], last: int) -> int:
    """Return the number of pages in the last units."""
    return units[-1].end - (units[-last].first if last else units[-1].end)
