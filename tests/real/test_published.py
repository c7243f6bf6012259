"""On published graphs the programs agree with other systems, in every mode and for two page sizes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.real.published import GRAPHS, program, published
from tests.spelled import spelled
from vlang import Graph, Result

MODES = ("pull", "notify-pull", "auto")
PAGES = {"many pages": 1 << 14, "one page": 1 << 30}
THREADS = 2

on_every_graph = pytest.mark.parametrize("name", GRAPHS)
in_every_mode = pytest.mark.parametrize("mode", MODES)
in_pages = pytest.mark.parametrize("page_size", PAGES.values(), ids=PAGES)


def integers(result: Result, field: str) -> NDArray[np.int64]:
    """Return the values of a field, with -1 for infinity. All finite values must be integers."""
    reached = result.reached(field)
    values = np.where(reached, result[field], -1)
    assert np.array_equal(values, values.astype(np.int64)), f"{field} is not made of integers"
    return values.astype(np.int64)


def run_from_each_source(name: str, what: str, field: str, graph: Graph, want: NDArray[Any], **options: Any) -> None:
    sources = published(name).sources
    assert len(sources) == len(want) == 4
    for source, expected in zip(sources, want):
        result = program(what)(graph, source=source, threads=THREADS, **spelled(**options))
        assert result.converged
        np.testing.assert_array_equal(integers(result, field), expected, err_msg=f"{what} from {source}")


@on_every_graph
def test_the_graph_is_the_canonical_one(name: str) -> None:
    graph, want = published(name).graph, published(name).reference
    assert (graph.n, graph.m, graph.directed) == (int(want["n"]), int(want["arcs"]), bool(want["directed"]))
    np.testing.assert_array_equal(graph.ids.values, want["vertex_ids"])
    np.testing.assert_array_equal(graph.out_degree, want["out_degree"])


@on_every_graph
@in_every_mode
@in_pages
def test_bfs(name: str, mode: str, page_size: int) -> None:
    have = published(name)
    run_from_each_source(name, "bfs", "depth", have.graph, have.reference["bfs_levels"], mode=mode, page_size=page_size)


@on_every_graph
@in_every_mode
@in_pages
def test_sssp_with_weights_by_rule(name: str, mode: str, page_size: int) -> None:
    have = published(name)
    want = have.reference["sssp_rule"]
    run_from_each_source(name, "sssp", "dist", have.by_rule, want, mode=mode, page_size=page_size)


@pytest.mark.parametrize("name", ["rome99", "USA-road-d.NY"])
@in_every_mode
@in_pages
def test_sssp_with_the_weights_of_the_file(name: str, mode: str, page_size: int) -> None:
    # Distances stay below 2^24, so that 32-bit floats hold them exactly.
    have = published(name)
    want = have.reference["sssp_file_weights"]
    run_from_each_source(name, "sssp", "dist", have.graph, want, mode=mode, page_size=page_size)


@on_every_graph
@in_every_mode
@in_pages
def test_components(name: str, mode: str, page_size: int) -> None:
    have = published(name)
    result = program("components")(have.graph, research={"mode": mode, "page_size": page_size}, threads=THREADS)
    np.testing.assert_array_equal(result["label"], have.reference["vertex_ids"][have.reference["wcc"]])


@on_every_graph
def test_pagerank_in_64_bits(name: str) -> None:
    """Ranks are within 1e-6 of the reference at each vertex, and have the same bits for every partition of the work.

    The sum of all changes in the last superstep is below tol. The errors of all ranks therefore add up to at most tol *
    damping / (1 - damping). The smallest rank of these graphs is above 5e-7.
    """
    have = published(name)
    want = have.reference["pagerank"]
    cuts = [{"mode": mode, "page_size": size} for mode in MODES for size in PAGES.values()]
    ranks = [program("pagerank")(have.graph, precision=64, tol=1e-13, threads=THREADS, **spelled(**cut)).rank
             for cut in cuts]
    np.testing.assert_allclose(ranks[0], want, rtol=1e-6, atol=0)
    assert abs(ranks[0].sum() - 1) < 1e-12
    for cut, rank in zip(cuts, ranks):
        assert rank.tobytes() == ranks[0].tobytes(), cut


@on_every_graph
def test_pagerank_as_it_comes(name: str) -> None:
    """With 32 bits and the default tolerance, errors are within the reported bound, and relative errors are below 1e-4.
    """
    have = published(name)
    want = have.reference["pagerank"]
    result = program("pagerank")(have.graph, threads=THREADS)
    error = np.abs(result.rank.astype(np.float64) - want)
    assert result.converged
    found = re.fullmatch(r"`until` holds: (\S+), tolerance 1.5e-07", result.reason)
    assert found is not None
    reached = float(found[1])
    assert reached <= 1.5e-7
    assert error.sum() < reached * 0.85 / (1 - 0.85) + 5e-7, "and the rounding of 32 bits"
    assert (error / want).max() < 1e-4
