"""Lists of vertices that a text describes: `all`, and a random sample such as `random:64` or `random:64,seed=7`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from vlang.errors import BindError
from vlang.runtime.graph.random_graphs import mixed

if TYPE_CHECKING:
    from vlang.runtime.graph.graph import Graph

__all__ = ["described_list", "is_described"]

_TEXT = re.compile(r"all|random:([1-9]\d{0,11})(?:,seed=(\d{1,18}))?")


def is_described(text: str) -> bool:
    """Return whether a text is `all`, `random:K` or `random:K,seed=S`."""
    return _TEXT.fullmatch(text) is not None


def described_list(name: str, graph: Graph, text: str) -> NDArray[np.uint32]:
    """The numbers of the vertices that a text describes, in increasing order.

    A sample has the K vertices with the smallest hashes; a hash is computed from the seed (default 1) and the vertex.
    Therefore a sample depends only on the number of vertices and the seed. Raises BindError for a sample with more
    vertices than the graph.

    Args:
        name: the parameter, for the message.
        text: a text for which `is_described` holds.
    """
    found = _TEXT.fullmatch(text)
    assert found is not None
    if found[1] is None:
        return np.arange(graph.n, dtype=np.uint32)
    size, seed = int(found[1]), int(found[2] or 1)
    if size > graph.n:
        raise BindError(f"`{name}`: {text} is more than the {graph.n:,} vertices of the graph; write {name}=all")
    order = np.argsort(mixed(seed, 0, np.arange(graph.n, dtype=np.uint64)), kind="stable")
    return np.sort(order[:size]).astype(np.uint32)
