"""The bound of a loop in priority order on several GPUs (rule O). The host raises the bound for all GPUs.

A single GPU raises its bound inside of a launch, so short steps are cheap (priority.cuh). On several GPUs every
superstep ends with an exchange, which takes as long as processing many edges. Therefore the step doubles while
supersteps have few edges.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

__all__ = ["SharedBound", "priority_of"]

_FEW = 1 << 20  # edges: about as many as a GPU traverses during an exchange


def priority_of(key: int) -> float:
    """Return the priority that an order key stands for, as `key_priority` in push.cuh computes it."""
    bits = key & ~(1 << 63) if key >> 63 else ~key & (1 << 64) - 1
    found: float = struct.unpack("<d", struct.pack("<Q", bits))[0]
    return found


@dataclass
class SharedBound:
    """The bound below which vertices push.

    Attributes:
        bound: the bound; initially minus infinity.
        delta: the step by which the bound is raised; 0 before the first step.
    """

    bound: float = -math.inf
    delta: float = 0.0
    _edges: int = 0
    _steps: int = 0

    def ran(self, edges: int) -> None:
        """Count a superstep that processed some edges."""
        self._edges += edges
        self._steps += 1

    def lift(self, least: float, mean: float) -> None:
        """Raise the bound beyond the least priority of all far piles.

        Args:
            least: the least priority in all far piles, or a lower bound on it.
            mean: the mean priority of the first vertices that entered a pile, minus the least priority of the first
                frontier; this difference is the size of the first step.
        """
        begin = max(least, self.bound)
        if self.delta == 0:
            self.delta = mean if 0 < mean < math.inf else 1.0
        elif self._edges < _FEW * self._steps:
            self.delta *= 2
        self._edges = self._steps = 0
        if not math.isfinite(begin):
            self.bound = math.inf
            return
        while not begin + self.delta > begin:  # the step is lost in rounding
            self.delta *= 2
        self.bound = begin + self.delta
