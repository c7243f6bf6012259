"""A new execution way on the CPU needs one file and a row in each of two lists; then it can be run, prepared and
explained.

The way of this test, called plod, processes the vertices one after another in one thread, by whole rows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np
import pytest

from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted
from tests.reference.cases import Case
from tests.reference.graphs import random_graph, to_graph
from vlang import BindError, Program, compile
from vlang.cli import main
from vlang.emit.cpu.ways.way_text import Added
from vlang.emit.cpu.ways.way_texts import WAY_TEXTS
from vlang.emit.shared.stage import StageWriter
from vlang.options import Options
from vlang.runtime.compile.objects import Kernels, address_of
from vlang.runtime.cpu.passes.passes import Passes
from vlang.runtime.cpu.ways.cpu_way import CpuWay, Running
from vlang.runtime.cpu.ways.ways import WAYS
from vlang.runtime.engine.machine import Done, Loop, Start, Stats
from vlang.runtime.engine.state import DTYPES
from vlang.runtime.graph.edges.shape import Counts
from vlang.runtime.plan.plan import (
    PAGE_COLUMNS,
    PAGE_OFFSETS,
    PAGE_TARGETS,
    PAGE_WORDS,
    SLOT_STATS,
    LoopSpec,
    StageSpec,
)

# ------------------------------------------------------------------------------------------------------ the way
KERNEL = """
def plod_PASS(frame, table, n):
    env, columns = bind_PASS(frame), bind_columns_PASS(table, 0)
    offsets, targets = pointer_u64(table, PAGE_OFFSETS), pointer_u32(table, PAGE_TARGETS)
    changed, active = i64(0), i64(0)
    for v in range(n):
        masks, acc = ready_PASS(env, v), identity_PASS(env)
        for k in range(offsets[v], offsets[v + 1] if wanted_PASS(masks) else offsets[v]):
            acc = gather_PASS(env, columns, acc, v, i64(targets[i64(k)]), i64(k))
        flags = apply_PASS(env, v, masks, acc)
        changed += flags & 1
        active += flags >> 1
    note(pointer_i64(frame, SLOT_STATS), changed, active)
"""


class PlodText:
    """The part of the way that writes kernels."""

    name = "plod"

    def write(self, writer: StageWriter) -> Added:
        """Write one kernel, from the functions that every pass over edges has."""
        if writer.stage.domain is None:
            return Added(reason="it has no edges to plod along")
        if writer.messages:
            return Added(reason="senders would have to be asked first")
        text = KERNEL.replace("PASS", writer.stage.name)
        return Added("row by row", texts=(text,), roles={"plod": "void(u64*, u64*, i64)"})


class Plod(CpuWay):
    """The part of the way that runs loops."""

    name = "plod"
    modes = ("plod",)

    def refused(self, loop: LoopSpec, graph: Counts, options: Options) -> str:
        """Refuse loops of several passes, and all loops if the options select another mode."""
        if options.mode not in ("auto", "plod"):
            return "another mode was asked for"
        stages = loop.stages
        if len(loop.steps) != 1 or len(stages) != 1 or loop.until is not None or loop.starts or loop.sent:
            return "a superstep is more than one pass"
        return "" if "plod" in stages[0].ways else stages[0].refused["plod"]

    def roles(self, loop: LoopSpec, stage: StageSpec, options: Options) -> frozenset[str]:
        """Return the role of the only kernel of this way."""
        return frozenset({"plod"})

    def begin(self, loop: LoopSpec, machine: Running, bound: int | None, start: Start | None) -> Loop | None:
        """Return a running loop; None if the run resumes another run."""
        return PlodLoop(loop.stages[0], machine.passes) if start is None else None

    def said(self, loop: LoopSpec) -> list[str]:
        """Return the line of `explain` about the only pass."""
        return [f"plods: {stage.way('plod', str) or stage.refused['plod']}" for stage in loop.stages]


class PlodLoop:
    """A loop that is running in this way."""

    begun = 0

    def __init__(self, stage: StageSpec, passes: Passes) -> None:
        assert stage.domain is not None
        PlodLoop.begun += 1
        self.stats = Stats()
        self._stage, self._passes = stage, passes
        out = self._adjacency = passes.graph.adjacency(stage.domain, tuple(name for name, _ in stage.columns))
        self._table = np.zeros(PAGE_WORDS, np.uint64)
        self._table[PAGE_OFFSETS], self._table[PAGE_TARGETS] = address_of(out.offsets), address_of(out.targets)
        for number, (name, dtype) in enumerate(stage.columns):
            self._table[PAGE_COLUMNS + number] = address_of(out.column(name, DTYPES[dtype]))

    def advance(self, room: int | None) -> Sequence[Done]:
        """Run one superstep."""
        state, counts = self._passes.state, np.zeros(3, np.int64)
        state.point(SLOT_STATS, counts)
        self._passes.kernels[self._stage.kernels["plod"]](state.frame, self._table, self._passes.graph.n)
        for name in self._stage.swaps:
            state.swap(name)
        self.stats = Stats(*counts[:2].tolist())
        return (self.last(),)

    def last(self) -> Done:
        """Return the last superstep."""
        return Done(self.stats.active, "plod", len(self._adjacency))

    def close(self) -> None:
        """Release nothing, since the loop has borrowed no memory."""


# ---------------------------------------------------------------------------------------------------- its tests
NEAREST = """
program nearest(source: vertex)
edge weight: float = 1
vertex far: float = 0 if self == source else inf
repeat:
    gather near = min(u.far + weight for u -> self)
    apply far = min(far, near)
"""
RECEIVED = """
program received
vertex x: vertex = self
repeat:
    gather a = min(u.x for u -- self)
    apply x = min(x, a)
"""
HALVES = """
program halves
vertex x: float = outdegree
repeat 5 times:
    gather a = sum(u.x / u.outdegree for u -> self)
    apply x = a / 2
"""


@pytest.fixture
def plod() -> Iterator[None]:
    """Put the way first in both lists."""
    WAYS.insert(0, Plod())
    WAY_TEXTS.append(PlodText())
    yield
    WAYS.pop(0)
    WAY_TEXTS.pop()


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Return the names of the kernels that are prepared."""
    found: set[str] = set()
    prepare = Kernels.prepare

    def recorded(self: Kernels, names: Collection[str]) -> None:
        found.update(names)
        prepare(self, names)

    monkeypatch.setattr(Kernels, "prepare", recorded)
    return found


def cases(text: str) -> list[Case]:
    return [Case(random_graph(seed, directed=seed % 2 == 0), {"source": 1} if "source" in text else {})
            for seed in range(6)]


@pytest.mark.usefixtures("plod")
@pytest.mark.parametrize("text", [NEAREST, RECEIVED])
@pytest.mark.parametrize("mode", ["auto", "plod"])
def test_runs_as_interpreted(text: str, mode: str, prepared: set[str]) -> None:
    made = compile(text)
    for case in cases(text):
        result = engine_run(made, case, mode=mode)
        assert {row.mode for row in result.history} == {"plod"}
        assert_as_interpreted(made, case, result, interpreted(made, case))
    assert "plod_s1" in prepared
    assert not prepared & {"pull_s1", "push_s1", "few_s1", "priority_s1"}


@pytest.mark.usefixtures("plod")
def test_other_modes_and_loops_go_other_ways() -> None:
    made, (case, *_) = compile(NEAREST), cases(NEAREST)
    assert "plod" not in {row.mode for row in engine_run(made, case, mode="push").history}
    halves = compile(HALVES)
    result = engine_run(halves, Case(case.graph), mode="plod")
    assert {row.mode for row in result.history} == {"pull"}
    assert_as_interpreted(halves, Case(case.graph), result, interpreted(halves, Case(case.graph)))


@pytest.mark.usefixtures("plod")
def test_explain_says_so() -> None:
    assert "\n    plods: row by row\n" in compile(NEAREST).explain("plan")
    assert "\n    plods: senders would have to be asked first\n" in compile(HALVES).explain("plan")


@pytest.mark.usefixtures("plod")
def test_chaos_draws_it() -> None:
    made, (case, *_), begun = compile(NEAREST), cases(NEAREST), 0
    for seed in range(12):
        before = PlodLoop.begun
        engine_run(made, case, chaos=seed)
        begun += PlodLoop.begun - before - 1  # the plain run uses the way, too
    assert 0 < begun < 12


@pytest.mark.usefixtures("plod")
def test_the_command_line_knows_its_mode(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "bfs", "karate", "source=1", "--research", "mode=plod", "-q", "--top", "1"]) == 0
    assert main(["run", "bfs", "karate", "source=1", "--research", "mode=plot", "-q"]) == 2
    assert "plod" in capsys.readouterr().err


def test_without_the_rows_there_is_no_such_way() -> None:
    made: Program = compile(NEAREST)
    assert "plod" not in made.plan(frozenset({"weight"})).text
    with pytest.raises(BindError, match="mode is one of 'auto', 'pull', 'notify-pull', 'dual', 'push', not 'plod'"):
        made(to_graph(cases(NEAREST)[0].graph), source=1, research={"mode": "plod"})
