"""Compare runs on a GPU with runs on the CPU: graphs of medium size, budgets, and the tolerance."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from tests.reference.cases import NEAR_TIES, Case, case
from tests.reference.graph import Array, RefGraph
from tests.reference.graphs import to_graph
from tests.spelled import spelled
from vlang import Graph, OutOfMemory, Program, Result, load
from vlang.errors import DeviceError
from vlang.runtime.engine.trace import Round
from vlang.runtime.gpu.device.gpus import gpus

__all__ = [
    "DETERMINISTIC", "GRAPHS", "KERNELS", "PAGE", "Given", "assert_equal", "bits", "budget", "given", "needs_gpu",
    "on_cpu", "program",
]  # fmt: skip

DETERMINISTIC = ("thread", "virtual-warp-2", "virtual-warp-4", "virtual-warp-8", "virtual-warp-16", "virtual-warp-32",
                 "warp-segmentation", "stream")  # fmt: skip
KERNELS = (*DETERMINISTIC, "edge", "auto")
PAGE = 1 << 16  # bytes of neighbours: about twenty pages of the graphs below


def _missing() -> str:
    """Return the reason why there is no GPU for tests; "" if there is a GPU."""
    try:
        gpus()
    except DeviceError as error:
        return str(error)
    return ""


_REASON = _missing()
needs_gpu = pytest.mark.skipif(bool(_REASON), reason=f"needs a GPU: {_REASON}")


# ------------------------------------------------------------------ graphs


def _weighted(src: Array, dst: Array, n: int, directed: bool) -> RefGraph:
    """Return the listed edges as a RefGraph with a column `weight`: an integer 1..61 divided by 8, equal in both
    directions.
    """
    src, dst = src.astype(np.int64), dst.astype(np.int64)
    if not directed:
        back = src != dst
        src, dst = np.concatenate([src, dst[back]]), np.concatenate([dst, src[back]])
    low, high = np.minimum(src, dst), np.maximum(src, dst)
    weight = ((31 * low + 17 * high) % 61 + 1).astype(np.float32) / 8
    return RefGraph(n, src, dst, {"weight": weight}, directed)


def _generated(spec: str) -> RefGraph:
    graph = Graph.read(spec)
    edges = graph.edges()
    return _weighted(edges.src, edges.dst, graph.n, graph.directed)


def _hubs() -> RefGraph:
    """Return a skewed graph with two vertices of several segments. One vertex has many in-edges, and the other vertex
    has many out-edges.
    """
    drawn, rng = _generated("rmat:13"), np.random.default_rng(7)
    many = rng.integers(0, drawn.n, (2, 40_000))
    src = np.concatenate([drawn.src, many[0], np.full(40_000, 7)])
    dst = np.concatenate([drawn.dst, np.full(40_000, 5), many[1]])
    return _weighted(src, dst, drawn.n, directed=True)


GRAPHS: dict[str, Callable[[], RefGraph]] = {
    "hubs": _hubs,
    "kron": lambda: _generated("kron:13"),
    "uniform": lambda: _generated("uniform:15,4,directed=true"),
    "grid": lambda: _generated("grid:90x110"),
    "path": lambda: _generated("path:700"),
    "star": lambda: _generated("star:40000"),
}


@dataclass(frozen=True, eq=False)
class Given:
    """A standard program on one of GRAPHS, with its arguments."""

    program: Program
    graph: Graph
    case: Case

    def __call__(self, **options: Any) -> Result:
        return self.program(self.graph, **self.case.params, **self.case.fields, **spelled(**options))


@functools.cache
def program(name: str) -> Program:
    """Return a program of the library, compiled once."""
    return load(name)


@functools.cache
def _drawn(graph: str) -> RefGraph:
    return GRAPHS[graph]()


@functools.cache
def given(name: str, graph: str) -> Given:
    """Return a program on a graph with its arguments. If the program has a source, the source is vertex 5."""
    found = case(name, _drawn(graph))
    assert found is not None
    if "source" in found.params:
        found.params["source"] = 5
    if name == "heat":
        found.params["tol"] = 0.5  # the default tolerance would take 18,000 supersteps
    return Given(program(name), to_graph(found.graph), found)


@functools.cache
def on_cpu(name: str, graph: str) -> Result:
    """Return the result of the CPU."""
    return given(name, graph)()


# ------------------------------------------------------------------ budgets


@functools.cache
def budget(name: str, graph: str, kind: str) -> dict[str, int]:
    """Return run options for a budget, which is named after the share of edges that may stay on the device.

    The shares are "resident" (all edges), "quarter" (a quarter of the bytes of the edges) and "two pages". The budgets
    have room for pages with shards, which are the largest pages, so that every kernel can run.
    """
    if kind == "resident":
        return {}
    here, paged = given(name, graph), {} if kind == "quarter" else {"page_size": PAGE}
    least = max(least_memory(here, {"kernel": kernel, **paged}) for kernel in ("auto", "edge"))
    return {"gpu_memory": least + (here.graph.m if kind == "quarter" else 0), **paged}


class _Runs(Exception):
    """Raised when a superstep has ended."""


def least_memory(run: Given, options: dict[str, Any]) -> int:
    """Return the least device memory with which a run keeps all vertex arrays on the device (see `device_arrays`),
    in bytes, searched to within a quarter of a page.
    """

    def stop(_: Round) -> None:
        raise _Runs

    refused, taken = 0, 32 << 20
    while taken - refused > PAGE // 4:
        budget = (taken + refused) // 2
        try:
            run(device="gpu", gpu_memory=budget, progress=stop, **{"device_arrays": True, **options})
        except OutOfMemory:
            refused = budget
        except _Runs:
            taken = budget
        else:
            taken = budget
    return taken


# ------------------------------------------------------------------ equality


def bits(result: Result) -> dict[str, bytes]:
    """Return every field as stored, and the globals."""
    fields = {name: np.asarray(result[name]).tobytes() for name in result.fields}
    return {**fields, **{name: np.asarray(value).tobytes() for name, value in result.globals.items()}}


def assert_equal(got: Result, want: Result, what: object) -> None:
    """Assert that two results agree: integers are equal, and floats differ by at most 1e-5 times their value, or 1e-5
    times the mean magnitude of their field.
    """
    assert got.fields == want.fields, what
    assert got.converged == want.converged, (what, got.reason, want.reason)
    for name in want.fields:
        if name not in NEAR_TIES.get(got.program, ()):
            _assert_close(np.asarray(got[name]), np.asarray(want[name]), f"{what}: {name}")
    for name, value in want.globals.items():
        _assert_close(np.asarray(got[name]), np.asarray(value), f"{what}: {name}")


def _assert_close(got: Array, want: Array, what: str) -> None:
    assert got.dtype == want.dtype, what
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, err_msg=what)
        return
    finite = np.abs(want[np.isfinite(want)].astype(np.float64))
    size = float(finite.mean()) if finite.size else 0.0
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * size, err_msg=what)
