"""Programs with edge states are compared with the interpreter on all graph families, threads and cuts; refusals are
tested, too.
"""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlang
from tests.checkpoints.test_points import Stopped, stopped_after, written_at_once
from tests.cpu.compare import in_order
from tests.reference.cases import simple_graph
from tests.reference.graphs import RefGraph, family, ref_graph, to_graph
from tests.reference.interpreter import run
from vlang import BindError, GraphError
from vlang.api.running.memory import need_on
from vlang.options import Options
from vlang.runtime.cpu.passes.edge_costs import MEASURED_FROM, costs_of
from vlang.runtime.storage.available import in_bytes
from vlang.runtime.storage.ledger import budget, ledger
from vlang.syntax.parser import parse_tree

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
_TEXTS = {"symmetric": _SYMMETRIC, "directed": _DIRECTED, "triangles": _TRIANGLES}
_PROGRAMS = {name: vlang.compile(text) for name, text in _TEXTS.items()}
_TREES = {name: parse_tree(text, name) for name, text in _TEXTS.items()}


def _same(name: str, graph: RefGraph, **options: Any) -> None:
    """Compare a run with the interpreter: fields, edge states, their ends and the supersteps."""
    expected = run(_TREES[name], graph, {})
    result = _PROGRAMS[name](to_graph(graph), options=options)
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


def _hub(size: int) -> RefGraph:
    """Return a graph that has a vertex with more edges than a segment, parallel edges, and a self-loop."""
    edges = [(0, k) for k in range(1, size)] + [(k, 0) for k in range(1, size, 7)] + [(0, 0), (3, 4), (4, 3)]
    return ref_graph(size, edges, directed=False, weight=np.arange(len(edges)) % 7 + 1)


@pytest.mark.parametrize("kind", ["complete", "empty", "grid", "messy", "no_edges", "one_loop", "path", "rmat",
                                  "star_in", "two_components"])
def test_the_engine_computes_what_the_interpreter_does(kind: str) -> None:
    for threads, page_size in ((1, None), (3, 64)):
        cut = {} if page_size is None else {"page_size": page_size}
        _same("symmetric", family(kind, directed=False), threads=threads, **cut)
        for directed in (True, False):
            _same("directed", family(kind, directed), threads=threads, **cut)


@pytest.mark.parametrize("kind", ["complete", "empty", "messy", "one_loop", "rmat", "two_components"])
def test_states_of_the_edges_of_triangles(kind: str) -> None:
    graph = simple_graph(family(kind, False), False)
    for threads, page_size in ((1, None), (3, 64)):
        _same("triangles", graph, threads=threads, **({} if page_size is None else {"page_size": page_size}))


def test_long_rows_are_cut_into_segments_and_pages() -> None:
    graph = _hub(5000)
    for options in ({"threads": 1}, {"threads": 2, "page_size": 4096}):
        _same("symmetric", graph, **options)
        _same("directed", graph, **options)
        _same("triangles", simple_graph(graph, False), **options)


def test_bits_do_not_depend_on_threads_and_pages() -> None:
    graph = to_graph(_hub(3000))
    results = [_PROGRAMS["symmetric"](graph, options={"threads": threads, "page_size": size})
               for threads, size in ((1, 1 << 20), (2, 4096), (3, 1 << 14))]
    first, *others = [result.edge_states["heard"] for result in results]
    for other in others:
        np.testing.assert_array_equal(first.view(np.uint32), other.view(np.uint32))


@pytest.mark.parametrize("name", ["symmetric", "directed", "triangles"])
def test_a_run_goes_on_from_every_checkpoint(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in parts of one superstep, each with other threads and pages, has the same bits as a run without stops."""
    written_at_once(monkeypatch)
    program, graph = _PROGRAMS[name], to_graph(simple_graph(family("rmat", False), False))
    want, part = program(graph), 0
    while True:
        more = {"threads": 1 + part % 3, "page_size": (64, 4096)[part % 2]}
        try:
            result = program(graph, options={**more, "checkpoint": tmp_path, "every": 0,
                                             "progress": stopped_after(2) if part < 9 else None})
        except Stopped:
            part += 1
            continue
        break
    assert part > 1
    assert result.resumed
    for field in want.fields:
        np.testing.assert_array_equal(result[field], want[field])
    for state, values in want.edge_states.items():
        np.testing.assert_array_equal(result.edge_states[state], values)


def test_a_directed_graph_with_all_opposite_edges_is_enough() -> None:
    edges = [(0, 1), (1, 0), (1, 0), (0, 1), (2, 2), (2, 1), (1, 2)]
    _same("symmetric", ref_graph(4, edges, weight=np.arange(7) + 1.0))


def test_an_edge_without_an_opposite_edge_is_an_error_with_the_line() -> None:
    graph = vlang.Graph.from_edges(np.array([10, 20, 20]), np.array([20, 10, 30]), columns={"weight": [1, 2, 3]})
    with pytest.raises(GraphError) as error:
        _PROGRAMS["symmetric"](graph)
    assert str(error.value) == (
        "symmetric, line 13: `reverse(heard)` needs the opposite edge of every edge, and the edge 20 -> 30 of graph "
        "has none: add 30 -> 20, or read the graph as undirected")


@pytest.mark.parametrize(("options", "why"), [
    ({"device": "gpu"}, "GPUs do not keep edge states: leave out device, or write device=\"cpu\""),
    ({"device": "gpus"}, "GPUs do not keep edge states: leave out device, or write device=\"cpu\""),
    ({"cluster": 2}, "run it on one machine: leave out cluster"),
    ({"on_interrupt": "write"}, "partial results have fields of vertices only: leave out on_interrupt"),
    ({"chaos": 7}, "chaos takes the edges of a vertex in another order than their values: leave out chaos"),
])
def test_other_machines_refuse_edge_states(options: dict[str, Any], why: str) -> None:
    with pytest.raises(BindError) as error:
        _PROGRAMS["directed"](vlang.Graph.from_edges([0], [1]), options=options)
    assert str(error.value) == \
        f"directed, line 3: `far` is an edge state, which is kept in the memory of one CPU; {why}"


def test_page_files_and_changes_refuse_edge_states(tmp_path: Any) -> None:
    graph = vlang.Graph.from_edges([0, 1], [1, 2])
    graph.save(tmp_path / "a.vg")
    with pytest.raises(BindError, match=r"line 3: `far` is an edge state.* is a page file"):
        _PROGRAMS["directed"](vlang.Graph.open(tmp_path / "a.vg"))
    result = _PROGRAMS["directed"](graph)
    with pytest.raises(vlang.ResumeError):
        _PROGRAMS["directed"].resume(result, added=[(2, 3)])


@pytest.mark.parametrize("name", ["symmetric", "directed", "triangles"])
def test_the_need_is_what_the_ledger_counts(name: str) -> None:
    """The estimated memory of edge states, opposite edges and neighbour lists differs by at most a tenth from the
    memory that the ledger counts.
    """
    costs_of(MEASURED_FROM)  # the measurement, done once on a machine, needs memory of its own
    program = _PROGRAMS[name]
    program(vlang.Graph.read("grid:9x9", weights="1..64"), rounds=1)  # compile the kernels
    gc.collect()
    with budget(2 << 30):
        before = ledger.used
        graph = vlang.Graph.read("grid:300x500", weights="1..64")
        need = need_on(program.plan(frozenset(graph.columns)), graph.shape(), Options(threads=2), graph)
        program(graph, rounds=1, threads=2)
        counted = ledger.peak - before
    assert 0.9 * counted <= need.peak + need.optional, (in_bytes(counted), str(need))
    assert need.peak <= 1.1 * counted + (1 << 20), (in_bytes(counted), str(need))


def test_explain_says_where_edge_states_are_and_why_no_freedom_is_granted() -> None:
    plan = _PROGRAMS["directed"].explain(stage="plan")
    assert "writes far at the edges (two buffers)" in plan
    assert "on a GPU: an edge state cannot be run yet" in plan
    facts = " ".join(_PROGRAMS["directed"].explain(stage="facts").split())
    assert "P push no (e): `far` has a value for each edge, which the row of the receiver replaces" in facts
    assert "B one buffer far: no: an edge state: all reads see the values from before the statement" in facts


def test_the_device_auto_is_the_cpu() -> None:
    assert _PROGRAMS["directed"](vlang.Graph.from_edges([0], [1]), options={"device": "auto"}).device == "cpu"


def test_the_table_of_edges_has_ids_and_values() -> None:
    graph = vlang.Graph.from_edges(np.array(["a", "b"]), np.array(["b", "c"]))
    result = _PROGRAMS["directed"](graph)
    assert {name: values.tolist() for name, values in result.edge_states.table().items()} == {
        "source": ["a", "b"], "target": ["b", "c"], "far": [1, 1]}
    with pytest.raises(KeyError, match=r"result.edge_states\['far'\]"):
        result["far"]
