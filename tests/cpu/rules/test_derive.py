"""Rule D: linear loops in delta form converge to the same limit as the original loop, and no change is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.spelled import spelled
from vlang import BindError, Graph, Program, compile, load
from vlang.ir.derived import derived

MODES = ("auto", "pull", "notify-pull")


def drawn(seed: int, weighted: bool = False) -> tuple[Graph, np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return a random graph, its matrix [to, from] of multiplicities or weights, and its out-degrees."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 60)), int(rng.integers(0, 200))
    src, dst = (n * rng.random((2, m)) ** 1.5).astype(np.int64)
    weight = rng.integers(1, 9, m) / 8 if weighted else np.ones(m)
    directed = bool(seed & 1)
    matrix = np.zeros((n, n))
    np.add.at(matrix, (dst, src), weight)
    if not directed:
        loops = src == dst
        np.add.at(matrix, (src[~loops], dst[~loops]), weight[~loops])
    columns: dict[str, Any] = {"weight": weight} if weighted else {}
    graph = Graph.from_edges(src, dst, n=n, directed=directed, **columns)
    return graph, matrix, graph.out_degree.astype(float)


@pytest.mark.parametrize("seed", range(9))
def test_katz(seed: int) -> None:
    graph, matrix, _ = drawn(seed)
    alpha = 0.5 / max(1.0, float(graph.in_degree.max()))
    options: dict[str, Any] = {"alpha": alpha, "tol": 1e-12, "precision": 64, "mode": MODES[seed % 3]}
    limit = np.linalg.solve(np.eye(graph.n) - alpha * matrix, np.ones(graph.n))
    found = load("katz")(graph, derive="delta", **spelled(**options))
    assert found.converged
    assert np.abs(found["x"] - limit).max() < 5e-12
    assert np.abs(found["x"] - load("katz")(graph, **spelled(**options))["x"]).max() < 1e-11


RANKS = """
program ranks(damping = 0.85, tol = 1e-12)
edge   weight: float = 1
vertex total: float = sum(weight for self -> u)
vertex rank:  float = 1 / N
require 0 <= damping and damping < 1
repeat until max(abs(change(v.rank)) for v in vertices) < tol:
    gather inflow = sum(u.rank * weight / u.total for u -> self)
    apply  rank   = (1 - damping) / N - damping * -inflow if total > 0 else (1 - damping) / N + inflow / 2
"""


@pytest.mark.parametrize("seed", range(6))
def test_ranks_by_weight(seed: int) -> None:
    graph, matrix, _ = drawn(seed, weighted=True)
    total = matrix.sum(axis=0)
    spread = matrix / np.where(total > 0, total, 1) * np.where(total > 0, 0.85, 0.5)[:, None]
    limit = np.linalg.solve(np.eye(graph.n) - spread, np.full(graph.n, 0.15 / graph.n))
    found = RANKED(graph, precision=64, research={"mode": MODES[seed % 3]})
    assert np.abs(found["rank"] - limit).max() < 1e-10


RANKED = compile(RANKS).derived("delta")


@pytest.mark.parametrize("seed", range(8))
def test_no_change_is_lost(seed: int) -> None:
    """At a coarse tolerance most changes accumulate unsent. The unsent changes at the end bound the error of the
    result.
    """
    graph, _, _ = drawn(seed, weighted=True)
    tol = 0.02 / graph.n
    mode = {"mode": MODES[seed % 3]}
    rough, exact = (RANKED(graph, precision=64, tol=t, research=mode)["rank"] for t in (tol, 1e-13))
    assert np.abs(rough - exact).sum() <= 0.85 / 0.15 * graph.n * tol + 1e-12


def test_explained() -> None:
    assert load("katz").derived("delta").explain("ir") == """\
program katz(alpha: f32 = 0.05, beta: f32 = 1, tol: f32 = 1e-06)

vertex x: f32    # output

start x = beta

repeat:
    gather inflow: f32 = sum(change(u.x) for u -> self)
    apply x = x + alpha * inflow
    activate when abs(change(x)) > tol
"""
    facts = " ".join(load("katz").derived("delta").explain().split())
    assert "delta: every write adds a linear function of its neighbours' changes" in facts
    assert "delta form: adds a linear function of the changes of neighbours" in facts
    assert "A': every change is sent exactly once" in facts


def _loop(body: str, until: str = "until max(abs(change(v.x)) for v in vertices) < 0.001", ahead: str = "") -> str:
    return f"program p(tol = 0.1)\nvertex x: float = 0\n{ahead}repeat {until}:\n" + \
        "".join(f"    {line}\n" for line in body.split("; "))


PLAIN = "gather a = sum(u.x for u -> self); apply x = 0.1 * a + 1"


@pytest.mark.parametrize(("text", "reason"), [
    (load("pagerank").source, "reads `lost`, which changes every superstep"),
    (load("heat").source, "`q` reads its own old value"),
    (load("php").source, "`p` is written under `where`, so not every vertex starts at the constant term"),
    (load("bfs").source, "a fixpoint loop: the derived form stops on a tolerance"),
    (_loop(PLAIN, "until max(v.x for v in vertices) > 3"), "it ends neither on `sum` or `max` of `abs(change(v.x))`"),
    (_loop(PLAIN, "at most 9 times until max(abs(change(v.x)) for v in vertices) < 0.001"),
     "it ends after a given number of supersteps"),
    (_loop(PLAIN, ahead="apply x = 3\n"), "`x` is written before the loop, in line 3"),
    (_loop(PLAIN, ahead="vertex y: float = x\n"), "line 3 reads the initial value of `x`"),
    (_loop("gather w = sum(u.x * 0.1 for u -> self); apply x = tanh(w)"), "`x` is not linear in `w`"),
    ("program p\nvertex x: float\nrepeat until max(abs(change(v.x)) for v in vertices) < 0.1:\n"
     "    gather a = sum(u.x for u -> self)\n    apply x = a / 9\n", "`x` is given by the caller"),
])  # fmt: skip
def test_refused(text: str, reason: str) -> None:
    program = compile(text)
    with pytest.raises(BindError) as error:
        program.derived("delta").stages()
    assert "cannot be run in delta form (rule D)" in str(error.value)
    assert reason in str(error.value)


@pytest.mark.parametrize(("until", "bound"), [
    ("until max(abs(change(v.x)) for v in vertices) < tol", "tol"),
    ("until tol / 2 >= sum(abs(change(v.x)) for v in vertices)", "tol / 2 / f32(N)"),
    ("until sum(abs(change(v.x)) for v in vertices) < N * tol", "tol"),
])  # fmt: skip
def test_bounds(until: str, bound: str) -> None:
    """A vertex with a change below a bound sends nothing. The bound is derived from the end condition of the loop."""
    text = compile(_loop(PLAIN, until)).derived("delta").explain("ir")
    assert f"activate when abs(change(x)) > {bound}\n" in text


def test_by_activation() -> None:
    body = PLAIN + "; activate when abs(change(x)) > tol"
    text = compile(_loop(body, "").replace("repeat :", "repeat:")).derived("delta").explain("ir")
    assert "start x = 1\n" in text
    assert "activate when abs(change(x)) > tol\n" in text


def test_arguments() -> None:
    graph, katz = Graph.from_edges([0, 1], [1, 2]), load("katz")
    with pytest.raises(BindError, match="`x` is given, and in delta form it starts at the constant term"):
        katz(graph, derive="delta", x=[0, 0, 0])
    with pytest.raises(BindError, match="derive is 'delta' or None, not 'deltas'"):
        katz(graph, derive="deltas")
    assert katz.derived(None) is katz


def test_resumed() -> None:
    """Rule I2 can resume from a result of the derived delta form."""
    rng = np.random.default_rng(3)
    pairs = rng.integers(0, 40, (120, 2))
    graph = Graph.from_edges(*pairs.T, n=40)
    result = load("katz")(graph, derive="delta", tol=1e-12, precision=64)
    for _ in range(3):
        result = load("katz").resume(result, added=rng.integers(0, 44, (4, 2)), removed=pairs[:1])
        pairs = pairs[~(pairs == pairs[0]).all(axis=1)]
        assert result.graph is not None
        cold = load("katz")(result.graph, tol=1e-12, precision=64)
        assert np.abs(result["x"] - cold["x"]).max() < 1e-11


# ----------------------------------------------------------------------------- negative controls
FORCED = {
    # Keeps the initial dangling mass, as rule D would if `lost` were constant.
    "pagerank": ("", """
program forced(damping = 0.85, tol = 1e-6)
let    lost = sum(1 / N for v in vertices if v.outdegree == 0)
vertex rank: float = (1 - damping + damping * lost) / N
repeat:
    gather inflow = sum(change(u.rank) / u.outdegree for u -> self)
    apply  rank  += damping * inflow
    activate when abs(change(rank)) > tol / N
"""),
    # Takes the vertex's own initial value as the constant term.
    "heat": ("q", """
program forced(tol = 0.01)
edge   coeff: float = 0.1
vertex q: float
repeat:
    gather flow = sum(change(u.q) * coeff for u -> self)
    apply  q   += flow
    activate when abs(change(q)) > tol
"""),
}


@pytest.mark.parametrize("name", FORCED)
def test_forced_where_refused(name: str) -> None:
    field, text = FORCED[name]
    forced: Program = compile(text)
    plain = load(name)
    stages = plain.stages()
    assert not derived(stages.program, stages.facts)[1]
    different = 0
    for seed in range(1, 12, 2):
        graph, _, _ = drawn(seed)
        rng = np.random.default_rng(seed)
        given = {"q": rng.random(graph.n)} if field else {}
        a, b = (one(graph, **given, max_rounds=60) for one in (plain, forced))
        output = field or "rank"
        different += not np.allclose(a[output], b[output], rtol=1e-2)
    print(f"{name}: {different} of 6")
    assert different
