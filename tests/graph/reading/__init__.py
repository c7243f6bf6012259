"""Tests of the readers of graph files."""

from vlang.runtime.graph.formats.text import TEXT

__all__ = ["read_edges"]

read_edges = TEXT.read
