"""What the proposals of messages mean: a program that has followed them computes what its writer meant.

The meaning of a draft of tests/newcomers/algorithms is computed independently, with NumPy. The mended draft is run by
the interpreter, which takes no compilation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.check.test_drafts import TRIES
from tests.check.test_newcomers import FOLDER, followed
from tests.reference.graphs import ref_graph
from tests.reference.interpreter import run
from vlang.check import parse

N = 9  # vertex 8 has no edges
EDGES = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 4), (3, 4), (4, 0), (5, 4), (5, 3), (6, 5), (4, 6), (2, 6), (7, 6)]
RNG = np.random.default_rng(3)
Array = NDArray[Any]


def both(edges: list[tuple[int, int]] = EDGES) -> Array:
    """The number of edges between two vertices, in both directions, float[N, N]."""
    a = np.zeros((N, N))
    for u, v in edges:
        a[u, v] += 1
        a[v, u] += 1
    return a


def values(text: str, params: Mapping[str, Any] | None = None, fields: Mapping[str, Any] | None = None,
           directed: bool = True, **edges: Any) -> dict[str, Array]:
    """The outputs of a text after the advice of at most TRIES reports."""
    for _ in range(TRIES):
        text = followed(text)
    out = run(parse(text, "draft.vp"), ref_graph(N, EDGES, directed), params or {}, fields or {}, edges, precision=64)
    return {**out.fields, **out.globals}


def draft(name: str) -> str:
    return (FOLDER / "algorithms" / f"{name}.vp").read_text(encoding="utf-8")


def test_a_factor_of_a_gather_is_kept() -> None:
    a, x = both(), np.ones(N)
    scale = np.divide(1, np.sqrt(a.sum(0)), where=a.sum(0) > 0, out=np.zeros(N))
    for _ in range(3):
        x = scale * (a @ (scale * x))
    np.testing.assert_allclose(values(draft("normalised_adjacency"), directed=False, w=np.ones(2 * len(EDGES)))["x"], x)


def test_a_product_with_the_graph_keeps_its_factor() -> None:
    a = np.zeros((N, N))
    a[tuple(zip(*EDGES, strict=True))] = 1
    restart = np.isin(np.arange(N), [2, 3]).astype(float)
    hub = auth = np.ones(N)
    for _ in range(20):
        auth = 0.8 * a.T @ hub + 0.2 * restart
        auth = auth / np.linalg.norm(auth)
        hub = 0.8 * a @ auth + 0.2 * restart
        hub = hub / np.linalg.norm(hub)
    found = values(draft("hits_personal"), {"p": [2, 3]})
    np.testing.assert_allclose(found["hub"], hub)
    np.testing.assert_allclose(found["auth"], auth)


def test_the_mean_of_vectors_keeps_its_default() -> None:
    a, x = both(), RNG.random((N, 4))
    y = x
    for _ in range(2):
        mean = np.where(a.sum(0)[:, None] > 0, a @ y / np.maximum(a.sum(0), 1)[:, None], y)
        y = 0.5 * y + 0.5 * mean
    found = values(draft("average_embedding"), fields={"x": x})["x"]
    np.testing.assert_allclose(found, y / np.linalg.norm(y, axis=1, keepdims=True))


def test_a_set_of_colours_is_counted() -> None:
    near = [set(np.flatnonzero(row)) for row in both()]
    colour = [-1] * N
    while -1 in colour:
        v = max((len({colour[u] for u in near[v]} - {-1}), len(near[v]), v) for v in range(N) if colour[v] < 0)[2]
        colour[v] = min(set(range(N)) - {colour[u] for u in near[v]})
    assert values(draft("colour_dsatur"), directed=False)["colour"].tolist() == colour


def test_cycles_of_three_edges() -> None:
    a = np.zeros((N, N), int)
    a[tuple(zip(*EDGES, strict=True))] = 1
    found = values(draft("directed_triangle_motif"))
    assert found["cycles"].tolist() == np.diag(a @ a @ a).tolist()
    assert found["total"] == np.trace(a @ a @ a) // 3


def test_the_largest_value_of_all_divides_each() -> None:
    a = np.zeros((N, N))
    a[tuple(zip(*EDGES, strict=True))] = 1
    x = np.ones(N)
    for _ in range(5):
        x = 0.5 * a @ x + 0.5 * x
        x = x / x.max()
    np.testing.assert_allclose(values(draft("power_normed"))["x"], x)


def test_steps_edges_and_sizes_of_groups() -> None:
    near = both() > 0
    within = (np.eye(N) + near + near @ near) > 0
    found = values("program p\nvertex n: int = count(true for u in neighborhood(self, 2))\n", directed=False)
    assert found["n"].tolist() == within.sum(1).tolist()
    found = values("program p\nvertex n: int = count(has_edge(self, u) for u -> self)\n")
    assert found["n"].tolist() == [sum((v, u) in EDGES for u, w in EDGES if w == v) for v in range(N)]
    found = values("program p\nvertex k: int = indegree\nvertex n: int = 0\n"
                   "gather best = max(count(*) for u -> self group by u.k)\nwhere indegree > 0:\n    apply n = best\n")
    keys = [[sum(w == u for _, w in EDGES) for u, w in EDGES if w == v] for v in range(N)]
    assert found["n"].tolist() == [max(map(one.count, one), default=0) for one in keys]


def test_a_loop_in_the_habit_of_rust_has_as_many_rounds_as_there() -> None:
    for said, total in (("range(4)", 4), ("0..4", 4), ("0:4", 4), ("1..4", 4), ("range(1, 4)", 3), ("range(2, 5)", 3)):
        assert values(f"program p\nvertex x: int = 0\nfor i in {said}:\n    apply x = x + 1\n")["x"][0] == total
    for said, total in (("range(4)", 6), ("0..4", 6), ("1..4", 10), ("range(1, 4)", 6)):
        assert values(f"program p\nvertex x: int = 0\nfor i in {said}:\n    apply x = x + i\n")["x"][0] == total


@pytest.mark.parametrize(("said", "value"), [
    ("(a + b) ^ 2", 12.25), ("2 * b ^ 2", 8.0), ("round(a + b, 1)", 3.5), ("a > 1 ? b : a * 2", 2.0),
    ("b * (a > 2 ? 1 : b > 1 ? 3 : 4)", 6.0), ("where(a > 2, a, b) + 1", 3.0),
])
def test_expressions_keep_their_brackets(said: str, value: float) -> None:
    found = values(f"program p(a = 1.5, b = 2.0)\nvertex x: float = 0\napply x = {said}\n")
    assert found["x"].tolist() == [value] * N


def test_operands_of_semirings_and_methods_keep_together() -> None:
    text = "program p\nvertex x: float = 2\nvertex y: float = 1\n{}\n"
    into = np.bincount([v for _, v in EDGES], minlength=N)
    found = values(text.format("vertex z: float = plus_times(u.x + 1, u.y + 2 for u -> self)"))
    assert found["z"].tolist() == (9 * into).tolist()
    assert values(text.format("apply y = x.mul(x + 1)"))["y"].tolist() == [6] * N


@pytest.mark.parametrize("said", ["mean(u.y for u -> self) or 4", "coalesce(mean(u.y for u -> self), 4)",
                                  "mean(u.y for u -> self) else 4", "mean(u.y for u -> self, 4)",
                                  "mean(u.y for u -> self, or 4)", "mean(u.y for u -> self) ?? 4"])
def test_a_value_for_no_edges_is_a_default(said: str) -> None:
    out = np.bincount([u for u, _ in EDGES], minlength=N)
    want = [np.mean([out[u] for u, w in EDGES if w == v] or 4) for v in range(N)]
    text = "program p\nvertex y: float = outdegree\nvertex x: float = 0\ngather b = {}\napply x = b\n"
    np.testing.assert_allclose(values(text.format(said))["x"], want)


@pytest.mark.parametrize(("said", "value"), [
    ("2 * (mean(u.y for u -> self) or 4) + 1", 9), ("2 * coalesce(sum(u.y for u -> self), 4)", 8),
    ("sum(u.y for u -> self) or 4", 4),
])
def test_a_value_for_no_edges_keeps_what_is_computed_with_it(said: str, value: float) -> None:
    text = f"program p\nvertex y: float = 1\nvertex x: float = 0\ngather b = {said}\napply x = b\n"
    assert values(text)["x"][8] == value


@pytest.mark.parametrize("said", ["normalize x", "x.normalise()", "x = normalize(x)"])
def test_a_normalised_field_adds_up_to_one(said: str) -> None:
    a, x = np.zeros((N, N)), np.ones(N)
    a[tuple(zip(*EDGES, strict=True))] = 1
    for _ in range(3):
        x = a.T @ x
        x = x / x.sum()
    text = "program p\nvertex x: float = 1\nrepeat 3 times:\n    gather s = sum(u.x for u -> self)\n    {}\n"
    np.testing.assert_allclose(values(text.format(f"apply x = s\n    {said}"))["x"], x)
    np.testing.assert_allclose(values(text.format("apply x = normalize(s)"))["x"], x)


@pytest.mark.parametrize("said", ["x @ W", "(x + x) @ W"])
def test_no_proposal_takes_a_matrix_for_its_transpose(said: str) -> None:
    text = f"program p(W: float[2, 2])\nvertex x: float[2]\nvertex y: float[2] = 0\napply y = {said}\n"
    assert followed(text) == text


FIELDS = ("program p(q: vertex, seed: int = 1)\nedge w: float = 1\nvertex x: float = degree * degree % 7\n"
          "vertex c: vertex = self\ngather near = min(u for u -> self)\nwhere near != none:\n    apply c = near\n")
Q = {"q": 3}
X = both().sum(0) ** 2 % 7


def test_a_value_of_this_vertex_is_not_that_of_the_other() -> None:
    """`v.x - x` is not `v.x - v.x`, and `v.c == self` is not `v.c == v`."""
    least = [min((u for u, w in EDGES if w == v), default=v) for v in range(N)]
    for said, meant in (("count(v.c == self for v in vertices)", [least.count(v) for v in range(N)]),
                        ("count(v.x > x for v in vertices)", (X[:, None] > X).sum(0)),
                        ("max(abs(v.x - x) for v in vertices) / 2", abs(X[:, None] - X).max(0) / 2),
                        ("count(true for v in vertices if v != self and v.x == x)", (X[:, None] == X).sum(0) - 1),
                        ("x / sum(x for v in vertices)", X / X.sum())):
        found = values(f"{FIELDS}vertex n: float = {said}\n".replace("float = count", "int = count"), Q)["n"]
        np.testing.assert_allclose(found, meant, err_msg=said)
    for said in ("let n = sum(abs(v.x - x) for v in vertices)", "let n = count(v != self for v in vertices)",
                 "vertex n: float = sum(v.x * x for v in vertices if v.c == self)"):
        assert followed(FIELDS + said + "\n") == FIELDS + said + "\n", "none of these has another meaning"


def test_a_write_to_one_vertex_is_no_write_to_all() -> None:
    a, chosen, rank = both(), np.zeros(N, bool), np.zeros(N)
    discount = degree = a.sum(0)
    for step in range(3):
        best = max((discount[v], v) for v in range(N) if not chosen[v])[1]
        chosen[best], rank[best] = True, step + 1
        near = a @ chosen
        discount = degree - 2 * near - (degree - near) * near * 0.01
    found = values(draft("degree_discount"), {"k": 3})
    assert found["chosen"].tolist() == chosen.tolist()
    assert found["rank"].tolist() == rank.tolist()
    assert values(f"{FIELDS}for v in vertices:\n    v.x += 1\n", Q)["x"].tolist() == (X + 1).tolist()
    assert values(f"{FIELDS}q.x = q.x + 2\n", Q)["x"].tolist() == [x + 2 * (v == 3) for v, x in enumerate(X)]


def test_a_set_of_which_the_least_free_number_is_read_is_no_minimum() -> None:
    a, colour = both(), np.full(N, -1)
    for v in sorted(range(N), key=lambda v: (a[v].sum(), v), reverse=True):
        colour[v] = min(set(range(N)) - {colour[u] for u in np.flatnonzero(a[v])})
    found = values(draft("largest_degree_first"), directed=False)
    assert found["colour"].tolist() == colour.tolist()
    assert found["conflicts"] == 0


@pytest.mark.parametrize(("said", "meant"), [
    ("asin(x / 9)", np.arcsin(X / 9)), ("acos(x / 9)", np.arccos(X / 9)), ("atan(x)", np.arctan(X)),
    ("sinh(x)", np.sinh(X)), ("cosh(x)", np.cosh(X)), ("expm1(x)", np.expm1(X)), ("exp10(x)", 10.0 ** X),
    ("square(x + 1)", (X + 1) ** 2), ("cbrt(x)", np.cbrt(X)), ("rsqrt(x + 1)", 1 / np.sqrt(X + 1)),
    ("log10(x + 1)", np.log10(X + 1)), ("sigmoid(x - 3)", 1 / (1 + np.exp(3 - X))),
    ("leaky_relu(x - 3, 0.2)", np.where(X > 3, X - 3, 0.2 * (X - 3))), ("mod(x + 1, 4)", (X + 1) % 4),
    ("hypot(x, x + 1)", np.hypot(X, X + 1)), ("choose(degree, 2)", both().sum(0) * (both().sum(0) - 1) / 2),
    ("2 * lerp(1, x, 0.5)", 1 + X), ("softplus(x)", np.log1p(np.exp(X))), ("float(isinf(1 / x))", X == 0),
])
def test_functions_of_other_languages(said: str, meant: Array) -> None:
    """`asin` is not taken for a misspelled `sin`."""
    np.testing.assert_allclose(values(f"{FIELDS}vertex y: float = {said}\n", Q)["y"], meant)


@pytest.mark.parametrize("said", ["sort(x)", "argsort(x)", "distance(x)", "logb(x)", "abs2(x)", "selu(x)", "gamma(x)"])
def test_a_function_that_the_language_does_not_have_is_no_other(said: str) -> None:
    text = f"{FIELDS}vertex y: float = {said}\n"
    assert followed(text) == text


def test_random_numbers_differ_between_vertices_edges_and_rounds() -> None:
    for said, key in (("rand()", "random(seed, self)"), ("rand(seed, 5)", "random(seed, 5, self)"),
                      ("rand() + rand()", "random(seed, self) + random(seed, self, 2)"),
                      ("random.random()", "random(seed, self)")):
        assert followed(f"{FIELDS}vertex y: float = {said}\n").endswith(f"= {key}\n")
    for head, turn in (("repeat 3 times:", "iteration"), ("for i from 1 to 3:", "i"), ("for i in range(3):", "i")):
        text = f"{FIELDS}vertex y: bool = false\n{head}\n    gather g = any(rand() < 0.5 for u -> self)\n" \
            "    apply y = g\n"
        assert f"any(random(seed, edge, {turn}) < 0.5 for u -> self)" in followed(text)


def test_a_value_of_the_graph_over_its_edges() -> None:
    text = "program p\nvertex b: bool = degree > 4\nglobal n: int = count(u.b == v.b for u {} v)\n"
    for arrow, times in (("->", 1), ("--", 2)):
        same = sum((both()[u].sum() > 4) == (both()[v].sum() > 4) for u, v in EDGES)
        assert values(text.format(arrow))["n"] == times * same


def test_a_search_by_edges_and_a_product_of_two_columns() -> None:
    a = np.zeros((N, N))
    a[tuple(zip(*EDGES, strict=True))] = weight = RNG.random(len(EDGES))
    hub = auth = np.ones(N)
    for _ in range(50):
        auth = a.T @ hub
        auth = auth / np.linalg.norm(auth)
        hub = a @ auth
        hub = hub / np.linalg.norm(hub)
    np.testing.assert_allclose(values(draft("hits_weighted"), weight=weight)["hub"], hub, atol=1e-9)
    friends = np.array([0.1 if k % 2 else 0.05 for k in range(len(EDGES))])
    a[tuple(zip(*EDGES, strict=True))] = friends
    found = values(draft("katz_by_type"), type=np.array(["friend" if k % 2 else "work" for k in range(len(EDGES))]))
    np.testing.assert_allclose(found["katz"], np.linalg.solve(np.eye(N) - a.T, np.ones(N)), rtol=1e-5)


@pytest.mark.parametrize("said", [
    "max(abs(v.x - v.x_new) for v in vertices)", "sum(v.max_x for v in vertices)", "x2", "degree_max",
    "hmean(v.x for v in vertices)", "cumsum(v.x for v in vertices)", "spread(v.x for v in vertices)",
])
def test_a_name_with_another_word_is_another_name(said: str) -> None:
    """`x_new` is not taken for a misspelled `x`, and `cumsum` not for `sum`."""
    text = f"{FIELDS}global n: float = {said}\n"
    assert followed(text) == text


def test_the_value_before_a_superstep() -> None:
    text = f"{FIELDS}repeat until max(abs(v.x - v.x_old) for v in vertices) < 1:\n    apply x = x / 2\n"
    assert values(text, Q)["x"].tolist() == (X / 2 ** (np.floor(np.log2(X.max())) + 1)).tolist()


def test_what_a_vertex_sends_has_the_condition_of_the_sender() -> None:
    a = np.zeros((N, N))
    a[tuple(zip(*EDGES, strict=True))] = 1
    block = "vertex y: float = 0\n{}gather got = sum(m for m in messages)\napply y = got\n"
    for sends, meant in (("where x > 1:\n    send(x + 1)\n", a.T @ np.where(X > 1, X + 1, 0)),
                         ("where x > 1:\n    apply y = 1\n    send(x + 1)\n", a.T @ np.where(X > 1, X + 1, 0))):
        assert values(FIELDS + block.format(sends), Q)["y"].tolist() == meant.tolist()
    changed = FIELDS + block.format("where x > 1:\n    send(x + 1)\n    apply x = 0\n")
    assert "messages" in followed(changed), "the value is gathered before it changes"


@pytest.mark.parametrize("body", [
    "for v in vertices:\n    total = 0\n    for u in v.neighbors:\n        total += u.x\n    v.x = total + v.x\n",
    "for v in vertices:\n    for u in v.neighbors:\n        v.x += u.x\n",
    "for v in vertices:\n    v.x += sum(u.x for u -- v)\n",
    "total = 0\nfor u in self.neighbors:\n    total += u.x\nx = x + total\n",
    "gather total = sum(u.x for u -- self)\nx, c = x + total, c\n",
])
def test_a_loop_over_all_vertices_runs_once_for_each(body: str) -> None:
    assert values(FIELDS + body, Q)["x"].tolist() == (both() @ X + X).tolist()


def test_the_values_of_a_column_are_not_lost() -> None:
    """No proposal makes a state that begins with the default of a column, or a vertex field of what edges have."""
    for body in ("apply w = w / 2 for u -> self", "gather g = sum(w for u -> self)\napply w = g", "apply x = x + w"):
        text = FIELDS.replace("edge w", "edge weight") + body.replace("w", "weight") + "\n"
        assert followed(text) == text


def test_a_loop_that_ends_by_its_edges() -> None:
    x, steps = X, 0
    while not steps or (both() * abs(x[:, None] - x)).sum() >= 5:
        x, steps = x / 2, steps + 1
    found = values(f"{FIELDS}repeat until sum(abs(u.x - x) for u -- self) < 5:\n    apply x = x / 2\n", Q)
    assert found["x"].tolist() == x.tolist()


def test_what_a_least_value_of_nothing_is() -> None:
    least = [min((X[u] for u, w in EDGES if w == v), default=9) for v in range(N)]
    for said in ("g != none", "g is not None", "null != g"):
        text = f"{FIELDS}gather g = min(u.x for u -> self)\napply x = g if {said} else 9\n"
        assert values(text, Q)["x"].tolist() == least


def test_a_reduction_without_a_domain_is_over_all_vertices() -> None:
    for said, meant in (("vertex y: float = x / sum(x)", X / X.sum()),
                        ("vertex y: float = 0\nwhere x == max(x):\n    apply y = 1", X.max() == X)):
        np.testing.assert_allclose(values(f"{FIELDS}{said}\n", Q)["y"], meant)
