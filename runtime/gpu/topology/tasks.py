"""Tasks: the pages that a push over streamed pages copies and processes together, and the order of tasks.

HyTGraph (Wang et al., ICDE 2023) chooses a transfer for small partitions, and combines up to four adjacent partitions
that are copied whole into one task (V-B). HyTGraph processes tasks with hubs or with large changes first (VI-A).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["Task", "hub_scores", "tasks_of"]

Task = tuple[int, ...]
"""Adjacent pages in increasing order."""


def tasks_of(
    whole: Sequence[int], cached: NDArray[np.bool_], most: int = 1, ranks: NDArray[np.float64] | None = None
) -> tuple[Task, ...]:
    """Combine pages that are copied whole into tasks, and order the tasks.

    Args:
        whole: the pages, in increasing order.
        cached: bool[P], whether each page is on the device. The pages of a task are either all cached or all copied.
        most: the maximum number of pages of a task.
        ranks: float64[P], the rank of each page; tasks are in the order of the lowest rank of their pages. None for the
            order of the pages.
    """
    tasks: list[list[int]] = []
    for page in whole:
        last = tasks[-1] if tasks else []
        if last and len(last) < most and last[-1] + 1 == page and cached[last[-1]] == cached[page]:
            last.append(page)
        else:
            tasks.append([page])
    if ranks is not None:
        tasks.sort(key=lambda task: float(ranks[task].min()))
    return tuple(map(tuple, tasks))


def hub_scores(degrees: NDArray[np.uint32], others: NDArray[np.uint32], lows: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the importance of each page, float64[P]: the sum of formula 4 of HyTGraph (VI-A) over the vertices of the
    page.

    Args:
        degrees: uint32[n], the number of edges of each vertex in the direction of the pages.
        others: uint32[n], the number of edges in the opposite direction.
        lows: int64[P + 1], the first vertex of each page, and the end of the vertices.
    """
    scores = degrees.astype(np.float64) * others
    most = float(degrees.max(initial=0)) * float(others.max(initial=0))
    sums = np.concatenate([[0.0], np.cumsum(scores / max(1.0, most))])
    found: NDArray[np.float64] = np.diff(sums[lows])
    return found
