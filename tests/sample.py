"""What every run of the tests takes of a long list of cases. `make nightly` takes the whole list.

The time of the tests is nearly all compilation. So of lists of programs, options or types, of which each case is
compiled anew, every run takes a fixed part that has each kind of kernel and of rule, and `make nightly`, which sets
VLANG_EXHAUSTIVE=1, takes all. The files that take parts are listed in `tests/nightly.txt`.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

__all__ = ["EACH_KIND", "EXHAUSTIVE", "sampled"]

T = TypeVar("T")

EXHAUSTIVE = bool(os.environ.get("VLANG_EXHAUSTIVE"))

EACH_KIND = (
    "astar", "belief", "betweenness", "bfs", "cdlp", "coloring", "components", "eigenvector", "gcn", "katz", "kcore",
    "lcc", "longest_path", "louvain", "mis", "pagerank_delta", "scc", "smooth", "sssp", "walks",
)
"""Programs of the standard library, in the order of the alphabet, that together have each kernel, loop and rule of the
library (`tests/house/test_sample.py`)."""


def sampled(whole: Iterable[T], part: Iterable[T]) -> list[T]:
    """Return the cases of `whole` that are in `part`, and all under VLANG_EXHAUSTIVE.

    Raises AssertionError if `part` has a case that `whole` has not, or is empty.
    """
    every, some = list(whole), list(part)
    assert some
    assert all(case in every for case in some), [case for case in some if case not in every]
    return every if EXHAUSTIVE else [case for case in every if case in some]
