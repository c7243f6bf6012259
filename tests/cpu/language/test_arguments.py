"""Arguments for parameters and fields of every type: values at the limits of the type, and values that do not fit."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

from tests.spelled import spelled
from vlang import Error, Graph, compile

INF = float("inf")
GRAPH = Graph.from_edges([5, 7], [7, 9])
PROGRAM = compile("""program arguments(
    real = 1.5, half: f16 = 0.5, wide: f64 = 2, big: u64 = 3, small: i8 = 1, on = true, near: vertex = none)
vertex i: i32 = 0
vertex l: i64 = 0
vertex u: u64 = 0
vertex h: f16 = half
vertex f: float = real
vertex b: bool = on
vertex v: vertex = near
global halves: f16 = half * 2
global large: u64 = big
""")

FITS: list[tuple[dict[str, Any], str, list[Any]]] = [
    ({"half": 0.25}, "h", [0.25] * 3),
    ({"half": INF}, "h", [INF] * 3),
    ({"h": [INF, -0.0, 6e-8]}, "h", [INF, -0.0, 6e-8]),
    ({"real": -INF}, "f", [-INF] * 3),
    ({"f": [INF, -INF, 3e38]}, "f", [INF, -INF, np.float32(3e38)]),
    ({"real": np.float32(2)}, "f", [2.0] * 3),
    ({"l": [-(2.0**63), 0, INF]}, "l", [-(2**63), 0, 2**63 - 1]),
    ({"i": [INF, -INF, 3]}, "i", [2**31 - 1, -(2**31), 3]),
    ({"u": [2.0**64 - 2048, 0, -0.0]}, "u", [2**64 - 2048, 0, 0]),
    ({"b": [1, 0, 1]}, "b", [True, False, True]),
    ({"v": [9, None, 5]}, "v", [9, -1, 5]),
    ({"near": 7}, "v", [7] * 3),
]

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"half": 1e9}, "`half` is an f16; 1e+09 does not fit, f16 ends at 65504; declare a wider type"),
    ({"h": [0, -1e9, 1]}, "`h` is an array of f16; -1e+09 does not fit, f16 ends at 65504"),
    ({"h": np.array([0, 70_000, 1])}, "`h` is an array of f16; 70000 does not fit, f16 ends at 65504"),
    ({"real": 1e300}, "`real` is an f32; 1e+300 does not fit, f32 ends at 3.40282e+38; --precision 64"),
    ({"f": [INF, 1e300, 0]}, "`f` is an array of f32; 1e+300 does not fit"),
    ({"real": 10**400}, "`real` is an f32; a number this large does not fit"),
    ({"half": 10**400}, "`half` is an f16; a number this large does not fit"),
    ({"small": 10**400}, "from -128 to 127; a number this large does not fit"),
    ({"real": "3"}, "`real` is a number"),
    ({"real": True}, "`real` is a number"),
    ({"real": 1j}, "`real` is a number"),
    ({"on": 1}, "`on` is true or false"),
    ({"big": INF}, "`big` is a whole number"),
    ({"big": float("nan")}, "`big` is a whole number"),
    ({"big": 2.0**64}, "18446744073709551616 does not fit"),
    ({"big": -1}, "does not fit"),
    ({"small": 128}, "from -128 to 127; 128 does not fit"),
    ({"small": 1.5}, "`small` is a whole number"),
    ({"near": 6}, "vertex 6 is not in the graph"),
    ({"l": [2.0**63, 0, 0]}, "some values do not fit"),
    ({"u": [2.0**64, 0, 0]}, "some values do not fit"),
    ({"u": [-1, 0, 0]}, "some values do not fit"),
    ({"u": [INF, 0, 0]}, "which has no inf"),
    ({"i": [0.5, 0, 0]}, "some values do not fit"),
    ({"i": [float("nan"), 0, 0]}, "some values are NaN"),
    ({"i": [1, 2]}, "an array of 3 values"),
    ({"i": ["a", "b", "c"]}, "an array of numbers"),
    ({"i": [2**70, 0, 0]}, "an array of numbers"),
    ({"b": [2, 0, 1]}, "truth values"),
    ({"v": [5, 7, 8]}, "vertex 8 is not in the graph"),
    ({"asynchronous": "no"}, "asynchronous is True or False"),
    ({"threads": 0}, "threads is a whole number from 1 on"),
    ({"threads": True}, "threads is a whole number"),
    ({"max_rounds": 1.5}, "max_rounds is a whole number"),
    ({"page_size": 0}, "page_size is a number of bytes or a size"),
    ({"mode": "pushed"}, "mode is one of"),
    ({"precision": 16}, "precision is 32 or 64"),
    ({"progress": 3}, "progress is True, False or a function"),
    ({"thread": 2}, "did you mean `threads`"),
]


@pytest.mark.parametrize(("given", "field", "want"), FITS)
def test_fits(given: dict[str, Any], field: str, want: list[Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = PROGRAM(GRAPH, **spelled(**given))
    got = result[field]
    assert np.array_equal(got, np.array(want, got.dtype)), got


@pytest.mark.parametrize(("given", "message"), WRONG)
def test_wrong(given: dict[str, Any], message: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(Error) as raised:
            PROGRAM(GRAPH, **spelled(**given))
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_repeated_vertex_of_a_list_is_said() -> None:
    program = compile("program p(S: vertices)\nglobal share: float = 1 / len(S)\n")
    graph = Graph.read("karate")
    assert program(graph, S=[1, 34]).warnings == ()
    result = program(graph, S=[34, 1, 34, 34])
    assert result.warnings == ("the list `S` has vertex 34 more than once; `len(S)` is 4, and its vertices are 2",)


@pytest.mark.parametrize("name", ["f", "h", "pair"])
def test_a_missing_number_is_said(name: str) -> None:
    """If a Series has no value for a vertex, the field has NaN for this vertex, and a warning names the vertex."""
    program = compile("program p\nvertex f: float = 0\nvertex h: f16 = 0\nvertex pair: float[2] = [0.0, 0.0]\n")
    values = np.array([[0, 1], [2, np.nan], [3, 4]]) if name == "pair" else np.array([0, np.nan, np.nan])
    result = program(GRAPH, **{name: values})
    assert result.warnings == (f"vertex field `{name}` is NaN at vertex 7; results that depend on such values are NaN "
                               "or skip them",)
    assert program(GRAPH, **{name: np.nan_to_num(values)}).warnings == ()


def test_globals_of_narrow_types() -> None:
    result = PROGRAM(GRAPH, half=0.3, big=2**64 - 1)
    assert result.globals == {"halves": float(np.float16(np.float32(np.float16(0.3)) * 2)), "large": 2**64 - 1}


HUGE: list[dict[str, Any]] = [{"page_size": 2**62 - 1}, {"page_size": 1}, {"threads": 1000}, {"max_rounds": 10**30}]


@pytest.mark.parametrize("huge", HUGE, ids=str)
def test_extreme_options(huge: dict[str, Any]) -> None:
    assert list(PROGRAM(GRAPH, **spelled(**huge)).f) == [1.5] * 3
