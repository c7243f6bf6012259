"""The conditions of a program (`require`) on its parameters, its fields and the graph."""

from __future__ import annotations

from vlang.records import dataclass

__all__ = ["Bound", "Contract"]


@dataclass(frozen=True)
class Bound:
    """The condition `column op value` on every edge.

    Attributes:
        column: the edge column.
        dtype: the type of the column in the program.
        op: "lt", "le", "gt" or "ge".
        value: the constant.
    """

    column: str
    dtype: str
    op: str
    value: int | float


@dataclass(frozen=True)
class Contract:
    """A `require` of the program.

    Attributes:
        name: the name of the hidden field that marks the vertices where the condition fails. For the kinds "graph" and
            "later" the name of a scalar; unused for the kind "needs".
        kind: "graph", "vertex" or "edge" for a condition that is checked before the run, "later" for a condition on
            values that the run computes, and "needs" for required properties of the graph.
        domain: for kind "edge", the direction of the edges.
        text: the condition as in the program; for "needs" the properties, separated by spaces.
        line: the line in the program.
        bounds: if not empty, bounds that are equivalent to the condition. If the ranges of the columns prove these
            bounds, no edge is read.
        reads: for kind "later", the numbers that the condition reads, each as its name in the text and the name of its
            scalar.
    """

    name: str
    kind: str  # for "vertex", `name` holds a bool per vertex; for "edge", the first bad neighbour or `none`
    domain: str | None
    text: str
    line: int
    bounds: tuple[Bound, ...] = ()
    reads: tuple[tuple[str, str], ...] = ()
