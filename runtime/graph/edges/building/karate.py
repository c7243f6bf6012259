"""Zachary's karate club: 34 members and 78 friendships. Source: Zachary, An information flow model for conflict and
fission in small groups, Journal of Anthropological Research 33 (1977), 452-473.
"""

from __future__ import annotations

import numpy as np

from vlang.runtime.graph.edges.edge_list import EdgeList, VertexIds

__all__ = ["karate"]

# For each member, the friends with a larger number.
_FRIENDS = {
    1: (2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 18, 20, 22, 32), 2: (3, 4, 8, 14, 18, 20, 22, 31),
    3: (4, 8, 9, 10, 14, 28, 29, 33), 4: (8, 13, 14), 5: (7, 11), 6: (7, 11, 17), 7: (17,), 9: (31, 33, 34),
    10: (34,), 14: (34,), 15: (33, 34), 16: (33, 34), 19: (33, 34), 20: (34,), 21: (33, 34), 23: (33, 34),
    24: (26, 28, 30, 33, 34), 25: (26, 28, 32), 26: (32,), 27: (30, 34), 28: (34,), 29: (32, 34), 30: (33, 34),
    31: (33, 34), 32: (33, 34), 33: (34,),
}  # fmt: skip


def karate() -> EdgeList:
    """The club as an undirected graph with ids 1..34."""
    ends = np.array([(a, b) for a, friends in _FRIENDS.items() for b in friends], dtype=np.uint32) - np.uint32(1)
    ids = VertexIds(base=1, count=34)
    return EdgeList(ends[:, 0], ends[:, 1], ids, directed=False, notes=["Zachary's karate club."])
