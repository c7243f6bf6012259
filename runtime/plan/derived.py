"""The names of edge columns that every graph has, because the values are derived from its adjacency lists.

The brackets distinguish these names from the names of edge fields.
"""

from __future__ import annotations

__all__ = ["COMMON", "DERIVED", "OPPOSITE", "ORDINAL", "PLACE"]

COMMON = "common()"
"""The number of common neighbours of the two ends of an edge (uint32)."""

ORDINAL = "ordinal()"
"""The index of an edge among the parallel edges with the same tail and head, in the order of the input (uint32)."""

PLACE = "place()"
"""The index of an entry among the entries of its row with the same neighbour (uint32); in the adjacency of both
directions, in-edges come first."""

OPPOSITE = "opposite()"
"""The index of the entry of the opposite edge, among all entries of the adjacency of in-edges (uint32). Parallel edges
are paired by their ordinals; a self-loop is its own opposite."""

DERIVED = (COMMON, ORDINAL, PLACE, OPPOSITE)
