"""Estimate the shape of a graph before reading it: exact for generators and stored graphs, from a sample for text."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from vlang.errors import GraphError
from vlang.runtime.graph.edges.ends import OF_FILE, Ends
from vlang.runtime.graph.edges.given import named_types
from vlang.runtime.graph.edges.shape import Shape
from vlang.runtime.graph.formats.table import recognised
from vlang.runtime.graph.generators import BLOCK_BYTES, FACTOR, is_spec, weight_range
from vlang.runtime.threads.processors import available_threads

__all__ = ["estimate"]


def estimate(
    spec: str, directed: bool | None = None, symmetrize: bool = False, weights: str | None = None,
    threads: int | None = None, ends: Ends = OF_FILE, columns: Collection[str] | None = None,
) -> Shape | None:
    """The shape of the graph of a file or generator; None if it cannot be determined without reading the whole file.

    Args:
        spec, directed, symmetrize, weights, columns: as in `Graph.read`.
        threads: how many threads will read the file; None for one per processor.
        ends: the columns that hold the ids at the two ends of an edge.
    """
    rule = weights is not None and ".." in weights
    path = Path(spec)
    try:
        if is_spec(spec) and not path.exists():
            found = _generated(spec, directed)
        else:
            from vlang.runtime.graph.read.asked import Asked  # start-up

            asked = Asked(directed, None if rule else weights, None if columns is None else frozenset(columns),
                          ends=ends, types=named_types(columns))
            found = recognised(path).estimate(path, asked, threads or available_threads())
    except (GraphError, OSError, ValueError, KeyError):
        return None  # the reader raises the error when it reads the same file
    if found is None:
        return None
    if symmetrize and found.directed and found.listed:
        found = _with(found, m=2 * found.m, directed=False)
    if rule:
        found = _with(found, columns={**found.columns, "weight": np.dtype(np.int32)}, ruled=frozenset({"weight"}))
    return found


def _with(shape: Shape, **changes: Any) -> Shape:
    return Shape(**{**shape.__dict__, **changes})


def _generated(spec: str, directed: bool | None) -> Shape | None:
    """The counts of a generated graph.

    An undirected graph stores a self-loop once. The estimate counts a self-loop of an undirected graph twice, because
    self-loops are rare.
    """
    name, _, rest = spec.partition(":")
    words = rest.split(",")
    given = dict(word.split("=", 1) for word in words if "=" in word)
    args = [word for word in words if word and "=" not in word]
    aimed = directed if directed is not None else \
        given["directed"] == "true" if "directed" in given else name in ("rmat", "path")
    if name in ("kron", "rmat", "uniform"):
        n = 1 << int(args[0])
        drawn = n * (int(args[1]) if len(args) > 1 else FACTOR)
    elif name == "grid":
        rows, columns = map(int, args[0].split("x"))
        n, drawn = rows * columns, rows * (columns - 1) + columns * (rows - 1)
    elif name in ("path", "star"):
        n = int(args[0])
        drawn = max(0, n - 1)
    else:
        return None
    limits = weight_range(given["weights"]) if "weights" in given else None
    reading = 0 if name in ("kron", "rmat", "uniform") else BLOCK_BYTES
    shape = Shape(n, drawn if aimed else 2 * drawn, aimed, listed=drawn, reading=reading)
    return shape if limits is None else \
        _with(shape, columns={"weight": np.dtype(np.int32)}, ruled=frozenset({"weight"}))
