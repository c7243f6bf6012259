"""Write a text edge list for the measurements of reading: generated edges in random order, a tab between columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vlang import Graph

__all__ = ["Text", "write_text"]

_LINES = 1 << 18


@dataclass(frozen=True)
class Text:
    """A file of `lines` edges.

    Attributes:
        hub: the vertex with the most out-edges.
    """

    path: Path
    lines: int
    hub: int


def write_text(spec: str, path: Path) -> Text:
    """Write the generated edges in random order (kron:20 has 2^24 edges). Vertices without edges are not in the file.
    """
    edges = Graph.read(spec, directed=True).edges()
    order = np.random.default_rng(1).permutation(len(edges.src))
    with path.open("w", encoding="ascii") as file:
        for first in range(0, len(order), _LINES):
            some = order[first : first + _LINES]
            pairs = zip(edges.src[some].tolist(), edges.dst[some].tolist())
            file.write("".join([f"{a}\t{b}\n" for a, b in pairs]))
    return Text(path, len(order), int(np.bincount(edges.src).argmax()))
