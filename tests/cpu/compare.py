"""Compare the engine with the reference interpreter."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from tests.reference.cases import Case
from tests.reference.graph import Array, RefGraph
from tests.reference.graphs import to_graph
from tests.reference.interpreter import run as interpret
from tests.reference.outcome import Outcome
from tests.sample import EXHAUSTIVE
from tests.spelled import spelled
from vlang import Graph, Program, Result
from vlang.check import parse

CUTS: tuple[dict[str, Any], ...] = (
    {"mode": "pull", "threads": 1},
    {"mode": "notify-pull", "threads": 2, "page_size": 64},
    {"mode": "auto", "threads": 3, "page_size": 256},
    {"mode": "pull", "threads": 2, "blocking": "always"},
    {"mode": "auto", "threads": 1, "page_size": 1024, "blocking": "always"},
)

OF_LIBRARY = None if EXHAUSTIVE else (CUTS[0], CUTS[2])
"""The cuts of programs of the library: those whose kernels other tests and the commands of documents need as well."""


_SECOND = (None, 1, 2, None, 3, 2, None, 4)
"""The positions in CUTS among which a checksum of the program text chooses the second cut of a program."""


def cuts_of(program: Program) -> tuple[dict[str, Any], ...]:
    """Return the first entry of CUTS and, for five programs in eight, another entry that the program text determines.
    With VLANG_EXHAUSTIVE, return CUTS.

    Most cuts need their own kernels, and the kernels of cache blocks are the largest, so that few programs run with
    them. `tests/cpu/ways` and
    `tests/cpu/kernels/test_engine_cuts.py` test each way with the same programs.
    """
    if EXHAUSTIVE:
        return CUTS
    second = _SECOND[sum(map(ord, program.source)) % len(_SECOND)]
    return CUTS[:1] if second is None else (CUTS[0], CUTS[second])


def interpreted(program: Program, case: Case, **options: Any) -> Outcome:
    """Return the reference outcome of a case."""
    return interpret(_tree(program.source, program.filename), case.graph, case.params, case.fields, **options)


_tree = lru_cache(maxsize=64)(parse)  # most programs run on several graphs


def engine_run(program: Program, case: Case, graph: Graph | None = None, **options: Any) -> Result:
    """Run a case on the engine and return its result. The vertex ids of test graphs are the dense numbers."""
    return program(graph or to_graph(case.graph), **case.params, **case.fields, **spelled(**options))


def same_bits(a: Array, b: Array) -> bool:
    """Return whether two arrays have the same bits, including NaN and signs of zero."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def assert_cut_free(program: Program, case: Case, cuts: tuple[dict[str, Any], ...] | None = None) -> Result:
    """Assert that every partition of the work gives the same bits; return the result.

    Args:
        cuts: the run options (threads, page sizes, modes) that divide the work; by default the cuts that `cuts_of`
            returns.
    """
    cuts = cuts or cuts_of(program)
    graph = to_graph(case.graph)
    first: Result | None = None
    for cut in cuts:
        result = engine_run(program, case, graph, **cut)
        if first is None:
            first = result
        for name in first.fields:
            assert same_bits(np.asarray(first[name]), np.asarray(result[name])), (program.name, name, cuts[0], cut)
        assert first.globals == result.globals or _nan_equal(first.globals, result.globals), (program.name, cut)
        assert first.converged == result.converged, (program.name, cut)
        others = {row.mode for row in result.history} & {"connect", "priority"}  # under rules K and O, rounds differ
        if not others:
            assert first.rounds == result.rounds, (program.name, cut)
    assert first is not None
    return first


def _nan_equal(a: dict[str, Any], b: dict[str, Any]) -> bool:
    return all(np.array_equal(np.asarray(a[k]), np.asarray(b[k]), equal_nan=True) for k in a)


def in_order(graph: RefGraph) -> Array:
    """Return the stored edges in the order of results: sorted by head, then by tail, then by position in the input."""
    numbers = graph.ordinals(graph.dst, graph.src, np.arange(graph.m))
    return np.lexsort((numbers, graph.src, graph.dst))


def assert_as_interpreted(
    program: Program, case: Case, result: Result, outcome: Outcome, inexact: frozenset[str] | None = None,
    same_rounds: bool = True,
) -> None:
    """Assert that integers are equal to the interpreter's values, and that floats differ by at most 1e-5.

    If `inexact` is given, only the fields in `inexact` may differ by 1e-5; all other fields must be equal.
    """
    for name, want in outcome.fields.items():
        got = np.asarray(result[name])
        exact = got.dtype.kind != "f" if inexact is None else name not in inexact
        if exact:
            assert np.array_equal(got, want, equal_nan=got.dtype.kind in "fM"), (program.source, name, got, want)
        else:
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6, err_msg=f"{program.source}\n{name}")
    order = in_order(case.graph) if outcome.edges else None
    for name, want in outcome.edges.items():
        got = np.asarray(result.edge_states[name])
        assert np.array_equal(got, want[order], equal_nan=got.dtype.kind == "f") or (
            inexact is None and np.allclose(got, want[order], rtol=1e-5, atol=1e-6)), (program.source, name, got, want)
    for name, value in outcome.globals.items():
        np.testing.assert_allclose(result[name], value, rtol=1e-5, atol=1e-6, err_msg=f"{program.source}\n{name}")
    if same_rounds:
        assert result.converged == outcome.converged, (program.source, result.reason, outcome.reason)
    rounds = [loop.rounds for loop in outcome.loops]
    if same_rounds and result.rounds != sum(rounds):
        # The engine may end a counted loop after a superstep without change. The interpreter runs every superstep.
        assert "count" in {loop.reason for loop in outcome.loops}, (program.source, result.rounds, rounds)
        assert result.rounds < sum(rounds), (program.source, result.rounds, rounds)


def case_of(graph: RefGraph, **params: Any) -> Case:
    """Return a case without input fields."""
    return Case(graph, params)
