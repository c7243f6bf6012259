"""The data of a pass whose reductions over the edges can be computed for several runs at a time."""

from __future__ import annotations

from vlang.records import dataclass

__all__ = ["TogetherSpec"]


@dataclass(frozen=True)
class TogetherSpec:
    """A pass in which runs differ only in the values that they read at neighbours.

    Attributes:
        values: the slots of these values, one per vertex: fields, messages and degrees.
        same: the slots of graph-level values that contributions read. Runs share a pass only if their values in these
            slots are equal.
        parts: the slots of the accumulators, which the kernel "summed" reads.
    """

    values: tuple[str, ...]
    same: tuple[str, ...]
    parts: tuple[str, ...]
