"""Overflow of float sums of finite terms is reported. If no output shows the overflow, the run ends with an error."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.sample import EXHAUSTIVE
from vlang import Graph, Result, compile, load
from vlang.api.running import run_call
from vlang.api.running.notices import infinite
from vlang.cli import main
from vlang.errors import RangeError
from vlang.ir.integer_watch import noting_integers
from vlang.ir.notes import Place

STAR = Graph.from_edges(np.arange(1, 9), np.zeros(8, int), w=np.full(8, 1e38), n=9)
"""Eight edges into vertex 0. The sum of their values is larger than the largest f32."""

OUTPUT = """program p
edge   w: float
vertex load: float = sum(w for u -> self)
"""
INSIDE = """program p(s: vertices)
edge   w: float
vertex share: float = 0
for v in s:
    vertex load: float = 1
    gather more = sum(w for u -> self)
    apply load += more
    where self == v:
        apply share += 1 / load
"""
LOOP = """program p
vertex x: float = 1e38
repeat 3 times:
    gather more = sum(u.x for u -> self)
    apply x = more + 1e38
"""
WHOLE = """program p
vertex x: float = 3e38
global total: float = sum(v.x for v in vertices)
"""
LET = """program p
vertex x: float = 3e38
let total = sum(v.x for v in vertices)
vertex part: float = 1 / total
"""
GROWN = """program p
edge   w: float
vertex x: float = 3e38
gather more = sum(w / 10 for u -> self if w > 0)
apply x = x + more
"""
VECTOR = """program p
edge   w: float
vertex x: float[2] = 1
gather more = sum(w * u.x for u -> self)
apply x = more
"""

PRODUCT = """program p(w: float[2, 2] = [[1, 3e38], [3e38, 3e38]])
vertex x: float[2] = [1, 2]
vertex y: float[2] = w @ x
"""
TERMS = """program p
vertex x: float[2] = 3e38
gather best = max(sum(u.x) for u -> self, default = 0)
vertex y: float = 0
apply y = best
"""


def run(text: str, graph: Graph = STAR, **arguments: Any) -> Result:
    return compile(text, "p.vp")(graph, threads=1, **arguments)


@pytest.mark.parametrize(("text", "line", "said", "vertex"), [
    (OUTPUT, 3, "load", "0"), (LOOP, 4, "more", "0"), (WHOLE, 3, "total", None), (GROWN, 5, "x = x", "0"),
    (VECTOR, 4, "more", "0"), (PRODUCT, 3, "w @ x", "0"), (TERMS, 3, "sum(u.x)", "0"),
], ids=["initializer", "loop", "global", "addition", "vector", "matrix", "terms"])
def test_an_output_that_overflows_is_warned_of(text: str, line: int, said: str, vertex: str | None) -> None:
    result = run(text)
    (warning,) = result.warnings
    assert warning.startswith(f"line {line}: `")
    assert said in warning
    assert (f"for vertex {vertex}," in warning) == (vertex is not None)
    assert result.summary_dict()["warnings"] == [warning]


@pytest.mark.parametrize(("text", "line", "given"), [(INSIDE, 6, {"s": [0, 1]}), (LET, 3, {})])
def test_an_overflow_that_no_output_shows_is_an_error(text: str, line: int, given: dict[str, Any]) -> None:
    with pytest.raises(RangeError, match=f"^line {line}: .*too large for .*would be wrong"):
        run(text, **given)


@pytest.mark.parametrize("text", [OUTPUT, GROWN, VECTOR])
def test_an_infinite_term_is_no_overflow(text: str) -> None:
    graph = Graph.from_edges(np.arange(1, 9), np.zeros(8, int), w=np.array([np.inf, *[1.0] * 7]), n=9)
    result = run(text, graph)
    assert np.isinf(result[result.fields[0]]).any()
    assert result.warnings == ()


def test_a_wider_type_is_no_overflow() -> None:
    result = run(OUTPUT, precision=64)
    np.testing.assert_allclose(result.load[0], 8e38)
    assert result.warnings == ()


def test_a_given_field_has_no_sum() -> None:
    result = run(OUTPUT, load=np.full(9, np.inf, np.float32))
    assert result.warnings == ()


def test_betweenness_says_that_its_paths_overflow() -> None:
    """The number of shortest paths overflows, and the run reports the overflow. A grid of 530 by 530 vertices has about
    10^317 shortest paths from corner to corner.
    """
    with pytest.raises(RangeError, match=r"^line \d+: `gather ways = .*` is infinite for vertex \d+, .* for f64"):
        load("betweenness")(Graph.read("grid:530x530"), sources=[0], threads=1)


def test_the_command_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program, graph = tmp_path / "p.vp", tmp_path / "g.csv"
    program.write_text(OUTPUT)
    graph.write_text("source,target,w\n" + "".join(f"{k},0,1e38\n" for k in range(1, 9)))
    assert main(["run", str(program), str(graph), "--quiet"]) == 0
    assert "warning: line 3: `vertex load: float = sum(w for u -> self)` is infinite for vertex 0" in \
        capsys.readouterr().err
    program.write_text(INSIDE)
    assert main(["run", str(program), str(graph), "s=0", "--quiet"]) == 1
    assert "error: line 6:" in capsys.readouterr().err


# ------------------------------------------------------------------ integers

SEARCH = """program p(s: vertex)
edge weight: int = 1
require weight >= 0
vertex d: int = 0 if self == s else inf
repeat:
    gather m = min(u.d + weight for u -> self)
    apply d = min(d, m)
"""
POWERS = """program p
vertex x: i64 = 3000000000
repeat 2 times:
    apply x = x * (indegree + 1)
vertex y: int = sum(u.z for u -> self)
""".replace("vertex x", "vertex z: int = 2000000000\nvertex x")
STEPS = "program p\nvertex x: i8 = 100\nvertex y: i8 = x + 20\nvertex w: i8 = y + 20 if indegree > 5 else 0\n"


def _paths(*weights: int) -> Graph:
    """Return the path 0 -> 1 -> 2, and vertex 3, which is unreachable."""
    return Graph.from_edges([0, 1], [1, 2], weight=np.array(weights, np.int32), n=4)


@pytest.mark.parametrize(("weights", "far"), [((2000000000, 1000000000), True), ((1000000000, 5), False),
                                              ((2147483646, 1), True), ((2147483646, 0), False)])
def test_a_path_that_leaves_its_type_is_warned_of(weights: tuple[int, int], far: bool,
                                                  monkeypatch: pytest.MonkeyPatch) -> None:
    """A finite path length that does not fit its type gives a warning. An unreachable vertex gives no warning, although
    its value is also infinite.

    If all other values are small, no second run is made to check these values.
    """
    if max(weights) == 1000000000:
        monkeypatch.setattr("vlang.api.running.notices.infinite.noting_integers", None)
    result = run(SEARCH, _paths(*weights), s=0)
    assert result.d[3] == 2**31 - 1
    assert [warning.split(", although")[0] for warning in result.warnings] == \
        ["line 6: `gather m = min(u.d + weight for u -> self)` is infinite for vertex 2"][: int(far)]


@pytest.mark.parametrize(("text", "line", "vertex"), [
    (POWERS, 6, "0"), (POWERS.replace("2 times", "12 times"), 5, "0"), (STEPS, 4, "0"),
    (STEPS.replace("indegree > 5", "false"), 0, ""),
])
def test_integers_that_become_infinite_are_warned_of(text: str, line: int, vertex: str) -> None:
    warnings = run(text, STAR).warnings
    assert [w.split(":")[0] for w in warnings] == ([f"line {line}"] if line else []), warnings
    assert all(f"for vertex {vertex}, although its operands are finite" in w for w in warnings)


BIG = "program p\nvertex x: int = 2000000000\nvertex w: i64 = 9000000000000000000\n"
GLOBALS = {
    "global s: int = max(v.x + v.x for v in vertices)\n": "line 4: `global s: int = max(v.x + v.x for v in",
    "global s: i64 = sum(v.w for v in vertices)\n": "line 4: `global s: i64 = sum(v.w for v in vertices)` is",
    "let t = max(v.x for v in vertices)\nlet u = t + t\nvertex y: int = u - 1\n": "line 5: `let u = t + t` is",
    "let t = sum(v.w for v in vertices)\nglobal s: bool = t == inf\nvertex y: i64 = t\n": "line 4: `let t = sum(v.w",
    "vertex y: int = floor(x * 2.0)\n": "line 4: `vertex y: int = floor(x * 2.0)` is infinite for vertex 0",
    "repeat 1 times:\n    gather q = prod(u.x for u -> self)\n    apply x = q\n": "line 5: `gather q = prod(u.x",
    "vertex y: int = N * 1000000000\n": "line 4: `vertex y: int = N * 1000000000` is infinite for vertex 0",
}  # fmt: skip
SILENT = (
    "vertex d: int = inf\nglobal s: int = max(v.d for v in vertices)\nglobal t: i64 = sum(v.d for v in vertices)\n",
    "global s: int = max(v.x for v in vertices if v.indegree > 99)\n", "let u = wrap(N * 4611686018427387904)\n",
    "vertex y: int = floor(0.0 / 0.0)\n", "vertex f: float = inf\nvertex y: int = floor(f)\n",
    "vertex y: int = inf\nrepeat 1 times:\n    gather q = prod(u.y for u -> self)\n    apply y = q\n",
    "let t = max(v.x + v.x for v in vertices)\nvertex y: int = 3 if t == inf else 4\n",  # no output is infinite
)


NESTED = (
    ("edge w: float\nvertex load: float = 0\nrepeat 1 times:\n"
     "    gather best = max((sum(w for u), c) for u -- self by c = u.degree)\n    apply load = best[0]\n", "gather"),
    ("edge w: float\nvertex y: float = min(sum(w * 1.0 for v in common(self, u)) for u -- self)\n", "vertex y"),
    ("edge w: int\nvertex y: i64 = max(sum(i64(w) for u) for u -- self by c = 1)\n"
     "vertex z: int = sum(max(w + w for u) for u -- self by c = u.degree)\n", "vertex z"),
    ("vertex x: int = 2000000000\nvertex y: int = max(sum(v.x for v in common(self, u)) for u -- self)\n", "vertex y"),
)


@pytest.mark.parametrize(("text", "where"), NESTED, ids=["group", "common", "term in a group", "common integers"])
def test_an_overflow_inside_a_reduction_inside_is_warned_of(text: str, where: str) -> None:
    """Infinite terms are not an overflow."""
    program, ends, whole = compile(f"program p\n{text}", "p.vp"), np.triu_indices(4, 1), "w: int" in text
    for far in (False, True):
        weights = np.full(6, (2**31 - 1 if far else 2000000000) if whole else np.inf if far else 2e38)
        graph = Graph.from_edges(*ends, directed=False, w=weights.astype(np.int32 if whole else np.float32))
        found = [one for one in program(graph, threads=1).warnings if " is infinite for vertex 0, although " in one]
        assert len(found) == (0 if far and "w" in text else 1)
        assert all(f": `{where}" in one for one in found), found


def infinities_are_said(device: str, among: slice) -> None:
    for text, what in list(GLOBALS.items())[among]:
        (warning,) = run(BIG + text, STAR, device=device).warnings
        assert warning.startswith(what), (text, warning)
        assert ("for vertex" in warning) == ("vertex" in text.partition("\n")[0] or "gather" in text)
        assert "although its operands are finite: the value does not fit" in warning
    for text in SILENT[among]:
        assert run(BIG + text, STAR, device=device).warnings == (), text


def test_infinite_graph_values_and_conversions_are_warned_of(tmp_path: Path) -> None:
    infinities_are_said("cpu", slice(None, None, 1 if EXHAUSTIVE else 3))
    STAR.save(tmp_path / "star.vg")
    streamed = Graph.open(tmp_path / "star.vg")
    for text in list(GLOBALS)[:1]:
        (warning,) = run(BIG + text, streamed).warnings
        assert warning.startswith(GLOBALS[text]), text


EACH = """program p
vertex x: int = 2000000000
vertex w: i64 = 9000000000000000000
vertex s: i8 = -127
vertex v: int[2] = [inf, x]
vertex y: int = int(x * 2.0)
apply v = v + v
vertex q: i64[2] = [w, 1]
gather g = sum(u.q for u -> self)
apply q = g
vertex a: int = sum([x, x])
vertex b: int = dot([x, 0], [x, 0])
vertex c: i8 = -s
vertex d: i8 = s // -1
vertex e: int = 0
gather f = min((u.x + u.x, 1) for u -> self)
apply e = f[0] if indegree > 0 else 1
vertex h: int[2] = [inf, 5]
apply h = h + h
vertex i: i8 = s // 2 + abs(s + 1)
"""
LEFT = [6, 7, 9, 11, 12, 13, 14, 16]
"""The lines of EACH where an integer becomes infinite from finite operands: h and i do not."""


def test_every_operation_on_integers_is_tested(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tested operations include conversions by `int`, vectors, sums and products of vectors, and tuples. The test
    also computes -(-127), which is `inf` in 8 bits.
    """
    places: list[Place] = []
    noted: list[Mapping[str, Any]] = []
    noting, run_noted = noting_integers, run_call._noted

    def noting_here(*given: Any) -> Any:
        program, found = noting(*given)
        places.extend(found)
        return program, found

    monkeypatch.setattr(infinite, "noting_integers", noting_here)
    def run_here(*given: Any) -> Mapping[str, Any]:
        noted.append(run_noted(*given))
        return noted[-1]

    monkeypatch.setattr(run_call, "_noted", run_here)
    (warning,) = run(EACH, STAR).warnings
    assert warning.startswith("line 6: `vertex y: int = int(x * 2.0)` is infinite for vertex 0")
    assert [place.span.line for place in places if np.any(noted[0][place.note])] == LEFT
