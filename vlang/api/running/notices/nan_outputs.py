"""Warnings about outputs that are not a number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from vlang.runtime.engine.run_outcome import Outcome
    from vlang.runtime.graph.graph import Graph

__all__ = ["nan_warnings"]


def nan_warnings(outcome: Outcome, graph: Graph) -> Iterator[str]:
    """Return a warning for each field and global of `outcome.nan`, with the number of NaN vertices and the first NaN
    vertex.
    """
    for name in outcome.nan:
        where = ""
        if name in outcome.values.fields:
            array = outcome.values.fields[name]
            nan = np.isnan(array.view(np.float16) if array.dtype == np.uint16 else array).reshape(graph.n, -1)
            vertices = np.flatnonzero(nan.any(axis=1).tolist())
            where = f" at {len(vertices):,} of {graph.n:,} vertices, the first is {graph.label(int(vertices[0]))}"
        yield f"`{name}` is NaN (not a number){where}; --trap, or trap=True, shows where the first NaN comes from"
