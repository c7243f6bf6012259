"""The verifiers reject wrong results, and a reference graph and the engine's graph have the same edges."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given

from tests.reference.cases import STDLIB, case
from tests.reference.graph import RefGraph
from tests.reference.graphs import FAMILIES, family, listed_once, ref_graphs, to_graph
from tests.reference.interpreter import run
from tests.reference.test_design import program
from tests.reference.verifiers.verify import VERIFIERS, verify

# the output that a verifier must check, and the amount by which a value is changed; inputs are not outputs
_WATCHED = {
    "bfs": ["depth"], "bfs_tree": ["depth", "parent"], "circuit": ["v", "load"], "components": ["label"], "heat": ["q"],
    "katz": ["x"], "kcore_members": ["alive"], "neural": ["x"], "pagerank": ["rank"], "rwr": ["p"], "spmv": ["y"],
    "sssp": ["dist"], "sssp_tree": ["dist", "parent"], "sswp": ["width"], "viterbi": ["best"],
}


def spoiled(array: Any, vertex: int) -> Any:
    """Return the array with one value changed."""
    wrong = np.array(array)
    if wrong.dtype.kind == "b":
        wrong[vertex] = not wrong[vertex]
    elif wrong.dtype.kind == "f":
        wrong[vertex] = 1.0 + 2 * abs(wrong[vertex]) if np.isfinite(wrong[vertex]) else 3.0
    else:
        wrong[vertex] = wrong[vertex] - 1 if wrong[vertex] > 0 else 3
    return wrong


def test_every_program_has_a_verifier() -> None:
    assert set(VERIFIERS) == set(STDLIB) == set(_WATCHED)


@pytest.mark.parametrize("name", STDLIB)
@pytest.mark.parametrize("shape", ["grid", "rmat"])
def test_one_wrong_value_is_noticed(name: str, shape: str) -> None:
    made = case(name, family(shape))
    assert made is not None
    fields = run(program(name), made.graph, made.params, made.fields).fields
    verify(name, made.graph, made.params, fields)
    fixed = fields.get("fixed", np.zeros(made.graph.n, np.bool_))
    for watched in _WATCHED[name]:
        # without in-edges, a voltage or temperature stays the caller's input
        judged = (made.graph.indegree > 0) & ~fixed if watched in ("v", "q") else np.ones(made.graph.n, np.bool_)
        for vertex in np.flatnonzero(judged)[1::7].tolist():
            with pytest.raises(AssertionError):
                verify(name, made.graph, made.params, {**fields, watched: spoiled(fields[watched], vertex)})


@pytest.mark.parametrize("name", FAMILIES)
def test_undirected_families_list_both_directions(name: str) -> None:
    graph = family(name, directed=False)
    pairs = sorted(zip(graph.src.tolist(), graph.dst.tolist(), graph.columns["weight"].tolist(), strict=True))
    assert pairs == sorted((v, u, w) for u, v, w in pairs)


@given(ref_graphs(columns={"w": "float"}))
def test_the_engine_sees_the_same_graph(graph: RefGraph) -> None:
    made = to_graph(graph)
    src, _, columns = listed_once(graph)
    assert len(src) == len(columns["w"])
    assert (made.n, made.m) == (graph.n, graph.m)
