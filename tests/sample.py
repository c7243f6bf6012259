"""Choose the part of a long list of cases that every run of the tests takes. `make nightly` takes the whole list.

Compilation takes nearly all of the time of the tests, and each case of a list of programs, options or types is compiled
separately. Every run therefore takes a fixed part of the list, which has each kind of kernel and each rule.
`make nightly` sets VLANG_EXHAUSTIVE=1, so that all cases run. The files that take parts are listed in
`tests/nightly.txt`.
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
    """Return the cases of `whole` that are in `part`. With VLANG_EXHAUSTIVE, return all cases of `whole`.

    Raises AssertionError if `part` is empty, or has a case that is not in `whole`.
    """
    every, some = list(whole), list(part)
    assert some
    assert all(case in every for case in some), [case for case in some if case not in every]
    return every if EXHAUSTIVE else [case for case in every if case in some]
