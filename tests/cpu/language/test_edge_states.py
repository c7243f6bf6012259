"""Programs with edge states are compared with the interpreter on all graph families, threads and cuts; refusals are
tested, too.
"""

from __future__ import annotations

import gc
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import vlang
from tests.checkpoints.test_interrupts import after
from tests.checkpoints.test_points import Stopped, stopped_after, written_at_once
from tests.cpu.edge_states import PROGRAMS, assert_same, hub
from tests.reference.cases import simple_graph
from tests.reference.graphs import family, ref_graph, to_graph
from tests.sample import sampled
from vlang import BindError, ChaosError, GraphError
from vlang.api.running.memory import need_on
from vlang.options import Options
from vlang.runtime.cpu.passes.edge_costs import MEASURED_FROM, costs_of
from vlang.runtime.results.edge_states import EdgeStates
from vlang.runtime.storage.available import in_bytes
from vlang.runtime.storage.ledger import budget, ledger


@pytest.mark.parametrize("kind", ["complete", "empty", "grid", "messy", "no_edges", "one_loop", "path", "rmat",
                                  "star_in", "two_components"])
def test_the_engine_computes_what_the_interpreter_does(kind: str) -> None:
    for threads, page_size in ((1, None), (3, 64)):
        cut = {} if page_size is None else {"page_size": page_size}
        assert_same("symmetric", family(kind, directed=False), threads=threads, **cut)
        for directed in (True, False):
            assert_same("directed", family(kind, directed), threads=threads, **cut)


@pytest.mark.parametrize("kind", ["complete", "empty", "messy", "one_loop", "rmat", "two_components"])
def test_states_of_the_edges_of_triangles(kind: str) -> None:
    graph = simple_graph(family(kind, False), False)
    for threads, page_size in ((1, None), (3, 64)):
        assert_same("triangles", graph, threads=threads, **({} if page_size is None else {"page_size": page_size}))


def test_long_rows_are_cut_into_segments_and_pages() -> None:
    graph = hub(5000)
    for options in ({"threads": 1}, {"threads": 2, "page_size": 4096}):
        assert_same("symmetric", graph, **options)
        assert_same("directed", graph, **options)
        assert_same("triangles", simple_graph(graph, False), **options)


def test_bits_do_not_depend_on_threads_and_pages() -> None:
    graph = to_graph(hub(3000))
    results = [PROGRAMS["symmetric"](graph, options={"threads": threads, "page_size": size})
               for threads, size in ((1, 1 << 20), (2, 4096), (3, 1 << 14))]
    first, *others = [result.edge_states["heard"] for result in results]
    for other in others:
        np.testing.assert_array_equal(first.view(np.uint32), other.view(np.uint32))


@pytest.mark.parametrize("name", ["symmetric", "directed", "triangles"])
def test_a_run_goes_on_from_every_checkpoint(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run in parts of one superstep, each with other threads and pages, has the same bits as a run without stops."""
    written_at_once(monkeypatch)
    program, graph = PROGRAMS[name], to_graph(simple_graph(family("rmat", False), False))
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


def test_the_values_so_far() -> None:
    """The edge states that an interrupt returns are those of a run with the same number of rounds."""
    program, graph = PROGRAMS["triangles"], to_graph(simple_graph(family("rmat", False), False))
    part = program(graph, rounds=9, on_interrupt="write", progress=after(4, signal.SIGINT))
    want = program(graph, rounds=4)
    assert (part.interrupted, part.rounds) == (True, 4)
    for state, values in want.edge_states.items():
        np.testing.assert_array_equal(part.edge_states[state], values)


@pytest.mark.parametrize("name", sampled(list(PROGRAMS), ("directed", "symmetric")))
def test_chaos_compares_the_values_of_edges(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tasks run in random order, with random threads and pages. A difference names the edge."""
    graph = to_graph(simple_graph(family("rmat", False), False))
    for seed in range(3):
        assert PROGRAMS[name](graph, options={"chaos": seed}).chaos is not None

    def changed(self: EdgeStates, name: str) -> NDArray[Any]:
        values = self._values[name].copy()
        calls.append(name)
        values[5] += len(calls)
        return values

    calls: list[str] = []
    monkeypatch.setattr(EdgeStates, "__getitem__", changed)
    with pytest.raises(ChaosError, match=r"^`(far|heard|seen)` of the edge [0-9]+ -> [0-9]+ is "):
        PROGRAMS[name](graph, options={"chaos": 1})


def test_a_directed_graph_with_all_opposite_edges_is_enough() -> None:
    edges = [(0, 1), (1, 0), (1, 0), (0, 1), (2, 2), (2, 1), (1, 2)]
    assert_same("symmetric", ref_graph(4, edges, weight=np.arange(7) + 1.0))


def test_an_edge_without_an_opposite_edge_is_an_error_with_the_line() -> None:
    graph = vlang.Graph.from_edges(np.array([10, 20, 20]), np.array([20, 10, 30]), columns={"weight": [1, 2, 3]})
    with pytest.raises(GraphError) as error:
        PROGRAMS["symmetric"](graph)
    assert str(error.value) == (
        "symmetric, line 13: `reverse(heard)` needs the opposite edge of every edge, and the edge 20 -> 30 of graph "
        "has none: add 30 -> 20, or read the graph as undirected")


@pytest.mark.parametrize(("options", "why"), [
    ({"device": "gpus"}, "several GPUs do not exchange values of edges: write device=\"gpu\""),
    ({"cluster": 2}, "run it on one machine: leave out cluster"),
])
def test_other_machines_refuse_edge_states(options: dict[str, Any], why: str) -> None:
    with pytest.raises(BindError) as error:
        PROGRAMS["directed"](vlang.Graph.from_edges([0], [1]), options=options)
    assert str(error.value) == \
        f"directed, line 3: `far` is an edge state, which is kept in the memory of one CPU or one GPU; {why}"


@pytest.mark.parametrize("layout", ["ids", "degree"])
def test_page_files_are_read_into_memory(tmp_path: Any, layout: str) -> None:
    """The run is the same as on the graph that was saved; a budget that is too small for the edges is an error."""
    program, path = PROGRAMS["symmetric"], tmp_path / "a.vg"
    graph = vlang.Graph.read("kron:9", weights="1..64", symmetrize=True, self_loops="drop", parallel="drop")
    graph.save(path, layout=layout)
    expected, opened = program(graph, rounds=3), vlang.Graph.open(path)
    for source in (opened, opened, vlang.Graph.read(path)):
        result = program(source, rounds=3)
        for name in expected.fields:
            assert result[name].tobytes() == expected[name].tobytes()
        for state in expected.edge_states:
            assert result.edge_states[state].tobytes() == expected.edge_states[state].tobytes()
    with pytest.raises((BindError, vlang.OutOfMemory), match="--memory"):
        program(vlang.Graph.open(path), rounds=3, options={"memory": "100K"})


def test_changes_refuse_edge_states() -> None:
    result = PROGRAMS["directed"](vlang.Graph.from_edges([0, 1], [1, 2]))
    with pytest.raises(vlang.ResumeError):
        PROGRAMS["directed"].resume(result, added=[(2, 3)])


@pytest.mark.parametrize("name", ["symmetric", "directed", "triangles"])
def test_the_need_is_what_the_ledger_counts(name: str) -> None:
    """The estimated memory of edge states, opposite edges and neighbour lists differs by at most a tenth from the
    memory that the ledger counts.
    """
    costs_of(MEASURED_FROM)  # the measurement, done once on a machine, needs memory of its own
    program = PROGRAMS[name]
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
    plan = PROGRAMS["directed"].explain(stage="plan")
    assert "writes far at the edges (two buffers)" in plan
    assert "cannot be run" not in plan
    facts = " ".join(PROGRAMS["directed"].explain(stage="facts").split())
    assert "P push no (e): `far` has a value for each edge, which the row of the receiver replaces" in facts
    assert "B one buffer far: no: an edge state: all reads see the values from before the statement" in facts


def test_the_table_of_edges_has_ids_and_values() -> None:
    graph = vlang.Graph.from_edges(np.array(["a", "b"]), np.array(["b", "c"]))
    result = PROGRAMS["directed"](graph)
    assert {name: values.tolist() for name, values in result.edge_states.table().items()} == {
        "source": ["a", "b"], "target": ["b", "c"], "far": [1, 1]}
    assert result.edge_states.to_arrow().to_pydict() == {"source": ["a", "b"], "target": ["b", "c"], "far": [1, 1]}
    assert result.edge_states.to_pandas()["far"].tolist() == [1, 1]
    with pytest.raises(KeyError, match=r"result.edge_states\['far'\]"):
        result["far"]
