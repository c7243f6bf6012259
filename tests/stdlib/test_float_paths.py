"""Operations on floats that overflow are reported, also in a gather; poles and infinite inputs are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vlang import Graph, compile, load
from vlang.api.running import run_call
from vlang.errors import BindError, RangeError, TrapError

STAR = Graph.from_edges(np.arange(1, 9), np.zeros(8, int), w=np.full(8, 1e38), n=9)
"""Eight edges into vertex 0. The sum of their values is larger than the largest f32."""

POWER = """program p(factor = 1e30)
vertex x: float = 2
vertex low: float = 1 / x
repeat 3 times:
    apply x = x * factor
"""
CHOSEN = """program p
edge w: float
vertex x: float = exp(w0) if indegree > 99 else 5
vertex y: float = 1 / (x - 5)
vertex z: float = log(x - 5)
""".replace("w0", "100.0 * x0").replace("x0", "1.0")
ITEMS = """program p
edge w: float
vertex x: float = 3e38
vertex y: float = 0
vertex k: int = 0
repeat 1 times:
    gather best = max((u.x + w, 1) for u -> self)
    apply (y, k) = best
"""


@pytest.mark.parametrize(("text", "line"), [
    (POWER, 5), (POWER.replace("1e30", "1e10"), 0), (CHOSEN, 0), (ITEMS, 7),
    ("program p\nvertex x: float = exp(40.0 * (1 + indegree))\n", 2),
    ("program p\nvertex x: float[2] = [3e38, 1]\napply x = x + x\n", 3),
    ("program p\nvertex x: float = 3e38\nlet t = max(v.x + v.x for v in vertices)\nglobal g: float = t\n", 3),
    ("program p\nvertex x: float = 3e38\nvertex y: float = 2 * sum(u.x / 10 for u -> self)\n", 3),
    ("program p\nvertex x: f64 = 1e300\nvertex y: f32 = f32(x)\n", 3),
], ids=["power", "small", "poles", "items", "exp", "vectors", "let", "beside a sum", "narrower"])
def test_operations_on_floats_that_overflow_are_said(text: str, line: int) -> None:
    """A division by 0 or a logarithm of 0 is not an overflow."""
    try:
        warnings = compile(text, "p.vp")(STAR, threads=1).warnings
    except RangeError as error:  # of a `let`
        warnings = (str(error),)
    found = [one for one in warnings if "is infinite" in one]
    assert [one.split(":")[0] for one in found] == ([f"line {line}"] if line else []), warnings


SEARCHES: dict[str, dict[str, Any]] = {
    "sssp": {"source": 0}, "soft_reach": {"source": 0}, "closeness_weighted": {"sources": [3]},
    "astar": {"source": 0, "target": 3, "bound": np.zeros(4, np.float32)},
}


def test_ordinary_weights_need_no_second_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unreached vertices are infinite. If no path can leave its type, distances are not even tested."""
    monkeypatch.setattr(run_call, "_noted", None)
    graph = Graph.from_edges([0, 1], [1, 2], weight=np.array([1e9, 0.5], np.float32), n=4)
    for name, given in SEARCHES.items():
        program = load(name)
        assert "is infinite" not in "".join(program(graph, threads=1, **given).warnings), name
        ((watch, _),) = program.stages(32).watches.values()
        assert not watch.fields & {"dist", "far", "score"}, name
        assert not watch.hidden | watch.lets, name


def test_a_path_is_said_in_every_way(tmp_path: Path) -> None:
    """Overflow is reported for runs in memory, streamed runs from a page file, runs in rounds, and runs on two ranks.
    No overflow is reported for small weights.
    """
    graph = Graph.from_edges([0, 1], [1, 2], weight=np.array([2e38, 2e38], np.float32), n=4)
    graph.save(tmp_path / "path.vg")
    program = load("sssp")
    rounds: dict[str, Any] = {"research": {"schedule": "rounds"}}
    streamed = Graph.open(tmp_path / "path.vg")
    for made, options in ((graph, {}), (streamed, {}), (graph, rounds), (graph, {"cluster": 2})):
        (warning,) = program(made, source=0, threads=1, **options).warnings
        assert warning.startswith("line 15: `gather near = min(u.dist + weight for u -> self)` is infinite for "
                                  "vertex 2, although its operands are finite")
    assert program(Graph.from_edges([0, 1], [1, 2], weight=np.ones(2, np.float32), n=4), source=0).warnings == ()


PAIRS = """program p
edge w: {}
vertex x: {} = max(w(u, self) for u -> self)
"""


@pytest.mark.parametrize(("type_", "weight"), [("float", 2e38), ("int", 2000000000), ("u32", 4000000000)])
def test_sums_between_two_vertices_are_tested(type_: str, weight: float) -> None:
    program = compile(PAIRS.format(type_, type_), "p.vp")
    kind = {"float": np.float32, "int": np.int32, "u32": np.uint32}[type_]
    once, twice = (Graph.from_edges([0] * k, [1] * k, w=np.full(k, weight, kind), n=2) for k in (1, 2))
    assert program(once, threads=1, trap=True).warnings == ()
    if type_ != "u32":
        (warning,) = program(twice, threads=1).warnings
        assert warning.startswith("line 3: `vertex x:"), warning
    with pytest.raises(TrapError, match=r"p.vp:3:\d+: `w\(u, self\)` leaves its type or becomes infinite"):
        program(twice, threads=1, trap=True)
    if type_ != "u32":
        far = np.inf if type_ == "float" else 2**31 - 1
        endless = Graph.from_edges([0] * 2, [1] * 2, w=np.array([far, 1], kind), n=2)
        assert not [one for one in program(endless, threads=1).warnings if "is infinite" in one]
        with pytest.raises(BindError, match=r"line 3: trap mode cannot test the sums `w\(a, b\)`"):
            program(endless, threads=1, trap=True)
