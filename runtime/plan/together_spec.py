"""The data of a pass whose sums over the edges can be shared by several runs."""

from __future__ import annotations

from vlang.records import dataclass

__all__ = ["TogetherSpec"]


@dataclass(frozen=True)
class TogetherSpec:
    """A pass that only adds up one value of every neighbour.

    Attributes:
        values: the slot of the values, one per vertex: a field or messages.
        dtype: the type of the values, "f32" or "f64". The sums of the values are computed in 64 bits.
        sums: the slot of the sums, which the kernel "summed" reads.
    """

    values: str
    dtype: str
    sums: str
