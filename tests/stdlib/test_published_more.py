"""On published graphs, cores, triangles, components and betweenness agree with other systems."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from tests.real.published import DATA, GRAPHS, published
from tests.stdlib.test_more import program
from vlang import Graph

THREADS = 2


@functools.cache
def undirected(name: str) -> Graph:
    """Return the simple undirected graph of that name. The reference data have the cores and triangles of this graph.
    """
    published(name)
    return Graph.read(DATA / name / GRAPHS[name], directed=False, self_loops="drop", parallel="drop")


@pytest.mark.parametrize("name", ["wiki-Vote", "ca-GrQc", "email-Enron"])
def test_triangles(name: str) -> None:
    want = published(name).reference
    result = program("triangles")(undirected(name), threads=THREADS)
    np.testing.assert_array_equal(result["mine"], want["triangles_per_vertex"])
    assert result["total"] == int(want["triangles_total"])


@pytest.mark.parametrize("what", ["kcore", "kcore_peel"])
@pytest.mark.parametrize("name", ["wiki-Vote", "ca-GrQc", "rome99"])
def test_core_numbers(name: str, what: str) -> None:
    result = program(what)(undirected(name), threads=THREADS)
    np.testing.assert_array_equal(result["core"], published(name).reference["core"])


@pytest.mark.parametrize("name", ["wiki-Vote", "soc-Slashdot0902", "rome99"])
def test_strongly_connected_components(name: str) -> None:
    """The components agree. In vlang, a program labels a component by its largest vertex; the reference uses the
    smallest vertex.
    """
    have = published(name)
    found, want = program("scc")(have.graph, threads=THREADS)["scc"], have.reference["scc"]
    pairs = np.unique(np.stack([found, want]), axis=1)
    assert pairs.shape[1] == len(np.unique(found)) == len(np.unique(want))
    largest = np.zeros(have.graph.n, np.int64)
    np.maximum.at(largest, want, np.arange(have.graph.n))
    np.testing.assert_array_equal(found, have.reference["vertex_ids"][largest[want]])


@pytest.mark.parametrize("name", ["wiki-Vote", "ca-GrQc", "rome99"])
def test_betweenness_of_four_sources(name: str) -> None:
    have = published(name)
    score = program("betweenness")(have.graph, sources=have.sources, threads=THREADS)["score"]
    np.testing.assert_allclose(score, have.reference["bc"], rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", ["wiki-Vote", "ca-GrQc"])
def test_pointer_jumping_gives_the_same_components(name: str) -> None:
    have = published(name)
    result = program("components_jump")(have.graph, threads=THREADS)
    np.testing.assert_array_equal(result["label"], have.reference["vertex_ids"][have.reference["wcc"]])
