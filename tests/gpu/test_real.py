"""Runs on published graphs on a GPU give the same results as other systems."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.gpu.compare import needs_gpu
from tests.real.published import GRAPHS, program, published
from tests.real.test_published import integers
from tests.spelled import spelled
from vlang import Graph

pytestmark = needs_gpu

OPTIONS: dict[str, dict[str, Any]] = {
    "as it comes": {}, "small pages": {"page_size": 1 << 16, "streams": 3}, "notify-pull": {"mode": "notify-pull"},
    "edge": {"kernel": "edge"},
}  # fmt: skip

on_every_graph = pytest.mark.parametrize("name", GRAPHS)
in_every_way = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)


def from_each_source(name: str, what: str, field: str, graph: Graph, key: str, options: dict[str, Any]) -> None:
    for source, want in zip(published(name).sources, published(name).reference[key]):
        result = program(what)(graph, source=source, device="gpu", **spelled(**options))
        assert result.converged
        np.testing.assert_array_equal(integers(result, field), want, err_msg=f"{what} from {source}")


@on_every_graph
@in_every_way
def test_bfs(name: str, options: dict[str, Any]) -> None:
    from_each_source(name, "bfs", "depth", published(name).graph, "bfs_levels", options)


@on_every_graph
@in_every_way
def test_sssp(name: str, options: dict[str, Any]) -> None:
    from_each_source(name, "sssp", "dist", published(name).by_rule, "sssp_rule", options)


@on_every_graph
@in_every_way
def test_components(name: str, options: dict[str, Any]) -> None:
    have = published(name)
    result = program("components")(have.graph, device="gpu", **spelled(**options))
    np.testing.assert_array_equal(result["label"], have.reference["vertex_ids"][have.reference["wcc"]])


@on_every_graph
@in_every_way
def test_pagerank(name: str, options: dict[str, Any]) -> None:
    have = published(name)
    rank = program("pagerank")(have.graph, precision=64, tol=1e-13, device="gpu", **spelled(**options))["rank"]
    np.testing.assert_allclose(rank, have.reference["pagerank"], rtol=1e-6, atol=0)
