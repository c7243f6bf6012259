"""Programs that exist in no library. For each of these programs, loops/own.cpp has a function that computes the same
values.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["PROGRAMS"]

_START = "1 / (1 + 7 * random(1, self))"

PROGRAMS: Mapping[str, str] = {
    "spread": f"""program spread(rounds = 20)
edge weight: float
vertex total: float = sum(weight for self -> u)
vertex y: float = total if total > 0 else 1
vertex x: float = {_START}
repeat rounds times:
    gather a = sum(u.x / u.y * weight for u -> self)
    apply  x = 0.15 + 0.85 * a
""",
    "cited": f"""program cited(rounds = 20)
vertex x: float = {_START}
vertex y: float = 0
repeat rounds times:
    gather a = sum(u.x for u -> self)
    apply  y = a / (1 + indegree)
    gather h = sum(u.y for self -> u)
    apply  x = h / (1 + outdegree)
""",
    "some": f"""program some(rounds = 20)
vertex x: float = {_START}
repeat rounds times:
    where outdegree > 2:
        gather a = sum(u.x for u -> self)
        apply  x = 0.5 * x + 0.5 * a / (1 + indegree)
""",
    "peaks": f"""program peaks(rounds = 20)
vertex x:   float  = {_START}
vertex top: float  = 0
vertex who: vertex = none
repeat rounds times:
    gather most       = max((u.x, u) for u -> self, default = (0, none))
    apply  (top, who) = most
    apply  x          = 0.5 * x + 0.25 * top
""",
    "vectors": f"""program vectors(rounds = 20)
vertex z: float = {_START}
vertex x: float[8] = [z, 2 * z, 3 * z, 4 * z, 5 * z, 6 * z, 7 * z, 8 * z]
repeat rounds times:
    gather a = sum(u.x for u -> self)
    apply  x = 0.5 * x + 0.5 * a / (1 + indegree)
""",
    "deviation": f"""program deviation(rounds = 20)
vertex x: float = {_START}
vertex y: float = 0
repeat rounds times:
    gather a = sum(u.x for u -> self)
    apply  y = a / (1 + indegree)
    gather d = sum(abs(u.x - u.y) for u -> self)
    apply  x = 0.9 * x + 0.1 * d / (1 + indegree)
""",
    "extent": f"""program extents(rounds = 20)
reduction extent(a, b): (float, float) = (max(a[0], b[0]), min(a[1], b[1])), identity (-inf, inf)
vertex x: float = {_START}
repeat rounds times:
    gather e = extent((0.5 * u.x, 0.5 * u.x) for u -> self, default = (0, 0))
    apply  x = 0.5 * x + 0.5 * (e[0] - e[1])
""",
}
"""The text of each program by the name of its C++ function. The programs use edge weights, both directions of edges, a
`where`, tuples, vectors, two phases, and a reduction of their own."""
