"""Random programs with a loop that pushes packed words are compared with the interpreter in every mode and order.

A word holds a tuple or several fields. The programs have messages and `where`.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cpu.compare import engine_run, interpreted
from tests.reference.cases import Case
from tests.reference.graphs import RefGraph, random_graph, to_graph
from tests.sample import EXHAUSTIVE
from vlang import Program
from vlang import compile as compile_text
from vlang.runtime.cpu.crew import launch as cpu

SEED, PROGRAMS, GRAPHS = 20261122, 6, 3
FIRST = ("float", "f64", "int", "i64", "vertex", "u8")
OTHER = (*FIRST, "bool", "i8")
STEPPED = ("float", "f64", "int", "i64")  # types to which a weight may be added
DTYPES = {"float": "f4", "f64": "f8", "int": "i4", "i64": "i8", "u8": "u1", "i8": "i1"}


def drawn_text(rng: np.random.Generator) -> tuple[str, dict[str, str]]:
    """Return a random program of one fixpoint loop, and the types of its input fields."""
    low = rng.random() < 0.6
    types = [str(rng.choice(FIRST)), *map(str, rng.choice(OTHER, rng.integers(0, 3)))]
    fields = {f"x{i}": type_ for i, type_ in enumerate(types)}
    names = list(fields)
    steps = types[0] in STEPPED
    weight = rng.choice(["weight", "(u.toll + u.extra) + weight"]) if steps else ""
    body = [f"u.x0 {'+' if low else '-'} ({weight})" if weight else "u.x0"]
    for name, type_ in list(fields.items())[1:]:
        body.append("u" if type_ == "vertex" and rng.random() < 0.5 else f"u.{name}")
    over = rng.choice(["u -> self", "self -> u", "u -- self"])
    cond = rng.choice(["", " if weight > 2", " if u.outdegree % 4 != 3"])
    own, sent = (f"({', '.join(some)})" if len(some) > 1 else some[0] for some in (names, body))
    name, inner = "min" if low else "max", "    "
    lines = ["program p", f"edge weight: {'float' if types[0] in ('float', 'f64') else 'int'} = 1"]
    if "toll" in weight:
        lines += [f"vertex {one}: {'float' if types[0] in ('float', 'f64') else 'int'} = outdegree % {k}"
                  for one, k in (("toll", 3), ("extra", 2))]
    lines += [f"vertex {x}: {t}" for x, t in fields.items()]
    twice = rng.random() < 0.3
    if twice:
        fields["flag"] = "bool"
        lines.append("vertex flag: bool")
    lines += ["require weight >= 0", "repeat:"]
    if rng.random() < 0.4:
        lines.append("    where indegree % 3 != 1:")
        inner = "        "
    lines.append(f"{inner}gather a = {name}({sent} for {over}{cond})")
    if twice:
        lines.append(f"{inner}gather b = any(u.flag for {over})")
    lines.append(f"{inner}apply {own} = {name}({own}, a)")
    if twice:
        lines.append(f"{inner}apply flag = flag or b")
    return "\n".join(lines) + "\n", fields


@functools.cache
def program(number: int) -> tuple[Program, dict[str, str]]:
    """Return a random program and the types of its input fields, compiled once."""
    text, fields = drawn_text(np.random.default_rng([SEED, number]))
    return compile_text(text), fields


def values(rng: np.random.Generator, type_: str, n: int) -> NDArray[np.generic]:
    """Return values with many repetitions. Most values are infinite if the type has infinities."""
    if type_ in ("bool", "vertex"):
        return rng.random(n) < 0.3 if type_ == "bool" else rng.integers(0, n, n)
    dtype = np.dtype(DTYPES.get(type_, type_))
    few = rng.integers(0, 5, n).astype(dtype)
    if type_ not in STEPPED:
        return few
    ends = np.array([-np.inf, np.inf] if dtype.kind == "f" else [np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
    return np.where(rng.random(n) < 0.6, rng.choice(ends, n), few)


@pytest.mark.parametrize("number", range(PROGRAMS if EXHAUSTIVE else 3))
def test_as_interpreted(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made, fields = program(number)
    (loop,) = made.plan(frozenset({"weight"}), frozenset(fields)).loops
    (stage,) = loop.stages
    pushes = "push" in stage.ways or "reach" in stage.ways
    assert pushes or "more than 16 bytes" in stage.refused["push"], (made.source, stage.refused)
    monkeypatch.setattr(cpu, "_SMALL", 0)  # use all threads for any amount of work
    ways = [{"mode": "pull"}, {"mode": "notify-pull"}, *({"mode": mode} for mode in ("push", "auto"))]
    ways += [{"schedule": "priority"}] if "priority" in stage.ways else []
    for seed in range(GRAPHS):
        print(f"seed [{SEED}, {number}, {seed}]\n{made.source}")
        rng = np.random.default_rng([SEED, number, seed])
        drawn = random_graph(seed, largest=40)
        low, high = np.minimum(drawn.src, drawn.dst), np.maximum(drawn.src, drawn.dst)
        weights = np.array([0, 1, 1, 2, 5, 7, 3])[(31 * low + 17 * high) % 7]
        given = RefGraph(drawn.n, drawn.src, drawn.dst, {"weight": weights.astype(np.int32)}, drawn.directed)
        case = Case(given, {}, {name: values(rng, type_, drawn.n) for name, type_ in fields.items()})
        want = interpreted(made, case)
        for way in ways:
            for threads in (1, 2, 3):
                got = engine_run(made, case, to_graph(given), threads=threads, **({"schedule": "rounds"} | way))
                for name, expected in want.fields.items():
                    assert np.array_equal(np.asarray(got[name]), expected, equal_nan=got[name].dtype.kind == "f"), \
                        (name, way, threads)
