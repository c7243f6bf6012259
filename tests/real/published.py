"""The published graphs and their reference results.

Other programs computed `reference.npz` of each graph on the canonical graph. The canonical graph has no self-loops,
only the lightest of parallel edges, and vertices numbered by the rank of their ids. `Graph.read` returns this graph
with self_loops="drop", parallel="drop" and the direction that the reference names.
"""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import vlang
from vlang import Graph, Program, load

__all__ = ["GRAPHS", "Published", "files", "program", "published"]

DATA = Path(os.environ.get("VLANG_DATA") or Path(vlang.__file__).resolve().parents[2] / "shared" / "data")

GRAPHS = {
    "wiki-Vote": "wiki-Vote.txt.gz",
    "ca-GrQc": "ca-GrQc.txt.gz",
    "email-Enron": "email-Enron.txt.gz",
    "soc-Slashdot0902": "soc-Slashdot0902.txt.gz",
    "rome99": "rome99.gr.gz",
    "USA-road-d.NY": "USA-road-d.NY.gr.gz",
}

RULE = "1..63"  # the weights of `sssp_rule`


@dataclass(frozen=True)
class Published:
    """The graph of a file, the same graph with weights by rule, and the reference arrays by name."""

    graph: Graph
    by_rule: Graph
    reference: dict[str, NDArray[Any]]

    @property
    def sources(self) -> list[int]:
        """The ids of the four sources."""
        ids: list[int] = self.reference["vertex_ids"][self.reference["sources"]].tolist()
        return ids


def files(name: str) -> tuple[Path, Path]:
    """Return the files of the graph and of its reference. Skip the test if a file is missing."""
    path, results = DATA / name / GRAPHS[name], DATA / name / "reference.npz"
    for file in (path, results):
        if not file.exists():
            pytest.skip(f"{name}/{file.name} is not in {DATA} (VLANG_DATA names another folder)")
    return path, results


@functools.cache
def published(name: str) -> Published:
    """Return the graph of that name, read once. Skip the test if a file of the graph is missing."""
    path, results = files(name)
    with np.load(results) as archive:
        reference = dict(archive)
    directed = bool(reference["directed"])
    graph, by_rule = (
        Graph.read(path, directed=directed, weights=weights, self_loops="drop", parallel="drop")
        for weights in (None, RULE)
    )
    return Published(graph, by_rule, reference)


@functools.cache
def program(name: str) -> Program:
    """Return a program of the library, compiled once."""
    return load(name)
