"""Every program of the library with values near the ends of its types: the result is right, or an error or a warning
says that it is wrong.

All float inputs of a program are multiplied by a power of two, so that sums, products and paths overflow f32 or f64.
A run of 32 bits is compared with the reference interpreter in 64 bits, in which nothing overflows. In a run of 64 bits,
a value may be infinite only if it is also infinite in the run with ordinary inputs. The graphs have long paths, dense
parts, a star, or 2^70 paths.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from tests.cpu.compare import engine_run, interpreted
from tests.reference.cases import MORE, STDLIB, Case, case
from tests.reference.graph import RefGraph, ref_graph
from tests.sample import EXHAUSTIVE, sampled
from vlang import Program, load
from vlang.errors import BindError, GraphError, RangeError

LARGE = {32: 2.0**126, 64: 2.0**1022}
USUAL = ("sssp", "longest_path", "spmv")
"""The programs of every run of the tests; `make nightly` examines all."""

NAMES = sampled([*STDLIB, *MORE], USUAL)


@functools.cache
def program(name: str, bits: int) -> Program:
    return load(name, bits)


def graphs() -> dict[str, RefGraph]:
    """Return a path, a dense graph, a star, and a chain of 70 diamonds, with the column `weight`."""
    pairs = {
        "path": [(k, k + 1) for k in range(60)],
        "dense": [(a, b) for a in range(14) for b in range(14) if a != b],
        "star": [(a, b) for k in range(1, 60) for a, b in ((0, k), (k, 0))],
        "diamonds": [(3 * k + a, 3 * k + b) for k in range(70) for a, b in ((0, 1), (0, 2), (1, 3), (2, 3))],
    }
    return {name: ref_graph(1 + max(max(pair) for pair in edges), edges, True,
                            weight=np.ones(len(edges), np.float32)) for name, edges in pairs.items()}


GRAPHS = graphs() if EXHAUSTIVE else {"path": graphs()["path"]}


def scaled(given: Case, factor: float | None, bits: int) -> Case:
    """Return the case with floats of `bits` bits. If `factor` is given, the largest floats become about `factor`."""
    def large(values: Any) -> Any:
        array, kind = np.asarray(values), f"f{bits // 8}"
        if array.dtype.kind != "f":
            return values
        most = max(1.0, float(np.abs(array[np.isfinite(array)]).max(initial=0)))
        by = 1.0 if factor is None else factor / 2.0 ** np.ceil(np.log2(most))
        return np.asarray(array.astype(kind) * by, kind)

    columns = {name: large(column) for name, column in given.graph.columns.items()}
    return replace(given, graph=replace(given.graph, columns=columns),
                   fields={name: large(array) for name, array in given.fields.items()})


def outcome(name: str, bits: int, given: Case) -> tuple[dict[str, NDArray[Any]], str]:
    """Return the outputs of a run by name, and the text of its error or of its warnings."""
    try:
        result = engine_run(program(name, bits), given, threads=1, max_rounds=300)
    except (BindError, GraphError, RangeError) as error:
        return {}, f"{type(error).__name__}: {error}"
    found = {field: np.asarray(result[field]) for field in result.fields}
    return found | {one: np.asarray(value) for one, value in result.globals.items()}, "; ".join(result.warnings)


def wrong(name: str, bits: int, given: Case, found: dict[str, NDArray[Any]]) -> list[str]:
    """Return the outputs that are infinite, NaN or far off, although the expected values are not."""
    large = scaled(given, LARGE[bits], bits)
    if bits == 32:
        wide = scaled(large, None, 64)
        reference = interpreted(program(name, 64), wide, max_rounds=300)
        right = {**reference.fields, **reference.globals}
    else:
        right = outcome(name, bits, given)[0]
    left = []
    for one, values in found.items():
        expected = np.asarray(right[one])
        if values.dtype.kind != "f" or values.shape != expected.shape:
            continue
        bad = ~np.isfinite(values) & np.isfinite(expected)
        if bits == 32:
            with np.errstate(invalid="ignore", over="ignore"):
                both = np.isfinite(values) & np.isfinite(expected)
                most = np.abs(expected[both]).max(initial=0)
                bad |= both & (abs(values - expected) > 1e-3 * (abs(expected) + most))
        if bad.any():
            left.append(f"{one}[{int(np.argmax(bad.reshape(-1)))}]")
    return left


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("shape", GRAPHS)
@pytest.mark.parametrize("name", NAMES)
def test_a_value_that_leaves_its_type_is_said(name: str, shape: str, bits: int) -> None:
    given = case(name, GRAPHS[shape])
    assert given is not None
    found, said = outcome(name, bits, scaled(given, LARGE[bits], bits))
    left = wrong(name, bits, given, found)
    assert not left or said, f"{name} on {shape}, {bits} bits: {left}, and the run says nothing"
    if name in USUAL and shape == "path":
        assert "is infinite" in said
        assert "its operands are finite" in said
