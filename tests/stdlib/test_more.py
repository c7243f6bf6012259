"""The programs in `MORE` are compared with the interpreter and with other algorithms."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest

from tests.cpu.compare import CUTS, OF_LIBRARY, assert_as_interpreted, assert_cut_free, engine_run, interpreted
from tests.reference.cases import MORE, STDLIB, Case, case
from tests.reference.graph import RefGraph, ref_graph
from tests.reference.graphs import FAMILIES, family
from tests.reference.verifiers.verify_more import MORE_VERIFIERS
from tests.sample import EACH_KIND, EXHAUSTIVE
from vlang import Program, Result, load, stdlib

UNTIL = ("eigenvector", "hits", "label_spreading", "linbp", "pagerank_delta", "php", "ppr")
"""Programs whose loops end when floats stop changing. Rounding may delay the end by a superstep."""
DRAWN = 9


@functools.cache
def program(name: str) -> Program:
    """Return a program of the library, compiled once."""
    return load(name)


def simple(n: int, count: int, directed: bool) -> RefGraph:
    """Return a random graph without self-loops and parallel edges; its seed is DRAWN."""
    rng = np.random.default_rng(DRAWN)
    drawn = {(int(u), int(v)) for u, v in rng.integers(0, n, (count, 2)) if u != v and (directed or u < v)}
    edges = sorted(drawn)
    return ref_graph(n, edges, directed, weight=rng.integers(1, 9, len(edges)).astype(np.float32))


def outputs(result: Result) -> dict[str, Any]:
    return {name: np.asarray(result[name]) for name in result.fields} | dict(result.globals)


def spoiled(value: Any) -> Any:
    """Return the value with its last element changed."""
    wrong = np.array(value)
    last = wrong.reshape(-1)[-1:]
    last[:] = ~last if wrong.dtype.kind == "b" else np.where(np.isfinite(last), last + 1, 3)
    return wrong


def test_every_program_is_tested() -> None:
    assert sorted({*STDLIB, *MORE}) == list(stdlib.names())
    assert set(MORE_VERIFIERS) == set(MORE)


@pytest.mark.parametrize("name", MORE)
def test_on_families(name: str) -> None:
    """On every family of graphs, with directed and undirected graphs alternately, the result agrees with the
    interpreter and with another algorithm.

    For a sample of programs that has each kind of kernel, every partition of the work gives the same bits. With
    VLANG_EXHAUSTIVE, all partitions are tested for all programs.
    """
    cuts = OF_LIBRARY if EXHAUSTIVE or name in EACH_KIND else CUTS[:1]
    for number, shape in enumerate(FAMILIES):
        graph = family(shape, directed=(number + MORE.index(name)) % 2 == 0, weights="float")
        given = case(name, graph)
        if given is None:
            continue
        result = assert_cut_free(program(name), given, cuts)
        outcome = interpreted(program(name), given)
        assert_as_interpreted(program(name), given, result, outcome, same_rounds=name not in UNTIL)
        MORE_VERIFIERS[name](given.graph, given.params, outputs(result))


@functools.cache
def middle(name: str, directed: bool) -> tuple[Case, dict[str, Any]]:
    """Run a program on a random graph of middle size; return its case and result."""
    given = case(name, simple(150, 700, directed))
    assert given is not None
    return given, outputs(engine_run(program(name), given))


@pytest.mark.parametrize("name", MORE)
@pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
def test_on_a_random_graph(name: str, directed: bool) -> None:
    given, found = middle(name, directed)
    MORE_VERIFIERS[name](given.graph, given.params, found)


@pytest.mark.parametrize("name", MORE)
def test_one_wrong_value_is_noticed(name: str) -> None:
    """A wrong value is detected in every field and global that is neither an input nor auxiliary."""
    given, found = middle(name, False)
    aside = {*given.fields, "total" if name == "php" else "", *_AUXILIARY.get(name, ())}
    for watched in found.keys() - aside:
        with pytest.raises(AssertionError):
            MORE_VERIFIERS[name](given.graph, given.params, {**found, watched: spoiled(found[watched])})


_AUXILIARY = {
    "astar": ("past",),
    "adamic_adar": ("share",), "bipartite": ("label", "depth"), "cross_edges": ("starts", "target"),
    "egonet": ("close", "inside"), "kcore_peel": ("alive",), "lcc": ("links",),
    "lcc_directed": ("inward", "outward", "near"), "lcc_weighted": ("most", "strength"), "ppr": ("seed", "jump"),
    "walks": ("next",),
}


def test_a_sample_of_sources_estimates_betweenness() -> None:
    graph = simple(60, 240, False)
    run = program("betweenness")
    exact = engine_run(run, Case(graph, {"sources": list(range(60))}))["score"]
    sample = engine_run(run, Case(graph, {"sources": list(range(0, 60, 2)), "scale": 2.0}))["score"]
    assert np.corrcoef(exact, sample)[0, 1] > 0.9
    assert 0.8 < sample.sum() / exact.sum() < 1.25
