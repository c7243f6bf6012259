"""Vector and matrix parameters, `@`, and reductions of the components of a vector are right on both targets."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.cpu.both import assert_both
from tests.cpu.compare import engine_run, interpreted, same_bits
from tests.reference.cases import Case
from tests.reference.graphs import family, to_graph
from vlang import BindError, compile

LAYER = """program layer(k: const = 3, l: const = 2, W: float[l, k], b: float[l] = 0, s: i16[k] = 3,
              on: bool[2] = [true, false], start: f16[k] = 0.1, turn = [[0, -1], [1, 0]])
vertex x: float[k] = start
vertex y: float[l] = 0
vertex z: i16[k]   = s * 2
vertex m: float    = mean(x) + mean(s) + b[1]
vertex i: int      = argmax(x) * 10 + argmin(z)
vertex t: bool     = on[0] and not on[indegree]
vertex q: float[2] = turn @ [outdegree, 2]
vertex r: float[2] = [[1, 2, 3], [0.5, 0, 1]] @ [1, outdegree, 3]
fn relu(a: float[l]): float[l] = max(a, 0)
fn dense(A: float[l, k], a: float[k]): float[l] = A @ a + b
apply x = x + [indegree, 1, 2][0] - s
repeat 2 times:
    gather a = sum(W @ u.x for u -> self)
    apply  y = relu(a + dense(W, x) / (1 + indegree))
    apply  i = argmax(y) + argmin(x)
global g: float = max(dot(v.y, b) for v in vertices) + dot(b, b)
"""
"""Vectors and matrices of every kind, with every default."""

W = np.arange(6, dtype=np.float32).reshape(2, 3) / 4 - 0.5


@pytest.mark.parametrize("given", [
    {"W": W, "b": np.array([0.25, -1.5])},
    {"W": (np.arange(20) / 8).reshape(5, 4).T.tolist(), "b": [0.5, 1, 2, 3], "k": 5, "l": 4, "s": [1, -2, 3, 4, 32000],
     "on": [False, True], "turn": [[2, 1], [1, 1]], "start": [0.5, 1, 3, 4, 1000]},
], ids=["defaults", "all given"])
def test_layers(given: dict[str, Any]) -> None:
    if "k" not in given:
        given = {**given, "k": 3}
    assert_both(LAYER, Case(family("messy"), given), ways=1)


LONG = """program long(k: const = 19, l: const = 5, W: float[l, k], V: float[k, k], c: float[k] = 0.5,
             start: f16[k] = 0.25)
edge weight: float = 0.5
vertex x: float[k] = start
vertex y: f64[k]   = c * 3
vertex low: float  = 0
vertex s: float[l] = 0
vertex n: int      = 0
global g: float = max(dot(v.x, c) for v in vertices)
repeat at most 4 times:
    gather a = sum(u.x * weight for u -> self)
    gather b = max(u.x - c for u -> self if u.indegree > 1, default = x)
    gather d = min(abs(u.y) for self -> u)
    gather m = count(u.low > 1 for u -> self)
    apply  x = (sqrt(abs(a) + 1) if m > 0 else -a) / (1 + indegree) + min(b, V @ x)
    apply  y = y + x - max(x, c) * d[0] if d[1] < 100 else y - x
    apply  s = W @ max(a, 0)
    apply  low = sum(x) + dot(x, a)
    apply  n = n + 1
    activate when changed(x)
gather last = sum(u.x for u -> self)
apply x = last + reverse(c) * x[3]
"""
"""Long vectors, which are single values in CPU kernels, with short vectors and scalars in the same pass."""


def test_long_vectors() -> None:
    draw = np.random.default_rng(7)
    given = {"W": draw.random((5, 19)) - 0.5, "V": draw.random((19, 19)) - 0.5}
    assert_both(LONG, Case(family("messy"), given), ways=1)


def test_texts_do_not_grow_with_vectors() -> None:
    """An additional component adds lines to the kernel text only for reads of f16 arrays and for `reverse`, which
    reorders components.

    The time to compile is proportional to the number of lines. The matrices have 360 and 899 numbers.
    """
    graph = to_graph(family("messy"))
    short, long = (len(compile(LONG, k=k, l=k - 2).lower(graph).plan.text.splitlines()) for k in (20, 31))
    assert long - short <= 4 * 11


def test_order_of_storage() -> None:
    """A transposed or strided array is read in the order of its indices, whatever its memory layout."""
    program = compile("program p(W: float[2, 3])\nvertex x: float[2] = W @ [1, 10, 100]\n")
    graph = to_graph(family("messy"))
    want = program(graph, W=W.copy()).x
    for other in (np.asfortranarray(W), np.repeat(W, 2, axis=1)[:, ::2], W.tolist(), W.astype(np.float64)):
        assert same_bits(program(graph, W=other).x, want)
    assert want[0].tolist() == [float(row @ [1, 10, 100]) for row in W]


@pytest.mark.parametrize(("value", "said"), [
    (W.T, "not one of shape (3, 2)"), (W.ravel(), "not one of shape (6,)"), (3, "not one of shape ()"),
    ([["a"] * 3] * 2, "not one of <U1"), ([[1, 2], [3]], "its rows have different lengths"),
])
def test_wrong_matrices(value: Any, said: str) -> None:
    program = compile("program p(W: float[2, 3])\nvertex x: float[2] = W @ [1, 10, 100]\n")
    with pytest.raises(BindError) as error:
        program(to_graph(family("messy")), W=value)
    assert str(error.value).startswith("`W` is an array of 2 x 3 numbers (f32[2, 3])")
    assert str(error.value).endswith(said)
    with pytest.raises(BindError, match=r"p needs `W`, an array \(f32\[2, 3\]\): W=\.\.\."):
        program(to_graph(family("messy")))


def test_integers_and_precision() -> None:
    text = "program p(A: i8[2, 2])\nvertex x: i8[2] = A @ [i8(outdegree), 100]\nvertex m: float = mean(x)\n"
    program, case = compile(text), Case(family("messy"), {"A": [[1, 1], [-1, 2]]})
    for precision in (32, 64):
        result, wanted = engine_run(program, case, precision=precision), interpreted(program, case, precision=precision)
        assert np.array_equal(result.x, wanted.fields["x"])
        assert same_bits(result.m, wanted.fields["m"])
    assert result.x.max() == 127, "too large for an i8"


def test_trap_mode_reads_every_step() -> None:
    program = compile("program p(W: float[2, 2])\nvertex x: float[2] = W @ [1e30, 1]\n")
    with pytest.raises(Exception, match="becomes infinite"):
        program(to_graph(family("messy")), W=[[1e30, 1], [0, 0]], trap=True)
