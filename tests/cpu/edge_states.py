"""Programs with edge states, and their comparison with the interpreter on any device."""

from __future__ import annotations

from typing import Any

import numpy as np

import vlang
from tests.cpu.compare import in_order
from tests.reference.graphs import RefGraph, ref_graph, to_graph
from tests.reference.interpreter import run
from vlang.syntax.parser import parse_tree

__all__ = ["PROGRAMS", "TEXTS", "assert_same", "hub"]

# Messages without the part that came from the receiver, values that are read before and after a write, conditions,
# a chain that is active as long as some row changes, bools and 64-bit integers, and an inner loop.
_SYMMETRIC = """program symmetric(rounds: int = 3)
edge   weight: float = 1
edge state heard: float = weight / 8
edge state seen: bool = false
edge state steps: i64 = outdegree
vertex bias: float = 0.5 if indegree > 2 else indegree / 16
vertex total, most: float = 0
vertex odd: int = 0

repeat rounds times:
    gather sum_ = sum(heard for u -> self)
    apply total = bias + sum_ / (1 + indegree)
    apply heard = weight / 16 * (u.total - reverse(heard) / 4) for u -> self if u != self or weight > 4
    gather near = max(reverse(heard) - heard for u -> self if not seen)
    apply most = max(most, near) if near > -inf else most
    apply seen = not seen for u -> self if heard > reverse(heard)
    apply steps += 1 + indegree for u -> self if seen or u < self
    gather parity = count(seen for u -> self)
    apply odd = odd + parity
    for k from 1 to 2:
        apply steps = steps + k * reverse(steps) % 5 for u -> self
"""

# Distances along edges: the loop ends when no row changes; directed graphs need no opposite edges.
_DIRECTED = """program directed(rounds: int = 40)
edge   weight: int = 1
edge state far: int = weight if weight > 5 else inf
vertex best: int = 0 if indegree < 2 else inf
vertex kinds: int = 0

repeat at most rounds times:
    gather near = min(far for u -> self)
    apply best = min(best, near)
    apply far = min(far, u.best + weight) for u -> self
gather groups = count(true for u -> self by k = far)
apply kinds = groups
"""
# States of the edges between common neighbours, in each of their directions, in writes and in gathers over all domains.
_TRIANGLES = """program triangles(rounds: int = 3)
require undirected
require simple
edge   weight: float = 1
edge state left: bool = weight > 1 or indegree > 3
edge state seen: i64 = 3 * outdegree
edge state flow: float = weight / 8
vertex most: i64 = 0
vertex wide: float = 0

repeat rounds times:
    apply seen += sum(w.degree + seen(self, w) % 7 - seen(w, u) % 5
                      for w in common(self, u) if left(w, self) or left(u, w)) for u -> self if seen(u, self) % 3 != 1
    gather top = max(sum(seen(w, self) % 11 + seen(u, w) % 13 + seen % 2 for w in common(u, self)) for u -> self)
    apply flow = flow(u, self) / 2 + min(flow(w, u) + weight(w, self)
                                         for w in common(self, u), default = 3) + flow(self, u) / 4 for u -> self
    apply left = not left for u -> self if all(left(w, u) and left(w, self) for w in common(self, u))
    gather far = sum(sum(flow(w, self) * flow(self, w) for w in common(self, u) if not left(self, w)) for u -- self)
    gather both = count(any(left(u, w) for w in common(self, u)) for u -- self)
    apply most = max(most, top)
    apply wide = far + both
"""
TEXTS = {"symmetric": _SYMMETRIC, "directed": _DIRECTED, "triangles": _TRIANGLES}
PROGRAMS = {name: vlang.compile(text) for name, text in TEXTS.items()}
_TREES = {name: parse_tree(text, name) for name, text in TEXTS.items()}


def assert_same(name: str, graph: RefGraph, **options: Any) -> None:
    """Compare a run with the interpreter: fields, edge states, their ends and the supersteps."""
    expected = run(_TREES[name], graph, {})
    result = PROGRAMS[name](to_graph(graph), options=options)
    order = in_order(graph)
    for field, values in expected.fields.items():
        np.testing.assert_allclose(result[field], values, rtol=1e-5, atol=1e-6, err_msg=f"{field} of {graph}")
    for state, values in expected.edges.items():
        np.testing.assert_allclose(result.edge_states[state], values[order], rtol=1e-5, atol=1e-6,
                                   err_msg=f"{state} of {graph}")
    np.testing.assert_array_equal(result.edge_states.sources, graph.src[order])
    np.testing.assert_array_equal(result.edge_states.targets, graph.dst[order])
    if name == "directed":
        assert result.rounds == sum(loop.rounds for loop in expected.loops)


def hub(size: int) -> RefGraph:
    """Return a graph that has a vertex with more edges than a segment, parallel edges, and a self-loop."""
    edges = [(0, k) for k in range(1, size)] + [(k, 0) for k in range(1, size, 7)] + [(0, 0), (3, 4), (4, 3)]
    return ref_graph(size, edges, directed=False, weight=np.arange(len(edges)) % 7 + 1)
