"""Rule I: a program that is resumed after edges were added or removed ends with the result of a run on the new graph.
"""

from __future__ import annotations

import functools
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.reference.cases import without_needs
from tests.sample import sampled
from tests.spelled import spelled
from vlang import BindError, Graph, GraphError, Program, Result, compile, load, stdlib
from vlang.api.arguments.bind import bind_parameters
from vlang.api.calls import Call
from vlang.errors import ResumeError
from vlang.ir.going import ChangeKind, going_on
from vlang.options import Options

DESIGN = Path(__file__).parents[2] / "reference" / "design"

OWN = {
    "hitting": """
program hitting(source: vertex, decay = 0.8, tol = 1e-6)
edge   weight: float = 1
vertex total:  float = sum(weight for self -> u)
vertex p:      float = 1 if self == source else 0
require 0 <= decay and decay < 1
repeat:
    gather news = sum(change(u.p) * weight / u.total for u -> self if self != source)
    apply  p   += decay * news
    activate when tol < abs(change(p))
""",
    # Contributions read degrees, so the ends of new edges must send to all their neighbours.
    "popular": """
program popular
vertex best: int = 0
repeat:
    gather near = max(min(u.best + 1, u.outdegree) for u -> self)
    apply  best = max(best, near)
""",
    # Two phases: each reads the field that the other writes, and its own field.
    "two_phases": """
program two_phases(source: vertex)
vertex a: bool = self == source
vertex b: int  = 0 if self == source else inf
repeat:
    gather near = any(u.a for u -> self)
    apply  a    = a or near
    where a:
        gather low = min(u.b + 1 for u -- self)
        apply  b   = min(b, low)
""",
    "vectors": """
program vectors
vertex seen: u64[2] = 0
vertex mark: u64    = bit(0) if self == self else 0
repeat:
    gather more = bitor(u.seen for u -- self)
    apply  seen = seen | more
""",
    "where_guards": """
program where_guards(source: vertex)
vertex open: bool = self != source
vertex dist: float = 0 if self == source else inf
edge   weight: float = 1
require weight >= 0
repeat:
    where open:
        gather near = min(u.dist + weight for u -> self)
        apply  dist = min(dist, near)
global far: float = max(v.dist for v in vertices if v.dist < inf)
""",
    "weights": """
program weights(pull = 0.5, tol = 1e-6)
edge   weight: float = 1
vertex total:  float = sum(weight for self -> u)
vertex x:      float[2] = 1
require weight > 0
let scale = pull * 1.5 / 2
repeat:
    gather news = sum(change(u.x) * weight / u.total for u -> self)
    apply  x   += scale * news
    activate when max(abs(change(x))) > tol
vertex after: float = sum(u.x[0] for u -> self)
""",
}

# Columns, parameters, and the legal changes. "within": rule I2, where results agree within a tolerance.
TABLE: dict[str, tuple[str, dict[str, Any], str, bool]] = {
    "bfs": ("", {"source": 0}, "insert", False), "bfs_tree": ("", {"source": 0}, "insert", False),
    "bipartite": ("", {}, "insert", False), "components": ("", {}, "insert", False),
    "kcore": ("", {}, "delete", False), "kcore_members": ("", {"k": 2}, "delete", False),
    "pagerank_delta": ("", {"tol": 1e-9}, "insert delete", True), "sssp": ("weight", {"source": 0}, "insert", False),
    "sssp_tree": ("weight", {"source": 0}, "insert", False), "sswp": ("bandwidth", {"source": 0}, "insert", False),
    "viterbi": ("chance", {"source": 0}, "insert", False),
    "hitting": ("weight", {"source": 0, "tol": 1e-9}, "insert delete", True),
    "popular": ("", {}, "insert", False), "two_phases": ("", {"source": 0}, "insert", False),
    "where_guards": ("weight", {"source": 0}, "insert", False),
    "weights": ("weight", {"tol": 1e-9}, "insert delete", True),
    "temporal_reach": ("leaves", {"source": 0}, "insert", False),
}  # fmt: skip
OTHERS = ("influence", "vectors")  # random numbers may change with the graph; `try_one` draws no vectors
USUAL = ("bfs_tree", "components", "kcore", "pagerank_delta", "sssp", "viterbi", "popular", "two_phases",
         "where_guards", "temporal_reach")
MODES = ("auto", "pull", "notify-pull", "push")


@functools.cache
def program(name: str) -> Program:
    """Return a program of the library or of this file, compiled once."""
    return compile(OWN[name]) if name in OWN else without_needs(name)


def _values(rng: np.random.Generator, column: str, count: int) -> np.ndarray[Any, Any]:
    """Return the values of a column: times are integers, and other values are multiples of 1/64."""
    found = rng.integers(1, 64, count)
    return found if column == "leaves" else found / 64


def drawn(rng: np.random.Generator, column: str, directed: bool) -> tuple[Graph, np.ndarray[Any, Any]]:
    """Return a random graph with ids that have gaps, and the list of its edges."""
    n, m = int(rng.integers(2, 40)), int(rng.integers(0, 90))
    pairs = 3 * (n * rng.random((m, 2)) ** 1.5).astype(np.int64)
    columns: dict[str, Any] = {column: _values(rng, column, m)} if column else {}
    ids = np.arange(0, 3 * n, 3)
    return Graph.from_edges(pairs[:, 0] // 3, pairs[:, 1] // 3, directed=directed, ids=ids, **columns), pairs


def change(rng: np.random.Generator, graph: Graph, pairs: Any, column: str, marks: str, grow: bool) -> dict[str, Any]:
    """Return random edges to add and to remove, as far as `marks` allows additions and removals."""
    found: dict[str, Any] = {}
    if "insert" in marks:
        k = int(rng.integers(0, 9))
        pool = np.concatenate([graph.ids.values, [1, 500, 503]]) if grow else graph.ids.values
        src, dst = rng.choice(pool, k), rng.choice(pool, k)
        found["added"] = {"src": src, "dst": dst} | ({column: _values(rng, column, k)} if column else {})
    if "delete" in marks and len(pairs):
        found["removed"] = pairs[rng.integers(0, len(pairs), int(rng.integers(0, 6)))]
    return found


def assert_alike(name: str, warm: Result, cold: Result, within: bool) -> None:
    assert warm.fields == cold.fields
    for field in cold.fields:
        if within:
            np.testing.assert_allclose(warm[field], cold[field], rtol=0, atol=1e-7, err_msg=f"{name}.{field}")
        else:
            assert warm[field].dtype == cold[field].dtype
            assert np.array_equal(warm[field], cold[field]), f"{name}.{field}"
    assert warm.globals == cold.globals or within
    assert warm.converged == cold.converged


def try_one(name: str, seed: int, **options: Any) -> None:
    """Resume after each of two changes, and compare each result with a run from the start."""
    column, params, marks, within = TABLE[name]
    rng = np.random.default_rng(seed)
    print(f"{name}, seed {seed}, {options}")
    graph, pairs = drawn(rng, column, directed=bool(seed & 1))
    bits = 64 if within else 32
    result = program(name)(graph, **params, **spelled(**options), precision=bits)
    for grow in (False, True):
        edges = change(rng, graph, pairs, column, marks, grow and "insert" in marks)
        result = program(name).resume(result, **edges, **spelled(**options))
        assert result.graph is not None
        assert_alike(name, result, program(name)(result.graph, **params, precision=bits), within)
        gone = {tuple(pair) for pair in np.asarray(edges.get("removed", [])).tolist()}
        back = set() if graph.directed else {(b, a) for a, b in gone}
        pairs = np.array([p for p in pairs.tolist() if tuple(p) not in gone | back], np.int64).reshape(-1, 2)


@pytest.mark.parametrize("name", sampled(TABLE, USUAL))
def test_as_anew(name: str) -> None:
    for seed in range(12):
        try_one(name, seed, mode=MODES[seed // 2 % 4], threads=1 + seed % 2)


def test_which_programs_may() -> None:
    """The table lists every program to which rule I applies, with the permitted changes."""
    found = {}
    texts = [load(name) for name in stdlib.names()] + [load(path) for path in sorted(DESIGN.glob("*.vp"))]
    for one in (*texts, *map(compile, OWN.values())):
        stages = one.stages()
        marks = [mark for mark, kind in (("insert", ChangeKind(True, False, False)),
                                         ("delete", ChangeKind(False, True, False)))
                 if going_on(stages.program, stages.facts, kind)[0]]
        if marks:
            found[one.name] = " ".join(marks)
    assert found == {name: row[2] for name, row in TABLE.items()} | dict.fromkeys(OTHERS, "insert")


def test_fewer_edges() -> None:
    rng = np.random.default_rng(5)
    pairs = rng.integers(0, 4000, (20_000, 2))
    graph = Graph.from_edges(*pairs.T, n=4000, weight=rng.integers(1, 9, len(pairs)))
    for name, edges in (
        ("sssp", {"added": {"src": [5, 9], "dst": [7, 11], "weight": [1, 1]}}), ("kcore", {"removed": pairs[:2]}),
        ("pagerank_delta", {"removed": pairs[:2]}),
    ):  # fmt: skip
        params = {"source": 0} if name == "sssp" else {}
        cold = program(name)(graph, **params)
        warm = program(name).resume(cold, **edges)
        print(name, warm.edges, cold.edges)
        assert warm.edges * 2 < cold.edges


# ----------------------------------------------------------------------------- refused
@pytest.mark.parametrize(("name", "edges", "message"), [
    ("bfs", {"removed": [(0, 1)]}, "only insertion keeps the old result a legal start, and edges were removed"),
    ("kcore", {"added": [(0, 2)]}, "only deletion keeps the old result a legal start, and edges were added"),
    ("closeness", {"added": [(0, 2)]}, "the loop is inside a block, which may run it more than once"),
    ("degree", {"added": [(0, 2)]}, "it has no loop"),
    ("coloring", {"added": [(0, 2)]}, "needs rule A, which is refused: `color` is recomputed"),
    ("heat", {"added": [(0, 2)]}, "stops on a tolerance"),
    ("mis", {"added": [(0, 2)]}, "more edges may move the joined value either way"),
])  # fmt: skip
def test_refused(name: str, edges: dict[str, Any], message: str) -> None:
    given: dict[str, dict[str, Any]] = {"bfs": {"source": 0}, "closeness": {"sources": [0]}, "heat": {"q": np.ones(3)}}
    params = given.get(name, {})
    graph = Graph.from_edges([0, 1], [1, 2])
    result = without_needs(name)(graph, **params)
    with pytest.raises(ResumeError) as error:
        without_needs(name).resume(result, **edges)
    assert message in str(error.value)
    assert "un it anew" in str(error.value)


MULTI = {
    "reads `twice`": ("vertex total: int = indegree\nvertex twice: int = total\nvertex x: int = 0\nrepeat:\n"
                      "    gather a = max(min(u.x + 1, u.twice) for u -> self)\n    apply x = max(x, a)\n",
                      "the loop reads `twice`, which changes with the edges of its vertex"),
    "applied before": ("vertex twice: int = 0\napply twice = indegree * 2\nvertex x: int = 0\nrepeat:\n"
                       "    gather a = max(min(u.x + 1, u.twice) for u -> self)\n    apply x = max(x, a)\n",
                       "the loop reads `twice`, which changes with the edges of its vertex"),
    "applied where": ("vertex twice: int = 0\nwhere indegree > 1:\n    apply twice = 2\nvertex x: int = 0\nrepeat:\n"
                      "    gather a = max(min(u.x + 1, u.twice) for u -> self)\n    apply x = max(x, a)\n",
                      "the loop reads `twice`, which changes with the edges of its vertex"),
    "gathered before": ("vertex near: int = 0\ngather most = max(u.indegree for u -> self)\napply near = most\n"
                        "vertex x: int = 0\nrepeat:\n    gather a = max(min(u.x + 1, u.near) for u -> self)\n"
                        "    apply x = max(x, a)\n",
                        "the loop reads `near`, which depends on edges that may be anywhere"),
    "applied in a block": ("vertex near: int = 0\nfor k from 1 to 2:\n    apply near = near + indegree\n"
                           "vertex x: int = 0\nrepeat:\n    gather a = max(min(u.x + 1, u.near) for u -> self)\n"
                           "    apply x = max(x, a)\n",
                           "the loop reads `near`, which depends on edges that may be anywhere"),
    "start": ("vertex x: int = indegree\nrepeat:\n    gather a = max(u.x for u -> self)\n    apply x = max(x, a)\n",
              "`x` starts at a value that depends on the edges"),
    "indirect start": ("vertex d: int = indegree\nvertex e: int = d * 2\nvertex x: int = e\nrepeat:\n"
                       "    gather a = max(u.x for u -> self)\n    apply x = max(x, a)\n",
                       "`x` starts at a value that depends on the edges"),
    "written again": ("vertex x: int = 0\nrepeat:\n    gather a = max(u.x for u -> self)\n    apply x = max(x, a)\n"
                      "apply x = x + 1\n", "`x` is written outside the loop as well"),
    "read ahead": ("vertex x: int = 0\nvertex y: int = x + 1\nrepeat:\n    gather a = max(u.x for u -> self)\n"
                   "    apply x = max(x, a)\n", "reads the initial value of `x`, which an old result does not contain"),
    "edges in a let": ("vertex x: int = 0\nlet top = max(v.indegree for v in vertices)\nrepeat:\n"
                       "    gather a = max(min(u.x + 1, top) for u -> self)\n    apply x = max(x, a)\n",
                       "the loop reads `top`, which depends on edges that may be anywhere"),
    "M": ("vertex x: i64 = 0\nrepeat:\n    gather a = max(min(u.x + 1, M) for u -> self)\n    apply x = max(x, a)\n",
          "the loop reads `M`, which depends on edges that may be anywhere"),
    "delta start": ("vertex x: float = degree\nrepeat:\n    gather a = sum(change(u.x) / 9 for u -> self)\n"
                    "    apply x += a / 2\n    activate when abs(change(x)) > 0.001\n",
                    "`x` starts at a value that depends on the edges"),
    "one way": ("vertex x: float = 1\nrepeat:\n    gather a = sum(change(u.x) / 9 for u -> self)\n"
                "    apply x += a / 2\n    activate when change(x) > 0.001\n", "`activate when` does not treat "
                "changes up and down alike"),
    "own degree": ("vertex x: float = 1\nrepeat:\n    gather a = sum(change(u.x) / 9 for u -> self)\n"
                   "    apply x += a / (2 + indegree)\n    activate when abs(change(x)) > 0.001\n",
                   "a value`, which changes with the edges of its vertex"),
}


@pytest.mark.parametrize("case", MULTI)
def test_refused_around_the_loop(case: str) -> None:
    body, message = MULTI[case]
    stages = compile(f"program p\n{body}").stages()
    found, refused = going_on(stages.program, stages.facts, ChangeKind(True, False, False))
    assert not found
    assert message in refused[0]


def test_new_vertices_where_numbers_matter() -> None:
    text = compile("program p\nvertex x: float = 1 / N\nrepeat:\n    gather a = max(u.x for u -> self)\n"
                   "    apply x = max(x, a)\n")
    result = text(Graph.from_edges([0, 1], [1, 2]))
    assert text.resume(result, added=[(0, 2)]).converged
    with pytest.raises(ResumeError, match="depends on the edges or on the number of vertices"):
        text.resume(result, added=[(0, 9)])


def test_given_fields_hold_again() -> None:
    text = compile("program p\nvertex worth: int\nvertex x: int = worth\nrepeat:\n"
                   "    gather a = max(u.x for u -> self)\n    apply x = max(x, a)\n")
    result = text(Graph.from_edges([0, 1], [1, 2]), worth=[3, 2, 1])
    assert text.resume(result, added=[(2, 1)])["x"].tolist() == [3, 3, 3]
    with pytest.raises(ResumeError, match="new vertices, which have no value of `worth`"):
        text.resume(result, added=[(0, 9)])


def test_results_that_are_no_start() -> None:
    graph, bfs = Graph.from_edges([0, 1], [1, 2]), program("bfs")
    result = bfs(graph, source=0)
    assert result.graph is graph
    with pytest.raises(ResumeError, match="stopped before its end"):
        bfs.resume(bfs(graph, source=0, max_rounds=1))
    with pytest.raises(ResumeError, match="of another program"):
        program("components").resume(result)
    with pytest.raises(ResumeError, match="lost the graph"):
        bfs.resume(pickle.loads(pickle.dumps(result)))
    with pytest.raises(BindError, match="`source` is that of the result"):
        bfs.resume(result, source=1)
    with pytest.raises(BindError, match="with 32 bits"):
        bfs.resume(result, precision=64)
    with pytest.raises(GraphError, match="which is not in the graph"):
        bfs.resume(result, removed=[(2, 0)])
    again = bfs.resume(result)
    assert again["depth"].tolist() == [0, 1, 2]
    assert again.rounds <= 1


# ----------------------------------------------------------------------------- negative controls
FORCED: dict[str, tuple[str, dict[str, Any]]] = {
    "bfs": ("delete", {"source": 0}), "components": ("delete", {}), "sssp": ("delete", {"source": 0}),
    "kcore": ("insert", {}), "kcore_members": ("insert", {"k": 2}), "mis": ("insert", {}), "coloring": ("delete", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", FORCED)
def test_forced_where_refused(name: str) -> None:
    """If a loop to which rule I does not apply starts from old values, some result differs. Rule I is therefore right
    to refuse the loop.
    """
    how, params = FORCED[name]
    different = 0
    one = program(name)
    for seed in range(20):
        rng = np.random.default_rng(seed)
        graph, pairs = drawn(rng, "", directed=bool(seed & 1))
        edges = change(rng, graph, pairs, "", "delete" if how == "delete" else "insert", False)
        result, changed = one(graph, **params), graph.changed(**edges)
        stages = one.stages()
        written = {write for loop in stages.facts.loops.values() for write in loop.applied}
        old = {field: result.stored(field) for field in result.fields if field in written}
        scalars, _ = bind_parameters(stages.program, changed, dict(params), name)
        forced = one.run(Call(changed, Options(), 32, params, scalars, {}, old))
        anew = one(changed, **params)
        different += any(not np.array_equal(forced[field], anew[field]) for field in anew.fields)
    print(f"{name}: {different} of 20")
    assert different
