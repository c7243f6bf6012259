"""Both targets read a field of a vertex that another field holds (`label.label`).

Every read through a vertex gives the value that the field had before the statement.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.cpu.both import assert_both
from tests.cpu.compare import interpreted
from tests.reference.cases import Case
from tests.reference.graphs import FAMILIES, family
from vlang import compile, load


@pytest.mark.parametrize("graph", sorted(set(FAMILIES) - {"rmat"}))
def test_components_by_jumping(graph: str) -> None:
    program = load("tests/reference/design/components_jump.vp")
    assert_both(program, Case(family(graph, directed=graph not in ("path", "grid"))), ways=1)


TREE = """program p
vertex parent: vertex
vertex size: int = outdegree
vertex x: float[2] = [indegree, 1]
vertex flag: bool = parent != none
vertex a: int = parent.size
vertex b: int = parent.outdegree + parent.parent.degree
vertex c: float[2] = parent.x + parent.parent.x
vertex d: vertex = parent.parent
vertex e: bool = parent.flag
vertex f: int = sum(u.size for u -> self if u.parent == parent)
repeat 3 times:
    apply size = parent.size + 1
    apply x = parent.x * 2
    where parent.flag and parent.size > 2:
        apply parent = parent.parent
        apply flag = parent.flag
    apply size = parent.size if changed(parent) else size - 1
"""


def test_own_fields_name_vertices() -> None:
    graph = family("messy")
    parents = np.random.default_rng(6).integers(-1, graph.n, graph.n)
    assert_both(TREE, Case(graph, {}, {"parent": parents}), ways=3)


def test_accumulators_name_vertices() -> None:
    text = """program p
vertex x: int = 3 * outdegree
vertex far: int = 0
repeat 2 times:
    gather best = max((u.x, u) for u -> self)
    apply far = best[1].x + best[1].far
    apply x = x - far
    activate when best[1].x > 2
"""
    assert_both(text, Case(family("messy")), ways=2)


def test_activity_sees_what_the_superstep_wrote() -> None:
    """`activate when` reads the values that the superstep wrote, including values of vertices that are not neighbours.
    """
    text = """program p
vertex next: vertex
vertex x: int = 3
repeat:
    apply x = x - 1 if x > 0 else 0
    activate when next.x > 0
"""
    graph = family("path")
    case = Case(graph, {}, {"next": np.roll(np.arange(graph.n), 1)})
    result = assert_both(text, case, ways=1)
    assert result.rounds == 3
    assert sum(interpreted(compile(text), case).rounds) == 3


def test_old_values_of_others() -> None:
    text = """program p
vertex next: vertex
vertex x: int = indegree
repeat 4 times:
    gather came = max(old(u.x) for u -> self)
    apply x = x + 1
    gather now = max(u.x - old(u.x) for u -> self, default = 0)
    apply x = max(came, now) + x
"""
    graph = family("messy")
    assert_both(text, Case(graph, {}, {"next": np.zeros(graph.n, np.int64)}), ways=2)
