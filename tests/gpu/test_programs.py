"""On a GPU every standard program gives the result of the CPU, with every kernel and in every budget."""

from __future__ import annotations

from typing import Any

import pytest

from tests.gpu.compare import (
    DETERMINISTIC,
    GRAPHS,
    KERNELS,
    PAGE,
    assert_equal,
    bits,
    budget,
    given,
    least_memory,
    needs_gpu,
    on_cpu,
)
from tests.reference.cases import MORE, ON_GPU

pytestmark = needs_gpu

PROGRAMS = ON_GPU
OTHERS = tuple(name for name in MORE if name not in (*ON_GPU, "louvain"))  # the moves depend on the last bits of sums
BUDGETS = ("resident", "quarter", "two pages")


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("kind", BUDGETS)
@pytest.mark.parametrize("name", PROGRAMS)
def test_kernels_and_budgets(name: str, kind: str, kernel: str) -> None:
    options = {"kernel": kernel, **budget(name, "hubs", kind)}
    assert_equal(given(name, "hubs")(device="gpu", **options), on_cpu(name, "hubs"), (name, options))


@pytest.mark.parametrize("kind", BUDGETS)
@pytest.mark.parametrize("name", OTHERS)
def test_other_programs(name: str, kind: str) -> None:
    options = budget(name, "hubs", kind)
    assert_equal(given(name, "hubs")(device="gpu", **options), on_cpu(name, "hubs"), (name, options))


@pytest.mark.parametrize("transfer", ["pages", "direct", "auto"])
@pytest.mark.parametrize("mode", ["push", "notify-pull"])
@pytest.mark.parametrize("name", ["bfs", "bfs_tree", "sssp", "sssp_tree", "components", "kcore_members", "mis"])
def test_ways_to_reach_a_page(name: str, mode: str, transfer: str) -> None:
    run = given(name, "hubs")
    options = {"transfer": transfer, "mode": mode, "page_size": PAGE}
    least = least_memory(run, options)
    for memory in (least, least + run.graph.m):
        got = run(device="gpu", gpu_memory=memory, **options)
        assert_equal(got, on_cpu(name, "hubs"), (name, memory, options))


@pytest.mark.parametrize("name", ["kcore_members", "kcore", "mis", "coloring", "heat", "circuit", "sssp", "components"])
@pytest.mark.parametrize("graph", ["hubs", "grid", "path"])
def test_notify_pull_in_one_launch(name: str, graph: str) -> None:
    got = given(name, graph)(device="gpu", research={"mode": "notify-pull"})
    assert_equal(got, on_cpu(name, graph), (name, graph))


@pytest.mark.parametrize("graph", [name for name in GRAPHS if name != "hubs"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_graphs(name: str, graph: str) -> None:
    for kind in ("resident", "two pages") if graph in ("kron", "grid") else ("resident",):
        options = budget(name, graph, kind)
        assert_equal(given(name, graph)(device="gpu", **options), on_cpu(name, graph), (name, graph, options))


@pytest.mark.parametrize("mode", ["pull", "notify-pull", "push"])
@pytest.mark.parametrize("graph", ["hubs", "grid"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_modes(name: str, graph: str, mode: str) -> None:
    assert_equal(given(name, graph)(device="gpu", research={"mode": mode}), on_cpu(name, graph), (name, graph, mode))


@pytest.mark.parametrize("replication", ["none", 1, 4, 32, "garaph", "auto"])
@pytest.mark.parametrize("name", ["pagerank", "sssp", "components", "bfs_tree", "hits"])
def test_replication(name: str, replication: Any) -> None:
    got = given(name, "hubs")(device="gpu", research={"kernel": "edge", "replication": replication})
    assert_equal(got, on_cpu(name, "hubs"), (name, replication))


@pytest.mark.parametrize("kernel", [*DETERMINISTIC, "auto"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_same_bits_for_every_cut(name: str, kernel: str) -> None:
    run, quarter, two = given(name, "hubs"), budget(name, "hubs", "quarter"), budget(name, "hubs", "two pages")
    options: dict[str, Any] = {"device": "gpu", "kernel": kernel, "deterministic": True}
    cuts: list[dict[str, Any]] = [
        {}, {"page_size": PAGE}, {"page_size": 5 * PAGE, "streams": 1}, {**quarter, "streams": 7},
        {**two, "streams": 2},
    ]  # fmt: skip
    results = [run(**options, **cut) for cut in cuts]
    for cut, result in zip(cuts, results):
        assert bits(result) == bits(results[0]), (name, kernel, cut)


@pytest.mark.parametrize("name", ["pagerank", "katz", "sssp", "spmv", "neural", "circuit"])
def test_double_precision(name: str) -> None:
    run = given(name, "hubs")
    assert_equal(run(device="gpu", precision=64), run(precision=64), name)
