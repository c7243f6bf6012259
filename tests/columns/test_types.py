"""Edge fields of type f16 and bool read columns of every stored dtype: in memory, from page files, and on a GPU.

The stored bits of these two types are not the bits of the number that programs compute with. All other types occur in
the tests of programs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import vlang
from tests.cpu.compare import case_of, engine_run, interpreted, same_bits
from tests.cuda.runs import emulated
from tests.fuzz.cases import CUTS, GPU_CUTS
from tests.reference.cases import Case
from tests.reference.graphs import random_graph, to_graph
from vlang import Graph
from vlang.errors import GraphError

# A pass, a search in priority order, and pushed sums.
NUMBERS = """
program p(source: vertex)
edge w: f16 = 1
vertex given: f64 = sum(f64(w) for u -> self)
vertex near: f64 = 0 if self == source else inf
vertex mass: f64 = 1
repeat:
    gather least = min(u.near + f64(w) for u -> self)
    apply near = min(near, least)
repeat 3 times:
    gather more = sum(u.mass * f64(w) for u -> self if w > 0)
    apply mass = more
"""
BOOLS = """
program p(source: vertex)
edge w: bool = true
vertex open: int = count(w for u -> self)
vertex mixed: int = sum(int(w) + (2 if w == true else 5) for u -> self)
vertex seen: bool = self == source
repeat:
    gather more = any(u.seen for u -> self if w)
    apply seen = seen or more
"""
VALUES: dict[str, list[Any]] = {"fractions": [0.0, 0.25, 1.5, 7.0], "integers": [0, 1, 2, 9],
          "zeros and ones": [0, 1, 1, 0], "bools": [False, True, True, False]}  # fmt: skip


def _case(values: list[Any], seed: int) -> Case:
    graph = random_graph(seed, directed=True)
    column = np.random.default_rng(seed).choice(np.array(values), graph.m)
    return case_of(graph.with_columns(w=column), source=0)


@pytest.mark.parametrize("type_", ["f16", "bool"])
def test_a_column_keeps_its_values(type_: str, tmp_path: Path) -> None:
    program = vlang.compile(BOOLS if type_ == "bool" else NUMBERS)
    for seed, (kind, values) in enumerate(VALUES.items()):
        case = _case(values, 3 + seed)
        if type_ == "bool" and kind in ("fractions", "integers"):
            with pytest.raises(GraphError, match="edge column 'w' holds"):
                engine_run(program, case)
            continue
        want = interpreted(program, case)
        path = tmp_path / f"{kind}.vg"
        to_graph(case.graph).save(path)
        runs = [engine_run(program, case, **cut) for cut in CUTS[seed % 2 :: 2]]
        runs.append(program(Graph.open(path), source=0))
        with emulated(seed=seed):
            runs.append(engine_run(program, case, **{**GPU_CUTS[seed], "device": "emulated"}))
        for found in runs:
            for name, column in want.fields.items():
                assert same_bits(np.asarray(found[name]), column), (type_, kind, name, found[name], column)
