"""Edge states on an emulated GPU: a pass over edges stores a value for each edge, and each kernel of a full pass gives
the values of the interpreter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.checkpoints.test_points import Stopped, stopped_after, written_at_once
from tests.cpu.edge_states import PROGRAMS, assert_same, hub
from tests.cuda.emulation.gxx import needs_compiler
from tests.cuda.runs import emulated
from tests.fuzz.cases import drawn
from tests.fuzz.long import tried
from tests.fuzz.test_fuzz import FOUND
from tests.reference.cases import simple_graph
from tests.reference.graphs import RefGraph, family, to_graph
from tests.sample import EXHAUSTIVE, sampled
from vlang import BindError, CheckpointError, Graph, GraphError, OutOfMemory, load

pytestmark = needs_compiler

_KERNELS: tuple[dict[str, Any], ...] = (
    {"kernel": "thread"}, {"kernel": "warp-segmentation", "page_size": 64}, {"kernel": "edge"},
    {"kernel": "stream", "page_size": 256}, {"kernel": "virtual-warp-4", "page_size": 256},
)
_KINDS = ("messy", "rmat", "no_edges", "complete", "two_components")


def _graphs(name: str) -> list[RefGraph]:
    graphs = [family(kind, name == "directed" and number % 2 == 0) for number, kind in enumerate(_KINDS)]
    return [simple_graph(graph, False) for graph in graphs] if name == "triangles" else graphs


@pytest.mark.parametrize("name", list(PROGRAMS))
def test_each_kernel_gives_the_values_of_the_interpreter(name: str) -> None:
    for number, graph in enumerate(_graphs(name)):
        for k in range(len(_KERNELS)) if EXHAUSTIVE else [number]:
            with emulated(seed=number):
                assert_same(name, graph, device="emulated", **_KERNELS[k])


@pytest.mark.parametrize("name", sampled(list(PROGRAMS), ("symmetric",)))
def test_long_rows(name: str) -> None:
    graph = hub(9000) if name != "triangles" else simple_graph(hub(9000), False)
    for options in ({"kernel": "edge"}, {"kernel": "thread", "page_size": 4096}):
        with emulated():
            assert_same(name, graph, device="emulated", **options)


def test_values_stay_on_the_device_while_neighbours_are_streamed() -> None:
    """The arrays of edge states are on the device. The neighbours and edge fields are copied page by page if memory is
    short, and a run whose edge states do not fit is refused with the size of the state.
    """
    ends = np.random.default_rng(18).integers(0, 300, (2, 6000))
    graph = Graph.from_edges(*ends, columns={"weight": ends.sum(0) % 7 + 1}, directed=False)
    program, more = PROGRAMS["symmetric"], {"research": {"kernel": "thread", "page_size": 4096}}
    with emulated():
        want = program(graph, device="emulated", **more)
        with pytest.raises(OutOfMemory, match=r"the state of symmetric takes .* and 11,9.* stay on the GPU"):
            program(graph, device="emulated", gpu_memory=300_000, **more)
        with pytest.raises(OutOfMemory, match="allow at least") as short:
            program(graph, device="emulated", gpu_memory=345_000, **more)
        least = int(str(short.value).partition("allow at least ")[2].partition(" ")[0])
        got = program(graph, device="emulated", gpu_memory=least + 4096, **more)
    assert got.moved.pages_copied > 100 > want.moved.pages_copied
    for state, values in want.edge_states.items():
        np.testing.assert_array_equal(got.edge_states[state], values)


def test_a_run_goes_on_from_each_checkpoint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Integers go on on another device. Floats may be rounded otherwise there, so the run goes on on a GPU."""
    written_at_once(monkeypatch)
    graph = to_graph(family("rmat", False))
    for name, devices in (("directed", ("cpu", "emulated")), ("symmetric", ("emulated", "emulated"))):
        program, folder, part = PROGRAMS[name], tmp_path / name, 0
        with emulated():
            want = program(graph, device="emulated")
            while True:
                stops = stopped_after(1 + part % 2) if part < 4 else None
                try:
                    got = program(graph, device=devices[part % 2], checkpoint=folder, every=0, progress=stops)
                except Stopped:
                    part += 1
                    continue
                break
        assert part > 1
        assert got.resumed
        for state, values in want.edge_states.items():
            np.testing.assert_array_equal(got.edge_states[state], values)
        for field in want.fields:
            np.testing.assert_array_equal(got[field], want[field])
    with pytest.raises(Stopped):
        PROGRAMS["symmetric"](graph, checkpoint=tmp_path / "cpu", every=0, progress=stopped_after(1))
    with emulated(), pytest.raises(CheckpointError, match="on a CPU, and this one is on a GPU"):
        PROGRAMS["symmetric"](graph, device="emulated", checkpoint=tmp_path / "cpu")


def test_programs_of_the_gallery() -> None:
    """The peeling of trusses has the edges of the CPU; messages of belief propagation differ by rounding only."""
    graph = to_graph(simple_graph(family("rmat", False), False))
    prior = np.random.default_rng(5).random((graph.n, 2)).astype(np.float32) + np.float32(0.1)
    given: dict[str, dict[str, Any]] = {"ktruss": {}, "marginals": {"prior": prior, "rounds": 5}}
    for name, arguments in given.items():
        program = load(f"examples/gallery/{name}.vp")
        want = program(graph, **arguments)
        with emulated():
            got = program(graph, device="emulated", **arguments)
        assert got.device == "emulated:0"
        for state, values in want.edge_states.items():
            np.testing.assert_allclose(got.edge_states[state], values, rtol=1e-5)
        for field in want.fields:
            np.testing.assert_allclose(got[field], want[field], rtol=1e-5)


def test_an_edge_without_an_opposite_edge_is_an_error_with_the_line() -> None:
    graph = Graph.from_edges(np.array([10, 20, 20]), np.array([20, 10, 30]), columns={"weight": [1, 2, 3]})
    with emulated(), pytest.raises(GraphError, match=r"line 13: `reverse.heard.` needs the opposite edge"):
        PROGRAMS["symmetric"](graph, device="emulated")


@pytest.mark.parametrize(("options", "why"), [
    ({"device": "emulated:0,1"}, "several GPUs do not exchange values of edges: write device=\"gpu\""),
    ({"device": "gpus"}, "several GPUs do not exchange values of edges: write device=\"gpu\""),
    ({"device": "emulated", "kernel": "edge-list"},
     "kernel=edge-list reads edges in another order than the values: leave out kernel"),
    ({"device": "emulated", "dispatch": "1/2"},
     "dispatch gives some edges to the CPU, and the values of edges stay on the GPU: leave out dispatch"),
])
def test_refusals(options: dict[str, Any], why: str) -> None:
    with emulated(), pytest.raises(BindError) as error:
        PROGRAMS["directed"](Graph.from_edges([0], [1]), options=options)
    assert str(error.value) == \
        f"directed, line 3: `far` is an edge state, which is kept in the memory of one CPU or one GPU; {why}"


@pytest.mark.parametrize("number", sampled(range(24), (0,)))
def test_random_programs(number: int) -> None:
    seed = 20261128
    made = drawn(seed, 24 if EXHAUSTIVE else 1, states=True)[number]
    failed = list(tried(made, number, FOUND, f"seed_{seed}_{number}_gpu", gpu=True))
    assert failed == [], f"program {number} of seed {seed} is made smaller and kept"
