"""Random programs, each with several graphs, and a test that compares the engine with the interpreter on one case.

A case is a file `tests/found/NAME.vp`, next to NAME.json with the graph and the other inputs.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from tests.cpu.compare import assert_as_interpreted, engine_run, interpreted
from tests.cuda.runs import emulated
from tests.fixed_draws import fix_draws
from tests.fuzz.edge_states import edge_state_programs
from tests.fuzz.named import named_programs
from tests.fuzz.wide import wide_programs
from tests.reference.cases import Case, simple_graph
from tests.reference.generators.nested import nested_programs
from tests.reference.generators.programs import Generated, programs
from tests.reference.generators.programs_values import value_programs
from tests.reference.graph import RefGraph, ref_graph
from tests.reference.graphs import listed_once
from tests.sample import EXHAUSTIVE
from vlang import Program, compile
from vlang.errors import ChaosError, VlangError
from vlang.runtime.cpu.crew import launch
from vlang.runtime.cpu.ways import push, reach

__all__ = ["GRAPHS", "Fuzzed", "drawn", "examples", "judge", "load_case", "save_case", "variants"]

fix_draws()  # needed if the module is used outside of pytest

GRAPHS = 5  # number of graphs for each program
CUTS: tuple[dict[str, Any], ...] = (
    {"mode": "auto", "threads": 2, "page_size": 64}, {"mode": "pull", "threads": 1},
    {"mode": "notify-pull", "threads": 3, "page_size": 256}, {"mode": "push", "threads": 2},
    {"mode": "pull", "threads": 2, "blocking": "always"}, {"chaos": 1},
)
GPU_CUTS: tuple[dict[str, Any], ...] = (
    {"kernel": "auto", "mode": "auto"}, {"kernel": "thread", "mode": "pull", "page_size": 256},
    {"kernel": "warp-segmentation", "mode": "notify-pull", "page_size": 64}, {"kernel": "edge", "mode": "push"},
    {"kernel": "stream", "mode": "notify-pull", "streams": 3}, {"kernel": "virtual-warp-4", "mode": "push"},
)
_KINDS = (programs, wide_programs, nested_programs, wide_programs, value_programs, wide_programs,
          named_programs, edge_state_programs)


@dataclass(frozen=True, eq=False)
class Fuzzed:
    """The inputs of one run.

    Attributes:
        text: The program.
        graph: The graph.
        params: The parameters, with vertices as dense numbers.
        fields: Input fields.
        inexact: The fields that may be rounded.
        precision: The bits of `int` and `float`.
    """

    text: str
    graph: RefGraph
    params: dict[str, Any]
    fields: dict[str, Any]
    inexact: frozenset[str] = frozenset()
    precision: int = 32


def examples(least: int) -> int:
    """Return the number of programs that a test of Hypothesis runs: `least`, or a tenth of VLANG_FUZZ if this is more.

    With VLANG_EXHAUSTIVE, `least` is sixteen times as large.
    """
    least *= 16 if EXHAUSTIVE else 1
    return max(least, int(os.environ.get("VLANG_FUZZ", "0")) // 10)


def drawn(seed: int, count: int, states: bool = False) -> list[Generated]:
    """Return `count` programs, whose kinds alternate. The same seed gives the same programs.

    Args:
        seed: The seed.
        count: The number of programs.
        states: Whether all programs have edge states.
    """
    found: list[list[Generated]] = []
    kinds = (edge_state_programs,) if states else _KINDS
    for number, kind in enumerate(kinds):
        found.append(_drawn(kind(), 1000 * seed + number, -(-count // len(kinds))))
    return list(itertools.chain.from_iterable(zip(*found, strict=True)))[:count]


def _drawn(strategy: st.SearchStrategy[Generated], seed: int, count: int) -> list[Generated]:
    """Return distinct programs drawn by Hypothesis.

    The function does not run the programs, so that nothing fails and nothing is shrunk.
    """
    found: dict[str, Generated] = {}

    @seeded(seed)
    @settings(max_examples=2 * count + 10, database=None, phases=(Phase.generate,), deadline=None,
              suppress_health_check=list(HealthCheck))
    @given(strategy)
    def collect(made: Generated) -> None:
        found[made.text] = made

    collect()
    return list(found.values())[-count:]  # the first ones are the simplest


def variants(made: Generated, count: int = GRAPHS, precision: int = 32) -> Iterator[Fuzzed]:
    """Yield the program with its own graph, and with other graphs that have the same kinds of columns.

    The other graphs are of several kinds: reversed graphs, denser graphs with half of the edges at one vertex, larger
    graphs, and graphs with all edges in both directions.
    """
    own = made.graph
    rng = np.random.default_rng(own.m + 31 * own.n + len(made.text))
    yield Fuzzed(made.text, own, made.params, made.fields, made.inexact, precision)
    turned = replace(own, src=own.dst, dst=own.src)
    for number in range(1, count):
        n = (own.n, own.n, own.n + 13, own.n + 5)[number % 4]
        graph = turned if number == 1 else _like(own, n, 3 * n if number % 2 else 2 * n, number, rng)
        graph = _required(made.text, graph)
        fields = {name: np.resize(values, (graph.n, *values.shape[1:])) for name, values in made.fields.items()}
        yield Fuzzed(made.text, graph, made.params, fields, made.inexact, precision)


def _like(graph: RefGraph, n: int, m: int, number: int, rng: np.random.Generator) -> RefGraph:
    """Return a random graph with the columns of another graph.

    Args:
        number: the number of the variant.
    """
    directed = number % 4 != 3
    ends = rng.integers(0, n, (m, 2))
    if number % 4 == 2 and n:
        ends[: m // 2, number % 8 // 4] = n // 2
    columns = {name: _column(column, m, rng) for name, column in graph.columns.items()}
    for name, column in graph.columns.items():
        if column.dtype.kind == "i" and column.max(initial=0) > 9:
            far = rng.choice(np.array([1 << 30, (1 << 31) - 2, (1 << 31) - 1], column.dtype), m)
            columns[name] = np.where(rng.random(m) < 0.3, far, columns[name])
    return ref_graph(n, [(int(u), int(v)) for u, v in ends], directed, **columns)


def _required(text: str, graph: RefGraph) -> RefGraph:
    """Return the graph, or a similar graph that meets the requirements of the program."""
    if "require simple" in text:
        return simple_graph(graph, "require undirected" not in text)
    if "require undirected" in text and graph.directed:
        edges = list(zip(graph.src.tolist(), graph.dst.tolist(), strict=True))
        return ref_graph(graph.n, edges, False, **graph.columns)
    return graph


def _column(column: Any, m: int, rng: np.random.Generator) -> Any:
    if column.dtype.kind in "OM":
        return np.resize(column, m)[rng.permutation(m)] if len(column) else _anything(column.dtype, m)
    values = rng.integers(0, 33, m) / 4 if column.dtype.kind == "f" else rng.integers(0, 10, m)
    return values.astype(column.dtype)


def _anything(dtype: Any, m: int) -> Any:
    return np.full(m, "road", object) if dtype.kind == "O" else np.full(m, np.datetime64("2024-05-02"), dtype)


def judge(case: Fuzzed, program: Program | None = None, cut: int = 0, gpu: bool = False) -> None:
    """Compare the engine with the interpreter: with two sets of options on the CPU, or with one set on an emulated GPU.

    Args:
        case: The program with its inputs.
        program: The compiled text, if it exists already.
        cut: The number of the first set of options. With odd numbers, a CPU run uses many workers on few vertices.
        gpu: Whether to run on an emulated GPU instead of the CPU.

    Raises AssertionError if results differ, and the errors of the engine or the compiler. If the result of a declared
    reduction does not fit its type, engine and interpreter must both raise an error.
    """
    program = program or compile(case.text, precision=case.precision)
    given_case = Case(case.graph, case.params, case.fields)
    try:
        outcome = interpreted(program, given_case, precision=case.precision)
    except OverflowError:
        outcome = None
    for number in (cut,) if gpu else (cut, cut + 1):
        try:
            options = {**GPU_CUTS[number % len(GPU_CUTS)], "device": "emulated"} if gpu else CUTS[number % len(CUTS)]
            with emulated(seed=number) if gpu else _crowded(number % 2 == 1):
                result = engine_run(program, given_case, **options)
        except ChaosError:
            raise
        except VlangError:
            if outcome is None:
                continue
            raise
        assert outcome is not None, f"the interpreter refuses this, and the engine does not:\n{case.text}"
        assert_as_interpreted(program, given_case, result, outcome, case.inexact, same_rounds=False)


@contextmanager
def _crowded(so: bool) -> Iterator[None]:
    """Return a context manager in which launches use all workers for any amount of work, if `so` is true."""
    before = launch._SMALL, push._SMALL, reach._NARROW
    if so:
        launch._SMALL = push._SMALL = reach._NARROW = 0
    try:
        yield
    finally:
        launch._SMALL, push._SMALL, reach._NARROW = before


# ------------------------------------------------------------------ as files


def save_case(case: Fuzzed, folder: Path, name: str, why: str) -> Path:
    """Save a case; return the path of its program.

    Args:
        case: The case.
        folder: The directory for both files.
        name: The name of the files.
        why: A line with the reason, for readers of the file.
    """
    src, dst, columns = listed_once(case.graph)
    text = {
        "why": why, "n": case.graph.n, "directed": case.graph.directed, "src": src.tolist(), "dst": dst.tolist(),
        "columns": {name: _listed(values) for name, values in columns.items()}, "params": case.params,
        "fields": {name: _listed(np.asarray(values)) for name, values in case.fields.items()},
        "inexact": sorted(case.inexact), "precision": case.precision,
    }
    path = folder / f"{name}.vp"
    path.with_suffix(".json").write_text(json.dumps(text, indent=1) + "\n")
    path.write_text(case.text)
    return path


def _listed(values: Any) -> dict[str, Any]:
    return {"dtype": values.dtype.name, "values": (values.astype(str) if values.dtype.kind == "M" else values).tolist()}


def load_case(path: Path) -> Fuzzed:
    """Read a saved case.

    Args:
        path: the path of its program.
    """
    kept = json.loads(path.with_suffix(".json").read_text())
    columns = {name: np.array(c["values"], c["dtype"]) for name, c in kept["columns"].items()}
    edges = list(zip(kept["src"], kept["dst"], strict=True))
    fields = {name: np.array(c["values"], c["dtype"]) for name, c in kept["fields"].items()}
    graph = ref_graph(kept["n"], edges, kept["directed"], **columns)
    return Fuzzed(path.read_text(), graph, kept["params"], fields, frozenset(kept["inexact"]),
                  kept.get("precision", 32))
