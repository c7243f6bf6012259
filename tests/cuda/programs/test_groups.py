"""On an emulated GPU, grouped gathers and reductions over pointing vertices are compared with the interpreter."""

from __future__ import annotations

from contextlib import AbstractContextManager

import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted, same_bits
from tests.cpu.reductions.test_grouped import KEYS, MOVES, NAMED, OVER, SPLIT, named_graph
from tests.cpu.reductions.test_pointing import EVERY_WAY, IN_BLOCKS, LONG, long_case
from tests.cpu.reductions.wholes import LONG as HUBS
from tests.cpu.reductions.wholes import hubs
from tests.cuda.emulation.emulated import EmulatedDevice, needs_compiler
from tests.cuda.programs.test_holistic import check
from tests.reference.cases import Case
from tests.reference.graphs import family, to_graph
from tests.spelled import spelled
from vlang import BindError, Graph, Program, compile
from vlang.ir.forms.visible import LoopScope
from vlang.runtime.gpu.device.choose import stand_in
from vlang.runtime.plan.plan import SEGMENT

pytestmark = needs_compiler

PAGES = (None, 64, 256)


def _lanes(seed: int) -> AbstractContextManager[None]:
    """Return an emulated device with an order of lanes drawn from `seed`."""
    return stand_in("emulated", lambda _, memory: EmulatedDevice(seed, memory or 1 << 28))


@pytest.mark.parametrize("program", [EVERY_WAY, IN_BLOCKS], ids=lambda program: program.name)
def test_vertices_that_point_here(program: Program) -> None:
    for seed, graph in enumerate((family("messy"), family("no_edges"), family("rmat", False))):
        check(program, Case(graph, {}, {}), seed, page_size=PAGES[seed % 3])


def test_many_point_at_one() -> None:
    """If the row of a vertex has several segments, two runs give the same bits."""
    case = long_case(25_000)
    graph = to_graph(case.graph)
    runs = []
    for seed in range(2):
        with _lanes(seed):
            runs.append(LONG(graph, **case.fields, **spelled(device="emulated")))
    first, second = runs
    want = LONG(graph, **case.fields)
    for name in want.fields:
        assert same_bits(np.asarray(first[name]), np.asarray(second[name]))
        np.testing.assert_allclose(np.float64(first[name]), np.float64(want[name]), rtol=1e-12)


def test_a_list_of_edges_has_no_such_rows() -> None:
    with _lanes(0), pytest.raises(BindError, match="gathers along `c`, and a list of edges has no such rows"):
        EVERY_WAY(to_graph(family("messy")), **spelled(device="emulated", kernel="edge-list"))


@pytest.mark.parametrize("program", [MOVES, KEYS, OVER], ids=lambda program: program.name)
def test_groups(program: Program) -> None:
    """Results equal the results of the interpreter. Only few graphs are tested, since each edge density needs other
    kernels.
    """
    graphs = (family("messy"), family("no_edges"), *([family("rmat", False)] if program is KEYS else []))
    for seed, graph in enumerate(graphs):
        check(program, Case(graph, {}, {}), seed, page_size=PAGES[seed % 3])


def test_groups_of_rows_of_every_size() -> None:
    """Results are right for rows of every size class (groups of lanes, a block in shared memory, block scratch, several
    segments) and for long groups. Two orders of the lanes give the same bits.
    """
    graph = hubs(200, {3: 15, 4: 90, 5: 340, 6: 3000, 9: SEGMENT, **HUBS["one hub"]}, 7)
    found = Case(graph, {}, {})
    want = interpreted(SPLIT, found)
    runs = []
    for seed in range(2):
        with _lanes(seed):
            runs.append(engine_run(SPLIT, found, device="emulated", page_size=1 << 15, streams=2))
        assert_as_interpreted(SPLIT, found, runs[-1], want)
    assert same_bits(*(np.asarray(one["y"]) for one in runs))


def test_keys_that_are_names_and_dates() -> None:
    graph = named_graph()
    want = NAMED(graph, threads=1)
    with _lanes(1):
        found = NAMED(graph, **spelled(device="emulated"))
    for name in want.fields:
        assert found[name].astype(str).tolist() == want[name].astype(str).tolist()


def test_a_loop_that_skipped_vertices_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """All vertices read `x` of vertex 3, the key of their groups, but no edge notifies them of a change. If rule N is
    forced, the vertices keep the value of the first superstep.
    """
    text = """program far(last: vertex)
vertex c: vertex = last
vertex x: int    = 0
repeat 4 times:
    gather a = max(k.x for u -- self by k = u.c, default = 0)
    apply  x = x + 1 if self == last else max(x, a)
"""
    graph = Graph.from_edges([0, 2], [1, 3], directed=False)
    found = []
    for forced in (False, True):
        if forced:
            monkeypatch.setattr(LoopScope, "distant", lambda self, expr: None)
        with _lanes(0):
            result = compile(text)(graph, last=3, **spelled(device="emulated", mode="notify-pull"))
        found.append(np.asarray(result["x"]).tolist())
    assert found == [[3, 3, 3, 4], [0, 0, 0, 4]]
